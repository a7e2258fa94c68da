/*
 * Profiles that nobody asks for by hand: every N seconds, once when memory
 * runs short, and at exit.
 *
 * A thread of the sampler's own, unknown to Ruby and with all signals blocked,
 * sleeps and saves; it needs no GVL, so an idle or a busy server writes its
 * profiles all the same.  fork leaves it behind: the child starts another.
 */
#include "ruby/internal/config.h"
#include "internal/heap_sampler.h"
#include "allocator.h"
#include "memory.h"
#include "output.h"
#include "sampler.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WARN_SAVE = 1, WARN_THREAD = 2, RSS_POLL_MS = 500, PATH_SIZE = 4096 };

static struct {
    pthread_mutex_t mutex;      /* guards `written`, and one save at a time */
    pthread_cond_t wake;
    pthread_t thread;
    bool running;               /* until it is joined: a child forked before that starts its own */
    bool stopping;              /* atomic: the thread may hold the lock from one save to the next */
    bool rss_crossed;           /* at-rss= saves once a process */
    char **written;             /* paths of the newest `keep` periodic profiles, as a ring */
    uint32_t written_count;
} periodic = { .mutex = PTHREAD_MUTEX_INITIALIZER };

/* -- saving ---------------------------------------------------------------- */

/* A relative output is of the folder that the process was started in, wherever
 * the program has gone since. Empty: it is not known. */
static char start_folder[PATH_SIZE];

void
rb_hs_note_start_folder(void)
{
    if (!*start_folder && !getcwd(start_folder, sizeof(start_folder))) *start_folder = '\0';
}

static bool
full_path(const char *path, char *full, size_t size)
{
    bool relative = *path != '/' && *start_folder;
    int len = snprintf(full, size, "%s%s%s", relative ? start_folder : "", relative ? "/" : "", path);
    return len >= 0 && (size_t)len < size;
}

static bool
fixed_path_p(const char *pattern)
{
    for (; *pattern; pattern++) {
        if (*pattern != '%') continue;
        if (pattern[1] == 'p') return false;
        pattern++;
    }
    return true;
}

/* A fixed path belongs to the process that began: its children append .PID,
 * before the ending so that the format stays. */
static void
add_pid(char *path, size_t size)
{
    static const char *const endings[] = { ".pb.gz", ".pb", ".folded", ".json" };
    size_t len = strlen(path);
    for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
        size_t ending = strlen(endings[i]);
        if (len <= ending || strcmp(path + len - ending, endings[i]) != 0) continue;
        snprintf(path + len - ending, size - (len - ending), ".%ld%s", (long)getpid(), endings[i]);
        return;
    }
}

/* `path` becomes the output as it was chosen, which is what messages tell. */
static int
save(char *path, size_t size, size_t *bytes, uint64_t *samples, bool may_hold_up)
{
    char full[PATH_SIZE];
    *path = '\0';
    if (!rb_hs_options_expand_output(&rb_hs_sampler.options, (uint64_t)getpid(), (int64_t)time(NULL), path, size)) {
        return ENAMETOOLONG;
    }
    if (rb_hs_sampler.child && fixed_path_p(rb_hs_sampler.options.output)) add_pid(path, size);
    if (!full_path(path, full, sizeof(full))) return ENAMETOOLONG;
    struct hs_profile *profile = rb_hs_snapshot(HS_MAIN, NULL, may_hold_up);
    if (!profile) return ENOMEM;
    *samples = profile->meta.live_samples;
    int error = rb_hs_save_profile(profile, full, bytes);
    rb_hs_snapshot_free(profile);
    return error;
}

int
rb_hs_save_now(bool announce)
{
    char path[PATH_SIZE];
    size_t bytes = 0;
    uint64_t samples = 0;
    int error = save(path, sizeof(path), &bytes, &samples, announce);
    if (error) {
        rb_hs_warn_once(WARN_SAVE, "cannot write %s: %s", path, strerror(error));
    }
    else if (announce) {
        char line[PATH_SIZE + 128];
        int len = snprintf(line, sizeof(line), "heap-sample: wrote %s (%zu bytes, %llu live samples)\n", path, bytes,
                           (unsigned long long)samples);
        rb_hs_say(line, (size_t)len);
    }
    return error;
}

/* keep=N: a new profile drives out the oldest of this process. */
static void
save_periodic(void)
{
    char chosen[PATH_SIZE], path[PATH_SIZE];
    size_t bytes;
    uint64_t samples;
    int error = save(chosen, sizeof(chosen), &bytes, &samples, false);
    if (error) {
        rb_hs_warn_once(WARN_SAVE, "cannot write %s: %s", chosen, strerror(error));
        return;
    }
    uint32_t keep = rb_hs_sampler.options.keep;
    if (!keep || !full_path(chosen, path, sizeof(path))) return;
    if (!periodic.written) periodic.written = rb_hs_calloc(HS_MEM_SNAPSHOTS, keep, sizeof(*periodic.written));
    if (!periodic.written) return;
    char **oldest = &periodic.written[periodic.written_count % keep];
    const char *newest = periodic.written[(periodic.written_count + keep - 1) % keep];
    if (newest && strcmp(newest, path) == 0) return;    /* written over */
    char *gone = *oldest;
    *oldest = NULL;             /* first: a child that is forked now frees what stands there */
    if (gone) unlink(gone);
    rb_hs_free(HS_MEM_SNAPSHOTS, gone);
    *oldest = rb_hs_malloc(HS_MEM_SNAPSHOTS, strlen(path) + 1);
    if (*oldest) strcpy(*oldest, path);
    periodic.written_count++;
}

/* -- memory running short ---------------------------------------------------- */

static bool
read_number(const char *path, uint64_t *number)
{
    char text[64];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t len = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (len <= 0) return false;
    text[len] = '\0';
    char *end;
    *number = strtoull(text, &end, 10);
    return end != text;
}

/* A group's limits apply to all below it: go up from our own group. */
static uint64_t
smallest_limit(const char *root, const char *group, const char *file)
{
    char path[PATH_SIZE], at[PATH_SIZE];
    uint64_t smallest = UINT64_MAX, limit;
    snprintf(at, sizeof(at), "%s", group);
    for (;;) {
        if ((size_t)snprintf(path, sizeof(path), "%s%s/%s", root, at, file) < sizeof(path) &&
            read_number(path, &limit) && limit < smallest) {
            smallest = limit;
        }
        char *slash = strrchr(at, '/');
        if (!slash) return smallest;
        *slash = '\0';
    }
}

/* The memory that this process may use before the kernel kills it: the
 * smallest limit of its cgroups (v2 or v1), else all there is. */
static uint64_t
memory_limit(void)
{
    uint64_t limit = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    char line[PATH_SIZE];
    FILE *groups = fopen("/proc/self/cgroup", "re");
    while (groups && fgets(line, sizeof(line), groups)) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group) continue;
        *group++ = '\0';
        if (strcmp(group, "/") == 0) *group = '\0';
        uint64_t found = UINT64_MAX;
        if (!controllers[1]) {
            found = smallest_limit("/sys/fs/cgroup", group, "memory.max");
        }
        else if (strstr(controllers + 1, "memory")) {
            found = smallest_limit("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes");
        }
        if (found < limit) limit = found;
    }
    if (groups) fclose(groups);
    return limit;
}

static uint64_t
resident_bytes(void)
{
    char text[128];
    unsigned long long size, resident;
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    ssize_t len = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (len <= 0) return 0;
    text[len] = '\0';
    if (sscanf(text, "%llu %llu", &size, &resident) != 2) return 0;
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void
watch_memory(uint64_t threshold)
{
    if (periodic.rss_crossed || resident_bytes() < threshold) return;
    periodic.rss_crossed = true;
    rb_hs_save_now(true);
    rb_hs_allocator_give_back();
}

/* -- the thread --------------------------------------------------------------- */

static void
add_ms(struct timespec *at, uint64_t ms)
{
    uint64_t ns = (uint64_t)at->tv_nsec + ms % 1000 * 1000000;
    at->tv_sec += (time_t)(ms / 1000 + ns / 1000000000);
    at->tv_nsec = (long)(ns % 1000000000);
}

static bool
before_p(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

/* Slept over some, or a save took longer than that: do not hurry after them. */
static void
due_after(struct timespec *due, uint64_t ms)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    add_ms(due, ms);
    if (!before_p(due, &now)) return;
    *due = now;
    add_ms(due, ms);
}

static void *
run(void *unused)
{
    const struct hs_options *options = &rb_hs_sampler.options;
    bool watch = options->at_rss_percent || options->at_rss_bytes;
    uint64_t threshold = options->at_rss_bytes ? options->at_rss_bytes
                                               : memory_limit() / 100 * options->at_rss_percent;
    struct timespec due, now;
    (void)unused;

    clock_gettime(CLOCK_MONOTONIC, &due);
    add_ms(&due, (uint64_t)options->every * 1000);
    pthread_mutex_lock(&periodic.mutex);
    while (!__atomic_load_n(&periodic.stopping, __ATOMIC_ACQUIRE)) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (watch) watch_memory(threshold);
        if (options->every && !before_p(&now, &due)) {
            save_periodic();
            rb_hs_allocator_give_back();
            due_after(&due, (uint64_t)options->every * 1000);
            continue;
        }
        struct timespec until = now;
        add_ms(&until, RSS_POLL_MS);
        if (options->every && (!watch || before_p(&due, &until))) until = due;
        pthread_cond_timedwait(&periodic.wake, &periodic.mutex, &until);
    }
    pthread_mutex_unlock(&periodic.mutex);
    return NULL;
}

void
rb_hs_periodic_start(void)
{
    const struct hs_options *options = &rb_hs_sampler.options;
    if (periodic.running || options->output_none ||
        (!options->every && !options->at_rss_percent && !options->at_rss_bytes)) {
        return;
    }
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&periodic.wake, &clock);
    pthread_condattr_destroy(&clock);
    __atomic_store_n(&periodic.stopping, false, __ATOMIC_RELEASE);

    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&periodic.thread, NULL, run, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error) {
        rb_hs_warn_once(WARN_THREAD, "no thread for periodic profiles: %s", strerror(error));
        return;
    }
    periodic.running = true;
}

bool
rb_hs_periodic_running_p(void)
{
    return periodic.running && !__atomic_load_n(&periodic.stopping, __ATOMIC_ACQUIRE);
}

/* A save that is under way is waited for: it may take as long as the disk.
 * Whoever comes meanwhile has nothing to stop. */
void
rb_hs_periodic_stop(void)
{
    if (!periodic.running || __atomic_exchange_n(&periodic.stopping, true, __ATOMIC_ACQ_REL)) return;
    pthread_mutex_lock(&periodic.mutex);
    pthread_cond_signal(&periodic.wake);
    pthread_mutex_unlock(&periodic.mutex);
    pthread_join(periodic.thread, NULL);
    periodic.running = false;
}

/* In the child: the thread is not there, its lock may be held for ever. */
void
rb_hs_periodic_after_fork(void)
{
    pthread_mutex_init(&periodic.mutex, NULL);
    bool was_running = periodic.running;
    periodic.running = false;
    periodic.rss_crossed = false;
    periodic.written_count = 0;
    for (uint32_t i = 0; periodic.written && i < rb_hs_sampler.options.keep; i++) {
        rb_hs_free(HS_MEM_SNAPSHOTS, periodic.written[i]);
        periodic.written[i] = NULL;
    }
    if (was_running) rb_hs_periodic_start();
}

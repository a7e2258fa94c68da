/*
 * Profiles that nobody asks for by hand: every N seconds, once when memory
 * runs short, and at exit.
 *
 * A thread of the sampler's own, unknown to Ruby and with all signals blocked,
 * sleeps and saves; it needs no GVL, so an idle or a busy server writes its
 * profiles all the same.  fork leaves it behind: the child starts another.
 */
#include "heap_sampler/mri.h"
#include "heap_sampler/process/periodic.h"
#include "heap_sampler/account/cgroup.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/report.h"
#include "heap_sampler/malloc/hooks.h"
#include "heap_sampler/native/allocator.h"
#include "heap_sampler/profile/output.h"
#include "heap_sampler/profile/profile.h"
#include "heap_sampler/profile/snapshot.h"
#include "heap_sampler/settings/options.h"
#include "heap_sampler/sites/sampler.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PATH_SIZE = 4096 };

static struct {
    pthread_mutex_t mutex;      /* guards `written`, and one save at a time */
    pthread_cond_t wake;
    pthread_t thread;
    bool running;               /* until it is joined: a child forked before that starts its own */
    bool stopping;              /* atomic: the thread may hold the lock from one save to the next */
    bool short_of_memory;       /* what at-rss= watches for has been seen */
    bool at_rss_saved, at_rss_failed;   /* it is saved once a process */
    struct timespec at_rss_turn;        /* when to save then */
    char **written;             /* paths of the newest `keep` periodic profiles, as a ring */
    uint32_t written_count, written_capacity;
    size_t held;                /* bytes of snapshots that the thread holds, with `written` */
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

/* Put `text` before the path's ending, so that the format stays. */
static void
add_to_name(char *path, size_t size, const char *text)
{
    static const char *const endings[] = { ".pb.gz", ".pb", ".folded", ".json" };
    size_t len = strlen(path);
    for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
        size_t ending = strlen(endings[i]);
        if (len <= ending || strcmp(path + len - ending, endings[i]) != 0) continue;
        snprintf(path + len - ending, size - (len - ending), "%s%s", text, endings[i]);
        return;
    }
}

struct saved {
    char path[PATH_SIZE];       /* the output as it was chosen, which is what messages tell */
    char full[PATH_SIZE];
    size_t bytes;
    uint64_t samples;
};

/* Where a profile goes that is written now. */
static int
choose_path(struct saved *saved)
{
    const struct hs_options *options = &rb_hs_options;
    char pid[32];
    if (!rb_hs_options_expand_output(options, (uint64_t)getpid(), (int64_t)time(NULL), saved->path, sizeof(saved->path))) {
        *saved->path = '\0';
        return ENAMETOOLONG;
    }
    /* A fixed path belongs to the process that began: its children append their number. */
    snprintf(pid, sizeof(pid), ".%ld", (long)getpid());
    if (rb_hs_sampler.child && fixed_path_p(options->output)) add_to_name(saved->path, sizeof(saved->path), pid);
    return full_path(saved->path, saved->full, sizeof(saved->full)) ? 0 : ENAMETOOLONG;
}

/* The same trouble with each profile is told once. Each save has the mutex, or comes after the thread's end. */
static int told_error;

static void
tell_of_error(const struct saved *saved, int error)
{
    if (error == told_error) return;
    told_error = error;
    rb_hs_warn("cannot write %s: %s", saved->path, strerror(error));
}

/* `suffix` goes to the file's name. */
static int
save(struct saved *saved, const char *suffix, bool may_hold_up)
{
    int error = choose_path(saved);
    if (!error && *suffix) {
        add_to_name(saved->path, sizeof(saved->path), suffix);
        add_to_name(saved->full, sizeof(saved->full), suffix);
    }
    struct hs_profile *profile = error ? NULL : rb_hs_snapshot(HS_MAIN, NULL, may_hold_up);
    if (!error && !profile) error = ENOMEM;
    if (!error) {
        saved->samples = profile->meta.live_samples;
        error = rb_hs_save_profile(profile, saved->full, &saved->bytes);
    }
    rb_hs_snapshot_free(profile);
    if (error) tell_of_error(saved, error);
    return error;
}

static void
announce(const struct saved *saved, const char *why)
{
    if (rb_hs_options.quiet) return;
    char line[PATH_SIZE + 256];
    int len = snprintf(line, sizeof(line), "heap-sample: wrote %s (%zu bytes, %llu live samples)%s\n", saved->path,
                       saved->bytes, (unsigned long long)saved->samples, why);
    rb_hs_say(line, (size_t)len);
}

int
rb_hs_save_at_exit(void)
{
    struct saved saved;
    int error = save(&saved, "", true);
    if (!error) announce(&saved, "");
    return error;
}

static void
forget_written(void)
{
    for (uint32_t i = 0; periodic.written && i < periodic.written_capacity; i++) {
        rb_hs_free(HS_MEM_SNAPSHOTS, periodic.written[i]);
    }
    rb_hs_free(HS_MEM_SNAPSHOTS, periodic.written);
    periodic.written = NULL;
    periodic.written_count = 0;
}

/* keep=N: a new profile drives out the oldest of this process. */
static void
save_periodic(void)
{
    struct saved saved;
    uint32_t keep = rb_hs_options.keep;
    rb_hs_malloc_request_names();
    if (save(&saved, "", false) != 0 || !keep) return;
    if (periodic.written && periodic.written_capacity != keep) forget_written();    /* a #! line has changed it */
    if (!periodic.written) {
        periodic.written_capacity = keep;
        periodic.written = rb_hs_calloc(HS_MEM_SNAPSHOTS, keep, sizeof(*periodic.written));
    }
    if (!periodic.written) return;
    char **oldest = &periodic.written[periodic.written_count % keep];
    const char *newest = periodic.written[(periodic.written_count + keep - 1) % keep];
    if (newest && strcmp(newest, saved.full) == 0) return;      /* written over */
    char *gone = *oldest;
    *oldest = NULL;             /* first: a child that is forked now frees what stands there */
    if (gone) unlink(gone);
    rb_hs_free(HS_MEM_SNAPSHOTS, gone);
    *oldest = rb_hs_malloc(HS_MEM_SNAPSHOTS, strlen(saved.full) + 1);
    if (*oldest) strcpy(*oldest, saved.full);
    periodic.written_count++;
}

/* Whoever reads of it only when the first profile is due may have lost what it would have shown. */
void
rb_hs_periodic_check(void)
{
    const struct hs_options *options = &rb_hs_options;
    struct saved saved;
    if (options->output_none || rb_hs_sampler.child) return;
    if (options->keep && !options->every) {
        rb_hs_warn_of_settings("keep=%u does nothing without every=: it keeps the newest of the profiles that every=SECONDS writes",
                               options->keep);
    }
    int error = choose_path(&saved);
    if (!error) error = rb_hs_check_writable(saved.full);
    if (!error) return;
    told_error = error;
    rb_hs_warn_of_settings("cannot write %s: %s; sampling goes on, but mend the folder or set another output=", saved.path,
                           strerror(error));
}

/* -- time ---------------------------------------------------------------------- */

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

/* -- memory running short ---------------------------------------------------- */

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

/* The processes of a cgroup cross its share together. Each saves in a turn of its own, by its number, so that their
 * snapshots and files do not all come at once when there is least room for them; but when half of what was left is used up,
 * nobody waits. A save that failed is tried again: this is the profile that matters. */
enum { POLL_MS = 500, TURNS = 8, TURN_MS = 250, AGAIN_MS = 10000 };

static bool
short_p(char *why, size_t size, bool *urgent)
{
    const struct hs_options *options = &rb_hs_options;
    struct hs_memory_limit limit;
    if (options->at_rss_bytes) {
        uint64_t resident = resident_bytes();
        *urgent = true;         /* the process's own affair */
        snprintf(why, size, ": its RSS is %.0f MiB", (double)resident / (1 << 20));
        return resident >= options->at_rss_bytes;
    }
    if (!rb_hs_memory_limit_read("", options->at_rss_percent, &limit)) return false;
    double share = (double)limit.used / (double)limit.bytes * 100;
    *urgent = share >= (100.0 + options->at_rss_percent) / 2;
    snprintf(why, size, ": its %s uses %.0f%% of %.0f MiB", limit.machine ? "machine" : "cgroup", share,
             (double)limit.bytes / (1 << 20));
    return share >= options->at_rss_percent;
}

static void
watch_memory(const struct timespec *now)
{
    char why[128];
    bool urgent;
    if (periodic.at_rss_saved || !short_p(why, sizeof(why), &urgent)) return;
    if (!periodic.short_of_memory) {
        periodic.short_of_memory = true;
        periodic.at_rss_turn = *now;
        if (!urgent) add_ms(&periodic.at_rss_turn, (uint64_t)getpid() % TURNS * TURN_MS);
    }
    else if (urgent && !periodic.at_rss_failed) {
        periodic.at_rss_turn = *now;
    }
    if (before_p(now, &periodic.at_rss_turn)) return;

    struct saved saved;
    rb_hs_malloc_request_names();
    if (save(&saved, "-at-rss", true) == 0) {
        periodic.at_rss_saved = true;
        announce(&saved, why);
    }
    else {
        periodic.at_rss_failed = true;
        add_ms(&periodic.at_rss_turn, AGAIN_MS);
    }
    rb_hs_allocator_give_back();
}

/* -- the thread --------------------------------------------------------------- */

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
    const struct hs_options *options = &rb_hs_options;
    bool watch = options->at_rss_percent || options->at_rss_bytes;
    struct timespec due, look, now;
    (void)unused;
    rb_hs_memory_note_snapshots(&periodic.held);

    clock_gettime(CLOCK_MONOTONIC, &due);
    look = due;
    add_ms(&due, (uint64_t)options->every * 1000);
    add_ms(&look, POLL_MS);     /* a child that is forked in want of memory may be gone by then */
    pthread_mutex_lock(&periodic.mutex);
    while (!__atomic_load_n(&periodic.stopping, __ATOMIC_ACQUIRE)) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (watch && !before_p(&now, &look)) {
            watch_memory(&now);
            look = now;
            add_ms(&look, periodic.short_of_memory ? TURN_MS : POLL_MS);
        }
        if (options->every && !before_p(&now, &due)) {
            save_periodic();
            rb_hs_allocator_give_back();
            due_after(&due, (uint64_t)options->every * 1000);
            continue;
        }
        struct timespec until = watch ? look : due;
        if (options->every && before_p(&due, &until)) until = due;
        pthread_cond_timedwait(&periodic.wake, &periodic.mutex, &until);
    }
    pthread_mutex_unlock(&periodic.mutex);
    return NULL;
}

void
rb_hs_periodic_start(void)
{
    const struct hs_options *options = &rb_hs_options;
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
        rb_hs_warn_once(HS_TROUBLE_THREAD, "no thread for periodic profiles: %s", strerror(error));
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
    periodic.short_of_memory = periodic.at_rss_saved = periodic.at_rss_failed = false;
    /* A profile that the thread was about to write is nobody's here. */
    size_t before = rb_hs_memory_bytes(HS_MEM_SNAPSHOTS);
    forget_written();
    size_t freed = before - rb_hs_memory_bytes(HS_MEM_SNAPSHOTS);
    rb_hs_memory_forget(HS_MEM_SNAPSHOTS, periodic.held - freed);
    periodic.held = 0;
    if (was_running) rb_hs_periodic_start();
}

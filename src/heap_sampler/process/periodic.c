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
#include "heap_sampler/account/resident.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/report.h"
#include "heap_sampler/native/allocator.h"
#include "heap_sampler/process/majors.h"
#include "heap_sampler/process/output.h"
#include "heap_sampler/process/safe_point.h"
#include "heap_sampler/process/walks.h"
#include "heap_sampler/profile/snapshot.h"
#include "heap_sampler/settings/options.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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
} periodic = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* How long a profile waits for names. */
enum { NAMES_MS = 100 };

/* -- saving ---------------------------------------------------------------- */

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

static bool
stopping(void)
{
    return __atomic_load_n(&periodic.stopping, __ATOMIC_ACQUIRE);
}

/* keep=N: a new profile drives out the oldest of this process. */
static void
save_periodic(void)
{
    struct hs_output output;
    uint32_t keep = rb_hs_options.keep;
    rb_hs_major_before_profile(stopping);
    rb_hs_name_at_safe_point(NAMES_MS);
    if (rb_hs_output_save(&output, "", rb_hs_walk_due_p() ? HS_WITH_HOLDERS : 0, &periodic.stopping) != 0 || !keep) return;
    if (periodic.written && periodic.written_capacity != keep) forget_written();    /* a #! line has changed it */
    if (!periodic.written) {
        periodic.written_capacity = keep;
        periodic.written = rb_hs_calloc(HS_MEM_SNAPSHOTS, keep, sizeof(*periodic.written));
    }
    if (!periodic.written) return;
    char **oldest = &periodic.written[periodic.written_count % keep];
    const char *newest = periodic.written[(periodic.written_count + keep - 1) % keep];
    if (newest && strcmp(newest, output.full) == 0) return;      /* written over */
    char *gone = *oldest;
    *oldest = NULL;             /* first: a child that is forked now frees what stands there */
    if (gone) unlink(gone);
    rb_hs_free(HS_MEM_SNAPSHOTS, gone);
    *oldest = rb_hs_malloc(HS_MEM_SNAPSHOTS, strlen(output.full) + 1);
    if (*oldest) strcpy(*oldest, output.full);
    periodic.written_count++;
}

/* -- memory running short ---------------------------------------------------- */

/* The processes of a cgroup cross its share together. Each saves in a turn of its own, by its number, so that their
 * snapshots and files do not all come at once when there is least room for them; but when half of what was left is used up,
 * nobody waits. A save that failed is tried again: this is the profile that matters. */
enum { POLL_MS = 500,
       TURNS = 8,
       TURN_MS = 250,
       AGAIN_MS = 10000 };

static bool
short_p(char *why, size_t size, bool *urgent)
{
    const struct hs_options *options = &rb_hs_options;
    struct hs_memory_limit limit;
    if (options->at_rss_bytes) {
        uint64_t resident = rb_hs_resident_bytes();
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
        if (!urgent) rb_hs_add_ms(&periodic.at_rss_turn, (uint64_t)getpid() % TURNS * TURN_MS);
    }
    else if (urgent && !periodic.at_rss_failed) {
        periodic.at_rss_turn = *now;
    }
    if (rb_hs_before_p(now, &periodic.at_rss_turn)) return;

    struct hs_output output;
    rb_hs_name_at_safe_point(NAMES_MS);
    if (rb_hs_output_save(&output, "-at-rss", HS_MAY_HOLD_UP, NULL) == 0) {
        /* Who keeps it takes time and memory: with that it is written once more, if the process lives to see it. */
        struct hs_output again = output;
        bool walk = rb_hs_options.why || rb_hs_options.why_ppm;
        if (walk) rb_hs_output_save_again(&again, HS_MAY_HOLD_UP | HS_WITH_HOLDERS, &periodic.stopping);
        periodic.at_rss_saved = true;
        rb_hs_output_announce(&output, why);
    }
    else {
        periodic.at_rss_failed = true;
        rb_hs_add_ms(&periodic.at_rss_turn, AGAIN_MS);
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
    rb_hs_add_ms(due, ms);
    if (!rb_hs_before_p(due, &now)) return;
    *due = now;
    rb_hs_add_ms(due, ms);
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
    rb_hs_add_ms(&due, (uint64_t)options->every * 1000);
    rb_hs_add_ms(&look, POLL_MS);     /* a child that is forked in want of memory may be gone by then */
    pthread_mutex_lock(&periodic.mutex);
    while (!stopping()) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (watch && !rb_hs_before_p(&now, &look)) {
            watch_memory(&now);
            look = now;
            rb_hs_add_ms(&look, periodic.short_of_memory ? TURN_MS : POLL_MS);
        }
        if (options->every && !rb_hs_before_p(&now, &due)) {
            save_periodic();
            rb_hs_allocator_give_back();
            due_after(&due, (uint64_t)options->every * 1000);
            continue;
        }
        struct timespec until = watch ? look : due;
        if (options->every && rb_hs_before_p(&due, &until)) until = due;
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
    rb_hs_majors_begin();
    rb_hs_walks_begin();
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
    return periodic.running && !stopping();
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
    rb_hs_majors_after_fork();
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

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
#include "heap_sampler/account/who.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/descriptors.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/report.h"
#include "heap_sampler/collections/collections.h"
#include "heap_sampler/native/allocator.h"
#include "heap_sampler/process/output.h"
#include "heap_sampler/process/safe_point.h"
#include "heap_sampler/process/within.h"
#include "heap_sampler/profile/snapshot.h"
#include "heap_sampler/settings/options.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct {
    pthread_mutex_t mutex;      /* protects `running`, `stopping` and `anew`; not held while a profile is written */
    pthread_cond_t changed;
    bool running, stopping;     /* atomic: also read without it */
    bool anew;                  /* the settings may be others: count from now */
    bool short_of_memory;       /* what at-rss= watches for has been seen */
    bool at_rss_saved, at_rss_failed;   /* it is saved once a process */
    struct timespec at_rss_turn;        /* when to save then */
    struct written {
        char *path;
        struct hs_file_id id;
    } *written;                 /* the newest `keep` periodic profiles, as a ring */
    uint32_t written_count, written_capacity;
    struct hs_memory_part held; /* snapshots of the thread, and `written` */
} periodic = {.mutex = PTHREAD_MUTEX_INITIALIZER};

enum { NAMES_MS = 100,          /* how long a profile waits for names */
       STOP_MS = 10000 };       /* how long a stop waits for the profile that is being written */

static bool
running(void)
{
    return __atomic_load_n(&periodic.running, __ATOMIC_ACQUIRE);
}

static bool
stopping(void)
{
    return __atomic_load_n(&periodic.stopping, __ATOMIC_ACQUIRE);
}

/* -- forced work before a profile of every=: diagnose= ----------------------------- */

/*
 * What an object is that nothing refers to, only a major GC finds out.  A program
 * whose heap grows has few of them, since each one lets the heap grow further; so
 * one that leaks has fewest.  Before a profile of every= one is begun here if none
 * has ended since the profile before, and if the share pays for it.  If the share
 * then pays for a heap walk, the profile has one.
 *
 *     due       a safe point   steps, 5 ms between them     complete: the profile
 *      |--------------|-----|-----|-----|-----|-----|-----|--->
 *
 * The GC marks in steps of a millisecond or two; Ruby code runs between them.  Where
 * it is not complete after a while, or no safe point comes, the profile is written
 * all the same, and says so (forced.last).
 */
enum {
    MARK_MS = 2000,             /* to wait for the end of marking, or half of every= */
    START_MS = 2000,            /* to wait for the first safe point, or a quarter of every= */
    SLICE_MS = 50,              /* of waiting, after which a stop is noticed */
    NAP_MS = 5,                 /* between two steps */
    STEPS_MOST = 200,           /* of one marking: a second of naps */
    STEP_SLOTS = 20000          /* of a small heap: about a millisecond */
};

/* Both of the thread of periodic profiles, and of a child before it has one. */
static uint64_t ended_before;   /* majors, at the last periodic profile */
static bool first_of_child;

/* What is asked for at a safe point. */
struct work {
    uint32_t step_slots;
    bool begun;
};

static void
begin_major(void *data)
{
    struct work *work = data;
    if (!stopping()) work->begun = rb_hs_forced_gc(work->step_slots);
}

static void
step_major(void *data)
{
    struct work *work = data;
    if (!stopping()) rb_hs_forced_gc_step(work->step_slots);
}

static uint32_t
step_slots(void)
{
    uint64_t part = rb_hs_slots(true) / STEPS_MOST;
    return part > STEP_SLOTS ? (uint32_t)part : STEP_SLOTS;
}

/* So long, or so much of every=. */
static uint64_t
deadline(uint64_t most_ms, uint64_t part_of_every)
{
    uint64_t part_ms = (uint64_t)rb_hs_options.every * 1000 / part_of_every;
    return rb_hs_steady_ns() + (part_ms < most_ms ? part_ms : most_ms) * 1000000;
}

static bool
begin_until(struct work *work, uint64_t until)
{
    while (!stopping() && rb_hs_steady_ns() < until) {
        if (rb_hs_at_safe_point(begin_major, work, SLICE_MS)) return true;
    }
    return false;
}

static bool
step_until(struct work *work, uint64_t until)
{
    const struct timespec nap = {0, NAP_MS * 1000000};
    while (rb_hs_majors_ended() == ended_before) {
        if (stopping() || rb_hs_steady_ns() >= until) return false;
        nanosleep(&nap, NULL);
        rb_hs_at_safe_point(step_major, work, SLICE_MS);
    }
    return true;
}

static enum hs_forced_last
force_major(void)
{
    struct work work = {.step_slots = step_slots()};
    if (rb_hs_majors_ended() != ended_before) return HS_FORCED_NOT_NEEDED;
    if (!rb_hs_forced_gc_due_p(rb_hs_options.diagnose_ppm)) return HS_FORCED_OVER_BUDGET;
    if (!begin_until(&work, deadline(START_MS, 4))) return HS_FORCED_NO_SAFE_POINT;
    if (!work.begun) return HS_FORCED_REFUSED;
    return step_until(&work, deadline(MARK_MS, 2)) ? HS_FORCED_ENDED : HS_FORCED_UNFINISHED;
}

static void
major_before_profile(void)
{
    if (!rb_hs_options.diagnose_ppm) return;
    rb_hs_forced_note(first_of_child ? HS_FORCED_NONE : force_major());
    first_of_child = false;
    ended_before = rb_hs_majors_ended();
}

static unsigned
walk_if_paid(void)
{
    return rb_hs_forced_walk_due_p(rb_hs_options.diagnose_ppm) ? HS_WITH_HOLDERS : 0;
}

/* -- saving ---------------------------------------------------------------- */

static void
forget_written(void)
{
    for (uint32_t i = 0; periodic.written && i < periodic.written_capacity; i++) {
        rb_hs_free(HS_MEM_SNAPSHOTS, periodic.written[i].path);
    }
    rb_hs_free(HS_MEM_SNAPSHOTS, periodic.written);
    periodic.written = NULL;
    periodic.written_count = 0;
}

/* keep=N: a new profile drives out the oldest of this process. */
static void
save_periodic(void)
{
    struct hs_output output;
    uint32_t keep = rb_hs_options.keep;
    major_before_profile();
    rb_hs_name_at_safe_point(NAMES_MS);
    if (rb_hs_output_save(&output, "", walk_if_paid(), &periodic.stopping) != 0 || !keep) return;
    if (periodic.written && periodic.written_capacity != keep) forget_written();    /* a #! line has changed it */
    if (!periodic.written) {
        periodic.written_capacity = keep;
        periodic.written = rb_hs_calloc(HS_MEM_SNAPSHOTS, keep, sizeof(*periodic.written));
    }
    if (!periodic.written) return;
    struct written *newest = &periodic.written[(periodic.written_count + keep - 1) % keep];
    if (newest->path && strcmp(newest->path, output.full) == 0) {       /* written over */
        newest->id = output.id;
        return;
    }
    struct written *oldest = &periodic.written[periodic.written_count % keep];
    char *gone = oldest->path;
    oldest->path = NULL;        /* first: a child that is forked now frees what stands there */
    if (gone) rb_hs_remove_file(gone, &oldest->id);
    rb_hs_free(HS_MEM_SNAPSHOTS, gone);
    oldest->id = output.id;
    oldest->path = rb_hs_malloc(HS_MEM_SNAPSHOTS, strlen(output.full) + 1);
    if (oldest->path) strcpy(oldest->path, output.full);
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
        /* A heap walk takes time and memory: with that it is written once more, if the process lives to see it. */
        struct hs_output again = output;
        unsigned walk = walk_if_paid();
        if (walk) rb_hs_output_save_again(&again, HS_MAY_HOLD_UP | walk, &periodic.stopping);
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

static void
wait_until(const struct timespec *until)
{
    pthread_mutex_lock(&periodic.mutex);
    if (!stopping() && !periodic.anew) pthread_cond_timedwait(&periodic.changed, &periodic.mutex, until);
    pthread_mutex_unlock(&periodic.mutex);
}

static bool
begins_anew(void)
{
    pthread_mutex_lock(&periodic.mutex);
    bool anew = periodic.anew;
    periodic.anew = false;
    pthread_mutex_unlock(&periodic.mutex);
    return anew;
}

static void
save_what_is_due(struct timespec *due, struct timespec *look)
{
    const struct hs_options *options = &rb_hs_options;
    bool watch = options->at_rss_percent || options->at_rss_bytes;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (begins_anew()) {
        *due = *look = now;
        rb_hs_add_ms(due, (uint64_t)options->every * 1000);
        rb_hs_add_ms(look, POLL_MS);    /* a child that is forked in want of memory may be gone by then */
    }
    if (watch && !rb_hs_before_p(&now, look)) {
        watch_memory(&now);
        *look = now;
        rb_hs_add_ms(look, periodic.short_of_memory ? TURN_MS : POLL_MS);
    }
    if (options->every && !rb_hs_before_p(&now, due)) {
        save_periodic();
        rb_hs_allocator_give_back();
        due_after(due, (uint64_t)options->every * 1000);
        return;
    }
    wait_until(watch && !(options->every && rb_hs_before_p(due, look)) ? look : due);
}

/* False: it goes on, since it was started again meanwhile. */
static bool
ends(void)
{
    pthread_mutex_lock(&periodic.mutex);
    bool ends = stopping();
    if (ends) __atomic_store_n(&periodic.running, false, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&periodic.changed);
    pthread_mutex_unlock(&periodic.mutex);
    return ends;
}

static void *
run(void *unused)
{
    struct timespec due, look;
    (void)unused;
    rb_hs_descriptors_own();
    rb_hs_memory_note_snapshots(&periodic.held);
    do {
        while (!stopping()) save_what_is_due(&due, &look);
    } while (!ends());
    return NULL;
}

/* A thread that still writes its last profile is taken over. */
void
rb_hs_periodic_start(void)
{
    const struct hs_options *options = &rb_hs_options;
    static bool made;
    if (rb_hs_periodic_running_p() || options->output_none ||
        (!options->every && !options->at_rss_percent && !options->at_rss_bytes)) {
        return;
    }
    if (!made) rb_hs_make_condition(&periodic.changed);
    made = true;
    int error = 0;
    pthread_mutex_lock(&periodic.mutex);
    __atomic_store_n(&periodic.stopping, false, __ATOMIC_RELEASE);
    periodic.anew = true;
    if (!periodic.running) error = rb_hs_start_thread(run, NULL);
    __atomic_store_n(&periodic.running, !error, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&periodic.mutex);
    if (error) rb_hs_warn_once(HS_TROUBLE_THREAD, "cannot start the thread for periodic profiles: %s", strerror(error));
}

bool
rb_hs_periodic_ended_p(void)
{
    return !running();
}

bool
rb_hs_periodic_running_p(void)
{
    return running() && !stopping();
}

/* A profile that is being written is waited for.  Where a disk does not take it, the thread stays, ends later, and touches
 * nothing but what it writes. */
bool
rb_hs_periodic_stop(void)
{
    struct timespec until;
    if (!running()) return true;
    __atomic_store_n(&periodic.stopping, true, __ATOMIC_RELEASE);
    clock_gettime(CLOCK_MONOTONIC, &until);
    rb_hs_add_ms(&until, STOP_MS);
    pthread_mutex_lock(&periodic.mutex);
    pthread_cond_broadcast(&periodic.changed);
    while (periodic.running && stopping() && pthread_cond_timedwait(&periodic.changed, &periodic.mutex, &until) == 0) {}
    bool stopped = !periodic.running;
    pthread_mutex_unlock(&periodic.mutex);
    return stopped;
}

/* In the child: the thread is not there, its lock may be held for ever. */
void
rb_hs_periodic_after_fork(void)
{
    pthread_mutex_init(&periodic.mutex, NULL);
    rb_hs_make_condition(&periodic.changed);
    first_of_child = true;
    bool was_running = periodic.running;
    periodic.running = false;
    periodic.short_of_memory = periodic.at_rss_saved = periodic.at_rss_failed = false;
    /* A profile that the thread was about to write is nobody's here. */
    size_t before = rb_hs_memory_bytes(HS_MEM_SNAPSHOTS);
    forget_written();
    size_t freed = before - rb_hs_memory_bytes(HS_MEM_SNAPSHOTS);
    rb_hs_memory_forget(HS_MEM_SNAPSHOTS, periodic.held.bytes - freed);
    periodic.held.bytes = 0;
    if (was_running) rb_hs_periodic_start();
}

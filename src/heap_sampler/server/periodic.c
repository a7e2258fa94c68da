/* Writes the profiles of every= and at-rss=, after the GC or heap walk that diagnose= pays for; see server/service.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/kernel.h"
#include "heap_sampler/heap_walk/launch.h"
#include "heap_sampler/settings/options.h"
#include "heap_sampler/base/contract.h"
#include "heap_sampler/server/service.h"
#include "heap_sampler/memory/smaps.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/report.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/server/output.h"
#include "heap_sampler/profile/snapshot.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

typedef void save_function(void);

static struct {
    void (*wake)(void);
    pthread_mutex_t mutex;      /* protects what is up to `why`; not held while a profile is made */
    pthread_cond_t changed;     /* `working` or `stopping` */
    bool stopping;              /* atomic flag: no profile begins, and a profile that is being made hurries */
    save_function *working;     /* the profile that is being made, or NULL */
    uint64_t every_ns, look_ns; /* when the next of every= is due, and the next look at memory */
    uint64_t at_rss_ns;         /* when to save as memory is short, once a process; 0: it is not */
    bool at_rss_saved, at_rss_failed;
    char why[128];              /* memory is short, for the message */
    /* of the thread that makes a profile */
    struct hs_written *written; /* the newest `keep` periodic profiles, as a ring */
    uint32_t written_count, written_capacity;
    struct hs_memory_part held; /* its snapshots, and `written` */
} periodic = {.mutex = PTHREAD_MUTEX_INITIALIZER, .stopping = true};

enum { NAMES_MS = 100,          /* how long a profile waits for names */
       STOP_MS = 10000 };       /* how long a stop waits for the profile that is being made */

bool
rb_hs_periodic_halted_p(void)
{
    return __atomic_load_n(&periodic.stopping, __ATOMIC_ACQUIRE);
}

/* -- forced work before a profile of every=: diagnose= ----------------------------- */

/*
 * A program that leaks has few major GCs, since each one lets the heap grow further.  So one is begun before a
 * profile of every=, if none has ended since the last profile.  The share of the run time must pay for it
 * (sampling/gcs.h).  It marks in steps, which this thread asks for at safe points; gc/default/heap_sampler_view.inc
 * says why MRI's own steps would not do.  Its price is what MRI's clock of marking and sweeping (GC.stat(:time))
 * shows from its start to the start of the next.  The next one is taken to cost the same, and more if there are more
 * live slots.  Without a clock (GC.measure_total_time = false) 100 ns are assumed for each live slot.  An idle
 * program is not woken for it.
 *
 *     due       a safe point   steps, 5 ms between them     complete: the profile
 *      |--------------|-----|-----|-----|-----|-----|-----|--->
 *
 * Where it is not complete after a while, or no safe point comes, the profile is written all the same.
 */
enum {
    MARK_MS = 2000,             /* to wait for the end of marking, or half of every= */
    START_MS = 2000,            /* to wait for the first safe point, or a quarter of every= */
    SLICE_MS = 50,              /* of waiting, after which a stop is noticed */
    NAP_MS = 5,                 /* between two steps */
    STEPS_MOST = 200,           /* of one marking: a second of naps */
    STEP_SLOTS = 20000          /* of a small heap: about a millisecond */
};

/* Used by the thread that makes a profile. */
static uint64_t ended_before;   /* majors, at the last periodic profile */
static bool first_of_child;

/* What is asked for at a safe point: a major GC is begun, then goes on by one step. */
struct work {
    uint32_t step_slots;
    bool begun;
};

static void
force_step(void *data)
{
    struct work *work = data;
    if (rb_hs_periodic_halted_p()) return;
    if (work->begun) rb_hs_forced_gc_step(work->step_slots);
    else work->begun = rb_hs_forced_gc(work->step_slots);
}

static uint32_t
step_slots(void)
{
    uint64_t part = rb_hs_slots(true) / STEPS_MOST;
    return part > STEP_SLOTS ? (uint32_t)part : STEP_SLOTS;
}

/* In most_ms, or in this part of every=, whichever is sooner. */
static uint64_t
deadline(uint64_t most_ms, uint64_t part_of_every)
{
    uint64_t part_ms = (uint64_t)rb_hs_files.every * 1000 / part_of_every;
    return rb_hs_steady_ns() + (part_ms < most_ms ? part_ms : most_ms) * 1000000;
}

static bool
late_p(uint64_t until)
{
    return rb_hs_periodic_halted_p() || rb_hs_steady_ns() >= until;
}

static enum hs_forced_last
force_major(void)
{
    const struct timespec nap = {0, NAP_MS * 1000000};
    struct work work = {.step_slots = step_slots()};
    if (rb_hs_majors_ended() != ended_before) return HS_FORCED_NOT_NEEDED;
    if (!rb_hs_forced_gc_due_p(rb_hs_files.diagnose_ppm)) return HS_FORCED_OVER_BUDGET;
    uint64_t until = deadline(START_MS, 4);
    do {
        if (late_p(until)) return HS_FORCED_NO_SAFE_POINT;
    } while (!rb_hs_at_safe_point(force_step, &work, SLICE_MS));
    if (!work.begun) return HS_FORCED_REFUSED;
    until = deadline(MARK_MS, 2);
    while (rb_hs_majors_ended() == ended_before) {
        if (late_p(until)) return HS_FORCED_UNFINISHED;
        nanosleep(&nap, NULL);
        rb_hs_at_safe_point(force_step, &work, SLICE_MS);
    }
    return HS_FORCED_ENDED;
}

static void
major_before_profile(void)
{
    if (!rb_hs_files.diagnose_ppm) return;
    rb_hs_forced_note(first_of_child ? HS_FORCED_NONE : force_major());
    first_of_child = false;
    ended_before = rb_hs_majors_ended();
}

static unsigned
walk_if_due(bool short_of_memory)
{
    uint32_t ppm = rb_hs_files.diagnose_ppm;
    return ppm && rb_hs_walk_due_p(true, ppm, short_of_memory) ? HS_WITH_RETAINERS : 0;
}

/* -- every= ---------------------------------------------------------------- */

/* keep=N: a new profile drives out the oldest of this process. */
static void
keep_newest(const struct hs_written *file, uint32_t keep)
{
    if (periodic.written_capacity != keep) {        /* a #! line has changed it */
        rb_hs_free(HS_MEM_SNAPSHOTS, periodic.written);
        periodic.written = NULL;
    }
    if (!periodic.written) {
        periodic.written = rb_hs_calloc(HS_MEM_SNAPSHOTS, keep, sizeof(*periodic.written));
        periodic.written_capacity = keep;
        periodic.written_count = 0;
    }
    if (!periodic.written) return;
    struct hs_written *newest = &periodic.written[(periodic.written_count + keep - 1) % keep];
    if (newest->time != file->time) {               /* else it was written over */
        newest = &periodic.written[periodic.written_count++ % keep];
        rb_hs_output_remove(newest);
    }
    *newest = *file;
}

static void
save_periodic(void)
{
    struct hs_output output;
    uint32_t keep = rb_hs_files.keep;
    major_before_profile();
    rb_hs_name_at_safe_point(NAMES_MS);
    if (rb_hs_output_save(&output, "", HS_PERIODIC | walk_if_due(false), &periodic.stopping) == 0 && keep) keep_newest(&output.file, keep);
}

/* -- at-rss= ----------------------------------------------------------------- */

/* What counts is memory.current less inactive_file of the cgroup (memory/smaps.h), looked at twice a second: the kernel
 * kills when a group is at its limit. The processes of a cgroup cross its share together. Each saves in a turn of its
 * own, by its number, so that their snapshots and files do not all come at once when there is least room for them; but
 * when half of what was left is used up, no process waits. A save that failed is tried again: this is the profile that
 * matters. */
enum { POLL_MS = 500,
       TURNS = 8,
       TURN_MS = 250,
       AGAIN_MS = 10000 };

static bool
short_p(bool *urgent)
{
    const struct hs_files *files = &rb_hs_files;
    struct hs_memory_limit limit;
    if (files->at_rss_bytes) {
        uint64_t resident = rb_hs_memory_status("", "VmRSS");
        *urgent = true;         /* it concerns this process alone */
        snprintf(periodic.why, sizeof(periodic.why), ": its RSS is %.0f MiB", (double)resident / (1 << 20));
        return resident >= files->at_rss_bytes;
    }
    if (!rb_hs_memory_limit_read("", files->at_rss_percent, &limit)) return false;
    double share = (double)limit.used / (double)limit.bytes * 100;
    *urgent = share >= (100.0 + files->at_rss_percent) / 2;
    snprintf(periodic.why, sizeof(periodic.why), ": its %s uses %.0f%% of %.0f MiB", limit.machine ? "machine" : "cgroup", share,
             (double)limit.bytes / (1 << 20));
    return share >= files->at_rss_percent;
}

/* Memory is short, and it is this process's turn. */
static bool
at_rss_due_p(uint64_t now)
{
    bool urgent;
    if (!short_p(&urgent)) return false;
    if (urgent && !periodic.at_rss_failed) periodic.at_rss_ns = now;
    else if (!periodic.at_rss_ns) periodic.at_rss_ns = now + (uint64_t)getpid() % TURNS * TURN_MS * HS_MS_NS;
    return now >= periodic.at_rss_ns;
}

static void
save_at_rss(void)
{
    struct hs_output output;
    rb_hs_name_at_safe_point(NAMES_MS);
    if (rb_hs_output_save(&output, "-at-rss", HS_AT_RSS | HS_MAY_HOLD_UP, NULL) != 0) {
        periodic.at_rss_failed = true;
        periodic.at_rss_ns = rb_hs_steady_ns() + AGAIN_MS * HS_MS_NS;
        return;
    }
    /* A heap walk takes time and memory: with that it is written once more, if the process lives to see it. */
    struct hs_output again = output;
    unsigned walk = walk_if_due(true);
    if (walk) rb_hs_output_save(&again, NULL, HS_AT_RSS | HS_MAY_HOLD_UP | walk, &periodic.stopping);
    periodic.at_rss_saved = true;
    rb_hs_output_announce(&output, periodic.why);
}

/* -- what is due, and its thread ----------------------------------------------------- */

static uint64_t
every_ns(void)
{
    return rb_hs_files.every * (1000 * HS_MS_NS);
}

static bool
watching_p(void)
{
    return (rb_hs_files.at_rss_percent || rb_hs_files.at_rss_bytes) && !periodic.at_rss_saved;
}

static void
make_profile(void)
{
    struct hs_memory_part *before = rb_hs_memory_part;
    rb_hs_memory_part = &periodic.held;
    periodic.working();
    rb_hs_allocator_give_back();
    rb_hs_memory_part = before;
    hs_lock(&periodic.mutex, HS_LOCK_STATE);
    /* One that took longer than every=: do not hurry after it. */
    if (periodic.every_ns < rb_hs_steady_ns()) periodic.every_ns = rb_hs_steady_ns() + every_ns();
    periodic.working = NULL;
    bool goes_on = !periodic.stopping;
    pthread_cond_broadcast(&periodic.changed);
    hs_unlock(&periodic.mutex, HS_LOCK_STATE);
    if (goes_on) periodic.wake();
}

static void *
run(void *unused)
{
    (void)unused;
    rb_hs_descriptors_own();
    make_profile();
    return NULL;
}

static save_function *
what_is_due(uint64_t now)
{
    if (watching_p() && now >= periodic.look_ns) {
        bool due = at_rss_due_p(now);
        periodic.look_ns = now + (periodic.at_rss_ns ? TURN_MS : POLL_MS) * HS_MS_NS;
        if (due) return save_at_rss;
    }
    if (!rb_hs_files.every || now < periodic.every_ns) return NULL;
    periodic.every_ns += every_ns();
    return save_periodic;
}

/* Where there is no thread to be had, clients wait for the profile. */
void
rb_hs_periodic_turn(uint64_t now)
{
    save_function *due = NULL;
    hs_lock(&periodic.mutex, HS_LOCK_STATE);
    if (!periodic.stopping && !periodic.working) due = periodic.working = what_is_due(now);
    hs_unlock(&periodic.mutex, HS_LOCK_STATE);
    if (due && rb_hs_start_thread(run, NULL) != 0) make_profile();
}

uint64_t
rb_hs_periodic_due(void)
{
    uint64_t due = UINT64_MAX;
    hs_lock(&periodic.mutex, HS_LOCK_STATE);
    if (!periodic.stopping && !periodic.working) {
        if (rb_hs_files.every) due = periodic.every_ns;
        if (watching_p() && periodic.look_ns < due) due = periodic.look_ns;
    }
    hs_unlock(&periodic.mutex, HS_LOCK_STATE);
    return due;
}

/* -- its life --------------------------------------------------------------------------- */

void
rb_hs_periodic_boot(void (*wake)(void))
{
    periodic.wake = wake;
    rb_hs_make_condition(&periodic.changed);
}

static void
begin(void)
{
    uint64_t now = rb_hs_steady_ns();
    hs_lock(&periodic.mutex, HS_LOCK_STATE);
    __atomic_store_n(&periodic.stopping, false, __ATOMIC_RELEASE);
    periodic.every_ns = now + every_ns();
    periodic.look_ns = now + POLL_MS * HS_MS_NS;   /* a child that is forked in want of memory may be gone by then */
    pthread_cond_broadcast(&periodic.changed);
    hs_unlock(&periodic.mutex, HS_LOCK_STATE);
}

void
rb_hs_periodic_start(void)
{
    const struct hs_files *files = &rb_hs_files;
    bool wanted = files->every || files->at_rss_percent || files->at_rss_bytes;
    if (!rb_hs_periodic_halted_p() || files->output_none || !wanted) return;
    begin();
    periodic.wake();
}

bool
rb_hs_periodic_halt(void)
{
    hs_lock(&periodic.mutex, HS_LOCK_STATE);
    __atomic_store_n(&periodic.stopping, true, __ATOMIC_RELEASE);
    bool idle = !periodic.working;
    hs_unlock(&periodic.mutex, HS_LOCK_STATE);
    return idle;
}

/* Where a disk does not take the profile its thread stays, ends later, and touches nothing but what it writes. */
bool
rb_hs_periodic_stop(void)
{
    uint64_t until_ns = rb_hs_steady_ns() + STOP_MS * HS_MS_NS;
    if (rb_hs_periodic_halt()) return true;
    hs_lock(&periodic.mutex, HS_LOCK_STATE);
    while (periodic.working && periodic.stopping && rb_hs_wait(&periodic.changed, &periodic.mutex, until_ns)) {}
    bool idle = !periodic.working;
    hs_unlock(&periodic.mutex, HS_LOCK_STATE);
    return idle;
}

/* In the child the thread is not there, its lock may be held for ever, and the profile that it was about to write is not needed. */
void
rb_hs_periodic_after_fork(void)
{
    pthread_mutex_init(&periodic.mutex, NULL);
    rb_hs_make_condition(&periodic.changed);
    bool goes_on = rb_hs_session(HS_MAIN)->on && (!periodic.stopping || periodic.working);      /* a stop may wait just now */
    first_of_child = true;
    periodic.stopping = true;
    periodic.working = NULL;
    periodic.at_rss_ns = periodic.at_rss_saved = periodic.at_rss_failed = 0;
    periodic.written = NULL;
    rb_hs_memory_give_back(HS_MEM_SNAPSHOTS, periodic.held.bytes);
    periodic.held.bytes = 0;
    if (goes_on) begin();
}

/* See slots/sessions.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/slots/sessions.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/locks.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/must.h"
#include "heap_sampler/estimate/draw.h"
#include "heap_sampler/estimate/epochs.h"
#include "heap_sampler/malloc/hooks.h"
#include "heap_sampler/settings/options.h"
#include "heap_sampler/sites/folding.h"
#include "heap_sampler/sites/sampler.h"
#include "heap_sampler/slots/automatic.h"
#include "heap_sampler/slots/check.h"
#include "heap_sampler/slots/intervals.h"
#include "heap_sampler/slots/page_table.h"
#include "heap_sampler/slots/records.h"

struct session_change {
    int session;
    bool main, ok, automatic;
    const struct hs_session_settings *settings;
    uint64_t interval;
    const struct hs_limits *limits;
};

/* What the options say, while something else is in force. */
static struct hs_limits said;
static bool said_otherwise;

static struct hs_limits
limits_of_options(void)
{
    const struct hs_options *options = &rb_hs_options;
    return (struct hs_limits){options->max_samples, options->max_depth, options->seeded, options->seed, false};
}

static void
put_in_force(const struct hs_limits *limits)
{
    struct hs_options *options = &rb_hs_options;
    options->max_samples = limits->max_samples;
    options->max_depth = limits->max_depth;
    options->seeded = limits->seeded;
    options->seed = limits->seed;
}

/* Lock. */
static void
set_limits(const struct hs_limits *limits)
{
    if (!said_otherwise) said = limits_of_options();
    said_otherwise = true;
    put_in_force(limits);
    if (limits->sow) rb_hs_random_seed(&rb_hs_sampler.random, limits->seed);
}

static void
take_back_limits(void)
{
    if (said_otherwise) put_in_force(&said);
    said_otherwise = false;
}

/* Run `change` while no other Ractor allocates, and cut every free list again
 * for the interval that comes out of it. */
static void
change_sessions(void (*change)(struct session_change *), struct session_change *data)
{
    RB_VM_LOCK_ENTER();
    {
        rb_vm_barrier();
        rb_hs_lock();
        change(data);
        rb_hs_unlock();
        rb_heap_sampler_gc_recut();
        rb_hs_check(HS_CHECK_ANY);
    }
    RB_VM_LOCK_LEAVE();
}

static void
start_session_i(struct session_change *change)
{
    change->session = -1;
    for (int s = change->main ? HS_MAIN : HS_MAIN + 1; s < (change->main ? HS_MAIN + 1 : HS_PROFILES); s++) {
        if (rb_hs_sampler.session[s].on) continue;
        change->session = s;
        break;
    }
    if (change->session < 0) return;

    if (change->settings->limits) set_limits(change->settings->limits);
    /* An exact run takes what it needs. */
    rb_hs_memory_bound(rb_hs_options.max_samples != 0);
    struct hs_session *session = &rb_hs_sampler.session[change->session];
    *session = (struct hs_session){
        .on = true,
        .serial = ++rb_hs_sampler.next_session,
        .interval = change->settings->interval,
        .first_interval = change->settings->interval,
        .thread = change->settings->thread,
        .started_ns = rb_hs_now_ns(),
    };
    if (change->settings->account) session->account_at_start = *change->settings->account;
    struct rb_heap_sampler_gc_counts counts;
    rb_heap_sampler_gc_counts(&counts);
    for (uint32_t i = 0; i < counts.heap_count && i < HS_HEAPS_MAX; i++) {
        session->live_at_start[i] = counts.heap[i].live_slots;
    }
    if (change->main) rb_hs_automatic(change->settings->automatic);
    if (!rb_hs_enter_epoch()) {
        session->on = false;
        change->session = -2;
        if (change->main) take_back_limits();
    }
}

int
rb_hs_session_start(const struct hs_session_settings *settings, bool main)
{
    HS_CONTRACT(gvl);
    HS_CONTRACT(free);
    struct session_change change = {.settings = settings, .main = main};
    change_sessions(start_session_i, &change);
    if (change.session >= 0 && settings->malloc_interval &&
        !rb_hs_malloc_start(change.session, settings->malloc_interval, settings->thread)) {
        rb_hs_session_stop(change.session);
        return -2;
    }
    return change.session;
}

static void
listen_i(struct session_change *change)
{
    struct hs_session *session = &rb_hs_sampler.session[change->session];
    rb_hs_memory_bound(rb_hs_options.max_samples != 0);
    *session = (struct hs_session){
        .on = true,
        .serial = ++rb_hs_sampler.next_session,
        .interval = change->interval,
        .first_interval = change->interval,
        .started_ns = rb_hs_now_ns(),
    };
    change->ok = session->on = rb_hs_enter_epoch();
}

bool
rb_hs_session_listen(int session, uint64_t interval)
{
    HS_CONTRACT(gvl);
    HS_CONTRACT(free);
    struct session_change change = {.session = session, .interval = interval};
    change_sessions(listen_i, &change);
    return change.ok;
}

static bool
leave_session(struct hs_record *record, const struct rb_heap_sampler_page *page, void *data)
{
    unsigned bit = 1u << *(int *)data;
    if (record->sessions == bit) return false;
    rb_hs_count_off(record->sessions & (hs_session_set)bit);
    record->sessions &= (hs_session_set)~bit;
    return true;
}

static void
stop_session_i(struct session_change *change)
{
    struct hs_session *session = &rb_hs_sampler.session[change->session];
    rb_hs_filter_records(leave_session, &change->session);
    session->on = false;
    rb_hs_free(HS_MEM_TOTALS, session->totals);
    session->totals = NULL;
    session->totals_count = session->totals_capacity = 0;
    if (change->session == HS_MAIN) take_back_limits();
    bool any = false;
    for (int s = 0; s < HS_SESSIONS; s++) any |= rb_hs_sampler.session[s].on;
    if (!rb_hs_enter_epoch()) rb_heap_sampler_drawing = any;    /* without room for an epoch the others go on in the old one */
    if (!any) rb_hs_forget_the_dead();
}

void
rb_hs_session_stop(int session)
{
    HS_CONTRACT(gvl);
    HS_CONTRACT(free);
    struct session_change change = {.session = session};
    rb_hs_malloc_stop(session);
    change_sessions(stop_session_i, &change);
}

static void
retune_session_i(struct session_change *change)
{
    struct hs_session *session = &rb_hs_sampler.session[change->session];
    if (change->session == HS_MAIN) rb_hs_automatic(change->automatic);
    change->ok = session->interval == change->interval || rb_hs_change_interval(session, change->interval);
}

bool
rb_hs_session_retune(int session, uint64_t interval, bool automatic)
{
    HS_CONTRACT(gvl);
    HS_CONTRACT(free);
    struct session_change change = {.session = session, .interval = interval, .automatic = automatic};
    change_sessions(retune_session_i, &change);
    return change.ok;
}

static void
limit_i(struct session_change *change)
{
    set_limits(change->limits);
    rb_hs_memory_bound(change->limits->max_samples != 0);
    rb_hs_widen_intervals();
}

void
rb_hs_session_limit(const struct hs_limits *limits)
{
    struct session_change change = {.limits = limits};
    change_sessions(limit_i, &change);
}

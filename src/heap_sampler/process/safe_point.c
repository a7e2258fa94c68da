/* See process/safe_point.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/process/safe_point.h"
#include "heap_sampler/account/threads.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/must.h"
#include "heap_sampler/malloc/hooks.h"
#include "heap_sampler/process/within.h"
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;       /* protects the list, and the state of each */
static pthread_cond_t done;
static struct hs_safe_call *calls;
static rb_postponed_job_handle_t job = POSTPONED_JOB_HANDLE_INVALID;
static uint64_t reached;        /* how often a safe point was */

static bool no_more;

static struct hs_safe_call *
next_waiting(void)
{
    if (no_more) return NULL;
    for (struct hs_safe_call *call = calls; call; call = call->next) {
        if (call->state == HS_CALL_WAITING) return call;
    }
    return NULL;
}

/* Another thread of Ruby's may come here meanwhile: each call is taken by one. Near the end of this thread's stack the calls wait
 * for another thread, until the caller asks again. */
static void
run_calls(void *unused)
{
    struct hs_safe_call *call;
    (void)unused;
    if (rb_hs_stack_short_p()) return;
    pthread_mutex_lock(&mutex);
    reached++;
    while ((call = next_waiting())) {
        call->state = HS_CALL_RUNNING;
        pthread_mutex_unlock(&mutex);
        rb_hs_call_masked(call->function, call->data);
        pthread_mutex_lock(&mutex);
        call->state = HS_CALL_DONE;
        pthread_cond_broadcast(&done);
    }
    pthread_mutex_unlock(&mutex);
}

void
rb_hs_safe_point_boot(void)
{
    HS_CONTRACT(gvl);
    rb_hs_make_condition(&done);
    job = rb_postponed_job_preregister(0, run_calls, NULL);
}

void
rb_hs_safe_point_after_fork(void)
{
    pthread_mutex_init(&mutex, NULL);
    rb_hs_make_condition(&done);
    calls = NULL;
}

void
rb_hs_safe_point_no_more(void)
{
    pthread_mutex_lock(&mutex);
    no_more = true;
    pthread_mutex_unlock(&mutex);
}

static void
take_out(struct hs_safe_call *call)
{
    struct hs_safe_call **place = &calls;
    while (*place && *place != call) place = &(*place)->next;
    if (*place) *place = call->next;
}

void
rb_hs_safe_point_ask(struct hs_safe_call *call)
{
    call->state = HS_CALL_WAITING;
    call->next = NULL;
    pthread_mutex_lock(&mutex);
    struct hs_safe_call **last = &calls;
    while (*last) last = &(*last)->next;
    *last = call;
    pthread_mutex_unlock(&mutex);
    rb_postponed_job_trigger(job);
}

/* No thread looks for interrupts while all sleep or wait; and a thread near the end of its stack leaves the calls to others. */
void
rb_hs_safe_point_nudge(bool reading)
{
    rb_postponed_job_trigger(job);
    rb_hs_wake_main_thread(reading);
}

bool
rb_hs_safe_point_done_p(const struct hs_safe_call *call)
{
    pthread_mutex_lock(&mutex);
    bool is = call->state == HS_CALL_DONE;
    pthread_mutex_unlock(&mutex);
    return is;
}

bool
rb_hs_safe_point_settle(struct hs_safe_call *call)
{
    pthread_mutex_lock(&mutex);
    while (call->state == HS_CALL_RUNNING) pthread_cond_wait(&done, &mutex);
    take_out(call);
    bool is = call->state == HS_CALL_DONE;
    pthread_mutex_unlock(&mutex);
    return is;
}

/* The job is triggered for the thread that ran last, which may end before it gets there: so again for the next one. */
static void
wait_until(const struct hs_safe_call *call, const struct timespec *until)
{
    enum { AGAIN_MS = 20 };
    struct timespec now, slice;
    bool late = false;
    pthread_mutex_lock(&mutex);
    while (call->state == HS_CALL_WAITING && !late) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        slice = now;
        rb_hs_add_ms(&slice, AGAIN_MS);
        late = !rb_hs_before_p(&now, until);
        if (!late && pthread_cond_timedwait(&done, &mutex, rb_hs_before_p(&slice, until) ? &slice : until) != 0) rb_postponed_job_trigger(job);
    }
    pthread_mutex_unlock(&mutex);
}

bool
rb_hs_at_safe_point(void (*function)(void *data), void *data, unsigned ms)
{
    struct hs_safe_call call = {.function = function, .data = data};
    struct timespec until;
    if (job == POSTPONED_JOB_HANDLE_INVALID) return false;
    clock_gettime(CLOCK_MONOTONIC, &until);
    rb_hs_add_ms(&until, ms);
    rb_hs_safe_point_ask(&call);
    wait_until(&call, &until);
    return rb_hs_safe_point_settle(&call);
}

static void
name_stacks(void *unused)
{
    (void)unused;
    RB_VM_LOCK_ENTER();
    rb_hs_malloc_name_stacks();
    RB_VM_LOCK_LEAVE();
}

static uint64_t
reached_so_far(void)
{
    pthread_mutex_lock(&mutex);
    uint64_t count = reached;
    pthread_mutex_unlock(&mutex);
    return count;
}

/* Where the last one waited in vain, and Ruby code has reached none since, the next need not: it is in C code still. */
void
rb_hs_name_at_safe_point(unsigned ms)
{
    static uint64_t in_vain = UINT64_MAX;       /* atomic */
    uint64_t before = reached_so_far();
    if (!rb_hs_malloc_raw_stacks_p() || before == __atomic_load_n(&in_vain, __ATOMIC_RELAXED)) return;
    bool named = rb_hs_at_safe_point(name_stacks, NULL, ms);
    __atomic_store_n(&in_vain, named ? UINT64_MAX : before, __ATOMIC_RELAXED);
}

/* See process/process.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/process/process.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/contract.h"
#include "heap_sampler/sampling/malloc_hooks.h"
#include "heap_sampler/store/class_table.h"
#include <pthread.h>
#include <stdint.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;       /* protects the list, and the state of each */
static pthread_cond_t done;
static struct hs_safe_call *calls;
static rb_postponed_job_handle_t job = POSTPONED_JOB_HANDLE_INVALID;
static bool no_more;
static uint64_t reached;        /* atomic figure: how often a safe point was */

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
 * for another thread, until the caller triggers the job again. */
static void
run_calls(void *unused)
{
    struct hs_safe_call *call;
    (void)unused;
    if (rb_hs_stack_short_p()) return;
    hs_lock(&mutex, HS_LOCK_STATE);
    __atomic_add_fetch(&reached, 1, __ATOMIC_RELAXED);
    while ((call = next_waiting())) {
        call->state = HS_CALL_RUNNING;
        hs_unlock(&mutex, HS_LOCK_STATE);
        rb_hs_call_masked(call->function, call->data);
        hs_lock(&mutex, HS_LOCK_STATE);
        call->state = HS_CALL_DONE;
        pthread_cond_broadcast(&done);
    }
    hs_unlock(&mutex, HS_LOCK_STATE);
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
    hs_lock(&mutex, HS_LOCK_STATE);
    no_more = true;
    hs_unlock(&mutex, HS_LOCK_STATE);
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
    hs_lock(&mutex, HS_LOCK_STATE);
    struct hs_safe_call **last = &calls;
    while (*last) last = &(*last)->next;
    *last = call;
    hs_unlock(&mutex, HS_LOCK_STATE);
    rb_postponed_job_trigger(job);
}

/* No thread looks for interrupts while all sleep or wait; and a thread near the end of its stack leaves the calls to others. */
void
rb_hs_safe_point_nudge(void)
{
    rb_postponed_job_trigger(job);
    rb_hs_wake_main_thread();
}

bool
rb_hs_safe_point_done_p(const struct hs_safe_call *call)
{
    hs_lock(&mutex, HS_LOCK_STATE);
    bool is = call->state == HS_CALL_DONE;
    hs_unlock(&mutex, HS_LOCK_STATE);
    return is;
}

bool
rb_hs_safe_point_settle(struct hs_safe_call *call)
{
    hs_lock(&mutex, HS_LOCK_STATE);
    while (call->state == HS_CALL_RUNNING) pthread_cond_wait(&done, &mutex);
    take_out(call);
    bool is = call->state == HS_CALL_DONE;
    hs_unlock(&mutex, HS_LOCK_STATE);
    return is;
}

bool
rb_hs_at_safe_point(void (*function)(void *data), void *data, unsigned ms)
{
    enum { AGAIN_MS = 20 };
    struct hs_safe_call call = {.function = function, .data = data};
    uint64_t now = rb_hs_steady_ns(), until = now + ms * HS_MS_NS;
    if (job == POSTPONED_JOB_HANDLE_INVALID) return false;
    rb_hs_safe_point_ask(&call);
    hs_lock(&mutex, HS_LOCK_STATE);
    for (; call.state == HS_CALL_WAITING && now < until; now = rb_hs_steady_ns()) {
        uint64_t again = now + AGAIN_MS * HS_MS_NS;
        /* The job is triggered for the thread that ran last, which may end before it gets there: so again for the next one. */
        if (!rb_hs_wait(&done, &mutex, again < until ? again : until)) rb_postponed_job_trigger(job);
    }
    hs_unlock(&mutex, HS_LOCK_STATE);
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

/* Where the last wait failed, and Ruby code has reached no safe point since, this does not wait: Ruby is in C code. */
void
rb_hs_name_at_safe_point(unsigned ms)
{
    static uint64_t in_vain = UINT64_MAX;       /* atomic figure: `reached`, when the last wait failed */
    uint64_t before = __atomic_load_n(&reached, __ATOMIC_RELAXED);
    if (!rb_hs_malloc_raw_stacks_p() || before == __atomic_load_n(&in_vain, __ATOMIC_RELAXED)) return;
    bool named = rb_hs_at_safe_point(name_stacks, NULL, ms);
    __atomic_store_n(&in_vain, named ? UINT64_MAX : before, __ATOMIC_RELAXED);
}

void
rb_hs_name_all(void)
{
    HS_CONTRACT(gvl);
    HS_CONTRACT(free);
    RB_VM_LOCK_ENTER();
    rb_hs_classes_rename();
    rb_hs_malloc_name_stacks();
    RB_VM_LOCK_LEAVE();
}

/* -- waiting ------------------------------------------------------------------------------------ */

void
rb_hs_make_condition(pthread_cond_t *condition)
{
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &clock);
    pthread_condattr_destroy(&clock);
}

bool
rb_hs_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t until_ns)
{
    struct timespec until = {(time_t)(until_ns / 1000000000), (long)(until_ns % 1000000000)};
    return pthread_cond_timedwait(condition, mutex, &until) == 0;
}

/* See process/safe_point.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/process/safe_point.h"
#include "heap_sampler/base/must.h"
#include "heap_sampler/malloc/hooks.h"
#include <errno.h>
#include <pthread.h>
#include <time.h>

enum state { WAITING,
             RUNNING,
             DONE };

/* On the stack of the thread that waits. */
struct call {
    void (*function)(void *data);
    void *data;
    enum state state;
    struct call *next;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;       /* protects the list, and the state of each */
static pthread_cond_t done;
static struct call *calls;
static rb_postponed_job_handle_t job = POSTPONED_JOB_HANDLE_INVALID;

static struct call *
next_waiting(void)
{
    for (struct call *call = calls; call; call = call->next) {
        if (call->state == WAITING) return call;
    }
    return NULL;
}

/* Another thread of Ruby's may come here before it is done: each call is taken by one. */
static void
run_calls(void *unused)
{
    struct call *call;
    (void)unused;
    pthread_mutex_lock(&mutex);
    while ((call = next_waiting())) {
        call->state = RUNNING;
        pthread_mutex_unlock(&mutex);
        call->function(call->data);
        pthread_mutex_lock(&mutex);
        call->state = DONE;
        pthread_cond_broadcast(&done);
    }
    pthread_mutex_unlock(&mutex);
}

static void
make_condition(void)
{
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&done, &clock);
    pthread_condattr_destroy(&clock);
}

void
rb_hs_safe_point_boot(void)
{
    HS_CONTRACT(gvl);
    make_condition();
    job = rb_postponed_job_preregister(0, run_calls, NULL);
}

void
rb_hs_safe_point_after_fork(void)
{
    pthread_mutex_init(&mutex, NULL);
    make_condition();
    calls = NULL;
}

static void
take_out(struct call *call)
{
    struct call **place = &calls;
    while (*place && *place != call) place = &(*place)->next;
    if (*place) *place = call->next;
}

bool
rb_hs_at_safe_point(void (*function)(void *data), void *data, unsigned ms)
{
    struct call call = {function, data, WAITING, NULL};
    struct timespec until;
    if (job == POSTPONED_JOB_HANDLE_INVALID) return false;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(ms / 1000);
    until.tv_nsec += (long)(ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }

    pthread_mutex_lock(&mutex);
    struct call **last = &calls;
    while (*last) last = &(*last)->next;
    *last = &call;
    rb_postponed_job_trigger(job);
    int error = 0;
    while (call.state == WAITING && !error) error = pthread_cond_timedwait(&done, &mutex, &until);
    /* What has begun is waited for: it uses our stack. */
    while (call.state == RUNNING) pthread_cond_wait(&done, &mutex);
    take_out(&call);
    pthread_mutex_unlock(&mutex);
    return call.state == DONE;
}

static void
name_stacks(void *unused)
{
    (void)unused;
    RB_VM_LOCK_ENTER();
    rb_hs_malloc_name_stacks();
    RB_VM_LOCK_LEAVE();
}

void
rb_hs_name_at_safe_point(void)
{
    enum { WAIT_MS = 100 };
    if (rb_hs_malloc_raw_stacks_p()) rb_hs_at_safe_point(name_stacks, NULL, WAIT_MS);
}

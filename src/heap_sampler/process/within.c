/* See process/process.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/process/process.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/report.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/contract.h"
#include "ruby/thread.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>

struct job {
    void (*function)(void *data);
    void *data;
    const struct timespec *until;
    pthread_mutex_t mutex;      /* protects the rest */
    pthread_cond_t changed;
    bool done, woken, left;     /* left: no longer waited for, so that the thread frees this */
};

int
rb_hs_start_thread(void *(*run)(void *), void *data)
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&thread, NULL, run, data);
    if (!error) pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

void
rb_hs_make_condition(pthread_cond_t *condition)
{
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &clock);
    pthread_condattr_destroy(&clock);
}

static void *
run(void *ptr)
{
    struct job *job = ptr;
    rb_hs_descriptors_own();
    job->function(job->data);
    hs_lock(&job->mutex, HS_LOCK_STATE);
    job->done = true;
    bool left = job->left;
    pthread_cond_signal(&job->changed);
    hs_unlock(&job->mutex, HS_LOCK_STATE);
    if (left) rb_hs_free(HS_MEM_SNAPSHOTS, job);
    return NULL;
}

static bool
done_until(struct job *job, const struct timespec *until)
{
    hs_lock(&job->mutex, HS_LOCK_STATE);
    while (!job->done && !job->woken && pthread_cond_timedwait(&job->changed, &job->mutex, until) == 0) {}
    job->woken = false;
    bool done = job->done;
    hs_unlock(&job->mutex, HS_LOCK_STATE);
    return done;
}

static void *
await(void *ptr)
{
    struct job *job = ptr;
    done_until(job, job->until);
    return NULL;
}

static void
wake(void *ptr)
{
    struct job *job = ptr;
    hs_lock(&job->mutex, HS_LOCK_STATE);
    job->woken = true;
    pthread_cond_signal(&job->changed);
    hs_unlock(&job->mutex, HS_LOCK_STATE);
}

static VALUE
check_interrupts(VALUE unused)
{
    rb_thread_check_ints();
    return Qnil;
}

/* 0, EINTR, ETIMEDOUT, or EAGAIN: it is to be waited for. After the others the job is not this thread's any more. */
static int
settle(struct job *job, int raised)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    hs_lock(&job->mutex, HS_LOCK_STATE);
    int error = job->done ? 0 : raised      ? EINTR
        : !rb_hs_before_p(&now, job->until) ? ETIMEDOUT
                                            : EAGAIN;
    job->left = error != EAGAIN;
    hs_unlock(&job->mutex, HS_LOCK_STATE);
    if (!error) rb_hs_free(HS_MEM_SNAPSHOTS, job);
    return error;
}

int
rb_hs_within(void (*function)(void *data), void *data, uint64_t gvl_ms, const struct timespec *until, int *raised)
{
    HS_CONTRACT(gvl);
    struct job *job = rb_hs_calloc(HS_MEM_SNAPSHOTS, 1, sizeof(*job));
    struct timespec quiet;
    if (job) {
        *job = (struct job){.function = function, .data = data, .until = until, .mutex = PTHREAD_MUTEX_INITIALIZER};
        rb_hs_make_condition(&job->changed);
    }
    if (!job || rb_hs_start_thread(run, job) != 0) {
        rb_hs_free(HS_MEM_SNAPSHOTS, job);
        function(data);
        return 0;
    }
    rb_hs_deadline(&quiet, gvl_ms);
    int error = done_until(job, &quiet) ? settle(job, 0) : EAGAIN;
    while (error == EAGAIN) {
        rb_nogvl(await, job, wake, job, RB_NOGVL_INTR_FAIL);
        rb_protect(check_interrupts, Qnil, raised);
        error = settle(job, *raised);
    }
    return error;
}

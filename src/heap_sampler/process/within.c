/* See process/within.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/process/within.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/descriptors.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/must.h"
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
    pthread_mutex_lock(&job->mutex);
    job->done = true;
    bool left = job->left;
    pthread_cond_signal(&job->changed);
    pthread_mutex_unlock(&job->mutex);
    if (left) rb_hs_free(HS_MEM_SNAPSHOTS, job);
    return NULL;
}

static void *
await(void *ptr)
{
    struct job *job = ptr;
    pthread_mutex_lock(&job->mutex);
    while (!job->done && !job->woken && pthread_cond_timedwait(&job->changed, &job->mutex, job->until) == 0) {}
    job->woken = false;
    pthread_mutex_unlock(&job->mutex);
    return NULL;
}

static void
wake(void *ptr)
{
    struct job *job = ptr;
    pthread_mutex_lock(&job->mutex);
    job->woken = true;
    pthread_cond_signal(&job->changed);
    pthread_mutex_unlock(&job->mutex);
}

static VALUE
check_interrupts(VALUE unused)
{
    rb_thread_check_ints();
    return Qnil;
}

int
rb_hs_within(void (*function)(void *data), void *data, const struct timespec *until, int *raised)
{
    HS_CONTRACT(gvl);
    struct job *job = rb_hs_calloc(HS_MEM_SNAPSHOTS, 1, sizeof(*job));
    struct timespec now;
    int error = 0;
    if (job) {
        *job = (struct job){.function = function, .data = data, .until = until, .mutex = PTHREAD_MUTEX_INITIALIZER};
        rb_hs_make_condition(&job->changed);
    }
    if (!job || rb_hs_start_thread(run, job) != 0) {
        rb_hs_free(HS_MEM_SNAPSHOTS, job);
        function(data);
        return 0;
    }
    for (;;) {
        rb_nogvl(await, job, wake, job, RB_NOGVL_INTR_FAIL);
        rb_protect(check_interrupts, Qnil, raised);
        clock_gettime(CLOCK_MONOTONIC, &now);
        pthread_mutex_lock(&job->mutex);
        error = job->done ? 0 : *raised    ? EINTR
            : !rb_hs_before_p(&now, until) ? ETIMEDOUT
                                           : EAGAIN;
        job->left = error != EAGAIN;
        pthread_mutex_unlock(&job->mutex);
        if (!error) rb_hs_free(HS_MEM_SNAPSHOTS, job);
        if (error != EAGAIN) return error;
    }
}

/* See server/service.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/kernel.h"
#include "heap_sampler/server/service.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/report.h"
#include "heap_sampler/base/contract.h"
#include "ruby/thread.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>

/* Used again only when what it ran has ended. */
static struct {
    void (*function)(void);
    pthread_mutex_t mutex;      /* protects the rest */
    pthread_cond_t changed;
    bool done, woken;
} job;

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

static void *
run(void *unused)
{
    (void)unused;
    rb_hs_descriptors_own();
    job.function();
    hs_lock(&job.mutex, HS_LOCK_STATE);
    job.done = true;
    pthread_cond_signal(&job.changed);
    hs_unlock(&job.mutex, HS_LOCK_STATE);
    return NULL;
}

static bool
done_until(uint64_t until_ns)
{
    hs_lock(&job.mutex, HS_LOCK_STATE);
    while (!job.done && !job.woken && rb_hs_wait(&job.changed, &job.mutex, until_ns)) {}
    job.woken = false;
    bool done = job.done;
    hs_unlock(&job.mutex, HS_LOCK_STATE);
    return done;
}

static void *
await(void *until_ns)
{
    done_until(*(uint64_t *)until_ns);
    return NULL;
}

static void
wake(void *unused)
{
    (void)unused;
    hs_lock(&job.mutex, HS_LOCK_STATE);
    job.woken = true;
    pthread_cond_signal(&job.changed);
    hs_unlock(&job.mutex, HS_LOCK_STATE);
}

static VALUE
check_interrupts(VALUE unused)
{
    rb_thread_check_ints();
    return Qnil;
}

int
rb_hs_within(void (*function)(void), uint64_t gvl_ms, uint64_t until_ns, int *raised)
{
    HS_CONTRACT(gvl);
    job.function = function;
    job.done = job.woken = false;
    pthread_mutex_init(&job.mutex, NULL);
    rb_hs_make_condition(&job.changed);
    if (rb_hs_start_thread(run, NULL) != 0) {
        function();
        return 0;
    }
    bool done = done_until(rb_hs_steady_ns() + gvl_ms * HS_MS_NS);
    while (!done) {
        rb_nogvl(await, &until_ns, wake, NULL, RB_NOGVL_INTR_FAIL);
        rb_protect(check_interrupts, Qnil, raised);
        done = done_until(0);
        if (!done && *raised) return EINTR;
        if (!done && rb_hs_steady_ns() >= until_ns) return ETIMEDOUT;
    }
    return 0;
}

/* A postponed job that does nothing, triggered again and again by a thread that Ruby does not know: what any
 * profiler that is driven by a timer does to the program, without the profiler.
 * BENCH_JOB_EVERY is the time between two, in microseconds. */
#include "ruby/ruby.h"
#include "ruby/debug.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

static rb_postponed_job_handle_t job;
static struct timespec every;
static unsigned long jobs_run;
static pthread_t timer;
static volatile bool ending;

static void
nothing(void *unused)
{
    jobs_run++;
}

static void *
trigger(void *unused)
{
    while (!ending) {
        nanosleep(&every, NULL);
        rb_postponed_job_trigger(job);
    }
    return NULL;
}

/* The thread must not outlive the VM, whose memory it writes to. */
static void
stop(VALUE unused_data)
{
    ending = true;
    pthread_join(timer, NULL);
}

static VALUE
run_so_far(VALUE self)
{
    return ULONG2NUM(jobs_run);
}

void
Init_postponed_job(void)
{
    const char *text = getenv("BENCH_JOB_EVERY");
    long microseconds = text ? atol(text) : 0;

    job = rb_postponed_job_preregister(0, nothing, NULL);
    rb_define_module_function(rb_define_module("PostponedJob"), "run_so_far", run_so_far, 0);
    if (microseconds <= 0) return;
    every.tv_sec = microseconds / 1000000;
    every.tv_nsec = microseconds % 1000000 * 1000;
    if (pthread_create(&timer, NULL, trigger, NULL) != 0) rb_raise(rb_eRuntimeError, "no thread for the timer");
    rb_set_end_proc(stop, Qnil);
}

#ifndef HEAP_SAMPLER_PROCESS_WITHIN_H
#define HEAP_SAMPLER_PROCESS_WITHIN_H
/* Work that must not hold the program up, whatever a disk does. */
#include <pthread.h>
#include <time.h>

/* Starts a native thread that Ruby does not know and that no signal reaches; it is not joined. 0, or an errno value. [any] */
int rb_hs_start_thread(void *(*run)(void *), void *data);
/* Its waits are by CLOCK_MONOTONIC. [any] */
void rb_hs_make_condition(pthread_cond_t *condition);
/*
 * Runs the function on such a thread, and waits for its end as a blocking call of Ruby does: without the GVL, and other
 * threads, signals and trap handlers have their turn. 0; or the function goes on, with `data`, and this is ETIMEDOUT at
 * `until`, or EINTR where an exception was raised here: rb_jump_tag(*raised) is the caller's. Where no thread can be made
 * it runs here, without a limit. [gvl]
 */
int rb_hs_within(void (*function)(void *data), void *data, const struct timespec *until, int *raised);

#endif

#ifndef HEAP_SAMPLER_NATIVE_MALLOC_FORK_H
#define HEAP_SAMPLER_NATIVE_MALLOC_FORK_H
/*
 * malloc(3) in a child that clone(2) makes: the handlers of pthread_atfork(3),
 * which keep its locks out of a fork, do not run for that.
 *
 * main.c knows those of our jemalloc.  With another malloc, or in a program that
 * has libruby and no main.c of Ruby's, these do nothing: the child may wait for
 * a lock that nobody gives back.
 *
 * No MRI header.
 */

/* From one thread, in this order. [any] */
void rb_hs_malloc_before_fork(void);
void rb_hs_malloc_after_fork_in_parent(void);
void rb_hs_malloc_after_fork_in_child(void);

#endif

#ifndef HEAP_SAMPLER_SAMPLING_ALLOCATOR_H
#define HEAP_SAMPLER_SAMPLING_ALLOCATOR_H
/*
 * Which malloc(3) this process has, and what it can do.  Found at run time: it
 * may have been linked, or preloaded.
 *
 * No MRI header.  [any]; rb_hs_allocator() looks when it is first called, which
 * takes jemalloc 300,000 instructions: a Ruby that samples nothing never asks.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_allocator {
    bool jemalloc;
    bool prof_opened;           /* opt.prof: decided when jemalloc starts */
    bool sample_hooks;          /* it reports samples' births and deaths, and their intervals: ours, and opt.prof */
    char name[48];              /* "jemalloc 5.3.1", "glibc 2.36", "malloc" */
};

const struct hs_allocator *rb_hs_allocator(void);

/* jemalloc's mallctl(3): reads into `value` and, if `new_value` is not NULL,
 * writes.  False: no jemalloc, no such name, or another size. */
bool rb_hs_mallctl_read(const char *name, void *value, size_t size);
bool rb_hs_mallctl_write(const char *name, const void *new_value, size_t size);

/* Does the address lie in memory that jemalloc has, as far as it knows? Any address may be asked for. */
bool rb_hs_allocator_has_p(const void *pointer);

/* jemalloc's profiler: does it take the draws of the calling thread from now on?
 * False: that can't be set. */
bool rb_hs_allocator_thread_draws(bool wanted);
/* In the hook of a sample, before anything is allocated there: the interval at which the sample was drawn, bytes. */
uint64_t rb_hs_allocator_drawn_at(void);
/* Bytes that the calling thread has ever got from jemalloc; 0: not known. */
uint64_t rb_hs_allocator_thread_allocated(void);

/* Returns to the system what the calling thread has freed, if its jemalloc
 * arena is its alone.  An arena ages its free pages while somebody allocates
 * there: those of a thread that sleeps stay. */
void rb_hs_allocator_give_back(void);

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

#ifndef HEAP_SAMPLER_ACCOUNT_THREADS_H
#define HEAP_SAMPLER_ACCOUNT_THREADS_H
/*
 * What a thread or a fiber does now, and where its stacks are: what the VM
 * tells without the GVL, by plain loads from the struct of one that is in a
 * list of account/alive.h.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "heap_sampler/account/census.h"
#include "internal/heap_sampler.h"

struct hs_stack_range {
    uintptr_t start;
    size_t size;                /* 0: none */
};

struct hs_alive_look {
    enum hs_alive_state state;
    struct hs_stack_range mapped;       /* what has a mapping of its own */
    struct hs_stack_range malloced[2];  /* what comes from malloc(3): VM stack, stack of signals */
};

/* The mutex of account/alive.h is held. */
void rb_hs_thread_look(const struct rb_heap_sampler_alive *thread, struct hs_alive_look *look);
void rb_hs_fiber_look(const struct rb_heap_sampler_alive *fiber, struct hs_alive_look *look);

/* If the main thread sleeps, or waits for another thread, it looks for interrupts, serves postponed jobs, and sleeps on; with
 * `reading`, also if it waits in a system call that a signal interrupts (EINTR), as Ruby's own do. In other waits of C code it is
 * left alone: an interrupt may end what they wait for. No other thread is interrupted: it may end meanwhile, and its lock with
 * it, while the main thread lasts as long as the process.
 *
 * MRI's timer thread does it, as it does after a signal: waking a thread may write to MRI's own descriptors, which a thread of
 * ours does not have (base/descriptors.h). It is woken by the signal that MRI itself uses between its threads. [any] */
void rb_hs_wake_main_thread(bool reading);
/* On the timer thread, at each of its turns. `signals` is the function that ends a wait by a signal alone. */
void rb_hs_threads_turn(void (*signals)(void *));
/* In the child, before its timer thread begins. [gvl] */
void rb_hs_threads_after_fork(void);

#endif

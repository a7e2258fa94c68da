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
#include "heap_sampler/account/population.h"
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

/* Of the threads of the main Ractor that sleep or wait for another thread, one looks for interrupts, serves postponed jobs,
 * and goes on to sleep. Where none does, and `reading`, one that waits in a system call that a signal interrupts (EINTR), as
 * Ruby's own do. Who waits otherwise in C code is left alone: there an interrupt may end what it waits for.
 * false: there is none. [any] */
bool rb_hs_wake_a_sleeper(bool reading);
/* The function that ends a wait by a signal alone. [any] */
void rb_hs_note_signalling(void (*function)(void *));

#endif

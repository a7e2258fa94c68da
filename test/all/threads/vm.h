#ifndef TEST_THREADS_VM_H
#define TEST_THREADS_VM_H
/*
 * A VM of a few hundred lines, for the sampler to sit in: pages of slots that
 * are allocated, marked, swept and moved; code that lives in slots and is what
 * stacks are made of; and a malloc that reports allocations and frees, as our
 * hooks of jemalloc do.  So real threads can run what runs without the GVL, under
 * ThreadSanitizer, which knows nothing of MRI's fibers.
 *
 * Objects and code are touched with the GVL only.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "heap_sampler/profile/profile.h"

/* Random numbers, a sequence for each thread. */
uint32_t vm_random(uint32_t below);

void vm_lock(void);
void vm_unlock(void);

/* GVL. */
void vm_boot(void);
void vm_allocate(void);         /* an object, with a stack of some depth */
void vm_gc(bool full, bool compact);
void vm_free_pages(void);
/* A thread looks for interrupts here. */
void vm_safe_point(void);
/* GC::SampleProfile.start and .stop, as who asks over the socket has them called; main.c. */
void vm_start(void);
void vm_stop(void);

/* As a Ractor: without the GVL, but no GC runs meanwhile. */
void vm_malloc(void);
void vm_fiber(void);            /* one begins, or one ends */
void vm_free(void);
/* Waits until no thread is inside of vm_malloc. */
void vm_settle(void);

/* How many rows of malloc there are, all of which stand on the Ruby frame that
 * belongs to their native one; -1: one does not. */
long vm_check_malloc_rows(const struct hs_profile *profile);

#endif

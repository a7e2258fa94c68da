#ifndef HEAP_SAMPLER_MALLOC_AUTOMATIC_H
#define HEAP_SAMPLER_MALLOC_AUTOMATIC_H
/*
 * malloc=auto: estimate/pace.h says how long the interval is to be.  It is asked
 * where jemalloc's settings can be changed (rb_hs_malloc_follow_pace), which is never
 * inside malloc: where stacks are named (at ends of marks, and in the job that
 * many samples ask for), and in the job of slots/automatic.h.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "heap_sampler/malloc/state.h"

/* The interval of the main session is what the budget pays for, or no longer. [gvl] */
void rb_hs_malloc_automatic(bool on);
/* [malloc] */
bool rb_hs_malloc_automatic_p(void);
/* Have so many samples been taken that it should be asked? [malloc] */
bool rb_hs_malloc_automatic_due(uint64_t samples);
/* The share of the CPU time that malloc does not take of its budget. [vm] */
double rb_hs_malloc_automatic_left(void);
/* Naming took so long. [vm] */
void rb_hs_malloc_automatic_work(uint64_t ns);
/* The interval of the main session from now on; 0: it stays. [vm] [free] */
uint64_t rb_hs_malloc_automatic_next(const struct hs_malloc_counts *counts);

/* What samples hold, of slots and of malloc, bytes: tables, stacks and names, and the pages that jemalloc gives to small
 * blocks that it samples. [any] */
size_t rb_hs_automatic_bytes(const struct hs_malloc_counts *counts);

#endif

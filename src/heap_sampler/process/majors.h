#ifndef HEAP_SAMPLER_PROCESS_MAJORS_H
#define HEAP_SAMPLER_PROCESS_MAJORS_H
/*
 * A major GC before a periodic profile: gc=.
 *
 * What an object is that nothing refers to, only a major GC finds out.  A program
 * whose heap grows has few of them, since each one lets the heap grow further; so
 * one that leaks has fewest.  Before a profile of every= one is begun here if none
 * has ended since the profile before, and if all that were begun here together
 * take no more than the given share of the time.
 *
 *     due       a safe point   steps, 5 ms between them     complete: the profile
 *      |--------------|-----|-----|-----|-----|-----|-----|--->
 *
 * It marks in steps of a millisecond or two; Ruby code runs between them.  Where
 * it is not complete after a while, or no safe point comes, the profile is written
 * all the same, and says so (gc.asked).
 */
#include <stdbool.h>

/* On the thread of periodic profiles, before each; without the GVL. `stopping`: nobody waits for the profile any more.
 * [free] */
void rb_hs_major_before_profile(bool (*stopping)(void));
/* Periodic profiles begin. [gvl] */
void rb_hs_majors_begin(void);
/* In the child. [gvl] */
void rb_hs_majors_after_fork(void);

#endif

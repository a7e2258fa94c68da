#ifndef HEAP_SAMPLER_SLOTS_OCCUPANCY_H
#define HEAP_SAMPLER_SLOTS_OCCUPANCY_H
/*
 * Who holds free memory in heap pages.
 *
 * A heap page can be given back only when nothing lives on it.  So its free
 * slots are charged to the objects alive on it, in equal parts:
 *
 *     page of 8 slots     A . . . B . . .        6 free slots: 3 for A, 3 for B
 *
 * Each object alive is a sample with its own chance p = 1/w, so w * free/alive
 * of the samples of a line is an unbiased estimate of what the line holds, and
 * its variance is that of any such sum: w(w-1)(free/alive)^2 for each sample.
 *
 * Alive is what the last mark found alive, and free is all else on the page:
 * slots that were free then, and what that mark found dead.  What is born in
 * them since is young.  So the figures do not go up and down with every sweep.
 *
 * What compaction must not move is known of objects that a full mark has met.
 */
#include <stdbool.h>
#include <stdint.h>

/* Marking is complete, and records of the dead are gone. [write] [gc] */
void rb_hs_occupancy_after_mark(bool full_mark);
/* Objects have moved. [write] [gc] */
void rb_hs_occupancy_after_move(void);

#endif

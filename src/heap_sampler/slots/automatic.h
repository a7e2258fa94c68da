#ifndef HEAP_SAMPLER_SLOTS_AUTOMATIC_H
#define HEAP_SAMPLER_SLOTS_AUTOMATIC_H
/*
 * interval=auto of slots: estimate/pace.h says how long the interval is to be,
 * this is when it is asked and what follows from it.
 *
 * It gets longer after any sample, as at the cap: lists that are cut remember at
 * which interval.  It gets shorter at the end of a mark only.  There the sweep that
 * follows clears every cache before anything is allocated, and so each list is cut
 * anew, at the shorter interval: there is no slot that was not drawn at it.
 */
#include <stdbool.h>
#include <stdint.h>

/* Samples of the main session are free to take what the budget allows, from now on; or no longer. [any] */
void rb_hs_automatic(bool on);
bool rb_hs_automatic_p(void);
/* Own memory beyond which there are to be fewer samples, bytes. */
enum { HS_AUTOMATIC_BYTES = 4 << 20 };

/* Around each sample; `sessions`: those that keep it. [vm]; the second [write] */
uint64_t rb_hs_automatic_sample_begins(void);
void rb_hs_automatic_sample_ends(uint64_t began, uint8_t sessions);
/* At the end of marking. [gc] [write] */
void rb_hs_automatic_at_mark(void);

#endif

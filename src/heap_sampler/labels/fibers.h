#ifndef HEAP_SAMPLER_LABELS_FIBERS_H
#define HEAP_SAMPLER_LABELS_FIBERS_H
/*
 * Which label set each fiber has.  A new fiber has that of the fiber that made
 * it, since cont.c copies the whole execution context; a new thread or Ractor
 * that of the code that made it.
 */
#include <stdint.h>
#include "heap_sampler/labels/label_sets.h"

struct rb_execution_context_struct;

/* Of the fiber that runs. A plain load each; the second one: [gvl]. */
uint16_t rb_hs_labels_of(const struct rb_execution_context_struct *ec);
uint16_t rb_hs_labels_now(void);
/* [gvl] In the era of the number. */
void rb_hs_labels_set(uint16_t number);
/* used[number] is set for each that a fiber has. No other Ractor runs until the VM lock is left. [vm] [free] */
void rb_hs_fibers_see_labels(bool used[HS_LABEL_NUMBERS]);

#endif

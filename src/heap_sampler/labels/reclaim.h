#ifndef HEAP_SAMPLER_LABELS_RECLAIM_H
#define HEAP_SAMPLER_LABELS_RECLAIM_H
/*
 * Room for new label sets: those that nobody needs any more go.  A set is
 * needed while a fiber has it, while with_labels will go back to it, and while
 * a sample that was born under it lives.
 */
#include <stdbool.h>
#include "heap_sampler/labels/label_sets.h"

/* Counts under label sets: slots' sites and malloc's stacks. [write] */
struct hs_user_of_labels {
    void (*see)(bool used[HS_LABEL_NUMBERS]);                   /* set used[number] for each that a living sample has */
    bool (*replace)(const bool gone[HS_LABEL_NUMBERS]);         /* by HS_LABELS_OTHER; false: no memory, some refer to them still */
};
/* For as long as the process lives. */
void rb_hs_labels_used_by(const struct hs_user_of_labels *user);

/* Where there is no room for this set, make some; not more often than it helps. [vm] [free] */
void rb_hs_label_sets_make_room(const char *text, size_t len);

#endif

#ifndef HEAP_SAMPLER_RUBY_API_GIVEN_LABELS_H
#define HEAP_SAMPLER_RUBY_API_GIVEN_LABELS_H
/*
 * Labels as Ruby code gives them.  They are copied as text, and become a label
 * set's number (labels/label_sets.h).  [gvl] [free]
 */
#include "heap_sampler/mri.h"
#include "heap_sampler/labels/label_sets.h"

enum {
    HS_LABELS_MOST = 8,         /* in one set */
    HS_LABEL_KEY_MAX = 64,      /* bytes */
    HS_LABEL_VALUE_MAX = 128,
    HS_LABEL_TEXT_MAX = HS_LABELS_MOST * (HS_LABEL_KEY_MAX + HS_LABEL_VALUE_MAX + 2)
};

/* A set's text, with an end of line after each label. */
struct hs_labels {
    size_t len;
    char text[HS_LABEL_TEXT_MAX];
};

/* Those of the current fiber; none for HS_LABELS_OTHER. */
void rb_hs_labels_read(struct hs_labels *labels);
/* What a Hash gives is added, or replaces what has its name. Raises ArgumentError, TypeError. */
void rb_hs_labels_put(struct hs_labels *labels, VALUE given);
/* The current fiber has these from here on: their number in *era. */
uint16_t rb_hs_labels_make_current(const char *text, size_t len, uint32_t *era);

extern uint64_t rb_hs_label_sets_refused;       /* how often a new set became HS_LABELS_OTHER */

#endif

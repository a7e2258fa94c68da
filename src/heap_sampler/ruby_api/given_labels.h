#ifndef HEAP_SAMPLER_RUBY_API_GIVEN_LABELS_H
#define HEAP_SAMPLER_RUBY_API_GIVEN_LABELS_H
/*
 * Labels as Ruby code gives them.
 *
 * They are copied as text and become a label set's number (labels/label_sets.h):
 * no Ruby object is kept.  [gvl] [free]
 */
#include <stdbool.h>
#include "heap_sampler/mri.h"
#include "heap_sampler/labels/label_sets.h"

struct hs_label {
    char key[HS_LABEL_KEY_MAX], value[HS_LABEL_VALUE_MAX];
    size_t key_len, value_len;  /* no value: none of this name */
};

struct hs_labels {
    struct hs_label list[HS_LABELS_MOST];       /* by key */
    int count;
};

/* Those of the current fiber; those of HS_LABELS_OTHER are not known. */
void rb_hs_labels_read(struct hs_labels *labels);
/* What a Hash gives is added, or replaces what has its name. Raises ArgumentError, TypeError. */
void rb_hs_labels_put(struct hs_labels *labels, VALUE given);
/* Those of the Hash's names go. */
void rb_hs_labels_take_off(struct hs_labels *labels, VALUE given);

/* The current fiber has these from here on. */
struct hs_labels_at {
    uint16_t number;
    uint32_t era;
};
struct hs_labels_at rb_hs_labels_make_current(const struct hs_labels *labels);

/* Runs the caller's block after `enter`; the fiber has the labels again that it had before, however it ends. */
VALUE rb_hs_with_labels(void (*enter)(void *data), void *data);

/* Of what GC::SampleProfile.prepare_labels returned. */
void rb_hs_labels_check_prepared(VALUE prepared);       /* raises TypeError */
VALUE rb_hs_labels_enter(VALUE prepared);
VALUE rb_hs_labels_leave(VALUE prepared, VALUE before);
/* What leave does where the set is still there; false: it is not. */
bool rb_hs_labels_go_back(VALUE before);

#endif

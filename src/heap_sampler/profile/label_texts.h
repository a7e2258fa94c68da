#ifndef HEAP_SAMPLER_PROFILE_LABEL_TEXTS_H
#define HEAP_SAMPLER_PROFILE_LABEL_TEXTS_H
/*
 * The texts of label sets in a profile.  A set may go before the profile does,
 * so its text is copied. [any]
 */
#include "heap_sampler/labels/label_sets.h"
#include "heap_sampler/profile/profile.h"

struct hs_profile_labels {
    struct hs_label_texts copied;       /* while the lock was held */
    uint32_t *numbers;          /* of the same texts in the profile, by label set */
};

/* The copied texts become the profile's: the number of each set's, by set. NULL: no memory. */
const uint32_t *rb_hs_profile_labels_add(struct hs_profile *profile, struct hs_profile_labels *labels);
/* What the above gave is gone, too. */
void rb_hs_profile_labels_free(struct hs_profile_labels *labels);

#endif

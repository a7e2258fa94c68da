#ifndef TEST_OUTPUT_SAMPLE_H
#define TEST_OUTPUT_SAMPLE_H
/* Profiles made by hand.  Free them with rb_hs_profile_free(). */
#include "heap_sampler/profile/profile.h"

/* Two methods, two classes, every label and value; see sample.c. */
void sample_profile(struct hs_profile *profile);
/* Names that break formats: quotes, separators, controls, bytes that are no UTF-8. */
void hostile_profile(struct hs_profile *profile);
/* Values past what the formats hold, and not-a-numbers. */
void huge_profile(struct hs_profile *profile);
/* Many stacks, deep ones. */
void large_profile(struct hs_profile *profile);
/* Slots and malloc'd memory under the same Ruby frames; libraries with all of
 * their names, with some, and code that is in none. */
void malloc_profile(struct hs_profile *profile);

/* All of them. */
enum { SAMPLE_PROFILES = 5 };
extern const struct sample_profile {
    const char *name;
    void (*make)(struct hs_profile *profile);
} sample_profiles[SAMPLE_PROFILES];

#endif

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

/* The first one with chains of references to what its rows have. */
void walked_profile(struct hs_profile *profile);
/* 300 stacks of 150 lines where nothing lives any more: one allocated a lot, the others little. */
void freed_profile(struct hs_profile *profile);

/* All of them. */
enum { SAMPLE_PROFILES = 7 };
extern const struct sample_profile {
    const char *name;
    void (*make)(struct hs_profile *profile);
} sample_profiles[SAMPLE_PROFILES];

#endif

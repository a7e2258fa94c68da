#ifndef HEAP_SAMPLER_PROFILE_ENCODE_H
#define HEAP_SAMPLER_PROFILE_ENCODE_H
/*
 * What the encoders of profiles share: private to encode_*.c.
 * No MRI header. [any]
 */
#include <stddef.h>
#include <stdint.h>
#include "heap_sampler/base/texts.h"
#include "heap_sampler/profile/buffer.h"
#include "heap_sampler/profile/profile.h"

/* Stands for a stack without frames, so that every format has a place to
 * show what was allocated there and the totals agree. */
#define HS_NO_STACK "(no stack)"
/* Stands for an empty label. */
#define HS_NO_LABEL "(unknown)"

/* 0, or EINVAL if an index of the profile points outside its arrays. */
int rb_hs_profile_check(const struct hs_profile *profile);

/* To the nearest integer, halves away from zero; what does not fit saturates. */
int64_t rb_hs_round(double value);
int64_t rb_hs_saturate(uint64_t value);


/* A stack's frames, leaf first.  Starts zeroed, is reused, freed at the end. */
struct hs_stack {
    uint32_t *frames;
    uint32_t depth, capacity;
};

/* EINVAL: the node's parents do not lead to the root.  ENOMEM.  The profile
 * must have passed rb_hs_profile_check(). */
int rb_hs_stack_read(struct hs_stack *stack, const struct hs_profile *profile, uint32_t node);
void rb_hs_stack_free(struct hs_stack *stack);

/* How many bytes the valid UTF-8 character at `ptr` has; 0: it is not one. */
size_t rb_hs_utf8_length(const char *ptr, size_t len);
/* Append as UTF-8: every byte that is no part of a character as U+FFFD. */
void rb_hs_append_utf8(struct hs_buffer *out, struct hs_text text);
/* Append as a JSON string with its quotes. */
void rb_hs_append_json(struct hs_buffer *out, struct hs_text text);

/* The index of the mapping that an address is in, or mapping_count. */
uint32_t rb_hs_mapping_of(const struct hs_profile *profile, uint64_t address);

struct hs_text rb_hs_text_of(const char *text);

#endif

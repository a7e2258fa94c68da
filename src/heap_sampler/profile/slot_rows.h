#ifndef HEAP_SAMPLER_PROFILE_SLOT_ROWS_H
#define HEAP_SAMPLER_PROFILE_SLOT_ROWS_H
/* The slot side of a profile: copies of records as rows, and as samples one by one. [any] */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "heap_sampler/profile/profile.h"
#include "heap_sampler/kernel.h"

/*
 * What one session knows of sampled slots, copied out while the lock is held.
 * The copying is plain memory traffic, some 32 bytes a sample.
 */

struct hs_slot_copy {
    struct hs_record record;
    uintptr_t body;
    uint64_t interval;          /* of the session, at birth */
    uint32_t number;            /* its place when it was copied */
    uint32_t row;               /* which it was added to */
    float free_share;           /* free bytes of its heap page */
    bool unshared;              /* a forked process has its memory page for itself now */
};

struct hs_slot_copies {
    struct hs_slot_copy *records;
    size_t record_count, record_capacity;
    struct hs_site *sites;
    struct {
        uint32_t class_text, type_text;
    } *names;  /* by site */
    uint32_t site_count;
    struct hs_totals *totals;
    uint32_t totals_count;
    uint64_t ids_at_fork;
};

/* Room for the records, a few more than there are now. [any] [free] */
void rb_hs_slot_copies_make_room(struct hs_slot_copies *copied);
/* What `session`, which is on, knows. False: no memory. [tables] */
bool rb_hs_slot_copies_take(struct hs_slot_copies *copied, int session);
/* [any] */
void rb_hs_slot_copies_free(struct hs_slot_copies *copied);

/* A copy for a snapshot. NULL: no memory. [any] */
void *rb_hs_copy_array(const void *from, size_t count, size_t size);

/* Sorts the copies; each says which row it was added to. labels + n is the text of label set n. False: no memory. */
bool rb_hs_slot_rows_add(struct hs_slot_copies *copied, uint32_t labels, struct hs_profile *profile);
/* Each living sample; after the rows. False: no memory. */
bool rb_hs_live_samples_list(const struct hs_slot_copies *copied, struct hs_profile *profile);

#endif

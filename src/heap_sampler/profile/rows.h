#ifndef HEAP_SAMPLER_PROFILE_ROWS_H
#define HEAP_SAMPLER_PROFILE_ROWS_H
/*
 * From copies of what one session knows to the rows of a profile, and to what retains them: private to profile/.
 * A function that returns false found no memory. [any], unless it says otherwise.
 */
#include <stdbool.h>
#include "heap_sampler/heap_walk/launch.h"
#include "heap_sampler/kernel.h"
#include "heap_sampler/profile/profile.h"

/* What one session knows of sampled slots, copied out while the lock is held. */

struct hs_slot_copy {
    struct hs_record record;
    uintptr_t body;
    uint64_t interval;          /* of the session, at the allocation */
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
    struct hs_totals *totals;
    uint32_t totals_count;
    uint64_t ids_at_fork;
};

/* The samples of a snapshot. */
struct hs_copies {
    struct hs_slot_copies slots;
    struct hs_malloc_copy malloc;
};

/* -- slot_rows.c --------------------------------------------------------------------- */

/* Room for the records, a few more than there are now. [any] [free] */
void rb_hs_slot_copies_make_room(struct hs_slot_copies *copied);
/* What `session`, which is on, knows. [tables] */
bool rb_hs_slot_copies_take(struct hs_slot_copies *copied, int session);
void rb_hs_slot_copies_free(struct hs_slot_copies *copied);

/* A copy for a snapshot. NULL: no memory. */
void *rb_hs_copy_array(const void *from, size_t count, size_t size);

/* Sorts the copies, and looks up what a forked process shares of them. Returns how many rows they make. */
size_t rb_hs_slot_rows_sort(struct hs_slot_copies *copied, struct hs_profile *profile);
/* After that, with room for the rows. Each copy then says which row it was added to. labels + n is the text of label set n. */
void rb_hs_slot_rows_add(struct hs_slot_copies *copied, uint32_t labels, struct hs_profile *profile);
/* Each living sample; after the rows. */
bool rb_hs_live_samples_list(const struct hs_slot_copies *copied, struct hs_profile *profile);
/* One more row, for which there is room. */
struct hs_row *rb_hs_row_new(struct hs_profile *profile, struct hs_row row);
/* A row of totals, unless they are all 0. */
static inline bool
hs_totals_row_p(const struct hs_totals *totals)
{
    return totals->alloc.samples || totals->freed.samples;
}
void rb_hs_totals_row_add(struct hs_profile *profile, struct hs_row row, const struct hs_totals *totals);

/* -- malloc_rows.c ------------------------------------------------------------------- */

/* Sorts the copy. Returns how many rows it makes at most. */
size_t rb_hs_malloc_rows_sort(struct hs_malloc_copy *copy);
/* After that, with room for the rows. Adds to a profile whose texts, frames and nodes are those that were there when `copy` was
 * made, with more texts behind them: native frames get names, and what of the blocks is resident is looked up. [any] [free] */
bool rb_hs_malloc_rows_add(struct hs_malloc_copy *copy, const struct hs_yjit_memory *yjit, uint32_t labels, struct hs_profile *profile);

/* -- kept.c -------------------------------------------------------------------------- */

/* What retains samples: the parts of a row add up to its `inuse` and `young`.  And what pins the objects that hold free memory
 * of heap pages: these add up to holds_free_pinned of all rows. */

/* `copies` stay where they are until the child has ended. [vm], and no other Ractor runs; not in GC. */
void rb_hs_kept_samples_fork(struct hs_walk_child *child, const struct hs_copies *copies);
/* After the rows and the answer. */
bool rb_hs_kept_samples_join(struct hs_profile *profile, const struct hs_copies *copies);

#endif

#ifndef HEAP_SAMPLER_PROFILE_FILE_ROWS_H
#define HEAP_SAMPLER_PROFILE_FILE_ROWS_H
/*
 * The rows of a profile as a file has them: sorted, so that those of one sample are next to each other, and with the
 * stacks that are worth their room.
 *
 * A process that has run for long has a thousand stacks with one sample each, from its start, and nothing of them is in
 * use any more.  Their callers are most of a file, and one sample says little about a caller.  So in a profile of many
 * stacks, a stack is cut to its line, below (evicted), if it has HS_SAMPLES_FEW samples at most, nothing of it is in use
 * or young, and it allocated less than HS_SHARE_LEAST of all bytes.  No stack is cut whose objects were all counted.  So
 * figures by line stay, and all sums.
 *
 * No MRI header. [any]
 */
#include <stddef.h>
#include <stdint.h>
#include "heap_sampler/profile/profile.h"

#define HS_SHARE_LEAST 1e-3
enum { HS_STACKS_ALL_SHOWN = 256,
       HS_SAMPLES_FEW = 2 };

struct hs_file_row {
    const struct hs_row *row;
    /* The number of a node, of the whole stack; from node_count on that of a frame; and behind these (evicted) alone. */
    uint64_t stack;
};

/* Are they of one sample?  Of one row, too? */
bool rb_hs_file_rows_of_one_sample(const struct hs_file_row *a, const struct hs_file_row *b);
bool rb_hs_file_rows_equal(const struct hs_file_row *a, const struct hs_file_row *b);

/* All rows of a profile that has passed rb_hs_profile_check(); rb_hs_free(HS_MEM_SNAPSHOTS, …) is the caller's.  NULL: no memory. */
struct hs_file_row *rb_hs_file_rows(const struct hs_profile *profile);

#endif

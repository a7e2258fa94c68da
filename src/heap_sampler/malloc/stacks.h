#ifndef HEAP_SAMPLER_MALLOC_STACKS_H
#define HEAP_SAMPLER_MALLOC_STACKS_H
/*
 * The stacks that malloc's samples came from, and what each session has seen
 * born and die there: the part of malloc/table.c that knows no block.
 *
 * A stack begins raw, gets a node when it is named, joins the one that has the
 * same name, and is folded when no block lives on it and there are too many.
 * Numbers of stacks change when they join: whoever holds some is given the new
 * ones.
 *
 * All of it under the malloc mutex, which table.c holds.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "heap_sampler/base/must.h"
#include "heap_sampler/labels/label_sets.h"
#include "heap_sampler/malloc/table.h"
#include "heap_sampler/sites/sampler.h"
#include "heap_sampler/stacks/capture.h"
#include "heap_sampler/stacks/stack_table.h"

#define HS_MALLOC_NO_STACK UINT32_MAX

/* Of the share of malloc, bytes that stacks leave to the blocks' table. */
enum { HS_MALLOC_BLOCKS_BYTES = 2359296 };
/* So many bytes it has by now. */
void rb_hs_malloc_stacks_beside(size_t bytes);

/* The number of the birth's stack, which is added if it is a new one. If there is no room for its frames of Ruby's, it is one
 * of all that have its native frames; if there is none for these, one of all. HS_MALLOC_NO_STACK: no memory. */
uint32_t rb_hs_malloc_stack_of(const struct hs_malloc_birth *birth);
/* A block on it is born, or has died. */
void rb_hs_malloc_stack_lives(uint32_t stack, bool born);
/* HS_MALLOC_RAW: it has no name yet. */
uint32_t rb_hs_malloc_stack_node(uint32_t stack);
uint16_t rb_hs_malloc_stack_labels(uint32_t stack);
struct hs_totals *rb_hs_malloc_stack_totals(int session, uint32_t stack);
/* false: no memory. */
bool rb_hs_malloc_stacks_begin(int session);
void rb_hs_malloc_stacks_end(int session);
/* A sample found no room: fold soon. */
void rb_hs_malloc_stacks_short_of_room(void);

/* Is it time to name the raw ones? */
bool rb_hs_malloc_names_wanted(void);
bool rb_hs_malloc_stacks_next_raw(struct hs_malloc_raw *raw, struct hs_raw_frame frames[HS_DEPTH_MAX]);
void rb_hs_malloc_stacks_named(const struct hs_malloc_raw *raw, uint32_t node);

/* Takes the new numbers, by old number. */
typedef void (*hs_malloc_renumber)(const uint32_t *new_number);
void rb_hs_malloc_stacks_join(hs_malloc_renumber renumber);
void rb_hs_malloc_stacks_forget_addresses(void);

bool rb_hs_malloc_stacks_too_many(void);
void rb_hs_malloc_stacks_fold_begin(bool *keep, bool spare);
/* false: those with living blocks alone are too many. */
bool rb_hs_malloc_stacks_fold_end(const uint32_t *new_node, hs_malloc_renumber renumber);

/* used[number] is set for each label set that a stack with a living block has. */
void rb_hs_malloc_stacks_see_labels(bool used[HS_LABEL_NUMBERS]);
/* Stacks with other sets get HS_LABELS_OTHER. */
void rb_hs_malloc_stacks_keep_labels(const bool used[HS_LABEL_NUMBERS], hs_malloc_renumber renumber);

/* Into `copy`; false: no memory. */
bool rb_hs_malloc_stacks_copy(struct hs_malloc_copy *copy, int session);
void rb_hs_malloc_stacks_count(uint32_t *used, uint32_t *raw);

#if HS_CHECKING
bool rb_hs_malloc_stack_used_p(uint32_t stack);
/* `blocks`: how many live. */
void rb_hs_malloc_stacks_check(uint32_t blocks);
bool rb_hs_malloc_stacks_mislead(void);
#endif

#endif

#ifndef HEAP_SAMPLER_MALLOC_TABLE_H
#define HEAP_SAMPLER_MALLOC_TABLE_H
/*
 * The sampled blocks of malloc(3) that are allocated now, and the stacks that
 * they came from.
 *
 *     address --> block   size, GC and thread of birth
 *                   |  \
 *                   |   epoch   at which interval each session keeps it
 *                 stack   native frames, below them a stack of Ruby's, the label
 *                         set, and what each session has seen born and die there
 *
 * A stack is met inside malloc, where nothing may be named.  So it begins
 * *raw*: its Ruby frames are copied as addresses.  At the end of a mark, before
 * anything is swept, in a snapshot that Ruby code waits for, and when the raw
 * ones get old or many, it is named: it gets a node of the prefix tree.  Two
 * stacks that turn out to be the same become one.  A raw stack is found by a hash of addresses,
 * which is forgotten when code dies or moves; what was counted stays.
 *
 * What is in a block's profile alone, or has died, costs no room for long:
 * stacks without a living block are folded to their innermost frames when
 * there are too many.
 *
 * [malloc], under a mutex of its own (base/locks.h).  Whoever holds it takes no
 * other lock and reads no heap slot.  Own memory is never sampled
 * (base/memory.c), so that allocating under it is safe.  No MRI header.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "heap_sampler/base/must.h"
#include "heap_sampler/events/changes.h"
#include "heap_sampler/labels/label_sets.h"
#include "heap_sampler/sites/sampler.h"
#include "heap_sampler/stacks/capture.h"
#include "heap_sampler/stacks/stack_table.h"

/* Where a malloc stood. */
enum hs_malloc_kind {
    HS_MALLOC_STACK,            /* on a stack of Ruby's */
    HS_MALLOC_AT_BOOT,          /* before there was a Ruby to ask */
    HS_MALLOC_AT_GC,
    HS_MALLOC_AT_YJIT,          /* in YJIT's compiler: not in the table */
    HS_MALLOC_AT_NO_GVL,        /* on a thread that does not hold it, or that Ruby does not know */
    HS_MALLOC_AT_SAMPLER,       /* in what the sampler calls */
    HS_MALLOC_AT_NO_FRAME,      /* Ruby has begun, no frame has */
    HS_MALLOC_EVICTED,          /* there was no room for its frames */
    HS_MALLOC_KINDS
};
#define HS_MALLOC_RAW UINT32_MAX        /* the node of a stack without a name */

/* -- inside malloc -------------------------------------------------------------- */

struct hs_malloc_birth {
    uintptr_t address;
    uint64_t size;              /* bytes, of its size class */
    uint64_t asked;             /* bytes that the caller of malloc wanted */
    uint64_t drawn_at;          /* the interval of the draw */
    uint32_t gc, thread;        /* thread 0: none of Ruby's */
    uint16_t labels;            /* the label set of its fiber: of a stack of Ruby's */
    enum hs_malloc_kind kind;
    const uintptr_t *native;
    uint32_t native_count;
    struct hs_stack_hash hash;  /* of a stack of Ruby's: its frames; else 0 */
    uint32_t depth;
    bool truncated;
    const void *stack;          /* for the next */
    void (*copy)(const void *stack, struct hs_raw_frame *frames, uint32_t depth);
};
/* Some session keeps it.  Says whether it is time to name the raw stacks. */
bool rb_hs_malloc_born(const struct hs_malloc_birth *birth);
/* The block at this address is freed, at this count of GCs. */
void rb_hs_malloc_died(uintptr_t address, uint32_t gc);

/* -- sessions: [vm] ------------------------------------------------------------ */

/* false: no memory. */
bool rb_hs_malloc_session_start(int session, uint64_t interval, uint32_t thread);
void rb_hs_malloc_session_stop(int session);
bool rb_hs_malloc_session_retune(int session, uint64_t interval);
struct hs_malloc_session {
    bool on;
    uint64_t interval, first_interval, interval_changes, thinnings;
    uint64_t samples;           /* of living blocks */
};
/* [any] */
struct hs_malloc_session rb_hs_malloc_session(int session);
/* The smallest interval of all sessions; 0: none is on. */
uint64_t rb_hs_malloc_interval(void);
/* The sequence of chance begins anew. */
void rb_hs_malloc_seed(uint64_t seed);

/* -- naming: [vm] ---------------------------------- */

struct hs_malloc_raw {
    uint32_t stack, depth;
    bool truncated;
};
/* The next raw stack, with its frames; false: there is none. */
bool rb_hs_malloc_next_raw(struct hs_malloc_raw *raw, struct hs_raw_frame frames[HS_DEPTH_MAX]);
void rb_hs_malloc_named(const struct hs_malloc_raw *raw, uint32_t node);
/* All have been: what is the same becomes one. */
void rb_hs_malloc_join_stacks(void);
/* Code has died or moved: stacks are not found by their addresses any more. */
void rb_hs_malloc_forget_addresses(void);

/* -- listeners ([vm]): events/listeners.h -------------------------------------- */

struct hs_malloc_birth_copy {
    uint64_t id, size, asked;
    uint32_t gc, thread, node;
    uint16_t labels;
    hs_session_set listeners;
    uint64_t interval[HS_SESSIONS - HS_PROFILES];
};
/* Births that listeners have not been told of, oldest first, at most so many; they are forgotten here. Stacks have
 * been named. */
uint32_t rb_hs_malloc_take_births(struct hs_malloc_birth_copy *copies, uint32_t most);
/* And what has become of them; whoever takes frees it. */
struct hs_changes rb_hs_malloc_take_changes(void);
/* All of it is about to be told: another safe point will be asked for. [any] */
void rb_hs_malloc_listeners_told(void);
/* They hear nothing of what waits. */
void rb_hs_malloc_forget_listeners(hs_session_set listeners);

/* -- folding, and nodes that get other numbers: [write] ------------------- */

/* Are there so many stacks that they should be folded? */
bool rb_hs_malloc_stacks_full(void);
/* keep[node] is set for each node of a stack that stays: it has a living block,
 * or, if `spare`, has allocated often. The mutex is held until the end. */
void rb_hs_malloc_fold_begin(bool *keep, bool spare);
/* `new_node` may be NULL: they are what they were. */
void rb_hs_malloc_fold_end(const uint32_t *new_node);

/* As rb_hs_sites_see_labels and rb_hs_sites_keep_labels. [write] */
void rb_hs_malloc_see_labels(bool used[HS_LABEL_NUMBERS]);
void rb_hs_malloc_keep_labels(const bool used[HS_LABEL_NUMBERS]);

/* -- snapshots ------------------------------------------------------------------------ */

struct hs_malloc_block_copy {
    uintptr_t address;
    uint64_t size, interval;
    uint32_t stack, birth_gc, thread;
    uint32_t number;            /* its place when it was copied */
    size_t row;                 /* of the profile: which it was added to */
};
struct hs_malloc_stack_copy {
    uint32_t node;              /* or HS_MALLOC_RAW */
    uint16_t kind;              /* enum hs_malloc_kind */
    uint16_t labels;
    uint32_t native_at, native_count;   /* in `natives`, leaf first, return addresses */
};
struct hs_malloc_copy {
    struct hs_malloc_block_copy *blocks;
    struct hs_malloc_stack_copy *stacks;
    struct hs_totals *totals;   /* by stack */
    uintptr_t *natives;
    uint32_t block_count, stack_count, native_count;
    uint64_t interval, first_interval, interval_changes, thinnings;
};
/* What a session knows. false: no memory. [tables] */
bool rb_hs_malloc_copy(struct hs_malloc_copy *copy, int session);
void rb_hs_malloc_copy_free(struct hs_malloc_copy *copy);

/* What a block and a stack take at most in a snapshot, with the rows that they
 * become, bytes (asserted in profile/malloc_rows.c). */
enum { HS_SNAPSHOT_BLOCK = 288,
       HS_SNAPSHOT_STACK = 648 };
/* What all of them would take now. [any] */
size_t rb_hs_malloc_snapshot_bytes(void);

struct hs_malloc_table_stat {
    uint32_t blocks, stacks, raw;
    uint64_t dropped;           /* samples that found no memory */
};
/* [any] */
void rb_hs_malloc_table_stat(struct hs_malloc_table_stat *stat);

#if HS_CHECKING
/* The tables are what they must be. [read] */
void rb_hs_malloc_check(void);
/* For a test of the check: a stack is led to another. false: there is none. */
bool rb_hs_malloc_mislead(void);
#endif

#endif

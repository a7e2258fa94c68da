#ifndef HEAP_SAMPLER_STORE_MALLOC_TABLE_H
#define HEAP_SAMPLER_STORE_MALLOC_TABLE_H
/*
 * The store of malloc(3)'s blocks, and its index: a hash by address.
 *
 * A stack is met inside malloc, in the middle of any change to the symbol table or to a class, so nothing may be named
 * there.  So it begins *raw*: its Ruby frames are copied as addresses.  It is named, and becomes a node of the prefix
 * tree, at the first of these moments:
 *
 *   the end of a mark, before anything is swept: so no address in a raw frame is ever stale a snapshot that Ruby code
 *   waits for, and the profile at exit a job at a safe point, before a periodic profile, whose thread waits 0.1 s for
 *   it at most the same, when a raw stack is older than a second, when raw frames fill three quarters of their room, or
 *   when memory was short and stacks have to be folded
 *
 * The thread of a profile does not wait longer, since Ruby code may be in a long call: such a stack is `(not named
 * yet)` in this profile.  One job a second is enough for processes without garbage, which have no marks.  A job for
 * each new stack, a thousand a second, made Active Record's heap grow under YJIT; one each 10 ms did not
 * (doc/benchmarks.md).  A stack whose blocks have all been freed is named as well: churn shows the callers of what was
 * freed.
 *
 * Sites that turn out to be the same become one, with the sums of their blocks and totals.  A stack is found by a key
 * made of addresses, which is forgotten when code is freed or moves; the next sample of the same place is a raw site
 * again.  So allocations and frees never fall while a session goes on.
 *
 * [malloc], under a mutex of its own (base/contract.h).  Its holder takes no other lock and reads no heap slot.  Own
 * memory is never sampled (base/memory.c), so that allocating under it is safe.  No MRI header.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "heap_sampler/store/store.h"
#include "heap_sampler/sampling/capture.h"
#include "heap_sampler/sampling/malloc_hooks.h"
#include "heap_sampler/store/stack_table.h"

/* -- inside malloc -------------------------------------------------------------- */

struct hs_malloc_allocation {
    uintptr_t address;
    uint64_t size;              /* bytes, of its size class */
    uint64_t asked;             /* bytes that the caller of malloc wanted */
    uint64_t drawn_at;          /* the interval of the draw */
    uint32_t gc, thread;        /* thread 0: none of Ruby's */
    uint16_t labels;            /* the label set of its fiber: of a stack of Ruby's */
    enum hs_malloc_kind kind;
    const uintptr_t *native;
    uint32_t native_count;
    uint64_t stack_key;         /* of a stack of Ruby's: rb_hs_stack_key() */
    uint32_t depth;
    bool truncated;
    const void *stack;          /* for `copy` */
    void (*copy)(const void *stack, struct hs_raw_frame *frames, uint32_t depth);
};
/* Returns whether it is time to name the raw stacks. */
bool rb_hs_malloc_on_allocation(const struct hs_malloc_allocation *allocation);
/* The block at this address is freed, at this count of GCs. */
void rb_hs_malloc_on_free(uintptr_t address, uint32_t gc);

/* -- the store ------------------------------------------------------------------- */

extern struct hs_store rb_hs_malloc_store;

/* The mutex. */
void rb_hs_malloc_lock(void);
void rb_hs_malloc_unlock(void);

/* What this session is now, without its totals. [any] */
struct hs_session rb_hs_malloc_session(int session);
/* rb_hs_store_begin, with room for what finds none later. false: no memory. [vm] */
bool rb_hs_malloc_begin(int session, uint64_t interval, uint32_t thread);
void rb_hs_malloc_seed(uint64_t seed);

/* -- naming: [vm] ---------------------------------- */

/* The frames of the next raw stack. Returns their number; 0: there is no raw stack. */
uint32_t rb_hs_malloc_next_raw(struct hs_raw_frame frames[HS_DEPTH_MAX], bool *truncated);
/* The node of that stack. */
void rb_hs_malloc_named(uint32_t node);
/* Code was freed or has moved, or nodes have: stacks are not found by addresses any more. */
void rb_hs_malloc_forget_addresses(void);

/* -- listeners ([vm]): sampling/listeners.h -------------------------------------- */

/* Allocations that listeners have not been called for, oldest first, at most so many; they are forgotten here. Stacks
 * have been named. */
uint32_t rb_hs_malloc_take_allocations(struct hs_sampled *copies, uint32_t most);
/* And what has become of them, which the caller frees. From here on another safe point will be asked for. */
struct hs_changes rb_hs_malloc_take_changes(void);
/* They are not called for what waits. */
void rb_hs_malloc_forget_listeners(hs_session_set listeners);

/* -- for store/folding.c: under the mutex ---------------------------------------------- */

/* Are there so many sites that they should be folded? */
bool rb_hs_malloc_sites_crowded(void);
/* The node of a raw site's stack, if that was named; else `node`. */
uint32_t rb_hs_malloc_node(uint32_t node);
/* The leaf of these native frames alone. */
uint32_t rb_hs_malloc_native_leaf(uint32_t native);
/* Sites have the nodes of all stacks that were named. */
void rb_hs_malloc_joined(void);
/* Sites were folded: native frames without a site go. Nodes may have got other numbers. */
void rb_hs_malloc_folded(bool renumbered);

/* -- snapshots ------------------------------------------------------------------------ */

struct hs_malloc_block_copy {
    uintptr_t address;
    uint64_t size, interval;
    uint32_t stack, allocation_gc, thread;
    uint32_t number;            /* its place when it was copied */
    size_t row;                 /* of the profile: which it was added to */
};
#define HS_MALLOC_RAW UINT32_MAX        /* the node of a stack without a name */
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
    uint64_t interval;
};
/* What a session knows. false: no memory. [tables] */
bool rb_hs_malloc_copy(struct hs_malloc_copy *copy, int session);
void rb_hs_malloc_copy_free(struct hs_malloc_copy *copy);

/* What a block and a stack take at most in a snapshot, with the rows that they
 * become, bytes (asserted in profile/malloc_rows.c). */
enum { HS_SNAPSHOT_BLOCK = 48 + HS_SNAPSHOT_ROW,
       HS_SNAPSHOT_STACK = 408 + HS_SNAPSHOT_ROW };

struct hs_malloc_table_stat {
    uint32_t blocks, stacks, raw;
    uint64_t dropped;           /* samples that found no memory */
};
/* [any] */
void rb_hs_malloc_table_stat(struct hs_malloc_table_stat *stat);
#endif

#ifndef HEAP_SAMPLER_MALLOC_STACKS_H
#define HEAP_SAMPLER_MALLOC_STACKS_H
/*
 * The stacks that malloc's samples stand on, by handle.  jemalloc keeps the
 * handle in place of a backtrace, and gives it back when it tells what lives.
 *
 * A stack is a few native frames and, below them, a stack of Ruby's.  Its
 * life, from the sample that first meets it:
 *
 *   pending   native frames and raw Ruby frames are copied; nothing is named,
 *             since a malloc may stand in the middle of anything
 *   resolved  some place later where Ruby's data is whole (an interrupt check,
 *             the end of a mark, a snapshot that Ruby asks for) gives it a
 *             node of the prefix tree; from then on it is plain data
 *   free      it was in no dump of jemalloc's and was not met for two dumps
 *
 * Threads: a mutex of its own, the malloc mutex.  A malloc only ever tries it.
 * Whoever holds it takes no other lock and allocates nothing.  Order: VM lock,
 * the sampler's lock, then this.  No MRI header.
 */
#include "stack_table.h"

enum {
    HS_NATIVE_MAX = 24,         /* native frames of a stack */
    HS_MALLOC_STACKS_MAX = 1 << 16,
};
#define HS_MALLOC_PENDING UINT32_MAX    /* the node of a stack that is not resolved */

/* What jemalloc gets in place of the first address: a tag that no address of
 * a user's memory begins with, a kind, and the handle if it has one.  All
 * other kinds are followed by native addresses. */
enum hs_malloc_kind {
    HS_MALLOC_STACK,            /* a handle */
    HS_MALLOC_AT_BOOT,          /* before there was a Ruby to ask */
    HS_MALLOC_AT_GC,
    HS_MALLOC_AT_NO_GVL,        /* a thread that does not hold it, or that Ruby does not know */
    HS_MALLOC_AT_BUSY,          /* the mutex was taken, or there was no room for the stack */
    HS_MALLOC_AT_SAMPLER,       /* the sampler's own memory */
    HS_MALLOC_AT_NO_FRAME,      /* Ruby has begun, no frame has */
    HS_MALLOC_KINDS
};
#define HS_MALLOC_TAG UINT64_C(0xa5f1)

static inline uint64_t
hs_malloc_word(enum hs_malloc_kind kind, uint32_t handle)
{
    return HS_MALLOC_TAG << 48 | (uint64_t)kind << 40 | handle;
}

/* False: an address. */
static inline bool
hs_malloc_word_read(uint64_t word, enum hs_malloc_kind *kind, uint32_t *handle)
{
    if (word >> 48 != HS_MALLOC_TAG) return false;
    *kind = (enum hs_malloc_kind)(word >> 40 & 0xff);
    *handle = (uint32_t)word;
    return *kind < HS_MALLOC_KINDS;
}

/* A copy of a stack. */
struct hs_malloc_stack {
    uint64_t taken;             /* samples */
    uint32_t node;              /* or HS_MALLOC_PENDING */
    bool used;                  /* false: its handle is free */
    uint32_t native_count;
    uintptr_t native[HS_NATIVE_MAX];    /* leaf first, return addresses */
};

struct hs_malloc_stack_stat {
    uint32_t stacks, pending;
    uint64_t taken;             /* samples with a stack */
    uint64_t no_room;           /* that found no room for theirs */
};

/* Room for the first stacks. Any thread; false: no memory. */
bool rb_hs_malloc_stacks_open(void);
/* More room, if there is little; whether there should be a dump, to find what
 * can be freed. Not inside malloc. */
bool rb_hs_malloc_stacks_make_room(void);
void rb_hs_malloc_stacks_stat(struct hs_malloc_stack_stat *stat);

/* -- inside malloc: try_lock, then one of the two, then unlock ------------- */
bool rb_hs_malloc_stacks_try_lock(void);
void rb_hs_malloc_stacks_unlock(void);
/* A sample of a known stack; its handle, or UINT32_MAX: it is not known. */
uint32_t rb_hs_malloc_stack_take(const struct hs_stack_hash *hash);
/* A new one: where to put its raw frames; *room of the `depth` there are, from
 * the leaf. NULL: no room. */
struct hs_raw_frame *rb_hs_malloc_stack_add(const struct hs_stack_hash *hash, const uintptr_t *native, uint32_t native_count,
                                            uint32_t depth, bool truncated, uint32_t *handle, uint32_t *room);

/* -- where Ruby's data is whole: one thread at a time ----------------------- */
struct hs_malloc_pending {
    uint32_t handle, depth;
    bool truncated;
    const struct hs_raw_frame *frames;  /* until all that is pending is resolved */
};
/* The next one that is pending; false: none. */
bool rb_hs_malloc_stacks_pending(struct hs_malloc_pending *pending);
void rb_hs_malloc_stack_resolve(const struct hs_malloc_pending *pending, uint32_t node);
/* Code has died or moved: stacks are found anew by their addresses. */
void rb_hs_malloc_stacks_forget_addresses(void);

/* -- nodes get other numbers: the sampler's lock ---------------------------- */
void rb_hs_malloc_stacks_keep_nodes(bool *keep);
void rb_hs_malloc_stacks_renumber(const uint32_t *new_node);

/* -- dumps ------------------------------------------------------------------ */
/* A dump is about to be made; its number for the next two. */
uint32_t rb_hs_malloc_stacks_begin_dump(void);
/* Copies a stack that the dump lists; false: there is none of that handle. */
bool rb_hs_malloc_stack_listed(uint32_t dump, uint32_t handle, struct hs_malloc_stack *copy);
/* It has been dealt with. If all that it lists was told, what nobody refers to
 * is freed. */
void rb_hs_malloc_stacks_end_dump(bool told);

/* fork: take the mutex before, leave it on both sides. */
void rb_hs_malloc_stacks_lock(void);
/* In the child, with the mutex: the threads that dumped are not there. */
void rb_hs_malloc_stacks_in_child(void);

#endif

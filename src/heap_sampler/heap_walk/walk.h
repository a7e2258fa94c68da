#ifndef HEAP_SAMPLER_HEAP_WALK_WALK_H
#define HEAP_SAMPLER_HEAP_WALK_WALK_H
/*
 * What the forked child does (launch.h): its memory and numbers of objects, the
 * walk, its roots, threads that can never wake, blocks of malloc, chains, pins, and
 * what would be freed.  The child has one thread: no lock.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "ruby/ruby.h"
#include "heap_sampler/heap_walk/edge.h"
#include "heap_sampler/heap_walk/launch.h"
#include "heap_sampler/heap_walk/retainers.h"

/* -- slot_index.c ------------------------------------------------------------------------
 *
 * Memory of the child, which may not call malloc(3): another thread of its parent
 * may have held a lock of malloc's at the fork.  Each table maps as much as it may
 * ever need; only what is touched is memory.  Nothing is given back.
 */

/* Zeroes; NULL: the kernel has no addresses left, or the process's limit (ulimit -v) is reached. */
void *rb_hs_arena_map(size_t bytes);
/* Like rb_hs_map_put, in this memory. False: there is none. */
bool rb_hs_arena_put(struct hs_map *map, uint64_t key, uint32_t value);
/* What of all that was mapped is in memory, bytes. */
uint64_t rb_hs_arena_resident(void);

/*
 * Objects by number, and for each the number of what it was reached from.
 *
 *     number of an object    page * 2048 + slot on the page; pages count from 1
 *     place                  first place of the page + slot
 *     from[place]            0: not reached; else the number of its parent, or of
 *                            what is no object: a root, or a node of chains
 *
 * So a walk costs 4 bytes a slot.  A table has the page of each 64 KiB of
 * addresses: three loads find an object's number.
 */
enum { HS_PAGE_BITS = 16,
       HS_SLOT_BITS = 11,
       HS_SLOT_MASK = (1 << HS_SLOT_BITS) - 1 };

/* Numbers from here on are no objects. */
#define HS_NODE_NUMBERS UINT32_C(0xfffe0000)
#define HS_ROOT_NUMBERS UINT32_C(0xffff0000)
#define HS_NO_OBJECT UINT32_C(0)

struct hs_index_page {
    uintptr_t start;            /* of its first slot */
    uint32_t first;             /* place of its first slot */
    uint32_t by_size;           /* 2^32 / slot_size, rounded up: to divide by it */
    uint16_t slot_size, slots;
};

struct hs_slot_index {
    struct hs_index_page *pages;        /* page 0 is none */
    uint32_t page_count;        /* with that */
    uint32_t slots;             /* places */
    uint32_t *page_of_block;    /* by 64 KiB of addresses, from `first_block` on; 0: none */
    uintptr_t first_block, blocks;
    uint32_t *from;
};

/* Makes the index of all heap pages. False: there is no memory, or too many pages (128 GiB). */
bool rb_hs_index_make(struct hs_slot_index *index);

/* HS_NO_OBJECT: it lies in no heap page. */
static inline uint32_t
hs_index_number(const struct hs_slot_index *index, VALUE object)
{
    uintptr_t block = ((uintptr_t)object >> HS_PAGE_BITS) - index->first_block;
    if (block >= index->blocks) return HS_NO_OBJECT;
    uint32_t number = index->page_of_block[block];
    const struct hs_index_page *page = &index->pages[number];
    uint64_t offset = (uintptr_t)object - page->start;
    uint64_t slot = offset * page->by_size >> 32;
    return number && offset < 65536 && slot < page->slots ? number << HS_SLOT_BITS | (uint32_t)slot : HS_NO_OBJECT;
}

static inline uint32_t
hs_index_place(const struct hs_slot_index *index, uint32_t number)
{
    return index->pages[number >> HS_SLOT_BITS].first + (number & HS_SLOT_MASK);
}

static inline uint32_t *
hs_index_from(const struct hs_slot_index *index, uint32_t number)
{
    return &index->from[hs_index_place(index, number)];
}

static inline VALUE
hs_index_object(const struct hs_slot_index *index, uint32_t number)
{
    const struct hs_index_page *page = &index->pages[number >> HS_SLOT_BITS];
    return (VALUE)(page->start + (number & HS_SLOT_MASK) * (uintptr_t)page->slot_size);
}

/* A set of objects as bits by place. */
enum { HS_WORD = 64 };
/* NULL: there is no memory. */
static inline uint64_t *
hs_bits_make(const struct hs_slot_index *index)
{
    return rb_hs_arena_map((index->slots / HS_WORD + 1) * sizeof(uint64_t));
}

static inline void
hs_bit_set(const struct hs_slot_index *index, uint64_t *bits, uint32_t number)
{
    uint32_t place = hs_index_place(index, number);
    bits[place / HS_WORD] |= UINT64_C(1) << place % HS_WORD;
}

static inline bool
hs_bit_p(const struct hs_slot_index *index, const uint64_t *bits, uint32_t number)
{
    uint32_t place = hs_index_place(index, number);
    return bits[place / HS_WORD] >> place % HS_WORD & 1;
}

/* -- walk.c ---------------------------------------------------------------------------------
 *
 * The walk: breadth first from the roots, so that what an object was reached from
 * lies on a shortest chain.  Shortest is not best: a value that a constant holds,
 * four links deep, may also be in a local variable, or in a cache of the VM, one
 * link deep.  So there are three passes, each complete before the next begins:
 *
 *   lasting    constants, classes, global variables, what the VM and C code hold
 *   running    stacks of threads and fibers, and what a Binding has of them
 *   cached     call caches, constant caches, compiled code's, names of dynamic symbols
 *
 * A level is a queue while it is short, in the order in which it was reached:
 * where two chains are equally short the one from the first root wins.  A long
 * level is a bit for each slot, or its queue would take more than all else.
 */
enum hs_pass { HS_PASS_LASTING,
               HS_PASS_RUNNING,
               HS_PASS_CACHED,
               HS_PASSES };

/* A set of objects by number: a queue or bits, by its length. */
struct hs_level {
    uint32_t *queue;
    uint32_t count;             /* in the queue */
    bool wide;                  /* they are bits */
    uint64_t *bits;             /* by place */
};

struct hs_walk {
    struct hs_slot_index index;
    struct hs_level now, next;
    uint32_t queue_most;
    uint64_t *later[HS_PASSES];         /* reached, and to be gone through in a later pass: bits */
    enum hs_pass pass;
    VALUE *guesses;                     /* words of machine stacks, for the end of the pass: a local variable says more */
    uint32_t guess_count;
    uint32_t from;              /* the number of what is gone through */
    bool from_ractor, from_stack, from_resumer;
    struct hs_found *found;     /* what the parent will read: nodes, texts, figures, and what runs just now */
    /* Called with each object that is gone through; may be NULL. */
    void (*each)(VALUE object, uint32_t number);
    /* Is it a Thread that its Ractor does not lead to, since it may never wake? NULL: there is none. */
    bool (*held_back)(VALUE thread);
    /* A stack that was reached is not gone through, since it returns true: rb_hs_walk_go_on does that later, if ever. May be NULL. */
    bool (*put_off)(struct hs_walk *walk, VALUE stack, uint32_t number);
    /* Called with each reference that keeps GC.compact from moving the object; may be NULL. `maybe`: it was found on a machine
     * stack, or in other memory that may hold none. */
    void (*pin)(struct hs_walk *walk, VALUE object, uint32_t from, bool maybe);
    bool trying;                /* what is reached now is noted, and rb_hs_walk_take_back makes it unreached again */
    uint64_t *tried;            /* bits */
    uint64_t *resumable;        /* bits: to which T_DATA or the locals of a block refer (waiters.c) */
    VALUE without;              /* as if nothing referred to it (retained_size.c); 0: none */
};

/* Is this T_DATA a thread, a fiber or a binding? Its references are local variables. */
bool rb_hs_walk_stack_p(VALUE object);
/* False: no memory. */
bool rb_hs_walk_make(struct hs_walk *walk, struct hs_found *found);
/* `object` is reached from `from`, an object's number or a root's, unless it is left out. */
void rb_hs_walk_reach(struct hs_walk *walk, VALUE object, uint32_t from);
/* The same by a reference that may pin the object, as the array of finalizers in MRI's table is pinned. */
void rb_hs_walk_follow(struct hs_walk *walk, VALUE object, uint32_t from, enum rb_heap_sampler_reference reference);
/* From all that was reached, and what was put off to this pass, as far as it goes. */
void rb_hs_walk_pass(struct hs_walk *walk, enum hs_pass pass);
/* Go through an object that was put off, with the next pass. */
void rb_hs_walk_go_on(struct hs_walk *walk, uint32_t number);
/* Ends `trying`, in which the last pass alone may run. */
void rb_hs_walk_take_back(struct hs_walk *walk);
/* Nothing is reached: another walk begins. */
void rb_hs_walk_clear(struct hs_walk *walk);

static inline bool
hs_walk_reached_p(const struct hs_walk *walk, VALUE object)
{
    uint32_t number = hs_index_number(&walk->index, object);
    return number && *hs_index_from(&walk->index, number);
}

/* -- roots.c ----------------------------------------------------------------------------------
 *
 * Where a walk begins, in this order: a constant's name says more than any other.
 *
 *   Object's constants, theirs, and so on: all modules that have a name
 *   global variables
 *   blocks of at_exit
 *   what the VM has, and libraries have registered; then its Ractors, and so their threads
 *   (after the running pass, since a local variable's name says more) the machine stack of the thread that forked
 *   (in the cached pass) compiled code, and names of symbols that were made from strings
 *   (after all) finalizers
 *
 * MRI's table of finalizers is a root, and an entry leaves it when its object is
 * freed.  So the object retains its blocks (walk.c follows them as a reference), and
 * the table retains the others: of objects to which nothing, or only their own
 * finalizers, refer.
 */

/* False: no memory. */
bool rb_hs_roots_read(struct hs_walk *walk);
/* All passes, from what was read. */
void rb_hs_roots_walk(struct hs_walk *walk);
/* At the end of a walk without an object: objects that only their own finalizers retain now are reached.  True: there are some. */
bool rb_hs_finalizers_settle(struct hs_walk *walk);

/* -- waiters.c --------------------------------------------------------------------------------
 *
 * Threads and fibers that can never wake.
 *
 * A thread that waits for a Queue, SizedQueue, Mutex, ConditionVariable or another
 * Thread, without a time limit, is woken by code that has that object.  Code that
 * has the Thread itself can wake it, too (Thread#wakeup, #raise, #kill; Thread.list
 * does not count).  If only threads that wait in this way lead to these, the thread
 * and all that its stack holds stay for ever.  So its Ractor does not lead to it.
 * After the walk a thread whose object, or Thread, was reached is live.  What it
 * holds is then reached through it, until no more are found.  The others are stuck.
 *
 * Under a fiber scheduler Queue#pop, SizedQueue#push, Mutex#lock and Thread#join call
 * Fiber::Scheduler#block(blocker, timeout), which lets other fibers run.  The frames of
 * the fiber that waits are then
 *
 *     the scheduler's own     transfer, …
 *     block                   self: the scheduler; blocker, timeout (a timer wakes the fiber)
 *     Queue#pop               self: the blocker
 *
 * Such a fiber is retained by its scheduler, which wakes it when the blocker says so.
 * The walk puts it off until the blocker is reached, or what may resume the fiber: a
 * variable of a block, or C code, that has it.  References of an object, Array, Hash
 * or Struct do not count: schedulers keep their books in these.
 */

/* False: no memory. */
bool rb_hs_waiters_read(struct hs_walk *walk);
/* Another walk begins. */
void rb_hs_waiters_forget(void);
void rb_hs_waiters_settle(struct hs_walk *walk);
/* After that: the number of the next Thread or Fiber that is stuck, from *at on, which is 0 at first; HS_NO_OBJECT: no more. */
uint32_t rb_hs_waiters_next_stuck(uint32_t *at);
/* "waits for Thread::Queue", "fiber waits for Thread::Queue", and where. */
void rb_hs_waiter_edge(VALUE stack, struct hs_edge *edge);

/* -- blocks.c ---------------------------------------------------------------------------------
 *
 * Which object a wanted block of malloc belongs to: the first that is reached of
 * those that own it (rb_hs_owned_blocks), or an object of a C extension that leads
 * to it.
 *
 * No rule says where C code has its pointers.  But some word of the object's struct
 * is the address of the block, or of another block with such a word.  So all words
 * are looked at, as by a conservative collector, from all these objects at once and
 * step by step: the nearest object gets a block.  Objects that lasting references
 * lead to come first.  A word that only looks like an address may name the wrong
 * object: memory that is used again still has the addresses of blocks that C code
 * has lost.  So an object on a stack does not get an old block, unless the object,
 * or what the stack has of it, is old itself.  The number of steps is bounded, so the far end
 * of a large structure may be left out.  Only blocks of jemalloc are followed.
 */

/* Before the walk, whose `each` it sets, if blocks are wanted. `owners` by position: the number of the object. False: no memory. */
bool rb_hs_blocks_make(struct hs_walk *walk, const struct hs_wanted *wanted, uint32_t *owners);
/* After it: what extensions have. */
void rb_hs_blocks_follow(void);

/* -- chains.c ---------------------------------------------------------------------------------
 *
 * Chains as a tree: from what each object was reached from, read backwards, to
 * nodes with names.
 *
 *     (constants) -- Report::BADGES -- [] of Array -- @label of Badge
 *     root           node              node           node: of 60 Strings
 *
 * A node is a reference by its name, below the node of the chain before it; so
 * the chains of a million elements of one array are one node.  What repeats is folded:
 * a list of a million links is one node, and so are the levels of a tree whose links
 * have up to four steps.
 *
 * Each object on a chain is named once: then its node stands in place of the
 * object that it was reached from.  A chain is read without memory: on the way
 * up each object is led to the one below it, as by pointer reversal.  All objects on
 * chains are marked before the first is named, so that a large array or hash is gone
 * through once for all chains.
 */
struct hs_chains {
    struct hs_walk *walk;
    VALUE *objects;             /* by node: the first that it stands for */
    struct hs_map node_by_name, text_by_hash;
    uint64_t *marked;           /* objects on chains: bits by place */
    uint32_t constant;          /* the text of that kind */
    bool counted_all;           /* what is named from now on counts for no node */
};

/* False: no memory. */
bool rb_hs_chains_make(struct hs_chains *chains, struct hs_walk *walk);
/* The object is on a chain that is to be named, and so is all on the way to it. Before the first is named. */
void rb_hs_chain_mark(struct hs_chains *chains, uint32_t number);
/* The node of an object that was marked, HS_TOP_NOT_REACHED where it was not reached. */
uint32_t rb_hs_chain_node_of(struct hs_chains *chains, uint32_t number);
/* After all chains have their nodes: sets entries and bounds of the containers. */
void rb_hs_chains_count_entries(struct hs_chains *chains);
/* The node of a reference to `object` below another node, by its name. */
uint32_t rb_hs_chain_node_below(struct hs_chains *chains, uint32_t node, const struct hs_edge *edge, VALUE object);

/* -- pins.c -----------------------------------------------------------------------------------
 *
 * What pins samples: of each sample that GC.compact must not move, a reference
 * that says so.  A heap page with one such object stays, however empty it is.
 *
 *     Foo (foo in foo.so) --rb_gc_mark--> String      data of Foo
 *     machine stack of a thread  --?--> String        C stack of Thread, and where that thread stands
 *     frame of a method ---> String                   local text of Report#draw
 *     Hash#compare_by_identity ---> key               {} key of Hash
 *
 * What a mark function knows to be a reference goes before what a machine stack
 * may have, and else the first that the walk meets.  The last full mark said
 * what is pinned; where the walk finds no pin, there is none any more.
 */

/* Before the walk, which notes pins from then on. `numbers` of the objects, by position. False: no memory. */
bool rb_hs_pins_read(struct hs_walk *walk, const struct hs_wanted *wanted, const uint32_t *numbers);
/* After all samples have their chains; no pin is noted any more. */
void rb_hs_pins_name(struct hs_chains *chains, const struct hs_wanted *wanted);

/* -- retained_size.c ----------------------------------------------------------------------------
 *
 * What would be freed if a holder were emptied?  The heap is walked again as if
 * nothing referred to the holder: samples that are not reached any more would be
 * freed.  What two holders retain is freed by neither alone.  All references to it
 * are left out, since caches of code and variables of what runs have the values of
 * constants, too.
 *
 * For the nodes with the most bytes that stand for one reference: a constant, a
 * variable, a value of one hash.  After all chains have names, while there is time.
 */

/* `owners` by position: the number of an object, or of the object that a block belongs to. Sets found->freed. */
void rb_hs_without(struct hs_chains *chains, const struct hs_wanted *wanted, const uint32_t *owners, uint64_t until_ns);

#endif

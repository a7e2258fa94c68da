#ifndef HEAP_SAMPLER_HOLDERS_WALK_H
#define HEAP_SAMPLER_HOLDERS_WALK_H
/*
 * The walk: breadth first from the roots, so that what an object was reached
 * from lies on a shortest chain.
 *
 * Shortest is not best: a value that a constant holds, four links deep, may be
 * in a local variable of the request that runs just now, or in a cache of the
 * VM, one link deep.  So there are three passes, each complete before the next
 * begins, and what is reached in one is not looked at again:
 *
 *   lasting    constants, classes, global variables, what the VM and C code hold
 *   running    stacks of threads and fibers, and what a Binding has of them
 *   cached     call caches, constant caches, compiled code's, names of dynamic symbols
 *
 * A level is a queue while it is short, in the order in which it was reached:
 * where two chains are equally short the one from the first root wins.  A long
 * level is a bit for each slot, or its queue would take more than all else.
 *
 * In the child.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "ruby/ruby.h"
#include "heap_sampler/account/cgroup.h"
#include "heap_sampler/holders/slot_index.h"

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

/* What the child does, for its parent: it may hang or crash in an extension's mark function. In memory that both have. */
struct hs_progress {
    uint64_t objects, edges;
    char type[96];              /* of the T_DATA whose mark function runs; "": none does */
    struct hs_memory_room room; /* that was left when the child ended for want of it */
};

/* A word of a machine stack that looks like a reference. */
struct hs_guess {
    VALUE child;
    uint32_t from;
};

struct hs_walk {
    struct hs_slot_index index;
    struct hs_level now, next;
    uint32_t queue_most;
    uint64_t *later[HS_PASSES];         /* reached, and to be gone through in a later pass: bits */
    enum hs_pass pass;
    struct hs_guess *guesses;           /* for the end of the pass: a local variable that leads there says more */
    uint32_t guess_count;
    uint32_t from;              /* the number of what is gone through */
    bool from_ractor, from_stack;
    struct hs_progress *progress;
    /* Called with each object that is gone through; may be NULL. */
    void (*each)(struct hs_walk *walk, VALUE object, uint32_t number);
    void *data;                 /* of `each` */
    /* Threads that their Ractor does not lead to: they may never wake (waiters.h). */
    const VALUE *held_back;
    uint32_t held_back_count;
    /* A stack that was reached is not gone through, since it returns true: rb_hs_walk_go_on does that later, if ever. May be NULL. */
    bool (*put_off)(struct hs_walk *walk, VALUE stack, uint32_t number);
    /* Called with each reference that keeps GC.compact from moving the object; may be NULL. `maybe`: it was found on a machine
     * stack, or in other memory that may hold none. */
    void (*pin)(struct hs_walk *walk, VALUE object, uint32_t from, bool maybe);
    bool trying;                /* what is reached is noted, to be taken back: */
    uint64_t *tried;            /* bits */
    VALUE without;              /* as if nobody referred to it (without.c); 0: none */
};

/* Is this T_DATA a thread, a fiber or a binding? Its references are local variables. */
bool rb_hs_walk_stack_p(VALUE object);
/* False: no memory. */
bool rb_hs_walk_make(struct hs_walk *walk, struct hs_progress *progress);
/* `object` is reached from `from`, an object's number or a root's, unless it is left out. */
void rb_hs_walk_reach(struct hs_walk *walk, VALUE object, uint32_t from);
/* The array of blocks that MRI's table has for an object; the table pins it. */
void rb_hs_walk_reach_finalizers(struct hs_walk *walk, VALUE blocks, uint32_t from);
/* From all that was reached, and what was put off to this pass, as far as it goes. */
void rb_hs_walk_pass(struct hs_walk *walk, enum hs_pass pass);
/* Go through an object that was put off, with the next pass. */
void rb_hs_walk_go_on(struct hs_walk *walk, uint32_t number);
/* What is reached from now on, with the last pass, can be taken back: then it was not, and what comes is reached for good. */
void rb_hs_walk_try(struct hs_walk *walk);
void rb_hs_walk_take_back(struct hs_walk *walk);
/* All objects that were reached so far. */
void rb_hs_walk_each_reached(const struct hs_walk *walk, void (*visit)(const struct hs_walk *walk, VALUE object, uint32_t number));
/* Nothing is reached. */
void rb_hs_walk_clear(struct hs_walk *walk);

static inline bool
hs_walk_reached_p(const struct hs_walk *walk, VALUE object)
{
    uint32_t number = hs_index_number(&walk->index, object);
    return number && *hs_index_from(&walk->index, number);
}

#endif

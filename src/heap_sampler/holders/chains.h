#ifndef HEAP_SAMPLER_HOLDERS_CHAINS_H
#define HEAP_SAMPLER_HOLDERS_CHAINS_H
/*
 * Chains as a tree: from what each object was reached from, read backwards, to
 * nodes with names.
 *
 *     (constants) -- Report::BADGES -- [] of Array -- @label of Badge
 *     root           node              node           node: of 60 Strings
 *
 * A node is a reference by its name, below the node of the chain before it; so
 * the chains of a million elements of one array are one node.
 *
 * Each object on a chain is named once: then its node stands in place of the
 * object that it was reached from.  A chain is read without memory: on the way
 * up each object is led to the one below it, as by pointer reversal.
 *
 * What a large array or hash refers to is gone through once for all chains: so
 * all objects on chains are marked before the first is named.
 *
 * What repeats is folded: a list of a million links is one node, not a million,
 * and so are the levels of a tree whose links have up to four steps.
 *
 * In the child.
 */
#include <stdbool.h>
#include <stdint.h>
#include "heap_sampler/holders/ask.h"
#include "heap_sampler/holders/edge.h"
#include "heap_sampler/holders/holders.h"
#include "heap_sampler/holders/walk.h"

struct hs_chain_node {
    uint32_t parent;            /* a lower number; of a root its own */
    uint32_t kind;              /* enum hs_edge_kind */
    uint32_t name, klass, path; /* texts; `klass` of the object that is referred to */
    uint32_t line;
    uint32_t objects;           /* that are on chains, here */
    uint32_t folded;            /* of these, those that were folded into it */
    VALUE object;               /* the first of these */
    uint32_t next;              /* with the same hash, + 1 */
};

struct hs_chains {
    struct hs_walk *walk;
    struct hs_chain_node *nodes;        /* the first are the roots (roots.h) */
    struct hs_holder_text *texts;        /* text 0 is empty */
    char *bytes;
    uint32_t node_count, text_count, byte_count;
    uint32_t *node_hash, *text_hash;    /* number + 1; chained by `next`, probed */
    uint32_t node_places, text_places;  /* of these: they grow, for each place that is used is a page of memory while few are */
    uint64_t *marked;           /* objects on chains: bits by place */
    uint32_t kind_texts[HS_EDGE_KIND_COUNT];    /* their words */
    bool settled;               /* what is named from now on counts for no node */
    uint32_t evicted;           /* names that found no room */
};

/* False: no memory. */
bool rb_hs_chains_make(struct hs_chains *chains, struct hs_walk *walk);
/* The object is on a chain that is to be named, and so is all on the way to it. Before the first is named. */
void rb_hs_chain_mark(struct hs_chains *chains, VALUE object);
/* The node of an object that was marked, HS_TOP_NOT_REACHED where it was not reached. */
uint32_t rb_hs_chain_node_of(struct hs_chains *chains, VALUE object);
/* The node of a reference to `object` below another node, by its name. */
uint32_t rb_hs_chain_node_below(struct hs_chains *chains, uint32_t node, const struct hs_edge *edge, VALUE object);
/* A node of `chains` as the parent is to have it. */
struct hs_holder rb_hs_chain_holder(const void *chains, uint32_t node);

/*
 * Who pins: of each sample that GC.compact must not move, a reference that says
 * so.  A heap page with one such object stays, however empty it is.
 *
 *     Foo (foo in foo.so) --rb_gc_mark--> String      data of Foo
 *     machine stack of a thread  --?--> String        C stack of Thread, and where that thread stands
 *     frame of a method ---> String                   local text of Report#draw
 *     Hash#compare_by_identity ---> key               {} key of Hash
 *
 * What a mark function knows to be a reference goes before what a machine stack
 * may have, and else the first that the walk meets.  The last full mark said
 * what is pinned; where the walk finds no pin, there is none any more.
 *
 * In the child.
 */

/* Before the walk, which notes pins from then on. False: no memory. */
bool rb_hs_pins_read(struct hs_walk *walk, const struct hs_wanted *wanted);
/* After all samples have their chains; no pin is noted any more. By position; NULL: no memory. */
const struct hs_pin_nodes *rb_hs_pins_name(struct hs_chains *chains, const struct hs_wanted *wanted);

/*
 * What would be freed if a holder were emptied?  The heap is walked again as if
 * nobody referred to it: samples that are not reached any more would be freed.
 * What two holders keep is freed by neither alone.  Not one reference alone is
 * left out: caches of code have the values of constants, and what runs just now
 * has some in variables, too; who empties a Hash empties it for all of them.
 *
 * Asked for the nodes with the most bytes that stand for one reference: a
 * constant, a variable, a value of one hash.  In the child, after all chains
 * have names, while there is time.
 */

/* Where the samples are. */
struct hs_found {
    const struct hs_wanted *wanted;
    const uint32_t *object_nodes, *block_nodes;
    const uint32_t *owners;     /* of blocks: numbers of objects, HS_NO_OBJECT where nobody has one */
};

/* Returns how many of `freed` it has set. */
uint32_t rb_hs_without(struct hs_chains *chains, const struct hs_found *found, struct hs_freed freed[HS_FREED_MOST], uint64_t until_ns);

#endif

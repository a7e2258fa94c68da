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

#endif

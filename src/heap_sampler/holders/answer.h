#ifndef HEAP_SAMPLER_HOLDERS_ANSWER_H
#define HEAP_SAMPLER_HOLDERS_ANSWER_H
/*
 * The child's answer as bytes in a memfd: a head, then its arrays one behind
 * the other.  Who reads trusts nothing of it: the child may have ended half-way,
 * or an extension may have written over its memory.  Plain data; no MRI header,
 * tested alone.
 */
#include "heap_sampler/holders/holders.h"

struct hs_answer {
    const void *tree;           /* of the nodes */
    struct hs_holder (*node)(const void *tree, uint32_t number);
    const struct hs_holder_text *texts;
    const char *bytes;
    uint32_t node_count, text_count, byte_count;
    const uint32_t *object_nodes, *block_nodes;
    const struct hs_pin_nodes *object_pins;
    uint32_t object_count, block_count;
    struct hs_holder_figures figures;
    struct hs_freed freed[HS_FREED_MOST];
    uint32_t freed_count;
};

/* In the child. False: it could not be written. */
bool rb_hs_answer_write(int fd, const struct hs_answer *answer);
/* What an answer must have: as many objects and blocks as were asked for. Sets into->refusal. [any] */
void rb_hs_answer_read(int fd, uint32_t objects, uint32_t blocks, struct hs_holders *into);

#endif

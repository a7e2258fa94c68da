#ifndef HEAP_SAMPLER_HOLDERS_BLOCKS_OF_C_H
#define HEAP_SAMPLER_HOLDERS_BLOCKS_OF_C_H
/*
 * Which object of a C extension leads to a block of malloc.
 *
 * Nobody says where C code has its pointers. But a block that an extension needs
 * is one that its object leads to: some word of the object's struct is the
 * address of the block, or of another block with such a word. So all words are
 * looked at, as by a conservative collector, from all these objects at once and
 * step by step: a block belongs to the object that is nearest to it.
 *
 * A word that only looks like an address may name the wrong object. Where objects
 * share a list, each leads to the blocks of all; the nearest object gets a block.
 * The number of steps is bounded, so of a large structure the far end may be left.
 *
 * Asked for are only blocks that no object owns in a way that is known
 * (rb_hs_owned_blocks).  Only blocks of jemalloc are followed.
 *
 * In the child: arena.h.
 */
#include "heap_sampler/holders/slot_index.h"

/* For these objects. False: no memory. */
bool rb_hs_c_blocks_make(const struct hs_slot_index *index);
/* An object that is reached, and its number. Others than those of extensions do not count. */
void rb_hs_c_blocks_note(VALUE object, uint32_t number);
/* Calls `found` with each word that is met on the way, and the number of the object that leads there. The nearest come
 * first; `found` is to know whether it is a block. */
void rb_hs_c_blocks_follow(void (*found)(const void *pointer, uint32_t number));

#endif

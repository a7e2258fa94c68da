#ifndef HEAP_SAMPLER_STORE_STACK_TABLE_H
#define HEAP_SAMPLER_STORE_STACK_TABLE_H
/*
 * Stacks, as a tree of frames that all stacks share, and the ways to find one.
 *
 *   raw stack --(whole-stack map)--> node
 *   raw frame --(code entry, line)--> frame      when the raw stack is new
 *   parent node, frame --(tree)--> node
 *
 * A raw frame names a piece of code by its address (iseq, or method entry of a
 * C method) and a place in it by its pc.  Addresses are weak: what GC frees or
 * moves is forgotten or renamed in rb_hs_codes_sweep and rb_hs_codes_move, and
 * either empties the whole-stack map.  Frames and nodes are plain data: two
 * pieces of code with the same texts are one code.  Both stay until
 * store/folding.c makes room.
 *
 * [write]; what only finds or counts: [read].
 */
#include <stdbool.h>
#include <stdint.h>

struct hs_frame {
    uint32_t label;             /* text: class-qualified, as MRI prints it */
    uint32_t path;              /* text: as in Location#path */
    uint32_t absolute_path;     /* text: as in Location#absolute_path, or "" */
    uint32_t line;              /* 0: none */
    uint64_t address;           /* of native code; 0: a frame of Ruby's; HS_FRAME_FREE */
};
#define HS_FRAME_FREE UINT64_MAX        /* the number stands for no frame */

/* A stack is a node: the node's frame is the leaf, its parents lead to the
 * root.  Node 0 is the empty stack and has no frame. */
struct hs_node {
    uint32_t parent;
    uint32_t frame;
};

enum { HS_NODE_EMPTY = 0 };

struct hs_raw_frame {
    uintptr_t code;             /* the iseq, or the method entry of a C method */
    uintptr_t pc;               /* 0: a C method */
    uintptr_t method;           /* the method entry that it runs for, or 0: names it when it is new */
};

extern struct hs_frame *rb_hs_frames;
extern uint32_t rb_hs_frame_count;
extern struct hs_node *rb_hs_nodes;
extern uint32_t rb_hs_node_count;
/* How often nodes got other numbers. */
extern uint32_t rb_hs_nodes_generation;
/* The number of a stack that others may know: 0 is the empty one. [read] */
static inline uint64_t
hs_stack_number(uint32_t node)
{
    return node == HS_NODE_EMPTY ? 0 : (uint64_t)(rb_hs_nodes_generation + 1) << 32 | node;
}

/* How often each limit was hit. */
struct hs_stack_drops {
    uint64_t stacks, frames;
};
extern struct hs_stack_drops rb_hs_stack_drops;
/* How many nodes there may be. */
uint32_t rb_hs_nodes_max(void);

/* The key of a whole stack: a hash that the walk over the frames adds up, leaf first.
 * One word identifies a frame: a pc lies in the code of one living iseq only, and
 * the map is emptied when one is freed. Two polynomials, the second over words with
 * their halves swapped, since the low bits of a sum know nothing of the high. */
struct hs_stack_hash {
    uint64_t a, b;
};

static inline void
hs_stack_hash_add(struct hs_stack_hash *hash, uint64_t word)
{
    hash->a = hash->a * UINT64_C(0x9e3779b97f4a7c15) + word;
    hash->b = hash->b * UINT64_C(0xc2b2ae3d27d4eb4f) + (word << 32 | word >> 32);
}

uint64_t rb_hs_stack_key(struct hs_stack_hash hash, uint32_t depth, bool truncated);
bool rb_hs_stack_find(uint64_t key, uint32_t *node);
void rb_hs_stack_remember(uint64_t key, uint32_t node);

/* Code entries. */
struct hs_code {
    uintptr_t address;
    uint32_t label, path, absolute_path;        /* texts */
    bool shown_at_caller;       /* its frames have the path and line of their caller's frame */
    bool merges_caller;         /* a rescue or ensure: it hides the frame of its method */
    bool old;                   /* only a major GC can free it */
};
/* An entry moves when another is added. NULL: none; or no memory. */
struct hs_code *rb_hs_code_find(uintptr_t address);
struct hs_code *rb_hs_code_add(struct hs_code code);
/* The code's frame at this line, or, of a code shown at its caller, where this frame is; UINT32_MAX: there is none. */
uint32_t rb_hs_code_frame(const struct hs_code *code, uint32_t line, uint32_t caller);
/* Are there very many? [read] */
bool rb_hs_codes_full_p(void);
/* Forget all codes. The keys of raw stacks are to be forgotten, too. */
void rb_hs_codes_forget(void);

/* A frame without a file, such as (GC); `(evicted)` when there are too many frames. */
uint32_t rb_hs_frame_synthetic(const char *label);
/* How many there are; and are there more than so many sixteenths of what there may be? [read] */
uint32_t rb_hs_frames_used(void);
bool rb_hs_frames_crowded(unsigned sixteenths);
/* The numbers of frames that are not in `used` become free: no node has them, and codes were forgotten. texts[number] is
 * set for each text of the others. */
void rb_hs_frames_keep(bool *used, bool *texts);
/* UINT32_MAX: at the limit, or no memory. */
uint32_t rb_hs_node_child(uint32_t parent, uint32_t frame);
/* How many more nodes there may be. */
uint32_t rb_hs_nodes_room(void);
/* The root of folded sites, for which some room is set aside; and is this node the root, or its child? */
uint32_t rb_hs_node_evicted(void);
bool rb_hs_node_evicted_p(uint32_t node);
/* Forget all nodes but those with keep[node] set, and their parents, which are set as well. new_node[node] becomes the
 * number of each that is left. */
void rb_hs_nodes_keep(bool *keep, uint32_t *new_node);

/* After a mark: true if the mark found code that is freed. After compaction: true if any code has moved. [gc] */
bool rb_hs_codes_sweep(bool full_mark);
bool rb_hs_codes_move(void);
#endif

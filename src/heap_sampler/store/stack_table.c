/* See store/stack_table.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/store/stack_table.h"
#include "heap_sampler/store/check.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/contract.h"
#include "heap_sampler/base/table.h"

struct hs_frame *rb_hs_frames;
uint32_t rb_hs_frame_count;
static uint32_t frame_capacity, next_free_frame;        /* no number below it is free */
struct hs_node *rb_hs_nodes;
uint32_t rb_hs_node_count;
uint32_t rb_hs_nodes_generation;
static uint32_t node_capacity;
struct hs_stack_drops rb_hs_stack_drops;

enum { NODES_MAX = 1 << 18 };

uint32_t
rb_hs_nodes_max(void)
{
    return rb_hs_memory_bound_p() ? NODES_MAX / 2 : NODES_MAX;
}

static uint32_t
frames_max(void)
{
    return rb_hs_memory_bound_p() ? 1u << 16 : 1u << 18;
}

static struct hs_map frames = {.use = HS_MEM_STACKS};    /* by a hash of what they are */
static struct hs_map nodes = {.use = HS_MEM_STACKS};     /* by parent and frame */
static struct hs_map wholes = {.use = HS_MEM_STACKS};    /* nodes, by the hash of a raw stack */

/* That two of a quarter of a million frames share a key has a probability of 2e-9. */
static uint64_t
frame_key(uint32_t label, uint32_t path, uint32_t absolute_path, uint32_t line)
{
    return hs_mix(hs_mix((uint64_t)label << 32 | path) + ((uint64_t)absolute_path << 32 | line)) | 1;
}

static uint64_t
pair(uint32_t a, uint32_t b)
{
    return (((uint64_t)a << 32) | b) + 1;       /* 0 is no key */
}

/* UINT32_MAX: at the limit, or no memory. */
static uint32_t
find_or_add_frame(uint32_t label, uint32_t path, uint32_t absolute_path, uint32_t line)
{
    uint64_t key = frame_key(label, path, absolute_path, line);
    const uint32_t *found = rb_hs_map_find(&frames, key);
    if (found) return *found;
    while (next_free_frame < rb_hs_frame_count && rb_hs_frames[next_free_frame].address != HS_FRAME_FREE) next_free_frame++;
    uint32_t number = next_free_frame;
    if (number >= frames_max() ||
        !rb_hs_grow(HS_MEM_STACKS, (void **)&rb_hs_frames, &frame_capacity, (uint64_t)number + 1, sizeof(*rb_hs_frames)) ||
        !rb_hs_map_put(&frames, key, number)) {
        return UINT32_MAX;
    }
    rb_hs_frames[number] = (struct hs_frame){.label = label, .path = path, .absolute_path = absolute_path, .line = line};
    if (number == rb_hs_frame_count) rb_hs_frame_count++;
    return number;
}

/* `(evicted)` is the first of all, so that there is room for it. */
enum { EVICTED_FRAME = 0 };

static uint32_t
frame_number(uint32_t label, uint32_t path, uint32_t absolute_path, uint32_t line)
{
    if (!rb_hs_frame_count && find_or_add_frame(rb_hs_text_cstr(HS_EVICTED), 0, 0, 0) != EVICTED_FRAME) return UINT32_MAX;
    uint32_t frame = find_or_add_frame(label, path, absolute_path, line);
    if (frame != UINT32_MAX) return frame;
    rb_hs_stack_drops.frames++;
    return EVICTED_FRAME;
}

uint32_t
rb_hs_frame_synthetic(const char *label)
{
    return frame_number(rb_hs_text_cstr(label), 0, 0, 0);
}

uint32_t
rb_hs_frames_used(void)
{
    return frames.count;
}

bool
rb_hs_frames_crowded(unsigned sixteenths)
{
    return frames.count > frames_max() / 16 * sixteenths;
}

/* The map holds no more than before, so putting back cannot fail. */
void
rb_hs_frames_keep(bool *used, bool *texts)
{
    HS_CONTRACT(write);
    uint32_t count = 0;
    if (rb_hs_frame_count) used[EVICTED_FRAME] = true;
    rb_hs_map_clear(&frames);
    for (uint32_t i = 0; i < rb_hs_frame_count; i++) {
        struct hs_frame *frame = &rb_hs_frames[i];
        if (!used[i]) {
            *frame = (struct hs_frame){.address = HS_FRAME_FREE};
            continue;
        }
        rb_hs_map_put(&frames, frame_key(frame->label, frame->path, frame->absolute_path, frame->line), i);
        texts[frame->label] = texts[frame->path] = texts[frame->absolute_path] = true;
        count = i + 1;
    }
    rb_hs_frame_count = count;
    next_free_frame = 0;
}

/* The prefix tree. */

uint32_t
rb_hs_nodes_room(void)
{
    uint32_t most = rb_hs_nodes_max() - rb_hs_nodes_max() / 16;
    return rb_hs_node_count < most ? most - rb_hs_node_count : 0;
}

static bool
evicted_root_p(uint32_t node)
{
    return node != HS_NODE_EMPTY && rb_hs_nodes[node].parent == HS_NODE_EMPTY && rb_hs_nodes[node].frame == EVICTED_FRAME;
}

bool
rb_hs_node_evicted_p(uint32_t node)
{
    return node < rb_hs_node_count && (evicted_root_p(node) || evicted_root_p(rb_hs_nodes[node].parent));
}

uint32_t
rb_hs_node_child(uint32_t parent, uint32_t frame)
{
    HS_CONTRACT(write);
    if (frame == UINT32_MAX || parent == UINT32_MAX) return UINT32_MAX;
    const uint32_t *found = rb_hs_map_find(&nodes, pair(parent, frame));
    if (found) return *found;
    if (!rb_hs_grow(HS_MEM_STACKS, (void **)&rb_hs_nodes, &node_capacity,
                    (uint64_t)rb_hs_node_count + 2, sizeof(*rb_hs_nodes))) {
        return UINT32_MAX;
    }
    if (!rb_hs_node_count) rb_hs_nodes[rb_hs_node_count++] = (struct hs_node){HS_NODE_EMPTY, 0};
    if (rb_hs_node_count >= rb_hs_nodes_max() ||
        (parent != HS_NODE_EMPTY && !evicted_root_p(parent) && !rb_hs_nodes_room()) ||
        !rb_hs_map_put(&nodes, pair(parent, frame), rb_hs_node_count)) {
        return UINT32_MAX;
    }
    rb_hs_nodes[rb_hs_node_count] = (struct hs_node){parent, frame};
    return rb_hs_node_count++;
}

uint32_t
rb_hs_node_evicted(void)
{
    return rb_hs_node_child(HS_NODE_EMPTY, rb_hs_frame_synthetic(HS_EVICTED));
}

/* A parent's number is below its children's: one pass down marks, one pass up
 * moves. The map holds no more than before, so putting back cannot fail. */
void
rb_hs_nodes_keep(bool *keep, uint32_t *new_node)
{
    HS_CONTRACT(write);
    if (!rb_hs_node_count) return;
    keep[HS_NODE_EMPTY] = true;
    for (uint32_t node = rb_hs_node_count; node-- > 1;) {
        if (keep[node]) keep[rb_hs_nodes[node].parent] = true;
    }
    rb_hs_map_clear(&nodes);
    uint32_t count = 0;
    for (uint32_t node = 0; node < rb_hs_node_count; node++) {
        if (!keep[node]) continue;
        struct hs_node moved = rb_hs_nodes[node];
        moved.parent = node == HS_NODE_EMPTY ? HS_NODE_EMPTY : new_node[moved.parent];
        new_node[node] = count;
        rb_hs_nodes[count] = moved;
        if (count) rb_hs_map_put(&nodes, pair(moved.parent, moved.frame), count);
        count++;
    }
    rb_hs_node_count = count;
    rb_hs_nodes_generation++;
    rb_hs_map_clear(&wholes);
}

/* Whole stacks, by key: that two of those that are remembered share one has a probability of 1e-10. */

enum { WHOLE_STACKS_MAX = 1 << 15 };    /* the map is a cache: at its limit it starts afresh */

uint64_t
rb_hs_stack_key(struct hs_stack_hash hash, uint32_t depth, bool truncated)
{
    hs_stack_hash_add(&hash, (uint64_t)depth * 2 + truncated + 1);
    return (hs_mix(hash.a) ^ hs_mix(hash.b)) | 1;
}

bool
rb_hs_stack_find(uint64_t key, uint32_t *node)
{
    const uint32_t *found = rb_hs_map_find(&wholes, key);
    if (found) *node = *found;
    return found != NULL;
}

void
rb_hs_stack_remember(uint64_t key, uint32_t node)
{
    HS_CONTRACT(write);
    if (wholes.count >= WHOLE_STACKS_MAX) rb_hs_map_clear(&wholes);
    rb_hs_map_put(&wholes, key, node);
}

/* Codes. */

/* Entries are reached by number, since the array moves when it grows. */
static struct hs_code *codes;
static uint32_t code_count, code_capacity;
static struct hs_map codes_by_address = {.use = HS_MEM_NAMES};

struct hs_code *
rb_hs_code_find(uintptr_t address)
{
    const uint32_t *found = rb_hs_map_find(&codes_by_address, address);
    return found ? &codes[*found] : NULL;
}

struct hs_code *
rb_hs_code_add(struct hs_code code)
{
    HS_CONTRACT(write);
    if (!rb_hs_grow(HS_MEM_NAMES, (void **)&codes, &code_capacity, (uint64_t)code_count + 1, sizeof(*codes)) ||
        !rb_hs_map_put(&codes_by_address, code.address, code_count)) {
        return NULL;
    }
    codes[code_count] = code;
    return &codes[code_count++];
}

uint32_t
rb_hs_code_frame(const struct hs_code *code, uint32_t line, uint32_t caller)
{
    HS_CONTRACT(write);
    if (!code->shown_at_caller) return frame_number(code->label, code->path, code->absolute_path, line);
    struct hs_frame at = {0};
    if (caller != UINT32_MAX) at = rb_hs_frames[caller];
    return frame_number(code->label, at.path, at.absolute_path, at.line);
}

/* Codes are a cache of what their iseqs say, too. */
enum { CODES_MAX = 1 << 15 };

bool
rb_hs_codes_full_p(void)
{
    return rb_hs_memory_bound_p() && code_count >= CODES_MAX;
}

void
rb_hs_codes_forget(void)
{
    HS_CONTRACT(write);
    code_count = 0;
    rb_hs_map_clear(&codes_by_address);
    rb_hs_map_clear(&wholes);
}

/* The map never shrinks here, so putting back what was in it cannot fail. */
static void
index_codes(void)
{
    rb_hs_map_clear(&codes_by_address);
    for (uint32_t i = 0; i < code_count; i++) rb_hs_map_put(&codes_by_address, codes[i].address, i);
}

bool
rb_hs_codes_sweep(bool full_mark)
{
    HS_CONTRACT(write);
    uint32_t left = 0, count = code_count;
    for (uint32_t i = 0; i < count; i++) {
        struct hs_code *code = &codes[i];
        int life = code->old && !full_mark ? 2 : rb_heap_sampler_gc_liveness((VALUE)code->address);
        code->old = life == 2;
        if (life) codes[left++] = *code;
    }
    code_count = left;
    if (left < count) {
        index_codes();
        rb_hs_map_clear(&wholes);
    }
    return left < count;
}

bool
rb_hs_codes_move(void)
{
    HS_CONTRACT(write);
    bool moved = false;
    for (uint32_t i = 0; i < code_count; i++) {
        uintptr_t now = (uintptr_t)rb_gc_location((VALUE)codes[i].address);
        moved |= now != codes[i].address;
        codes[i].address = now;
    }
    if (moved) {
        index_codes();
        rb_hs_map_clear(&wholes);
    }
    return moved;
}

#if HS_CHECKING
static bool
leads_to(const struct hs_map *map, uint64_t key, uint32_t value)
{
    const uint32_t *found = rb_hs_map_find(map, key);
    return found && *found == value;
}

static bool
text_p(uint32_t text)
{
    return !text || (text < rb_hs_text_count && rb_hs_texts[text].len);
}

static bool
frame_p(uint32_t frame)
{
    return frame < rb_hs_frame_count && rb_hs_frames[frame].address != HS_FRAME_FREE;
}

static void
check_frames(void)
{
    uint32_t used = 0;
    for (uint32_t i = 0; i < rb_hs_frame_count; i++) {
        const struct hs_frame *frame = &rb_hs_frames[i];
        if (!frame_p(i)) continue;
        used++;
        HS_ASSERT(leads_to(&frames, frame_key(frame->label, frame->path, frame->absolute_path, frame->line), i),
                  "frame %u is not found by its texts", i);
        HS_ASSERT(text_p(frame->label) && text_p(frame->path) && text_p(frame->absolute_path),
                  "frame %u: texts %u, %u, %u of %u", i, frame->label, frame->path, frame->absolute_path, rb_hs_text_count);
    }
    HS_ASSERT(frames.count == used, "%u frames, %u found by their texts", used, frames.count);
}

static void
check_nodes(void)
{
    uint32_t found = rb_hs_node_count ? rb_hs_node_count - 1 : 0;       /* all but the root */
    HS_ASSERT(nodes.count == found, "%u nodes, %u found by their parents", rb_hs_node_count, nodes.count);
    HS_ASSERT(rb_hs_node_count <= NODES_MAX, "%u nodes, of at most %u", rb_hs_node_count, (uint32_t)NODES_MAX);
    for (uint32_t i = 1; i < rb_hs_node_count; i++) {
        const struct hs_node *node = &rb_hs_nodes[i];
        HS_ASSERT(node->parent < i, "node %u: parent %u", i, node->parent);
        HS_ASSERT(frame_p(node->frame), "node %u: frame %u of %u", i, node->frame, rb_hs_frame_count);
        HS_ASSERT(leads_to(&nodes, pair(node->parent, node->frame), i), "node %u is not found", i);
    }
}

static void
check_whole_stacks(void)
{
    for (uint32_t i = 0; i < wholes.capacity; i++) {
        HS_ASSERT(!wholes.keys[i] || wholes.values[i] == HS_NODE_EMPTY || wholes.values[i] < rb_hs_node_count,
                  "a whole stack is node %u of %u", wholes.values[i], rb_hs_node_count);
    }
}

static void
check_codes(void)
{
    for (uint32_t i = 0; i < code_count; i++) {
        const struct hs_code *code = &codes[i];
        HS_ASSERT(leads_to(&codes_by_address, code->address, i), "code %u is not found by its address %p", i,
                  (void *)code->address);
        HS_ASSERT(text_p(code->label) && text_p(code->path) && text_p(code->absolute_path), "code %u: texts %u, %u, %u of %u", i,
                  code->label, code->path, code->absolute_path, rb_hs_text_count);
    }
    HS_ASSERT(codes_by_address.count == code_count, "%u codes, %u found by their addresses", code_count, codes_by_address.count);
}

void
rb_hs_stacks_check(void)
{
    check_frames();
    check_nodes();
    check_whole_stacks();
    check_codes();
}

void
rb_hs_codes_check_living(bool (*alive)(uintptr_t address))
{
    for (uint32_t i = 0; i < code_count; i++) {
        HS_ASSERT(alive(codes[i].address), "code %u: %p was freed", i, (void *)codes[i].address);
    }
}
#endif

/* See stacks/stack_table.h. */
#include "heap_sampler/stacks/stack_table.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/must.h"
#include "heap_sampler/base/table.h"
#include "heap_sampler/base/texts.h"
#include "heap_sampler/stacks/class_table.h"

#include <string.h>

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

/* Texts to numbers, a pair at a time: (path, absolute path) is a source,
 * (label, source) a method in it, (method, line) a frame. */
static struct hs_map sources = {.use = HS_MEM_STACKS};
static struct hs_map methods = {.use = HS_MEM_STACKS};
static struct hs_map frames = {.use = HS_MEM_STACKS};
static struct hs_map nodes = {.use = HS_MEM_STACKS};

static uint64_t
pair(uint32_t a, uint32_t b)
{
    return (((uint64_t)a << 32) | b) + 1;       /* 0 is no key */
}

static uint32_t
number_of(struct hs_map *map, uint32_t a, uint32_t b)
{
    const uint32_t *found = rb_hs_map_find(map, pair(a, b));
    if (found) return *found;
    uint32_t number = map->count;
    if (number >= frames_max()) return UINT32_MAX;      /* there are no more of them in use than frames */
    return rb_hs_map_put(map, pair(a, b), number) ? number : UINT32_MAX;
}

/* What finds the frame; 0: at the limit, or no memory. */
static uint64_t
frame_key(uint32_t label, uint32_t path, uint32_t absolute_path, uint32_t line)
{
    uint32_t source = number_of(&sources, path, absolute_path);
    uint32_t method = source == UINT32_MAX ? source : number_of(&methods, label, source);
    return method == UINT32_MAX ? 0 : pair(method, line);
}

/* UINT32_MAX: at the limit, or no memory. */
static uint32_t
find_or_add_frame(uint32_t label, uint32_t path, uint32_t absolute_path, uint32_t line)
{
    uint64_t key = frame_key(label, path, absolute_path, line);
    if (!key) return UINT32_MAX;
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

/* The first of all, so that there is room for it. */
static uint32_t evicted = UINT32_MAX;

static uint32_t
evicted_frame(void)
{
    if (evicted == UINT32_MAX) evicted = find_or_add_frame(rb_hs_text_cstr(HS_EVICTED), 0, 0, 0);
    return evicted;
}

static uint32_t
frame_number(uint32_t label, uint32_t path, uint32_t absolute_path, uint32_t line)
{
    uint32_t instead = evicted_frame(), frame = find_or_add_frame(label, path, absolute_path, line);
    if (frame != UINT32_MAX) return frame;
    rb_hs_stack_drops.frames++;
    return instead;
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
    uint32_t most = frames_max() / 16 * sixteenths;
    return frames.count > most || methods.count > most || sources.count > most;
}

/* The maps hold no more than before, so putting back cannot fail. */
void
rb_hs_frames_keep(bool *used, bool *texts)
{
    HS_CONTRACT(write);
    uint32_t count = 0;
    if (evicted != UINT32_MAX) used[evicted] = true;
    rb_hs_map_clear(&sources);
    rb_hs_map_clear(&methods);
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

static uint32_t evicted_node = UINT32_MAX;

uint32_t
rb_hs_nodes_room(void)
{
    uint32_t most = rb_hs_nodes_max() - rb_hs_nodes_max() / 16;
    return rb_hs_node_count < most ? most - rb_hs_node_count : 0;
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
        (parent != HS_NODE_EMPTY && parent != evicted_node && !rb_hs_nodes_room()) ||
        !rb_hs_map_put(&nodes, pair(parent, frame), rb_hs_node_count)) {
        return UINT32_MAX;
    }
    rb_hs_nodes[rb_hs_node_count] = (struct hs_node){parent, frame};
    return rb_hs_node_count++;
}

uint32_t
rb_hs_node_evicted(void)
{
    return evicted_node = rb_hs_node_child(HS_NODE_EMPTY, evicted_frame());
}

bool
rb_hs_node_evicted_p(uint32_t node)
{
    if (node == HS_NODE_EMPTY || node >= rb_hs_node_count || evicted_node == UINT32_MAX) return false;
    return node == evicted_node || rb_hs_nodes[node].parent == evicted_node;
}

static void forget_whole_stacks(void);

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
    evicted_node = UINT32_MAX;          /* it is found again by its frame */
    forget_whole_stacks();
}

/* Whole stacks, by 128 bits of hash: that two stacks of a million share them
 * has a probability of 1e-27. */

struct whole_stack {
    struct hs_stack_hash hash;  /* b is 0: empty place */
    uint32_t node;
};

static struct {
    struct whole_stack *places;
    uint32_t capacity, count;
} wholes;

void
rb_hs_stack_hash_end(struct hs_stack_hash *hash, uint32_t depth, bool truncated)
{
    hs_stack_hash_add(hash, (uint64_t)depth * 2 + truncated + 1);
    hash->a = hs_mix(hash->a);
    hash->b = hs_mix(hash->b) | 1;
}

static struct whole_stack *
whole_place(struct whole_stack *places, uint32_t capacity, const struct hs_stack_hash *hash)
{
    uint32_t place = (uint32_t)hash->a & (capacity - 1);
    while (places[place].hash.b && (places[place].hash.a != hash->a || places[place].hash.b != hash->b)) {
        place = (place + 1) & (capacity - 1);
    }
    return &places[place];
}

bool
rb_hs_stack_find(const struct hs_stack_hash *hash, uint32_t *node)
{
    if (!wholes.count) return false;
    struct whole_stack *place = whole_place(wholes.places, wholes.capacity, hash);
    if (!place->hash.b) return false;
    *node = place->node;
    return true;
}

/* The map is a cache: at its limit it starts afresh. */
enum { WHOLE_STACKS_MAX = 1 << 16 };

void
rb_hs_stack_remember(const struct hs_stack_hash *hash, uint32_t node)
{
    HS_CONTRACT(write);
    if ((uint64_t)wholes.count * 2 >= wholes.capacity) {
        uint32_t capacity = wholes.capacity ? wholes.capacity * 2 : 256;
        if (capacity > WHOLE_STACKS_MAX) {
            memset(wholes.places, 0, wholes.capacity * sizeof(*wholes.places));
            wholes.count = 0;
        }
        else {
            struct whole_stack *places = rb_hs_calloc(HS_MEM_STACKS, capacity, sizeof(*places));
            if (!places) return;
            for (uint32_t i = 0; i < wholes.capacity; i++) {
                if (!wholes.places[i].hash.b) continue;
                *whole_place(places, capacity, &wholes.places[i].hash) = wholes.places[i];
            }
            rb_hs_free(HS_MEM_STACKS, wholes.places);
            wholes.places = places;
            wholes.capacity = capacity;
        }
    }
    struct whole_stack *place = whole_place(wholes.places, wholes.capacity, hash);
    if (!place->hash.b) wholes.count++;
    *place = (struct whole_stack){*hash, node};
}

static void
forget_whole_stacks(void)
{
    if (wholes.count) memset(wholes.places, 0, wholes.capacity * sizeof(*wholes.places));
    wholes.count = 0;
}

/* Codes. */

struct place {
    uint64_t place;
    uint32_t frame;
};

struct hs_code {
    uintptr_t address;          /* 0: the entry is free, next_free says which is next */
    uint32_t label, path, absolute_path;
    bool shown_at_caller, merges_caller;
    bool old;                   /* only a major GC can free it */
    uint32_t place_count, place_capacity;
    struct place *places;
    uint32_t next_free;
};

/* Entries are reached by number, since the array moves when it grows. */
static struct hs_code *codes;
static uint32_t code_count, code_capacity, free_codes = UINT32_MAX;
static uint64_t places_held;    /* by all codes: their capacities */
static struct hs_map codes_by_address = {.use = HS_MEM_NAMES};

struct hs_code *
rb_hs_code_find(uintptr_t address)
{
    const uint32_t *found = rb_hs_map_find(&codes_by_address, address);
    return found ? &codes[*found] : NULL;
}

struct hs_code *
rb_hs_code_add(uintptr_t address, uint32_t label, uint32_t path, uint32_t absolute_path,
               bool shown_at_caller, bool merges_caller)
{
    HS_CONTRACT(write);
    uint32_t number = free_codes;
    if (number == UINT32_MAX) {
        if (!rb_hs_grow(HS_MEM_NAMES, (void **)&codes, &code_capacity, (uint64_t)code_count + 1, sizeof(*codes))) {
            return NULL;
        }
        number = code_count;
    }
    if (!rb_hs_map_put(&codes_by_address, address, number)) return NULL;
    if (number == code_count) {
        code_count++;
    }
    else {
        free_codes = codes[number].next_free;
    }
    codes[number] = (struct hs_code){
        .address = address,
        .label = label,
        .path = path,
        .absolute_path = absolute_path,
        .shown_at_caller = shown_at_caller,
        .merges_caller = merges_caller,
    };
    return &codes[number];
}

bool
rb_hs_code_shown_at_caller(const struct hs_code *code)
{
    return code->shown_at_caller;
}

bool
rb_hs_code_merges_caller(const struct hs_code *code)
{
    return code->merges_caller;
}

uint32_t
rb_hs_code_frame_at(const struct hs_code *code, uint64_t place)
{
    for (uint32_t i = 0; i < code->place_count; i++) {
        if (code->places[i].place == place) return code->places[i].frame;
    }
    return UINT32_MAX;
}

/* A code called from very many places is not remembered by all of them:
 * finding is linear, and frames are found again by their texts. */
enum { PLACES_MAX = 64 };

static uint32_t
remember_place(struct hs_code *code, uint64_t place, uint32_t frame)
{
    if (frame == UINT32_MAX) return frame;
    if (code->place_count == PLACES_MAX) code->place_count = 0;
    places_held -= code->place_capacity;
    if (rb_hs_grow(HS_MEM_NAMES, (void **)&code->places, &code->place_capacity,
                   (uint64_t)code->place_count + 1, sizeof(*code->places))) {
        code->places[code->place_count++] = (struct place){place, frame};
    }
    places_held += code->place_capacity;
    return frame;
}

uint32_t
rb_hs_code_add_frame(struct hs_code *code, uint64_t place, uint32_t line)
{
    return remember_place(code, place, frame_number(code->label, code->path, code->absolute_path, line));
}

uint32_t
rb_hs_code_add_frame_like(struct hs_code *code, uint64_t place, uint32_t caller_frame)
{
    struct hs_frame at = {0};
    if (caller_frame != UINT32_MAX) at = rb_hs_frames[caller_frame];
    return remember_place(code, place, frame_number(code->label, at.path, at.absolute_path, at.line));
}

static void
free_code(struct hs_code *code)
{
    rb_hs_free(HS_MEM_NAMES, code->places);
    places_held -= code->place_capacity;
    code->places = NULL;
    code->place_count = code->place_capacity = 0;
    code->address = 0;
    code->next_free = free_codes;
    free_codes = (uint32_t)(code - codes);
}

/* Codes are a cache of what their iseqs say, too. */
enum { CODES_MAX = 1 << 15,
       PLACES_HELD_MAX = CODES_MAX * 4 };

bool
rb_hs_codes_full_p(void)
{
    return rb_hs_memory_bound_p() && (codes_by_address.count >= CODES_MAX || places_held >= PLACES_HELD_MAX);
}

void
rb_hs_codes_forget(void)
{
    HS_CONTRACT(write);
    for (uint32_t i = 0; i < code_count; i++) {
        if (codes[i].address) free_code(&codes[i]);
    }
    rb_hs_map_clear(&codes_by_address);
    forget_whole_stacks();
}

/* The map never shrinks here, so putting back what was in it cannot fail. */
static void
index_codes(void)
{
    rb_hs_map_clear(&codes_by_address);
    for (uint32_t i = 0; i < code_count; i++) {
        if (codes[i].address) rb_hs_map_put(&codes_by_address, codes[i].address, i);
    }
}

uint32_t
rb_hs_codes_sweep(bool full_mark, int (*liveness)(uintptr_t address))
{
    HS_CONTRACT(write);
    uint32_t forgotten = 0;
    for (uint32_t i = 0; i < code_count; i++) {
        struct hs_code *code = &codes[i];
        if (!code->address || (code->old && !full_mark)) continue;
        int life = liveness(code->address);
        code->old = life == 2;
        if (life) continue;
        free_code(code);
        forgotten++;
    }
    if (forgotten) {
        index_codes();
        forget_whole_stacks();
    }
    return forgotten;
}

bool
rb_hs_codes_move(uintptr_t (*location)(uintptr_t address))
{
    HS_CONTRACT(write);
    bool moved = false;
    for (uint32_t i = 0; i < code_count; i++) {
        if (!codes[i].address) continue;
        uintptr_t now = location(codes[i].address);
        moved |= now != codes[i].address;
        codes[i].address = now;
    }
    if (moved) {
        index_codes();
        forget_whole_stacks();
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
        HS_MUST(leads_to(&frames, frame_key(frame->label, frame->path, frame->absolute_path, frame->line), i),
                "frame %u is not found by its texts", i);
        HS_MUST(text_p(frame->label) && text_p(frame->path) && text_p(frame->absolute_path),
                "frame %u: texts %u, %u, %u of %u", i, frame->label, frame->path, frame->absolute_path, rb_hs_text_count);
    }
    HS_MUST(frames.count == used, "%u frames, %u found by their texts", used, frames.count);
}

static void
check_nodes(void)
{
    uint32_t found = rb_hs_node_count ? rb_hs_node_count - 1 : 0;       /* all but the root */
    HS_MUST(nodes.count == found, "%u nodes, %u found by their parents", rb_hs_node_count, nodes.count);
    HS_MUST(rb_hs_node_count <= NODES_MAX, "%u nodes, of at most %u", rb_hs_node_count, (uint32_t)NODES_MAX);
    for (uint32_t i = 1; i < rb_hs_node_count; i++) {
        const struct hs_node *node = &rb_hs_nodes[i];
        HS_MUST(node->parent < i, "node %u: parent %u", i, node->parent);
        HS_MUST(frame_p(node->frame), "node %u: frame %u of %u", i, node->frame, rb_hs_frame_count);
        HS_MUST(leads_to(&nodes, pair(node->parent, node->frame), i), "node %u is not found", i);
    }
}

static void
check_whole_stacks(void)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < wholes.capacity; i++) {
        const struct whole_stack *whole = &wholes.places[i];
        if (!whole->hash.b) continue;
        count++;
        HS_MUST(whole->node == HS_NODE_EMPTY || whole->node < rb_hs_node_count, "a whole stack is node %u of %u", whole->node,
                rb_hs_node_count);
    }
    HS_MUST(count == wholes.count, "%u whole stacks, counted %u", count, wholes.count);
}

static void
check_codes(void)
{
    uint32_t used = 0, unused = 0;
    for (uint32_t i = 0; i < code_count; i++) {
        const struct hs_code *code = &codes[i];
        if (!code->address) continue;
        used++;
        HS_MUST(leads_to(&codes_by_address, code->address, i), "code %u is not found by its address %p", i,
                (void *)code->address);
        HS_MUST(text_p(code->label) && text_p(code->path) && text_p(code->absolute_path), "code %u: texts %u, %u, %u of %u", i,
                code->label, code->path, code->absolute_path, rb_hs_text_count);
        for (uint32_t n = 0; n < code->place_count; n++) {
            HS_MUST(frame_p(code->places[n].frame), "code %u: frame %u of %u", i, code->places[n].frame,
                    rb_hs_frame_count);
        }
    }
    HS_MUST(codes_by_address.count == used, "%u codes, %u found by their addresses", used, codes_by_address.count);
    for (uint32_t i = free_codes; i != UINT32_MAX; i = codes[i].next_free) {
        HS_MUST(i < code_count && !codes[i].address && ++unused <= code_count, "code %u of %u is on the free list", i,
                code_count);
    }
    HS_MUST(used + unused == code_count, "%u codes: %u used, %u free", code_count, used, unused);
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
        HS_MUST(!codes[i].address || alive(codes[i].address), "code %u: %p is dead", i, (void *)codes[i].address);
    }
}
#endif

/* -- all names ----------------------------------------------------------------------- */

bool
rb_hs_names_crowded(unsigned sixteenths)
{
    HS_CONTRACT(read);
    return rb_hs_frames_crowded(sixteenths) || rb_hs_classes_crowded(sixteenths) || rb_hs_texts_crowded(sixteenths);
}

bool
rb_hs_names_keep(void (*see)(bool *frames, bool *classes, uint32_t class_count))
{
    HS_CONTRACT(write);
    uint32_t class_count = rb_hs_class_count();
    bool *frames = rb_hs_calloc(HS_MEM_TOTALS, rb_hs_frame_count, sizeof(*frames));
    bool *classes = rb_hs_calloc(HS_MEM_TOTALS, class_count, sizeof(*classes));
    bool *texts = rb_hs_calloc(HS_MEM_TOTALS, (size_t)rb_hs_text_count + 1, sizeof(*texts));
    bool ok = frames && classes && texts;
    if (ok) {
        see(frames, classes, class_count);
        rb_hs_codes_forget();
        rb_hs_frames_keep(frames, texts);
        rb_hs_classes_keep(classes, texts);
        ok = rb_hs_texts_keep(texts);
    }
    rb_hs_free(HS_MEM_TOTALS, frames);
    rb_hs_free(HS_MEM_TOTALS, classes);
    rb_hs_free(HS_MEM_TOTALS, texts);
    return ok;
}

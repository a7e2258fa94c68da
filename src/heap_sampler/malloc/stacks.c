/* See malloc/stacks.h. */
#include "heap_sampler/malloc/stacks.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/must.h"
#include "heap_sampler/base/table.h"
#include "heap_sampler/estimate/epochs.h"
#include "heap_sampler/malloc/table.h"
#include "heap_sampler/sites/sampler.h"
#include "heap_sampler/stacks/capture.h"
#include "heap_sampler/stacks/stack_table.h"

#include <string.h>

enum {
    STACKS_MAX = 1 << 12,       /* as long as blocks live on so many: 2 MB with 14 native frames each */
    RAW_FRAMES_MAX = 16 << 10,  /* the deepest stack (4,096) fits several times */
    RAW_FRAMES_LEAST = 16,      /* of a stack that is cut for want of room */
    RAW_SECONDS = 1,            /* then it is time to name them */
    FOLD_SECONDS = 2,           /* between two foldings, if the first gained too little */
    NONE = HS_MALLOC_NO_STACK
};

struct stack {
    uint64_t raw_key;           /* finds it inside malloc; 0: nothing does */
    uint64_t native_key;        /* of its native frames, its kind and its labels */
    uint32_t node;              /* or HS_MALLOC_RAW; of one that is not used: the next such */
    uint32_t living;            /* blocks */
    uintptr_t *native;          /* leaf first; NULL: none */
    uint16_t labels;
    uint8_t native_count, kind;
    bool used;
    bool folded, spared;        /* while stacks are folded; folded: `node` is a frame */
};

struct raw {
    uint32_t stack, depth, at;
    bool truncated;
};

/* What a session has seen. */
struct seen {
    bool on;
    struct hs_totals *totals;   /* by stack, of each that is used */
    uint32_t totals_count, totals_capacity;
};

static struct stack *stacks;
static uint32_t stack_count, stack_capacity, stacks_used, free_stack = NONE;
static uint32_t native_count;           /* native frames of all stacks */
static struct hs_map stack_by_raw = {.use = HS_MEM_MALLOC};
static struct hs_map stack_by_name = {.use = HS_MEM_MALLOC};  /* by node and native frames */

static struct hs_raw_frame *raw_frames;
static struct raw *raws;
static uint32_t raw_frame_count, raw_frame_capacity, raw_count, raw_next, raw_capacity;
static int64_t raw_since;               /* seconds */

static struct seen seen[HS_SESSIONS];
static bool short_of_room;              /* some stack was not kept since the last folding */
static uint32_t folded_to;              /* stacks, by then */
static int64_t folded_at;               /* seconds */
static size_t blocks_held;              /* bytes of the blocks' table */

/* -- room ----------------------------------------------------------------------------- */

/* Of this module's share of memory the blocks' table has what it may yet need,
 * so that however many stacks there are a sample is never lost. */
static bool
room_for_stacks(size_t bytes)
{
    size_t bytes_held = rb_hs_memory_bytes(HS_MEM_MALLOC) - blocks_held;
    return !rb_hs_memory_bound_p() || bytes_held + bytes <= rb_hs_memory_share(HS_MEM_MALLOC) - HS_MALLOC_BLOCKS_BYTES;
}

static bool
grow_for_stacks(void **array, uint32_t *capacity, uint64_t needed, size_t size)
{
    uint64_t wanted = *capacity ? *capacity : 4;
    if (needed <= *capacity) return true;
    while (wanted < needed) wanted *= 2;
    return room_for_stacks(wanted * size) && rb_hs_grow(HS_MEM_MALLOC, array, capacity, needed, size);
}

/* A session that begins later may take what is left. */
static bool
make_totals(struct seen *session, uint32_t count, bool begins)
{
    if (count <= session->totals_count) return true;
    void **array = (void **)&session->totals;
    const size_t size = sizeof(*session->totals);
    if (begins ? !rb_hs_grow(HS_MEM_MALLOC, array, &session->totals_capacity, count, size) : !grow_for_stacks(array, &session->totals_capacity, count, size)) {
        return false;
    }
    memset(session->totals + session->totals_count, 0, (session->totals_capacity - session->totals_count) * size);
    session->totals_count = session->totals_capacity;
    return true;
}

void
rb_hs_malloc_stacks_beside(size_t bytes)
{
    blocks_held = bytes;
}

/* -- stacks ----------------------------------------------------------------------------- */

static uint64_t
native_key_of(enum hs_malloc_kind kind, uint16_t labels, const uintptr_t *frames, uint32_t count)
{
    uint64_t key = hs_mix(((uint64_t)labels << 8 | kind) + 1);
    for (uint32_t i = 0; i < count; i++) key = hs_mix(key + frames[i]);
    return key;
}

static void
renew_native_key(struct stack *stack)
{
    stack->native_key = native_key_of(stack->kind, stack->labels, stack->native, stack->native_count);
}

/* Keys of maps are not 0. */
static uint64_t
name_key(const struct stack *stack)
{
    return hs_mix(stack->native_key + stack->node) | 1;
}

static uint64_t
raw_key_of(const struct hs_malloc_birth *birth, uint64_t native_key)
{
    return hs_mix(hs_mix(birth->hash.a ^ native_key) + birth->hash.b) | 1;
}

static uint32_t
new_stack(void)
{
    uint32_t number = free_stack;
    if (number != NONE) {
        free_stack = stacks[number].node;
    }
    else {
        if (!grow_for_stacks((void **)&stacks, &stack_capacity, (uint64_t)stack_count + 1, sizeof(*stacks))) return NONE;
        number = stack_count++;
    }
    stacks[number] = (struct stack){.used = true};
    stacks_used++;
    return number;
}

static void
keep_natives(struct stack *stack, uint32_t count)
{
    native_count -= stack->native_count - count;
    stack->native_count = (uint8_t)count;
    if (count) return;
    rb_hs_free(HS_MEM_MALLOC, stack->native);
    stack->native = NULL;
}

static void
free_one_stack(uint32_t number)
{
    keep_natives(&stacks[number], 0);
    stacks[number] = (struct stack){.node = free_stack};
    free_stack = number;
    stacks_used--;
}

/* Copies the frames of a new stack, cut to what there is room for; 0: not even
 * a few. */
static uint32_t
copy_raw(const struct hs_malloc_birth *birth, uint32_t stack)
{
    uint32_t room = RAW_FRAMES_MAX - raw_frame_count, depth = birth->depth < room ? birth->depth : room;
    if ((depth < birth->depth && depth < RAW_FRAMES_LEAST) ||
        !rb_hs_grow(HS_MEM_MALLOC, (void **)&raw_frames, &raw_frame_capacity, (uint64_t)raw_frame_count + depth,
                    sizeof(*raw_frames)) ||
        !rb_hs_grow(HS_MEM_MALLOC, (void **)&raws, &raw_capacity, (uint64_t)raw_count + 1, sizeof(*raws))) {
        return 0;
    }
    birth->copy(birth->stack, raw_frames + raw_frame_count, depth);
    if (raw_next == raw_count) raw_since = rb_hs_coarse_seconds();
    raws[raw_count++] = (struct raw){stack, depth, raw_frame_count, birth->truncated || depth < birth->depth};
    raw_frame_count += depth;
    return depth;
}

static bool
add_natives(struct stack *stack, const uintptr_t *frames, uint32_t count)
{
    if (!count) return true;
    if (!room_for_stacks(count * sizeof(*frames))) return false;
    stack->native = rb_hs_malloc(HS_MEM_MALLOC, count * sizeof(*frames));
    if (!stack->native) return false;
    memcpy(stack->native, frames, count * sizeof(*frames));
    stack->native_count = (uint8_t)count;
    native_count += count;
    return true;
}

static bool
add_totals_for(uint32_t number)
{
    for (int s = 0; s < HS_SESSIONS; s++) {
        if (seen[s].on && !make_totals(&seen[s], number + 1, false)) return false;
    }
    return true;
}

/* NONE: there is no room for it. */
static uint32_t
add_stack(const struct hs_malloc_birth *birth, uint64_t native_key, uint64_t raw_key)
{
    uint32_t number = new_stack(), depth = 0;
    if (number == NONE) return NONE;
    struct stack *stack = &stacks[number];
    *stack = (struct stack){
        .kind = (uint8_t)birth->kind,
        .labels = birth->labels,
        .native_key = native_key,
        .node = HS_NODE_EMPTY,
        .used = true,
    };
    bool ok = add_totals_for(number) && add_natives(stack, birth->native, birth->native_count);
    if (ok && birth->kind == HS_MALLOC_STACK) {
        depth = copy_raw(birth, number);
        stack->node = HS_MALLOC_RAW;
        ok = depth != 0;
    }
    if (!ok) {
        free_one_stack(number);
        return NONE;
    }
    /* One that was cut is not found again: next time there may be room. Without memory it is found by nothing, and joins
     * its like when there are names. */
    bool whole = birth->kind != HS_MALLOC_STACK || depth == birth->depth;
    if (whole && rb_hs_map_put(&stack_by_raw, raw_key, number)) stack->raw_key = raw_key;
    return number;
}

static uint32_t
find_or_add_stack(const struct hs_malloc_birth *birth)
{
    uint64_t native_key = native_key_of(birth->kind, birth->labels, birth->native, birth->native_count);
    uint64_t raw_key = raw_key_of(birth, native_key);
    const uint32_t *found = rb_hs_map_find(&stack_by_raw, raw_key);
    return found ? *found : add_stack(birth, native_key, raw_key);
}

/* If there is no room for its frames of Ruby's, it is one of all that have its
 * native frames; if there is none for these, one of all.  The last is there from
 * the start. */
uint32_t
rb_hs_malloc_stack_of(const struct hs_malloc_birth *birth)
{
    uint32_t number = find_or_add_stack(birth);
    if (number != NONE) return number;
    short_of_room = true;
    struct hs_malloc_birth evicted = {
        .kind = HS_MALLOC_EVICTED,
        .labels = hs_labels_coarse(birth->labels),
        .native = birth->native,
        .native_count = birth->native_count,
    };
    number = find_or_add_stack(&evicted);
    if (number != NONE) return number;
    evicted.native_count = 0;
    evicted.labels = HS_LABELS_NONE;
    return find_or_add_stack(&evicted);
}

void
rb_hs_malloc_stack_lives(uint32_t stack, bool born)
{
    stacks[stack].living += born ? 1 : UINT32_MAX;
}

uint32_t
rb_hs_malloc_stack_node(uint32_t stack)
{
    return stacks[stack].node;
}

uint16_t
rb_hs_malloc_stack_labels(uint32_t stack)
{
    return stacks[stack].labels;
}

struct hs_totals *
rb_hs_malloc_stack_totals(int s, uint32_t stack)
{
    return &seen[s].totals[stack];
}

bool
rb_hs_malloc_stacks_begin(int s)
{
    const struct hs_malloc_birth evicted = {.kind = HS_MALLOC_EVICTED};
    seen[s] = (struct seen){.on = true};
    if (find_or_add_stack(&evicted) != NONE && make_totals(&seen[s], stack_count, true)) return true;
    rb_hs_malloc_stacks_end(s);
    return false;
}

void
rb_hs_malloc_stacks_end(int s)
{
    rb_hs_free(HS_MEM_MALLOC, seen[s].totals);
    seen[s] = (struct seen){.on = false};
}

void
rb_hs_malloc_stacks_short_of_room(void)
{
    short_of_room = true;
}

/* -- naming ------------------------------------------------------------------------------------ */

bool
rb_hs_malloc_names_wanted(void)
{
    bool any = raw_next < raw_count;
    return short_of_room ||
        (any && (raw_frame_count > RAW_FRAMES_MAX / 4 * 3 || rb_hs_coarse_seconds() > raw_since + RAW_SECONDS));
}

bool
rb_hs_malloc_stacks_next_raw(struct hs_malloc_raw *raw, struct hs_raw_frame frames[HS_DEPTH_MAX])
{
    if (raw_next == raw_count) return false;
    const struct raw *next = &raws[raw_next];
    *raw = (struct hs_malloc_raw){next->stack, next->depth, next->truncated};
    memcpy(frames, raw_frames + next->at, next->depth * sizeof(*frames));
    return true;
}

void
rb_hs_malloc_stacks_named(const struct hs_malloc_raw *raw, uint32_t node)
{
    stacks[raw->stack].node = node;
    raw_next++;
}

/* Move what the sessions have seen from one stack to another. */
static void
move_totals(uint32_t from, uint32_t to)
{
    for (int s = 0; s < HS_SESSIONS; s++) {
        struct seen *session = &seen[s];
        if (!session->on) continue;
        struct hs_totals moved = session->totals[from];
        memset(&session->totals[from], 0, sizeof(moved));
        rb_hs_totals_add(&session->totals[to], &moved);
    }
}

/* Both maps, from the stacks. */
static void
index_stacks(void)
{
    rb_hs_map_clear(&stack_by_raw);
    rb_hs_map_clear(&stack_by_name);
    for (uint32_t i = 0; i < stack_count; i++) {
        struct stack *stack = &stacks[i];
        if (!stack->used) continue;
        if (stack->raw_key && !rb_hs_map_put(&stack_by_raw, stack->raw_key, i)) stack->raw_key = 0;
        if (stack->node != HS_MALLOC_RAW) rb_hs_map_put(&stack_by_name, name_key(stack), i);
    }
}

/* The stack becomes the one that has its name already, if there is one: to
 * that leads the newest hash.  *new_number: by old number, made when it is
 * needed. */
static void
join(uint32_t i, uint32_t **new_number)
{
    struct stack *stack = &stacks[i];
    if (!stack->used || stack->node == HS_MALLOC_RAW) return;
    const uint32_t *found = rb_hs_map_find(&stack_by_name, name_key(stack));
    if (!found) rb_hs_map_put(&stack_by_name, name_key(stack), i);
    if (!found || *found == i) return;
    if (!*new_number) {
        *new_number = rb_hs_malloc(HS_MEM_MALLOC, stack_count * sizeof(**new_number));
        if (!*new_number) return;
        for (uint32_t n = 0; n < stack_count; n++) (*new_number)[n] = n;
    }
    uint32_t first = *found;
    (*new_number)[i] = first;
    move_totals(i, first);
    stacks[first].living += stack->living;
    if (stack->raw_key) {
        stacks[first].raw_key = stack->raw_key;
        rb_hs_map_put(&stack_by_raw, stack->raw_key, first);
    }
    free_one_stack(i);
}

static void
end_joining(uint32_t *new_number, hs_malloc_renumber renumber)
{
    if (new_number) renumber(new_number);
    rb_hs_free(HS_MEM_MALLOC, new_number);
}

/* All have names. What a burst of new stacks took is given back. */
static void
forget_raws(void)
{
    enum { FRAMES_KEPT = 1 << 10 };
    raw_next = raw_count = raw_frame_count = 0;
    if (raw_frame_capacity <= FRAMES_KEPT) return;
    rb_hs_free(HS_MEM_MALLOC, raw_frames);
    rb_hs_free(HS_MEM_MALLOC, raws);
    raw_frames = NULL;
    raws = NULL;
    raw_frame_capacity = raw_capacity = 0;
}

void
rb_hs_malloc_stacks_join(hs_malloc_renumber renumber)
{
    uint32_t *new_number = NULL;
    for (uint32_t i = 0; i < raw_next; i++) join(raws[i].stack, &new_number);
    end_joining(new_number, renumber);
    if (raw_next == raw_count) forget_raws();
}

/* Stacks without frames of Ruby's have no address that dies. */
void
rb_hs_malloc_stacks_forget_addresses(void)
{
    for (uint32_t i = 0; i < stack_count; i++) {
        if (stacks[i].kind == HS_MALLOC_STACK) stacks[i].raw_key = 0;
    }
    index_stacks();
}

/* -- folding -------------------------------------------------------------------------------------- */

static uint32_t
stacks_most(void)
{
    return rb_hs_memory_bound_p() ? STACKS_MAX : STACKS_MAX * 64;
}

bool
rb_hs_malloc_stacks_too_many(void)
{
    bool full = short_of_room || stacks_used > stacks_most();
    /* What gained nothing is not done again at once. */
    if (full && stacks_used < folded_to + folded_to / 4) full = rb_hs_coarse_seconds() > folded_at + FOLD_SECONDS;
    return full;
}

static bool
living_p(const struct stack *stack)
{
    return stack->living || stack->node == HS_MALLOC_RAW;
}

static uint64_t
samples_ever(uint32_t number)
{
    uint64_t samples = 0;
    for (int s = 0; s < HS_SESSIONS; s++) {
        if (seen[s].on && number < seen[s].totals_count) samples += seen[s].totals[number].alloc.samples;
    }
    return samples;
}

static void
spare_stacks(bool any)
{
    struct hs_spared spared = {{0}};
    for (uint32_t i = 0; i < stack_count; i++) {
        if (stacks[i].used && !living_p(&stacks[i])) rb_hs_spared_count(&spared, samples_ever(i));
    }
    uint64_t from = any ? rb_hs_spared_from(&spared, stacks_most() / 4) : UINT64_MAX;
    for (uint32_t i = 0; i < stack_count; i++) stacks[i].spared = samples_ever(i) >= from;
}

void
rb_hs_malloc_stacks_fold_begin(bool *keep, bool spare)
{
    spare_stacks(spare);
    for (uint32_t i = 0; i < stack_count; i++) {
        struct stack *stack = &stacks[i];
        if (!stack->used || stack->node == HS_MALLOC_RAW || stack->node == HS_NODE_EMPTY) continue;
        if (living_p(stack) || stack->spared) {
            if (keep) keep[stack->node] = true;
            continue;
        }
        stack->node = rb_hs_nodes[stack->node].frame;
        stack->folded = true;
    }
}

/* What is known of the dead: their innermost frames. */
static void
fold_stack(struct stack *stack)
{
    if (stack->folded) {
        uint32_t node = rb_hs_node_child(rb_hs_node_evicted(), stack->node);
        if (node == UINT32_MAX) node = rb_hs_node_evicted();
        stack->node = node == UINT32_MAX ? HS_NODE_EMPTY : node;
        stack->folded = false;
    }
    if (stack->native_count > 1 || stack->kind == HS_MALLOC_STACK) stack->raw_key = 0;
    if (stack->native_count > 1) {
        uintptr_t *leaf = rb_hs_realloc(HS_MEM_MALLOC, stack->native, sizeof(*leaf));
        if (leaf) stack->native = leaf;
        keep_natives(stack, 1);
    }
    renew_native_key(stack);
}

/* So many lines have allocated what is dead that these fill the table: not even they are known of the dead. */
static void
fold_further(struct stack *stack)
{
    uint32_t node = rb_hs_node_evicted();
    if (stack->node != HS_NODE_EMPTY && node != UINT32_MAX) stack->node = node;
    if (stack->native_count || stack->kind == HS_MALLOC_STACK) stack->raw_key = 0;
    keep_natives(stack, 0);
    stack->labels = hs_labels_coarse(stack->labels);
    renew_native_key(stack);
}

/* Stacks that have the same name by now become one; how many of them live. */
static uint32_t
join_all(hs_malloc_renumber renumber)
{
    uint32_t *new_number = NULL, living = 0;
    index_stacks();
    for (uint32_t i = 0; i < stack_count; i++) join(i, &new_number);
    end_joining(new_number, renumber);
    for (uint32_t i = 0; i < stack_count; i++) living += stacks[i].used && living_p(&stacks[i]);
    return living;
}

bool
rb_hs_malloc_stacks_fold_end(const uint32_t *new_node, hs_malloc_renumber renumber)
{
    for (uint32_t i = 0; i < stack_count; i++) {
        struct stack *stack = &stacks[i];
        if (!stack->used) continue;
        if (!living_p(stack) && !stack->spared) fold_stack(stack);
        else if (new_node && stack->node != HS_MALLOC_RAW && stack->node != HS_NODE_EMPTY) stack->node = new_node[stack->node];
    }
    uint32_t most = stacks_most() / 4 * 3, living = join_all(renumber);
    if (stacks_used > most && living <= most) {
        for (uint32_t i = 0; i < stack_count; i++) {
            if (stacks[i].used && !living_p(&stacks[i]) && !stacks[i].spared) fold_further(&stacks[i]);
        }
        join_all(renumber);
    }
    folded_to = stacks_used;
    folded_at = rb_hs_coarse_seconds();
    short_of_room = false;
    return living <= most;
}

/* -- label sets that go ----------------------------------------------------------- */

void
rb_hs_malloc_stacks_see_labels(bool used[HS_LABEL_NUMBERS])
{
    for (uint32_t i = 0; i < stack_count; i++) {
        if (stacks[i].used && living_p(&stacks[i])) used[stacks[i].labels] = true;
    }
}

void
rb_hs_malloc_stacks_keep_labels(const bool used[HS_LABEL_NUMBERS], hs_malloc_renumber renumber)
{
    for (uint32_t i = 0; i < stack_count; i++) {
        struct stack *stack = &stacks[i];
        if (!stack->used || used[stack->labels]) continue;
        stack->labels = HS_LABELS_OTHER;
        stack->raw_key = 0;
        renew_native_key(stack);
    }
    join_all(renumber);
}

/* -- snapshots ----------------------------------------------------------------------------------------- */

bool
rb_hs_malloc_stacks_copy(struct hs_malloc_copy *copy, int s)
{
    copy->stacks = rb_hs_malloc(HS_MEM_SNAPSHOTS, stack_count * sizeof(*copy->stacks) + 1);
    copy->totals = rb_hs_calloc(HS_MEM_SNAPSHOTS, (size_t)stack_count + 1, sizeof(*copy->totals));
    copy->natives = rb_hs_malloc(HS_MEM_SNAPSHOTS, native_count * sizeof(*copy->natives) + 1);
    if (!copy->stacks || !copy->totals || !copy->natives) return false;
    for (uint32_t i = 0; i < stack_count; i++) {
        const struct stack *stack = &stacks[i];
        copy->stacks[i] = (struct hs_malloc_stack_copy){stack->node, stack->kind, stack->labels, copy->native_count, stack->native_count};
        if (!stack->native_count) continue;
        memcpy(copy->natives + copy->native_count, stack->native, stack->native_count * sizeof(*copy->natives));
        copy->native_count += stack->native_count;
    }
    uint32_t count = seen[s].totals_count < stack_count ? seen[s].totals_count : stack_count;
    if (count) memcpy(copy->totals, seen[s].totals, count * sizeof(*copy->totals));
    copy->stack_count = stack_count;
    return true;
}

void
rb_hs_malloc_stacks_count(uint32_t *used, uint32_t *raw)
{
    *used = stacks_used;
    *raw = raw_count - raw_next;
}

#if HS_CHECKING
/* -- checks ---------------------------------------------------------------------------------------------- */

bool
rb_hs_malloc_stack_used_p(uint32_t stack)
{
    return stack < stack_count && stacks[stack].used;
}

void
rb_hs_malloc_stacks_check(uint32_t blocks)
{
    uint64_t living = 0, frames = 0;
    uint32_t used = 0, unused = 0, raw = 0;
    for (uint32_t i = 0; i < stack_count; i++) {
        const struct stack *stack = &stacks[i];
        if (!stack->used) continue;
        used++;
        living += stack->living;
        raw += stack->node == HS_MALLOC_RAW;
        HS_MUST(stack->node == HS_MALLOC_RAW || stack->node == HS_NODE_EMPTY || stack->node < rb_hs_node_count,
                "malloc stack %u: node %u of %u", i, stack->node, rb_hs_node_count);
        HS_MUST(!stack->native_count == !stack->native, "malloc stack %u: %u native frames", i, stack->native_count);
        frames += stack->native_count;
    }
    HS_MUST(living == blocks, "%u blocks, of the stacks %llu", blocks, (unsigned long long)living);
    HS_MUST(frames == native_count, "%u native frames, counted %llu", native_count, (unsigned long long)frames);
    HS_MUST(raw == raw_count - raw_next, "%u malloc stacks without a name, %u wait for one", raw, raw_count - raw_next);
    for (uint32_t i = free_stack; i != NONE; i = stacks[i].node) {
        HS_MUST(i < stack_count && !stacks[i].used && ++unused <= stack_count, "malloc stack %u is on the free list", i);
    }
    HS_MUST(used == stacks_used && used + unused == stack_count, "%u malloc stacks: %u used, %u free", stack_count, used,
            unused);
}

/* The first named stack gets the number of no node. */
bool
rb_hs_malloc_stacks_mislead(void)
{
    bool done = false;
    for (uint32_t i = 0; !done && i < stack_count; i++) {
        if (!stacks[i].used || stacks[i].node == HS_MALLOC_RAW || stacks[i].node == HS_NODE_EMPTY) continue;
        stacks[i].node = rb_hs_node_count;
        done = true;
    }
    return done;
}
#endif

/* See malloc/table.h. */
#include "heap_sampler/malloc/table.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/must.h"
#include "heap_sampler/base/table.h"
#include "heap_sampler/estimate/draw.h"
#include "heap_sampler/estimate/epochs.h"
#include "heap_sampler/estimate/estimate.h"
#include "heap_sampler/sites/folding.h"
#include "heap_sampler/sites/totals.h"
#include "heap_sampler/stacks/capture.h"
#include "heap_sampler/stacks/stack_table.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

enum {
    BLOCKS_MAX = 3 << 13,       /* while own memory is bounded: 1.3 MB */
    STACKS_MAX = 1 << 12,       /* as long as blocks live on so many: 2 MB with 14 native frames each */
    RAW_FRAMES_MAX = 16 << 10,  /* the deepest stack (4,096) fits several times */
    RAW_FRAMES_LEAST = 16,      /* of a stack that is cut for want of room */
    RAW_SECONDS = 1,            /* then it is time to name them */
    FOLD_SECONDS = 2,           /* between two foldings, if the first gained too little */
    NONE = UINT32_MAX
};

struct block {
    uintptr_t address;          /* 0: the place is empty */
    uint64_t size;
    float longest;              /* the longest interval at which it is a sample (estimate/epochs.h) */
    uint32_t stack, epoch, birth_gc, thread;
    uint8_t sessions;
    uint8_t debts;              /* deaths of earlier blocks at this address that are still to be told */
};

struct stack {
    uint64_t raw_key;           /* finds it inside malloc; 0: nothing does */
    uint64_t native_key;        /* of its native frames and its kind */
    uint32_t node;              /* or HS_MALLOC_RAW; of one that is not used: the next such */
    uint32_t living;            /* blocks */
    uintptr_t *native;          /* leaf first; NULL: none */
    uint8_t native_count, kind;
    bool used;
    bool folded, spared;        /* while stacks are folded; folded: `node` is a frame */
};

struct raw {
    uint32_t stack, depth, at;
    bool truncated;
};

struct session {
    struct hs_malloc_session is;
    uint32_t thread;            /* only this thread's blocks; 0: all threads' */
    struct hs_totals *totals;   /* by stack, of each that is used */
    uint32_t totals_count, totals_capacity;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static struct block *blocks;            /* by address; linear probing, at most three quarters full */
static uint32_t block_count, block_places;
static struct stack *stacks;
static uint32_t stack_count, stack_capacity, stacks_used, free_stack = NONE;
static uint32_t native_count;           /* native frames of all stacks */
static struct hs_map stack_by_raw = { .use = HS_MEM_MALLOC };
static struct hs_map stack_by_name = { .use = HS_MEM_MALLOC };  /* by node and native frames */

static struct hs_raw_frame *raw_frames;
static struct raw *raws;
static uint32_t raw_frame_count, raw_frame_capacity, raw_count, raw_next, raw_capacity;
static int64_t raw_since;               /* seconds */

static struct session sessions[HS_SESSIONS];
static struct hs_epochs epochs = { .use = HS_MEM_MALLOC };
static struct hs_random chance;
static uint64_t dropped;
static bool short_of_room;              /* some stack was not kept since the last folding */
static uint32_t folded_to;              /* stacks, by then */
static int64_t folded_at;               /* seconds */

/* -- the mutex ------------------------------------------------------------------- */

static void
unlock_malloc(void)
{
    pthread_mutex_unlock(&mutex);
}

/* A C library may fork by itself: the child's first malloc must find it free.
 * jemalloc's own handlers run closer to the fork than ours. */
static void
lock_malloc(void)
{
    pthread_mutex_lock(&mutex);
}

static const struct hs_user_of_nodes user_of_nodes = {
    rb_hs_malloc_fold_begin, rb_hs_malloc_fold_end, rb_hs_malloc_forget_addresses,
};

__attribute__((constructor)) static void
follow_forks(void)
{
    pthread_atfork(lock_malloc, unlock_malloc, unlock_malloc);
    rb_hs_folding_used_by_nodes(&user_of_nodes);
}

/* -- room ----------------------------------------------------------------------------- */

/* Of this module's share of memory the blocks' table has what it may yet need,
 * so that however many stacks there are a sample is never lost. */
static bool
room_for_stacks(size_t bytes)
{
    enum { PLACES_MAX = BLOCKS_MAX / 3 * 4 };
    size_t left = rb_hs_memory_share(HS_MEM_MALLOC) - PLACES_MAX * sizeof(*blocks) / 2 * 3;     /* the last, and the one before */
    size_t held = rb_hs_memory_bytes(HS_MEM_MALLOC) - block_places * sizeof(*blocks);
    return !rb_hs_memory_bound_p() || held + bytes <= left;
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
make_totals(struct session *session, uint32_t count, bool begins)
{
    if (count <= session->totals_count) return true;
    void **array = (void **)&session->totals;
    const size_t size = sizeof(*session->totals);
    if (begins ? !rb_hs_grow(HS_MEM_MALLOC, array, &session->totals_capacity, count, size) :
        !grow_for_stacks(array, &session->totals_capacity, count, size)) {
        return false;
    }
    memset(session->totals + session->totals_count, 0, (session->totals_capacity - session->totals_count) * size);
    session->totals_count = session->totals_capacity;
    return true;
}

static struct hs_estimate
estimate_of(const struct block *block, int s)
{
    return rb_hs_estimate_one(block->size, epochs.list[block->epoch].interval[s]);
}

/* -- blocks ------------------------------------------------------------------------- */

static uint32_t
place_of(uintptr_t address)
{
    uint32_t mask = block_places - 1, place = (uint32_t)hs_mix(address) & mask;
    while (blocks[place].address && blocks[place].address != address) place = (place + 1) & mask;
    return place;
}

static bool
grow_blocks(void)
{
    struct block *old = blocks;
    uint32_t old_places = block_places, places = old_places ? old_places * 2 : 256;
    struct block *bigger = rb_hs_calloc(HS_MEM_MALLOC, places, sizeof(*bigger));
    if (!bigger) return false;
    blocks = bigger;
    block_places = places;
    for (uint32_t i = 0; i < old_places; i++) {
        if (old[i].address) blocks[place_of(old[i].address)] = old[i];
    }
    rb_hs_free(HS_MEM_MALLOC, old);
    return true;
}

/* The block is in no table any more: those behind it close the gap. */
static void
remove_block(uint32_t gap)
{
    const struct block *block = &blocks[gap];
    uint32_t mask = block_places - 1;
    epochs.list[block->epoch].records--;
    stacks[block->stack].living--;
    for (int s = 0; s < HS_SESSIONS; s++) {
        if (block->sessions & (1u << s)) sessions[s].is.samples--;
    }
    for (uint32_t place = (gap + 1) & mask; blocks[place].address; place = (place + 1) & mask) {
        uint32_t home = (uint32_t)hs_mix(blocks[place].address) & mask;
        if (((place - home) & mask) < ((place - gap) & mask)) continue;
        blocks[gap] = blocks[place];
        gap = place;
    }
    blocks[gap].address = 0;
    block_count--;
}

static void
bury(const struct block *block, uint32_t gc)
{
    double age = (double)(gc - block->birth_gc);
    for (int s = 0; s < HS_SESSIONS; s++) {
        if (!(block->sessions & (1u << s))) continue;
        struct hs_totals *totals = &sessions[s].totals[block->stack];
        struct hs_estimate one = estimate_of(block, s);
        rb_hs_estimate_add(&totals->dead, &one);
        totals->dead_gcs += one.objects * age;
    }
}

/* realloc(3) tells the birth of what it made before the death of what it took,
 * which may have been at the same address; and where it moved a block, another
 * thread may have got the old address, and even freed it, before that death is
 * told.  So a birth at an address that is taken ends what was there, and one
 * death to come is nobody's. */
void
rb_hs_malloc_died(uintptr_t address, uint32_t gc)
{
    lock_malloc();
    uint32_t place = block_places ? place_of(address) : 0;
    if (block_places && blocks[place].address) {
        if (blocks[place].debts) {
            blocks[place].debts--;
        }
        else {
            bury(&blocks[place], gc);
            remove_block(place);
        }
    }
    unlock_malloc();
}

/* Each block is looked at; those that `keep` does not want go. */
static void
filter_blocks(bool (*keep)(struct block *block, void *data), void *data)
{
    for (uint32_t place = 0; place < block_places; place++) {
        while (blocks[place].address && !keep(&blocks[place], data)) remove_block(place);
    }
}

/* -- the cap -------------------------------------------------------------------------- */

static bool
enter_epoch(void)
{
    uint64_t interval[HS_SESSIONS] = { 0 };
    for (int s = 0; s < HS_SESSIONS; s++) {
        if (sessions[s].is.on) interval[s] = sessions[s].is.interval;
    }
    return rb_hs_epoch_enter(&epochs, interval);
}

static bool
lengthen(struct block *block, void *data)
{
    uint8_t was = block->sessions;
    (void)data;
    if (!rb_hs_lengthen(&epochs, block->longest, &block->sessions, &block->epoch)) return false;
    for (int s = 0; s < HS_SESSIONS; s++) {
        if ((was & ~block->sessions) & (1u << s)) sessions[s].is.samples--;
    }
    return true;
}

static struct session *
largest_session(void)
{
    struct session *largest = NULL;
    for (int s = 0; s < HS_SESSIONS; s++) {
        if (sessions[s].is.on && (!largest || sessions[s].is.samples > largest->is.samples)) largest = &sessions[s];
    }
    return largest;
}

/* As for slots: the session that holds the most takes fewer from now on. false:
 * none can. */
static bool
widen_once(void)
{
    struct session *session = largest_session();
    if (!session || session->is.interval >= HS_INTERVAL_MAX) return false;
    session->is.interval *= 2;
    session->is.interval_changes++;
    if (!enter_epoch()) {
        session->is.interval /= 2;
        session->is.interval_changes--;
        return false;
    }
    filter_blocks(lengthen, NULL);
    return true;
}

static void
widen_intervals(void)
{
    uint32_t most = BLOCKS_MAX;
    if (!rb_hs_memory_bound_p() || block_count < most) return;
    while (widen_once() && block_count > most - most / 4) {
    }
}

/* -- stacks ----------------------------------------------------------------------------- */

static uint64_t
native_key_of(enum hs_malloc_kind kind, const uintptr_t *frames, uint32_t count)
{
    uint64_t key = hs_mix((uint64_t)kind + 1);
    for (uint32_t i = 0; i < count; i++) key = hs_mix(key + frames[i]);
    return key;
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
    stacks[number] = (struct stack){ .used = true };
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
    stacks[number] = (struct stack){ .node = free_stack };
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
    raws[raw_count++] = (struct raw){ stack, depth, raw_frame_count, birth->truncated || depth < birth->depth };
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
        if (sessions[s].is.on && !make_totals(&sessions[s], number + 1, false)) return false;
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
    *stack = (struct stack){ .kind = (uint8_t)birth->kind, .native_key = native_key, .node = HS_NODE_EMPTY, .used = true };
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
    uint64_t native_key = native_key_of(birth->kind, birth->native, birth->native_count);
    uint64_t raw_key = raw_key_of(birth, native_key);
    const uint32_t *found = rb_hs_map_find(&stack_by_raw, raw_key);
    return found ? *found : add_stack(birth, native_key, raw_key);
}

/* If there is no room for its frames of Ruby's, it is one of all that have its
 * native frames; if there is none for these, one of all.  The last is there from
 * the start. */
static uint32_t
stack_of(const struct hs_malloc_birth *birth)
{
    uint32_t number = find_or_add_stack(birth);
    if (number != NONE) return number;
    short_of_room = true;
    struct hs_malloc_birth evicted = { .kind = HS_MALLOC_EVICTED, .native = birth->native, .native_count = birth->native_count };
    number = find_or_add_stack(&evicted);
    if (number != NONE) return number;
    evicted.native_count = 0;
    return find_or_add_stack(&evicted);
}

/* -- births ------------------------------------------------------------------------------ */

/* The sessions that the block is a sample of, and the epoch that says at which
 * intervals.  A thread's next draw may be one of a longer interval than is
 * asked for now. */
static bool
find_keepers(const struct hs_malloc_birth *birth, struct block *block)
{
    bool drawn_longer = false;
    for (int s = 0; s < HS_SESSIONS; s++) {
        const struct session *session = &sessions[s];
        if (!session->is.on || (session->thread && session->thread != birth->thread)) continue;
        block->sessions |= (uint8_t)(1u << s);
        drawn_longer |= session->is.interval < birth->drawn_at;
    }
    if (!block->sessions) return false;
    block->longest = rb_hs_longest_interval(&chance, (double)birth->size, (double)birth->drawn_at);
    block->epoch = epochs.current;
    if (!drawn_longer) {
        block->sessions = rb_hs_keepers(epochs.list[epochs.current].interval, block->sessions, block->longest);
        epochs.list[block->epoch].records += block->sessions != 0;
        return block->sessions != 0;
    }
    uint64_t interval[HS_SESSIONS];
    for (int s = 0; s < HS_SESSIONS; s++) interval[s] = birth->drawn_at;
    if (!rb_hs_epoch_enter(&epochs, interval)) {
        dropped++;
        return false;
    }
    block->epoch = epochs.current;
    epochs.list[block->epoch].records++;
    enter_epoch();              /* it was there before: it takes no memory */
    if (rb_hs_lengthen(&epochs, block->longest, &block->sessions, &block->epoch)) return true;
    epochs.list[block->epoch].records--;
    return false;
}

static bool
add_block(const struct hs_malloc_birth *birth, struct block *block)
{
    if ((uint64_t)block_count * 4 >= (uint64_t)block_places * 3 && !grow_blocks()) return false;
    block->stack = stack_of(birth);
    if (block->stack == NONE) return false;

    uint32_t place = place_of(birth->address);
    if (blocks[place].address) {
        block->debts = (uint8_t)(blocks[place].debts + 1);
        bury(&blocks[place], birth->gc);
        remove_block(place);
        place = place_of(birth->address);
    }
    blocks[place] = *block;
    block_count++;
    stacks[block->stack].living++;
    for (int s = 0; s < HS_SESSIONS; s++) {
        if (!(block->sessions & (1u << s))) continue;
        sessions[s].is.samples++;
        struct hs_totals *totals = &sessions[s].totals[block->stack];
        struct hs_estimate one = estimate_of(block, s);
        rb_hs_estimate_add(&totals->alloc, &one);
    }
    return true;
}

bool
rb_hs_malloc_born(const struct hs_malloc_birth *birth)
{
    struct block block = { .address = birth->address, .size = birth->size, .birth_gc = birth->gc, .thread = birth->thread };
    lock_malloc();
    if (find_keepers(birth, &block)) {
        if (add_block(birth, &block)) {
            widen_intervals();
        }
        else {
            epochs.list[block.epoch].records--;
            short_of_room = true;
            dropped++;
        }
    }
    bool any = raw_next < raw_count;
    bool wanted = short_of_room ||
        (any && (raw_frame_count > RAW_FRAMES_MAX / 4 * 3 || rb_hs_coarse_seconds() > raw_since + RAW_SECONDS));
    unlock_malloc();
    return wanted;
}

/* -- sessions ------------------------------------------------------------------------------ */

bool
rb_hs_malloc_session_start(int s, uint64_t interval, uint32_t thread)
{
    lock_malloc();
    sessions[s] = (struct session){
        .is = { .on = true, .interval = interval, .first_interval = interval }, .thread = thread,
    };
    const struct hs_malloc_birth evicted = { .kind = HS_MALLOC_EVICTED };
    bool ok = enter_epoch() && find_or_add_stack(&evicted) != NONE && make_totals(&sessions[s], stack_count, true);
    if (!ok) {
        rb_hs_free(HS_MEM_MALLOC, sessions[s].totals);
        sessions[s] = (struct session){ .is = { .on = false } };
    }
    unlock_malloc();
    return ok;
}

static bool
leave(struct block *block, void *data)
{
    unsigned bit = 1u << *(int *)data;
    if (!(block->sessions & bit)) return true;
    if (block->sessions == bit) return false;
    block->sessions &= (uint8_t)~bit;
    sessions[*(int *)data].is.samples--;
    return true;
}

void
rb_hs_malloc_session_stop(int s)
{
    lock_malloc();
    if (sessions[s].is.on) {
        filter_blocks(leave, &s);
        rb_hs_free(HS_MEM_MALLOC, sessions[s].totals);
        sessions[s] = (struct session){ .is = { .on = false } };
        enter_epoch();          /* without memory the others go on in the old one, which says the same of them */
    }
    unlock_malloc();
}

bool
rb_hs_malloc_session_retune(int s, uint64_t interval)
{
    bool ok = true;
    lock_malloc();
    struct session *session = &sessions[s];
    uint64_t was = session->is.interval;
    if (session->is.on && was != interval) {
        session->is.interval = interval;
        ok = enter_epoch();
        if (ok) session->is.interval_changes++;
        else session->is.interval = was;
    }
    unlock_malloc();
    return ok;
}

struct hs_malloc_session
rb_hs_malloc_session(int s)
{
    lock_malloc();
    struct hs_malloc_session session = sessions[s].is;
    unlock_malloc();
    return session;
}

uint64_t
rb_hs_malloc_interval(void)
{
    uint64_t smallest = 0;
    lock_malloc();
    for (int s = 0; s < HS_SESSIONS; s++) {
        uint64_t interval = sessions[s].is.interval;
        if (sessions[s].is.on && (!smallest || interval < smallest)) smallest = interval;
    }
    unlock_malloc();
    return smallest;
}

void
rb_hs_malloc_seed(uint64_t seed)
{
    lock_malloc();
    rb_hs_random_seed(&chance, seed);
    unlock_malloc();
}

/* -- naming ------------------------------------------------------------------------------------ */

bool
rb_hs_malloc_next_raw(struct hs_malloc_raw *raw, struct hs_raw_frame frames[HS_DEPTH_MAX])
{
    bool any = false;
    lock_malloc();
    if (raw_next < raw_count) {
        const struct raw *next = &raws[raw_next];
        *raw = (struct hs_malloc_raw){ next->stack, next->depth, next->truncated };
        memcpy(frames, raw_frames + next->at, next->depth * sizeof(*frames));
        any = true;
    }
    unlock_malloc();
    return any;
}

void
rb_hs_malloc_named(const struct hs_malloc_raw *raw, uint32_t node)
{
    HS_CONTRACT(vm);
    lock_malloc();
    stacks[raw->stack].node = node;
    raw_next++;
    unlock_malloc();
}

/* Move what the sessions have seen from one stack to another. */
static void
move_totals(uint32_t from, uint32_t to)
{
    for (int s = 0; s < HS_SESSIONS; s++) {
        struct session *session = &sessions[s];
        if (!session->is.on) continue;
        struct hs_totals moved = session->totals[from];
        memset(&session->totals[from], 0, sizeof(moved));
        rb_hs_totals_add(&session->totals[to], &moved);
    }
}

static void
renumber_blocks(const uint32_t *new_number)
{
    for (uint32_t place = 0; place < block_places; place++) {
        if (blocks[place].address) blocks[place].stack = new_number[blocks[place].stack];
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
end_joining(uint32_t *new_number)
{
    if (new_number) renumber_blocks(new_number);
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
rb_hs_malloc_join_stacks(void)
{
    uint32_t *new_number = NULL;
    lock_malloc();
    for (uint32_t i = 0; i < raw_next; i++) join(raws[i].stack, &new_number);
    end_joining(new_number);
    if (raw_next == raw_count) forget_raws();
    unlock_malloc();
}

/* Stacks without frames of Ruby's have no address that dies. */
void
rb_hs_malloc_forget_addresses(void)
{
    lock_malloc();
    for (uint32_t i = 0; i < stack_count; i++) {
        if (stacks[i].kind == HS_MALLOC_STACK) stacks[i].raw_key = 0;
    }
    index_stacks();
    unlock_malloc();
}

/* -- folding -------------------------------------------------------------------------------------- */

static uint32_t
stacks_most(void)
{
    return rb_hs_memory_bound_p() ? STACKS_MAX : STACKS_MAX * 64;
}

bool
rb_hs_malloc_stacks_full(void)
{
    lock_malloc();
    bool full = short_of_room || stacks_used > stacks_most();
    /* What gained nothing is not done again at once. */
    if (full && stacks_used < folded_to + folded_to / 4) full = rb_hs_coarse_seconds() > folded_at + FOLD_SECONDS;
    unlock_malloc();
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
        if (sessions[s].is.on && number < sessions[s].totals_count) samples += sessions[s].totals[number].alloc.samples;
    }
    return samples;
}

static void
spare_stacks(bool any)
{
    struct hs_spared spared = { { 0 } };
    for (uint32_t i = 0; i < stack_count; i++) {
        if (stacks[i].used && !living_p(&stacks[i])) rb_hs_spared_count(&spared, samples_ever(i));
    }
    uint64_t from = any ? rb_hs_spared_from(&spared, stacks_most() / 4) : UINT64_MAX;
    for (uint32_t i = 0; i < stack_count; i++) stacks[i].spared = samples_ever(i) >= from;
}

void
rb_hs_malloc_fold_begin(bool *keep, bool spare)
{
    HS_CONTRACT(write);
    lock_malloc();
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
    stack->native_key = native_key_of(stack->kind, stack->native, stack->native_count);
}

/* So many lines have allocated what is dead that these fill the table: not even they are known of the dead. */
static void
fold_further(struct stack *stack)
{
    uint32_t node = rb_hs_node_evicted();
    if (stack->node != HS_NODE_EMPTY && node != UINT32_MAX) stack->node = node;
    if (stack->native_count || stack->kind == HS_MALLOC_STACK) stack->raw_key = 0;
    keep_natives(stack, 0);
    stack->native_key = native_key_of(stack->kind, NULL, 0);
}

/* Stacks that have the same name by now become one; how many of them live. */
static uint32_t
join_all(void)
{
    uint32_t *new_number = NULL, living = 0;
    index_stacks();
    for (uint32_t i = 0; i < stack_count; i++) join(i, &new_number);
    end_joining(new_number);
    for (uint32_t i = 0; i < stack_count; i++) living += stacks[i].used && living_p(&stacks[i]);
    return living;
}

void
rb_hs_malloc_fold_end(const uint32_t *new_node)
{
    for (uint32_t i = 0; i < stack_count; i++) {
        struct stack *stack = &stacks[i];
        if (!stack->used) continue;
        if (!living_p(stack) && !stack->spared) fold_stack(stack);
        else if (new_node && stack->node != HS_MALLOC_RAW && stack->node != HS_NODE_EMPTY) stack->node = new_node[stack->node];
    }
    uint32_t most = stacks_most() / 4 * 3, living = join_all();
    if (stacks_used > most && living <= most) {
        for (uint32_t i = 0; i < stack_count; i++) {
            if (stacks[i].used && !living_p(&stacks[i]) && !stacks[i].spared) fold_further(&stacks[i]);
        }
        join_all();
    }
    /* Where the living have so many stacks, folding does not help: fewer samples do. */
    if (living > most) widen_once();
    folded_to = stacks_used;
    folded_at = rb_hs_coarse_seconds();
    short_of_room = false;
    unlock_malloc();
}

/* -- snapshots ----------------------------------------------------------------------------------------- */

bool
rb_hs_malloc_copy(struct hs_malloc_copy *copy, int s)
{
    HS_CONTRACT(tables);
    *copy = (struct hs_malloc_copy){ 0 };
    lock_malloc();
    const struct session *session = &sessions[s];
    copy->interval = session->is.interval;
    copy->first_interval = session->is.first_interval;
    copy->interval_changes = session->is.interval_changes;
    copy->blocks = rb_hs_malloc(HS_MEM_SNAPSHOTS, session->is.samples * sizeof(*copy->blocks) + 1);
    copy->stacks = rb_hs_malloc(HS_MEM_SNAPSHOTS, stack_count * sizeof(*copy->stacks) + 1);
    copy->totals = rb_hs_calloc(HS_MEM_SNAPSHOTS, (size_t)stack_count + 1, sizeof(*copy->totals));
    copy->natives = rb_hs_malloc(HS_MEM_SNAPSHOTS, native_count * sizeof(*copy->natives) + 1);
    bool ok = copy->blocks && copy->stacks && copy->totals && copy->natives;
    for (uint32_t place = 0; ok && place < block_places; place++) {
        const struct block *block = &blocks[place];
        if (!block->address || !(block->sessions & (1u << s))) continue;
        copy->blocks[copy->block_count++] = (struct hs_malloc_block_copy){
            block->address, block->size, epochs.list[block->epoch].interval[s], block->stack, block->birth_gc, block->thread,
        };
    }
    for (uint32_t i = 0; ok && i < stack_count; i++) {
        const struct stack *stack = &stacks[i];
        copy->stacks[i] = (struct hs_malloc_stack_copy){ stack->node, stack->kind, copy->native_count, stack->native_count };
        if (!stack->native_count) continue;
        memcpy(copy->natives + copy->native_count, stack->native, stack->native_count * sizeof(*copy->natives));
        copy->native_count += stack->native_count;
    }
    if (ok) {
        uint32_t count = session->totals_count < stack_count ? session->totals_count : stack_count;
        if (count) memcpy(copy->totals, session->totals, count * sizeof(*copy->totals));
        copy->stack_count = stack_count;
    }
    unlock_malloc();
    if (!ok) rb_hs_malloc_copy_free(copy);
    return ok;
}

void
rb_hs_malloc_copy_free(struct hs_malloc_copy *copy)
{
    rb_hs_free(HS_MEM_SNAPSHOTS, copy->blocks);
    rb_hs_free(HS_MEM_SNAPSHOTS, copy->stacks);
    rb_hs_free(HS_MEM_SNAPSHOTS, copy->totals);
    rb_hs_free(HS_MEM_SNAPSHOTS, copy->natives);
    *copy = (struct hs_malloc_copy){ 0 };
}

void
rb_hs_malloc_table_stat(struct hs_malloc_table_stat *stat)
{
    lock_malloc();
    *stat = (struct hs_malloc_table_stat){ block_count, stacks_used, raw_count - raw_next, dropped };
    unlock_malloc();
}

size_t
rb_hs_malloc_snapshot_bytes(void)
{
    lock_malloc();
    size_t bytes = block_count * (size_t)HS_SNAPSHOT_BLOCK + stacks_used * (size_t)HS_SNAPSHOT_STACK;
    unlock_malloc();
    return bytes;
}

#if HS_CHECKING
/* -- checks ---------------------------------------------------------------------------------------------- */

/* The lock as well: nodes are compared with. */
void
rb_hs_malloc_check(void)
{
    uint64_t samples[HS_SESSIONS] = { 0 }, living = 0, frames = 0;
    uint32_t count = 0, used = 0, unused = 0, raw = 0;
    lock_malloc();
    for (uint32_t place = 0; place < block_places; place++) {
        const struct block *block = &blocks[place];
        if (!block->address) continue;
        count++;
        HS_MUST(place_of(block->address) == place, "the block at %p is not found", (void *)block->address);
        HS_MUST(block->stack < stack_count && stacks[block->stack].used, "the block at %p: stack %u of %u",
                (void *)block->address, block->stack, stack_count);
        HS_MUST(block->epoch < epochs.count, "the block at %p: epoch %u of %u", (void *)block->address, block->epoch,
                epochs.count);
        HS_MUST(block->sessions, "the block at %p has no session", (void *)block->address);
        for (int s = 0; s < HS_SESSIONS; s++) samples[s] += block->sessions >> s & 1;
    }
    HS_MUST(count == block_count, "%u blocks, counted %u", block_count, count);
    for (int s = 0; s < HS_SESSIONS; s++) {
        HS_MUST(samples[s] == sessions[s].is.samples, "session %d has %llu blocks, counted %llu", s,
                (unsigned long long)sessions[s].is.samples, (unsigned long long)samples[s]);
    }
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
    HS_MUST(living == block_count, "%u blocks, of the stacks %llu", block_count, (unsigned long long)living);
    HS_MUST(frames == native_count, "%u native frames, counted %llu", native_count, (unsigned long long)frames);
    HS_MUST(raw == raw_count - raw_next, "%u malloc stacks without a name, %u wait for one", raw, raw_count - raw_next);
    for (uint32_t i = free_stack; i != NONE; i = stacks[i].node) {
        HS_MUST(i < stack_count && !stacks[i].used && ++unused <= stack_count, "malloc stack %u is on the free list", i);
    }
    HS_MUST(used == stacks_used && used + unused == stack_count, "%u malloc stacks: %u used, %u free", stack_count, used,
            unused);
    unlock_malloc();
}

/* For a test of the check: the first named stack gets the number of no node. */
bool
rb_hs_malloc_mislead(void)
{
    bool done = false;
    lock_malloc();
    for (uint32_t i = 0; !done && i < stack_count; i++) {
        if (!stacks[i].used || stacks[i].node == HS_MALLOC_RAW || stacks[i].node == HS_NODE_EMPTY) continue;
        stacks[i].node = rb_hs_node_count;
        done = true;
    }
    unlock_malloc();
    return done;
}
#endif

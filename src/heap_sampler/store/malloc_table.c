/* See store/malloc_table.h. */
#include "heap_sampler/store/malloc_table.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/contract.h"
#include "heap_sampler/base/table.h"
#include "heap_sampler/store/check.h"
#include "heap_sampler/store/label_sets.h"

#include <pthread.h>
#include <string.h>

enum {
    BLOCKS_MAX = 3 << 13,       /* while own memory is bounded: 1.3 MB */
    BLOCKS_BYTES = 2359296,     /* of the share of malloc: what sites leave to the blocks */
    SITES_MAX = 3 << 11,        /* 1.5 MB with 14 native frames each */
    SITES_MARGIN = 512 << 10,   /* bytes that arrays of sites may need to grow */
    KNOWN_MAX = 1 << 13,        /* ways to find stacks: 200 KB */
    NATIVES_MAX = 1 << 17,
    ALLOCATIONS_MAX = 1 << 12,  /* 256 KiB */
    RAW_FRAMES_MAX = 16 << 10,  /* the deepest stack (4,096) fits several times */
    RAW_FRAMES_LEAST = 16,      /* of a stack that is cut for want of room */
    RAW_SECONDS = 1             /* then it is time to name them */
};
#define NONE UINT32_MAX

struct block {
    struct hs_record record;
    uintptr_t address;          /* 0: the place is empty */
    uint64_t size : 56;         /* bytes */
    uint64_t debts : 8;         /* frees of earlier blocks at this address that are still to be reported */
};

/* The blocks' table has the room that it may need while it grows, so that no sample is lost, however many sites there are. */
_Static_assert(BLOCKS_MAX / 3 * 4 * sizeof(struct block) / 2 * 3 <= BLOCKS_BYTES, "sites leave them so much");

/* A stack of Ruby's without names: site->node is HS_NODE_RAW + its number. */
struct raw {
    uint32_t at, depth;         /* in raw_frames */
    uint32_t node;              /* once it is named */
    bool truncated;
};

/* An allocation that listeners will be called for. It refers to its site and its epoch as a block does, which may be gone. */
struct allocation {
    struct hs_record record;
    uint64_t size, asked;
};

static struct block *blocks;            /* by address; linear probing, at most three quarters full */
static uint32_t block_count, block_places;

/* Native frames of a site, leaf first, as bytes; number 0 is none, and one without bytes is free. */
static struct hs_text *natives;
static uint32_t native_count = 1, native_capacity, next_free_native = 1;        /* no number below it is free */
static struct hs_map native_by_hash = {.use = HS_MEM_MALLOC};

static struct hs_map known = {.use = HS_MEM_MALLOC};    /* nodes of whole stacks, by their addresses */
static bool short_of_room;              /* some site was not added since the last folding */

static struct hs_raw_frame *raw_frames;
static struct raw *raws;
static uint32_t raw_frame_count, raw_frame_capacity, raw_count, raw_next, raw_capacity;
static int64_t raw_since;               /* seconds */

static struct allocation *allocations;
static uint32_t allocation_count, allocation_capacity;
static bool job_asked_for;     /* of rb_hs_later() */
static int64_t job_at;          /* seconds: when it took the last changes */

/* -- the mutex ------------------------------------------------------------------- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
/* Set while this thread holds the mutex: a crash reporter that calls malloc must not lock it again. */
static _Thread_local __attribute__((tls_model("initial-exec"))) bool held;

void
rb_hs_malloc_unlock(void)
{
    held = false;
    hs_unlock(&mutex, HS_LOCK_MALLOC);
}

void
rb_hs_malloc_lock(void)
{
    hs_lock(&mutex, HS_LOCK_MALLOC);
    held = true;
}

static bool
held_p(void)
{
    return held;
}

/* A C library may fork without MRI's hooks, and the child's first malloc must find the mutex free. jemalloc registered its handlers
 * before these, so they run closer to the fork. */
__attribute__((constructor)) static void
follow_forks(void)
{
    pthread_atfork(rb_hs_malloc_lock, rb_hs_malloc_unlock, rb_hs_malloc_unlock);
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
make_room_for_block(void)
{
    struct block *old = blocks;
    uint32_t old_places = block_places, places = old_places ? old_places * 2 : 256;
    if ((uint64_t)block_count * 4 < (uint64_t)block_places * 3) return true;
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
    uint32_t mask = block_places - 1;
    rb_hs_store_count_off(&rb_hs_malloc_store, &blocks[gap].record);
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
end_block(uint32_t place, uint32_t gc)
{
    rb_hs_store_count_free(&rb_hs_malloc_store, &blocks[place].record, gc);
    remove_block(place);
}

/* -- the store ------------------------------------------------------------------- */

static void
each_block(hs_visit visit, void *data)
{
    for (uint32_t place = 0; place < block_places; place++) {
        while (blocks[place].address && !visit(&blocks[place].record, NULL, data)) remove_block(place);
    }
}

static void
each_allocation(hs_visit visit, void *data)
{
    for (uint32_t i = 0; i < allocation_count; i++) visit(&allocations[i].record, NULL, data);
}

static uint64_t
size_of(const struct hs_record *record)
{
    return ((const struct block *)record)->size;
}

static uint32_t
sites_max(void)
{
    return rb_hs_memory_bound_p() ? SITES_MAX : NATIVES_MAX;
}

static bool
crowded(unsigned quarters)
{
    return rb_hs_memory_bound_p() && block_count >= (uint32_t)BLOCKS_MAX / 4 * quarters;
}

struct hs_store rb_hs_malloc_store = {
    .malloc = true,
    .changes = {.use = HS_MEM_MALLOC, .most = 1 << 13}, /* 192 KiB */
    .each = each_block,
    .each_waiting = each_allocation,
    .size_of = size_of,
    .sites_max = sites_max,
    .crowded = crowded,
    .owned = held_p,
    .by_key.use = HS_MEM_MALLOC,
    .epochs.use = HS_MEM_MALLOC,
};

/* -- native frames ------------------------------------------------------------------ */

/* HS_NO_CLASS: there are none, or there is no room. */
static uint32_t
native_of(const uintptr_t *frames, uint32_t count, bool room)
{
    struct hs_text text = {(const char *)frames, count * (uint32_t)sizeof(*frames)};
    uint64_t hash;
    if (!count) return HS_NO_CLASS;
    uint32_t found = rb_hs_text_find(&native_by_hash, natives, text, &hash);
    if (found) return found;
    while (next_free_native < native_count && natives[next_free_native].len) next_free_native++;
    uint32_t number = next_free_native;
    char *copy = room && number < NATIVES_MAX ? rb_hs_malloc(HS_MEM_MALLOC, text.len) : NULL;
    if (!copy ||
        !rb_hs_grow(HS_MEM_MALLOC, (void **)&natives, &native_capacity, (uint64_t)number + 1, sizeof(*natives)) ||
        !rb_hs_map_put(&native_by_hash, hash, number)) {
        rb_hs_free(HS_MEM_MALLOC, copy);
        return HS_NO_CLASS;
    }
    natives[number] = (struct hs_text){memcpy(copy, text.ptr, text.len), text.len};
    if (number == native_count) native_count++;
    return number;
}

static const uintptr_t *
native_frames(uint32_t native, uint32_t *count)
{
    *count = native == HS_NO_CLASS ? 0 : natives[native].len / sizeof(uintptr_t);
    return *count ? (const uintptr_t *)natives[native].ptr : NULL;
}

uint32_t
rb_hs_malloc_native_leaf(uint32_t native)
{
    uint32_t count;
    const uintptr_t *frames = native_frames(native, &count);
    return count > 1 ? native_of((uintptr_t[]){frames[0]}, 1, true) : native;
}

/* The map holds no more than before, so putting back cannot fail. */
static void
forget_unused_natives(void)
{
    bool *used = rb_hs_calloc(HS_MEM_MALLOC, native_count, sizeof(*used));
    if (!used) return;
    for (uint32_t i = 0; i < rb_hs_malloc_store.site_count; i++) {
        if (rb_hs_malloc_store.sites[i].what != HS_NO_CLASS) used[rb_hs_malloc_store.sites[i].what] = true;
    }
    rb_hs_map_clear(&native_by_hash);
    for (uint32_t i = 1; i < native_count; i++) {
        uint64_t hash;
        if (used[i] && !rb_hs_text_find(&native_by_hash, natives, natives[i], &hash)) rb_hs_map_put(&native_by_hash, hash, i);
        if (used[i]) continue;
        rb_hs_free(HS_MEM_MALLOC, (char *)natives[i].ptr);
        natives[i] = (struct hs_text){NULL, 0};
    }
    next_free_native = 1;
    rb_hs_free(HS_MEM_MALLOC, used);
}

/* -- sites --------------------------------------------------------------------------- */

static bool
room_for_site(void)
{
    size_t bytes = rb_hs_memory_bytes(HS_MEM_MALLOC) - block_places * sizeof(*blocks);
    if (rb_hs_malloc_store.site_count >= sites_max()) return false;
    return !rb_hs_memory_bound_p() || bytes + SITES_MARGIN <= rb_hs_memory_share(HS_MEM_MALLOC) - BLOCKS_BYTES;
}

/* Copies the frames of a new stack, cut to what there is room for; NONE: not even a few. */
static uint32_t
add_raw(const struct hs_malloc_allocation *allocation)
{
    uint32_t room = RAW_FRAMES_MAX - raw_frame_count, depth = allocation->depth < room ? allocation->depth : room;
    if ((depth < allocation->depth && depth < RAW_FRAMES_LEAST) ||
        !rb_hs_grow(HS_MEM_MALLOC, (void **)&raw_frames, &raw_frame_capacity, (uint64_t)raw_frame_count + depth,
                    sizeof(*raw_frames)) ||
        !rb_hs_grow(HS_MEM_MALLOC, (void **)&raws, &raw_capacity, (uint64_t)raw_count + 1, sizeof(*raws))) {
        return NONE;
    }
    allocation->copy(allocation->stack, raw_frames + raw_frame_count, depth);
    if (raw_next == raw_count) raw_since = rb_hs_coarse_seconds();
    raws[raw_count] = (struct raw){.at = raw_frame_count, .depth = depth, .truncated = allocation->truncated || depth < allocation->depth};
    raw_frame_count += depth;
    return raw_count++;
}

/* The stack's node, or the number of a new raw stack; NONE: there is no room. A stack whose frames were cut is not found again:
 * next time there may be room. */
static uint32_t
node_of(const struct hs_malloc_allocation *allocation, bool room)
{
    if (allocation->kind != HS_MALLOC_STACK) return HS_NODE_EMPTY;
    const uint32_t *found = rb_hs_map_find(&known, allocation->stack_key);
    if (found) return *found;
    uint32_t raw = room ? add_raw(allocation) : NONE;
    if (raw == NONE) return NONE;
    if (raws[raw].depth == allocation->depth) {
        if (known.count >= KNOWN_MAX) rb_hs_map_clear(&known);
        rb_hs_map_put(&known, allocation->stack_key, HS_NODE_RAW + raw);
    }
    return HS_NODE_RAW + raw;
}

/* The site of blocks for which there is no room for another site. */
static const struct hs_site all_evicted = {HS_NODE_EMPTY, HS_NO_CLASS, HS_MALLOC_EVICTED, HS_LABELS_NONE};

/* Without room for the Ruby frames the site has the native frames alone; without room for these it is all_evicted. */
static uint32_t
site_of(const struct hs_malloc_allocation *allocation)
{
    bool room = room_for_site();
    struct hs_site site = {.where = (uint16_t)allocation->kind, .labels = allocation->labels};
    site.what = native_of(allocation->native, allocation->native_count, room);
    bool named = site.what != HS_NO_CLASS || !allocation->native_count;
    site.node = named ? node_of(allocation, room) : NONE;
    uint32_t number = site.node == NONE ? NONE : rb_hs_site_in(&rb_hs_malloc_store, site, room ? HS_SITE_ADD : HS_SITE_FIND);
    if (number != NONE) return number;
    short_of_room = true;
    struct hs_site evicted = all_evicted;
    evicted.what = native_of(allocation->native, allocation->native_count, true);
    evicted.labels = hs_labels_coarse(allocation->labels);
    if (evicted.what != HS_NO_CLASS || !allocation->native_count) number = rb_hs_site_of(&rb_hs_malloc_store, evicted);
    return number != NONE ? number : rb_hs_site_of(&rb_hs_malloc_store, all_evicted);
}

/* -- sessions ------------------------------------------------------------------------------ */

bool
rb_hs_malloc_begin(int s, uint64_t interval, uint32_t thread)
{
    rb_hs_malloc_lock();
    bool ok = rb_hs_site_of(&rb_hs_malloc_store, all_evicted) != NONE && rb_hs_store_begin(&rb_hs_malloc_store, s, interval, thread);
    rb_hs_malloc_unlock();
    return ok;
}

struct hs_session
rb_hs_malloc_session(int s)
{
    rb_hs_malloc_lock();
    struct hs_session session = rb_hs_malloc_store.session[s];
    rb_hs_malloc_unlock();
    session.totals = NULL;
    return session;
}

void
rb_hs_malloc_seed(uint64_t seed)
{
    rb_hs_malloc_lock();
    rb_hs_random_seed(&rb_hs_malloc_store.random, seed);
    rb_hs_malloc_unlock();
}

/* -- allocations and frees ---------------------------------------------------------------------- */

/* At a safe point, soon: an interrupt for each of them would cost more than the call. */
static void
call_listeners_later(void)
{
    enum { MANY = 256 };
    uint32_t waiting = rb_hs_malloc_store.changes.count + allocation_count;
    if (!waiting || job_asked_for || (waiting < MANY && rb_hs_coarse_seconds() == job_at)) return;
    job_asked_for = true;
    rb_hs_later();
}

static void
queue_allocation(const struct block *block, uint64_t asked)
{
    if (block->record.sessions & 1u << HS_MAIN) rb_hs_store_weighed(&rb_hs_malloc_store, &block->record);
    if (!(block->record.sessions & HS_LISTENERS)) return;
    if (allocation_count == ALLOCATIONS_MAX ||
        !rb_hs_grow(HS_MEM_MALLOC, (void **)&allocations, &allocation_capacity, (uint64_t)allocation_count + 1, sizeof(*allocations))) {
        rb_hs_malloc_store.changes.missed++;
        return;
    }
    allocations[allocation_count++] = (struct allocation){block->record, block->size, asked};
    rb_hs_malloc_store.epochs.list[block->record.epoch].records++;
}

/* realloc(3) reports the new block before the free of the old one, which may have been at the same address; and where it
 * moved a block, another thread may have got the old address, and even freed it, before that free is reported.  So a new
 * block at an address that is taken ends the old one, and one free to come counts for no block. */
static bool
add_block(const struct hs_malloc_allocation *allocation, struct block *block)
{
    struct hs_record *record = &block->record;
    if (!make_room_for_block()) return false;
    record->site = site_of(allocation);
    if (record->site == NONE || !rb_hs_store_date(&rb_hs_malloc_store, record, allocation->drawn_at)) return false;
    record->id = ++rb_hs_malloc_store.next_id;
    queue_allocation(block, allocation->asked);
    record->sessions &= (hs_session_set)~HS_LISTENERS | rb_hs_followers;
    if (!record->sessions) return true;
    uint32_t place = place_of(allocation->address);
    if (blocks[place].address) {
        block->debts = blocks[place].debts + 1u;
        end_block(place, allocation->gc);
        place = place_of(allocation->address);
    }
    blocks[place] = *block;
    block_count++;
    rb_hs_store_count_allocation(&rb_hs_malloc_store, &blocks[place].record);
    return true;
}

/* Is it time to name the raw stacks? */
static bool
names_wanted(void)
{
    bool any = raw_next < raw_count;
    return short_of_room ||
        (any && (raw_frame_count > RAW_FRAMES_MAX / 4 * 3 || rb_hs_coarse_seconds() > raw_since + RAW_SECONDS));
}

bool
rb_hs_malloc_on_allocation(const struct hs_malloc_allocation *allocation)
{
    struct block block = {{.allocation_gc = allocation->gc, .thread = allocation->thread}, allocation->address, allocation->size, 0};
    if (held) return false;
    rb_hs_malloc_lock();
    if (rb_hs_malloc_store.interval && rb_hs_store_sample(&rb_hs_malloc_store, &block.record, allocation->size, allocation->drawn_at, (hs_session_set)-1)) {
        if (add_block(allocation, &block)) rb_hs_store_widen(&rb_hs_malloc_store);
        else {
            short_of_room = true;
            rb_hs_malloc_store.dropped++;
        }
    }
    bool wanted = names_wanted();
    call_listeners_later();
    rb_hs_malloc_unlock();
    return wanted;
}

void
rb_hs_malloc_on_free(uintptr_t address, uint32_t gc)
{
    if (held) return;
    rb_hs_malloc_lock();
    uint32_t place = block_places ? place_of(address) : 0;
    if (block_places && blocks[place].address) {
        if (blocks[place].debts) blocks[place].debts--;
        else end_block(place, gc);
    }
    call_listeners_later();
    rb_hs_malloc_unlock();
}

/* -- naming ------------------------------------------------------------------------------------ */

uint32_t
rb_hs_malloc_next_raw(struct hs_raw_frame frames[HS_DEPTH_MAX], bool *truncated)
{
    uint32_t depth = 0;
    rb_hs_malloc_lock();
    if (raw_next < raw_count) {
        const struct raw *next = &raws[raw_next];
        depth = next->depth;
        *truncated = next->truncated;
        memcpy(frames, raw_frames + next->at, depth * sizeof(*frames));
    }
    rb_hs_malloc_unlock();
    return depth;
}

void
rb_hs_malloc_named(uint32_t node)
{
    HS_CONTRACT(vm);
    rb_hs_malloc_lock();
    raws[raw_next++].node = node;
    rb_hs_malloc_unlock();
}

uint32_t
rb_hs_malloc_node(uint32_t node)
{
    return node >= HS_NODE_RAW && node - HS_NODE_RAW < raw_next ? raws[node - HS_NODE_RAW].node : node;
}

/* Raw frames that have names now are not needed: what a burst of new stacks took is given back. */
void
rb_hs_malloc_joined(void)
{
    for (uint32_t i = 0; i < known.capacity; i++) {
        if (known.keys[i]) known.values[i] = rb_hs_malloc_node(known.values[i]);
    }
    if (raw_next < raw_count) return;
    raw_next = raw_count = raw_frame_count = raw_frame_capacity = raw_capacity = 0;
    rb_hs_free(HS_MEM_MALLOC, raw_frames);
    rb_hs_free(HS_MEM_MALLOC, raws);
    raw_frames = NULL;
    raws = NULL;
}

void
rb_hs_malloc_forget_addresses(void)
{
    rb_hs_malloc_lock();
    rb_hs_map_clear(&known);
    rb_hs_malloc_unlock();
}

bool
rb_hs_malloc_sites_crowded(void)
{
    return short_of_room || rb_hs_malloc_store.site_count > sites_max() / 4 * 3;
}

void
rb_hs_malloc_folded(bool renumbered)
{
    if (renumbered) rb_hs_map_clear(&known);
    forget_unused_natives();
    short_of_room = false;
}

/* -- for listeners, at a safe point ------------------------------------------------------ */

static void
copy_allocation(const struct allocation *allocation, struct hs_sampled *copy)
{
    const struct hs_record *record = &allocation->record;
    const struct hs_site *site = &rb_hs_malloc_store.sites[record->site];
    uint32_t node = rb_hs_malloc_node(site->node);
    *copy = (struct hs_sampled){
        .id = hs_sample_id(record->id, true),
        .listeners = record->sessions & HS_LISTENERS,
        .thread = record->thread,
        .labels = site->labels,
        .size = allocation->asked,
        .slot_size = allocation->size,
        .stack = hs_stack_number(node >= HS_NODE_RAW ? HS_NODE_EMPTY : node),
        .gc_count = record->allocation_gc,
    };
    struct hs_epoch *epoch = &rb_hs_malloc_store.epochs.list[record->epoch];
    memcpy(copy->interval, epoch->interval + HS_PROFILES, sizeof(copy->interval));
    epoch->records--;
}

uint32_t
rb_hs_malloc_take_allocations(struct hs_sampled *copies, uint32_t most)
{
    HS_CONTRACT(vm);
    rb_hs_malloc_lock();
    uint32_t count = allocation_count < most ? allocation_count : most;
    for (uint32_t i = 0; i < count; i++) copy_allocation(&allocations[i], &copies[i]);
    allocation_count -= count;
    if (allocation_count) memmove(allocations, allocations + count, allocation_count * sizeof(*allocations));
    rb_hs_malloc_unlock();
    return count;
}

struct hs_changes
rb_hs_malloc_take_changes(void)
{
    rb_hs_malloc_lock();
    job_asked_for = false;
    job_at = rb_hs_coarse_seconds();
    struct hs_changes taken = rb_hs_changes_take(&rb_hs_malloc_store.changes);
    rb_hs_malloc_unlock();
    return taken;
}

void
rb_hs_malloc_forget_listeners(hs_session_set listeners)
{
    rb_hs_malloc_lock();
    rb_hs_changes_forget(&rb_hs_malloc_store.changes, listeners);
    for (uint32_t i = 0; i < allocation_count; i++) allocations[i].record.sessions &= (hs_session_set)~listeners;
    rb_hs_malloc_unlock();
}

/* -- snapshots ----------------------------------------------------------------------------------------- */

static void
copy_site(struct hs_malloc_copy *copy, const struct hs_site *site)
{
    uint32_t node = rb_hs_malloc_node(site->node), count;
    const uintptr_t *frames = native_frames(site->what, &count);
    copy->stacks[copy->stack_count++] = (struct hs_malloc_stack_copy){
        node >= HS_NODE_RAW ? HS_MALLOC_RAW : node,
        site->where,
        site->labels,
        copy->native_count,
        count,
    };
    if (count) memcpy(copy->natives + copy->native_count, frames, count * sizeof(*copy->natives));
    copy->native_count += count;
}

static bool
copy_sites(struct hs_malloc_copy *copy, const struct hs_session *session)
{
    const struct hs_store *store = &rb_hs_malloc_store;
    size_t frames = 0;
    uint32_t count;
    for (uint32_t i = 0; i < store->site_count; i++) {
        native_frames(store->sites[i].what, &count);
        frames += count;
    }
    copy->stacks = rb_hs_malloc(HS_MEM_SNAPSHOTS, store->site_count * sizeof(*copy->stacks) + 1);
    copy->totals = rb_hs_calloc(HS_MEM_SNAPSHOTS, (size_t)store->site_count + 1, sizeof(*copy->totals));
    copy->natives = rb_hs_malloc(HS_MEM_SNAPSHOTS, frames * sizeof(*copy->natives) + 1);
    if (!copy->stacks || !copy->totals || !copy->natives) return false;
    for (uint32_t i = 0; i < store->site_count; i++) copy_site(copy, &store->sites[i]);
    count = session->totals_count < store->site_count ? session->totals_count : store->site_count;
    if (count) memcpy(copy->totals, session->totals, count * sizeof(*copy->totals));
    return true;
}

bool
rb_hs_malloc_copy(struct hs_malloc_copy *copy, int s)
{
    HS_CONTRACT(tables);
    rb_hs_malloc_lock();
    const struct hs_session *session = &rb_hs_malloc_store.session[s];
    *copy = (struct hs_malloc_copy){.interval = session->interval};
    copy->blocks = rb_hs_malloc(HS_MEM_SNAPSHOTS, session->samples * sizeof(*copy->blocks) + 1);
    bool ok = copy->blocks && copy_sites(copy, session);
    for (uint32_t place = 0; ok && place < block_places; place++) {
        const struct block *block = &blocks[place];
        if (!block->address || !(block->record.sessions & 1u << s)) continue;
        copy->blocks[copy->block_count] = (struct hs_malloc_block_copy){
            .address = block->address,
            .size = block->size,
            .interval = rb_hs_malloc_store.epochs.list[block->record.epoch].interval[s],
            .stack = block->record.site,
            .allocation_gc = block->record.allocation_gc,
            .thread = block->record.thread,
            .number = copy->block_count,
        };
        copy->block_count++;
    }
    rb_hs_malloc_unlock();
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
    *copy = (struct hs_malloc_copy){0};
}

void
rb_hs_malloc_table_stat(struct hs_malloc_table_stat *stat)
{
    rb_hs_malloc_lock();
    *stat = (struct hs_malloc_table_stat){block_count, rb_hs_malloc_store.site_count, raw_count - raw_next, rb_hs_malloc_store.dropped};
    rb_hs_malloc_unlock();
}

#if HS_CHECKING
void
rb_hs_malloc_check(void)
{
    const struct hs_store *store = &rb_hs_malloc_store;
    uint32_t count = 0;
    for (uint32_t place = 0; place < block_places; place++) {
        if (!blocks[place].address) continue;
        count++;
        HS_ASSERT(place_of(blocks[place].address) == place, "the block at %p is not found", (void *)blocks[place].address);
    }
    HS_ASSERT(count == block_count, "%u blocks, counted %u", block_count, count);
    for (uint32_t i = 0; i < store->site_count; i++) {
        const struct hs_site *site = &store->sites[i];
        HS_ASSERT(site->node < HS_NODE_RAW || site->node - HS_NODE_RAW < raw_count, "malloc site %u: raw stack %u of %u", i,
                  site->node - HS_NODE_RAW, raw_count);
        HS_ASSERT(site->what == HS_NO_CLASS || (site->what < native_count && natives[site->what].len),
                  "malloc site %u: native frames %u of %u", i, site->what, native_count);
    }
}
#endif

/* See store/malloc_table.h. */
#include "heap_sampler/store/malloc_table.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/contract.h"
#include "heap_sampler/base/table.h"
#include "heap_sampler/store/changes.h"
#include "heap_sampler/store/label_sets.h"

#include <pthread.h>
#include <string.h>

enum {
    BLOCKS_MAX = 3 << 13,       /* while own memory is bounded: 1.3 MB */
    BLOCKS_BYTES = 2359296,     /* of the share of malloc: what sites leave to the blocks */
    SITES_MAX = 3 << 11,        /* 1.5 MB with 14 native frames each */
    SITES_MARGIN = 512 << 10,   /* bytes that arrays of sites may need to grow */
    KNOWN_MAX = 1 << 13,        /* ways to find sites: 200 KB */
    NATIVES_MAX = 1 << 17,
    BIRTHS_MAX = 1 << 12,       /* 256 KiB */
    RAW_FRAMES_MAX = 16 << 10,  /* the deepest stack (4,096) fits several times */
    RAW_FRAMES_LEAST = 16,      /* of a stack that is cut for want of room */
    RAW_SECONDS = 1             /* then it is time to name them */
};
#define NONE UINT32_MAX

struct block {
    struct hs_record record;
    uintptr_t address;          /* 0: the place is empty */
    uint64_t size : 56;         /* bytes */
    uint64_t debts : 8;         /* deaths of earlier blocks at this address that are still to be told */
};

/* The blocks' table has what it may yet need, the last and the one before, so that however many sites there are a sample is
 * never lost. */
_Static_assert(BLOCKS_MAX / 3 * 4 * sizeof(struct block) / 2 * 3 <= BLOCKS_BYTES, "sites leave them so much");

/* Native frames, leaf first, that one or more sites have. */
struct native {
    uint64_t key;
    uintptr_t *frames;          /* NULL: the number is free */
    uint32_t count;
};

/* A stack of Ruby's without names: site->node is HS_NODE_RAW + its number. */
struct raw {
    uint32_t at, depth;         /* in raw_frames */
    uint32_t node;              /* once it is named */
    bool truncated;
};

/* An allocation that listeners will be called for. It holds its site and its epoch as a living block does: the block may be
 * gone. */
struct birth {
    struct hs_record record;
    uint64_t size, asked;
};

static struct block *blocks;            /* by address; linear probing, at most three quarters full */
static uint32_t block_count, block_places;

static struct native *natives;
static uint32_t native_count, native_capacity, next_free_native;        /* no number below it is free */
static struct hs_map native_by_key = {.use = HS_MEM_MALLOC};

static struct hs_map known = {.use = HS_MEM_MALLOC};    /* sites, by their frames' addresses, place and labels */
static bool short_of_room;              /* some site was not added since the last folding */

static struct hs_raw_frame *raw_frames;
static struct raw *raws;
static uint32_t raw_frame_count, raw_frame_capacity, raw_count, raw_next, raw_capacity;
static int64_t raw_since;               /* seconds */

static struct birth *births;
static uint32_t birth_count, birth_capacity;
static struct hs_changes changes = {.use = HS_MEM_MALLOC, .most = 1 << 13};     /* 192 KiB */
static bool told_later;         /* what waits for a safe point is asked for already */
static int64_t told_at;         /* seconds */

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
bury_block(uint32_t place, uint32_t gc)
{
    rb_hs_store_count_death(&rb_hs_malloc_store, &blocks[place].record, gc);
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
each_birth(hs_visit visit, void *data)
{
    for (uint32_t i = 0; i < birth_count; i++) visit(&births[i].record, NULL, data);
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
    .changes = &changes,
    .each = each_block,
    .each_waiting = each_birth,
    .size_of = size_of,
    .sites_max = sites_max,
    .crowded = crowded,
    .owned = held_p,
    .by_key.use = HS_MEM_MALLOC,
    .epochs.use = HS_MEM_MALLOC,
};

/* -- native frames ------------------------------------------------------------------ */

static uint64_t
native_key_of(const uintptr_t *frames, uint32_t count)
{
    uint64_t key = count;
    for (uint32_t i = 0; i < count; i++) key = hs_mix(key + frames[i]);
    return key | 1;
}

/* HS_NO_CLASS: there are none, or there is no room. */
static uint32_t
native_of(const uintptr_t *frames, uint32_t count)
{
    if (!count) return HS_NO_CLASS;
    uint64_t key = native_key_of(frames, count);
    const uint32_t *found = rb_hs_map_find(&native_by_key, key);
    if (found) return *found;
    while (next_free_native < native_count && natives[next_free_native].frames) next_free_native++;
    uint32_t number = next_free_native;
    uintptr_t *copy = rb_hs_malloc(HS_MEM_MALLOC, count * sizeof(*copy));
    if (!copy || number == NATIVES_MAX ||
        !rb_hs_grow(HS_MEM_MALLOC, (void **)&natives, &native_capacity, (uint64_t)number + 1, sizeof(*natives)) ||
        !rb_hs_map_put(&native_by_key, key, number)) {
        rb_hs_free(HS_MEM_MALLOC, copy);
        return HS_NO_CLASS;
    }
    memcpy(copy, frames, count * sizeof(*copy));
    natives[number] = (struct native){key, copy, count};
    if (number == native_count) native_count++;
    return number;
}

uint32_t
rb_hs_malloc_native_leaf(uint32_t native)
{
    return native == HS_NO_CLASS || natives[native].count == 1 ? native : native_of((uintptr_t[]){natives[native].frames[0]}, 1);
}

static void
free_native(struct native *native)
{
    rb_hs_free(HS_MEM_MALLOC, native->frames);
    *native = (struct native){0};
}

/* The map holds no more than before, so putting back cannot fail. */
static void
forget_unused_natives(void)
{
    bool *used = rb_hs_calloc(HS_MEM_MALLOC, (size_t)native_count + 1, sizeof(*used));
    if (!used) return;
    for (uint32_t i = 0; i < rb_hs_malloc_store.site_count; i++) {
        if (rb_hs_malloc_store.sites[i].what != HS_NO_CLASS) used[rb_hs_malloc_store.sites[i].what] = true;
    }
    rb_hs_map_clear(&native_by_key);
    for (uint32_t i = 0; i < native_count; i++) {
        if (!used[i]) free_native(&natives[i]);
        else rb_hs_map_put(&native_by_key, natives[i].key, i);
    }
    next_free_native = 0;
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
add_raw(const struct hs_malloc_birth *birth)
{
    uint32_t room = RAW_FRAMES_MAX - raw_frame_count, depth = birth->depth < room ? birth->depth : room;
    if ((depth < birth->depth && depth < RAW_FRAMES_LEAST) ||
        !rb_hs_grow(HS_MEM_MALLOC, (void **)&raw_frames, &raw_frame_capacity, (uint64_t)raw_frame_count + depth,
                    sizeof(*raw_frames)) ||
        !rb_hs_grow(HS_MEM_MALLOC, (void **)&raws, &raw_capacity, (uint64_t)raw_count + 1, sizeof(*raws))) {
        return NONE;
    }
    birth->copy(birth->stack, raw_frames + raw_frame_count, depth);
    if (raw_next == raw_count) raw_since = rb_hs_coarse_seconds();
    raws[raw_count] = (struct raw){.at = raw_frame_count, .depth = depth, .truncated = birth->truncated || depth < birth->depth};
    raw_frame_count += depth;
    return raw_count++;
}

/* NONE: there is no room for it. One whose frames were cut is not found again: next time there may be room. */
static uint32_t
add_site(const struct hs_malloc_birth *birth, uint64_t key)
{
    struct hs_site site = {
        .node = HS_NODE_EMPTY,
        .what = native_of(birth->native, birth->native_count),
        .where = (uint16_t)birth->kind,
        .labels = birth->labels,
    };
    bool whole = true;
    if (birth->native_count && site.what == HS_NO_CLASS) return NONE;
    if (birth->kind == HS_MALLOC_STACK) {
        uint32_t raw = add_raw(birth);
        if (raw == NONE) return raw;
        site.node = HS_NODE_RAW + raw;
        whole = raws[raw].depth == birth->depth;
    }
    uint32_t number = rb_hs_site_of(&rb_hs_malloc_store, site);
    if (number == NONE || !whole) return number;
    if (known.count >= KNOWN_MAX) rb_hs_map_clear(&known);
    rb_hs_map_put(&known, key, number);
    return number;
}

static uint32_t
find_or_add_site(const struct hs_malloc_birth *birth)
{
    uint64_t key = hs_mix((uint64_t)birth->labels << 8 | birth->kind) ^ native_key_of(birth->native, birth->native_count);
    key = hs_mix(hs_mix(birth->hash.a ^ key) + birth->hash.b) | 1;
    const uint32_t *found = rb_hs_map_find(&known, key);
    if (found) return *found;
    return birth->kind != HS_MALLOC_EVICTED && !room_for_site() ? NONE : add_site(birth, key);
}

/* If there is no room for its frames of Ruby's, it is one of all that have its
 * native frames; if there is none for these, one of all.  The last is there from
 * the start. */
static uint32_t
site_of(const struct hs_malloc_birth *birth)
{
    uint32_t number = find_or_add_site(birth);
    if (number != NONE) return number;
    short_of_room = true;
    struct hs_malloc_birth evicted = {
        .kind = HS_MALLOC_EVICTED,
        .labels = hs_labels_coarse(birth->labels),
        .native = birth->native,
        .native_count = birth->native_count,
    };
    number = find_or_add_site(&evicted);
    if (number != NONE) return number;
    evicted.native_count = 0;
    evicted.labels = HS_LABELS_NONE;
    return find_or_add_site(&evicted);
}

/* -- sessions ------------------------------------------------------------------------------ */

bool
rb_hs_malloc_begin(int s, uint64_t interval, uint32_t thread)
{
    const struct hs_malloc_birth evicted = {.kind = HS_MALLOC_EVICTED};
    rb_hs_malloc_lock();
    bool ok = find_or_add_site(&evicted) != NONE && rb_hs_store_begin(&rb_hs_malloc_store, s, interval, thread);
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

/* -- births and deaths ---------------------------------------------------------------------- */

/* At a safe point, soon: an interrupt for each of them would cost more than they do. */
static void
tell_later(void)
{
    enum { MANY = 256 };
    uint32_t waiting = changes.count + birth_count;
    if (!waiting || told_later || (waiting < MANY && rb_hs_coarse_seconds() == told_at)) return;
    told_later = true;
    rb_hs_later();
}

static void
tell_birth(const struct block *block, uint64_t asked)
{
    if (block->record.sessions & 1u << HS_MAIN) rb_hs_store_weighed(&rb_hs_malloc_store, &block->record);
    if (!(block->record.sessions & HS_LISTENERS)) return;
    if (birth_count == BIRTHS_MAX ||
        !rb_hs_grow(HS_MEM_MALLOC, (void **)&births, &birth_capacity, (uint64_t)birth_count + 1, sizeof(*births))) {
        changes.missed++;
        return;
    }
    births[birth_count++] = (struct birth){block->record, block->size, asked};
    rb_hs_malloc_store.epochs.list[block->record.epoch].records++;
}

/* realloc(3) tells the birth of what it made before the death of what it took,
 * which may have been at the same address; and where it moved a block, another
 * thread may have got the old address, and even freed it, before that death is
 * told.  So a birth at an address that is taken ends what was there, and one
 * death to come is nobody's. */
static bool
add_block(const struct hs_malloc_birth *birth, struct block *block)
{
    struct hs_record *record = &block->record;
    if (!make_room_for_block()) return false;
    record->site = site_of(birth);
    if (record->site == NONE || !rb_hs_store_date(&rb_hs_malloc_store, record, birth->drawn_at)) return false;
    record->id = ++rb_hs_malloc_store.next_id;
    tell_birth(block, birth->asked);
    record->sessions &= (hs_session_set)~HS_LISTENERS | rb_hs_followers;
    if (!record->sessions) return true;
    uint32_t place = place_of(birth->address);
    if (blocks[place].address) {
        block->debts = blocks[place].debts + 1u;
        bury_block(place, birth->gc);
        place = place_of(birth->address);
    }
    blocks[place] = *block;
    block_count++;
    rb_hs_store_count_birth(&rb_hs_malloc_store, &blocks[place].record);
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
rb_hs_malloc_born(const struct hs_malloc_birth *birth)
{
    struct block block = {{.birth_gc = birth->gc, .thread = birth->thread}, birth->address, birth->size, 0};
    if (held) return false;
    rb_hs_malloc_lock();
    if (rb_hs_malloc_store.interval && rb_hs_store_sample(&rb_hs_malloc_store, &block.record, birth->size, birth->drawn_at, (hs_session_set)-1)) {
        if (add_block(birth, &block)) {
            rb_hs_store_widen(&rb_hs_malloc_store);
        }
        else {
            short_of_room = true;
            rb_hs_malloc_store.dropped++;
        }
    }
    bool wanted = names_wanted();
    tell_later();
    rb_hs_malloc_unlock();
    return wanted;
}

void
rb_hs_malloc_died(uintptr_t address, uint32_t gc)
{
    if (held) return;
    rb_hs_malloc_lock();
    uint32_t place = block_places ? place_of(address) : 0;
    if (block_places && blocks[place].address) {
        if (blocks[place].debts) blocks[place].debts--;
        else bury_block(place, gc);
    }
    tell_later();
    rb_hs_malloc_unlock();
}

/* -- naming ------------------------------------------------------------------------------------ */

bool
rb_hs_malloc_next_raw(struct hs_malloc_raw *raw, struct hs_raw_frame frames[HS_DEPTH_MAX])
{
    rb_hs_malloc_lock();
    bool any = raw_next < raw_count;
    if (any) {
        const struct raw *next = &raws[raw_next];
        *raw = (struct hs_malloc_raw){raw_next, next->depth, next->truncated};
        memcpy(frames, raw_frames + next->at, next->depth * sizeof(*frames));
    }
    rb_hs_malloc_unlock();
    return any;
}

void
rb_hs_malloc_named(const struct hs_malloc_raw *raw, uint32_t node)
{
    HS_CONTRACT(vm);
    rb_hs_malloc_lock();
    raws[raw->stack].node = node;
    raw_next = raw->stack + 1;
    rb_hs_malloc_unlock();
}

uint32_t
rb_hs_malloc_node(uint32_t node)
{
    return node >= HS_NODE_RAW && node - HS_NODE_RAW < raw_next ? raws[node - HS_NODE_RAW].node : node;
}

void
rb_hs_malloc_see_nodes(bool *keep)
{
    for (uint32_t i = 0; i < raw_next; i++) keep[raws[i].node] = true;
}

void
rb_hs_malloc_renumber_nodes(const uint32_t *new_node)
{
    for (uint32_t i = 0; i < raw_next; i++) raws[i].node = new_node[raws[i].node];
}

void
rb_hs_malloc_sites_moved(const uint32_t *new_site)
{
    for (uint32_t i = 0; i < known.capacity; i++) {
        if (known.keys[i]) known.values[i] = new_site[known.values[i]];
    }
}

/* What a burst of new stacks took is given back. */
void
rb_hs_malloc_joined(void)
{
    enum { FRAMES_KEPT = 1 << 10 };
    if (raw_next < raw_count) return;
    raw_next = raw_count = raw_frame_count = 0;
    if (raw_frame_capacity <= FRAMES_KEPT) return;
    rb_hs_free(HS_MEM_MALLOC, raw_frames);
    rb_hs_free(HS_MEM_MALLOC, raws);
    raw_frames = NULL;
    raws = NULL;
    raw_frame_capacity = raw_capacity = 0;
}

/* Sites without frames of Ruby's have no address that dies, and are found again by what they are. */
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
rb_hs_malloc_folded(void)
{
    rb_hs_map_clear(&known);
    forget_unused_natives();
    short_of_room = false;
}

/* -- what listeners are told at a safe point -------------------------------------------- */

void
rb_hs_malloc_listeners_told(void)
{
    rb_hs_malloc_lock();
    told_later = false;
    told_at = rb_hs_coarse_seconds();
    rb_hs_malloc_unlock();
}

static void
copy_birth(const struct birth *birth, struct hs_sampled *copy)
{
    const struct hs_record *record = &birth->record;
    const struct hs_site *site = &rb_hs_malloc_store.sites[record->site];
    uint32_t node = rb_hs_malloc_node(site->node);
    *copy = (struct hs_sampled){
        .id = hs_malloc_id(record->id),
        .listeners = record->sessions & HS_LISTENERS,
        .thread = record->thread,
        .labels = site->labels,
        .size = birth->asked,
        .slot_size = birth->size,
        .stack = hs_stack_number(node >= HS_NODE_RAW ? HS_NODE_EMPTY : node),
        .gc_count = record->birth_gc,
    };
    struct hs_epoch *epoch = &rb_hs_malloc_store.epochs.list[record->epoch];
    memcpy(copy->interval, epoch->interval + HS_PROFILES, sizeof(copy->interval));
    epoch->records--;
}

uint32_t
rb_hs_malloc_take_births(struct hs_sampled *copies, uint32_t most)
{
    HS_CONTRACT(vm);
    rb_hs_malloc_lock();
    uint32_t count = birth_count < most ? birth_count : most;
    for (uint32_t i = 0; i < count; i++) copy_birth(&births[i], &copies[i]);
    birth_count -= count;
    if (birth_count) memmove(births, births + count, birth_count * sizeof(*births));
    rb_hs_malloc_unlock();
    return count;
}

struct hs_changes
rb_hs_malloc_take_changes(void)
{
    rb_hs_malloc_lock();
    struct hs_changes taken = rb_hs_changes_take(&changes);
    rb_hs_malloc_unlock();
    return taken;
}

void
rb_hs_malloc_forget_listeners(hs_session_set listeners)
{
    rb_hs_malloc_lock();
    rb_hs_changes_forget(&changes, listeners);
    for (uint32_t i = 0; i < birth_count; i++) births[i].record.sessions &= (hs_session_set)~listeners;
    rb_hs_malloc_unlock();
}

/* -- snapshots ----------------------------------------------------------------------------------------- */

static void
copy_block(struct hs_malloc_copy *copy, const struct block *block, int s)
{
    copy->blocks[copy->block_count] = (struct hs_malloc_block_copy){
        block->address,
        block->size,
        rb_hs_malloc_store.epochs.list[block->record.epoch].interval[s],
        block->record.site,
        block->record.birth_gc,
        block->record.thread,
        copy->block_count,
        0,
    };
    copy->block_count++;
}

static void
copy_site(struct hs_malloc_copy *copy, const struct hs_site *site)
{
    uint32_t node = rb_hs_malloc_node(site->node), count = site->what == HS_NO_CLASS ? 0 : natives[site->what].count;
    copy->stacks[copy->stack_count++] = (struct hs_malloc_stack_copy){
        node >= HS_NODE_RAW ? HS_MALLOC_RAW : node,
        site->where,
        site->labels,
        copy->native_count,
        count,
    };
    if (count) memcpy(copy->natives + copy->native_count, natives[site->what].frames, count * sizeof(*copy->natives));
    copy->native_count += count;
}

static bool
copy_sites(struct hs_malloc_copy *copy, const struct hs_session *session)
{
    const struct hs_store *store = &rb_hs_malloc_store;
    size_t frames = 0;
    for (uint32_t i = 0; i < store->site_count; i++) {
        if (store->sites[i].what != HS_NO_CLASS) frames += natives[store->sites[i].what].count;
    }
    copy->stacks = rb_hs_malloc(HS_MEM_SNAPSHOTS, store->site_count * sizeof(*copy->stacks) + 1);
    copy->totals = rb_hs_calloc(HS_MEM_SNAPSHOTS, (size_t)store->site_count + 1, sizeof(*copy->totals));
    copy->natives = rb_hs_malloc(HS_MEM_SNAPSHOTS, frames * sizeof(*copy->natives) + 1);
    if (!copy->stacks || !copy->totals || !copy->natives) return false;
    for (uint32_t i = 0; i < store->site_count; i++) copy_site(copy, &store->sites[i]);
    uint32_t count = session->totals_count < store->site_count ? session->totals_count : store->site_count;
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
        if (blocks[place].address && blocks[place].record.sessions & 1u << s) copy_block(copy, &blocks[place], s);
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

size_t
rb_hs_malloc_snapshot_bytes(void)
{
    struct hs_malloc_table_stat stat;
    rb_hs_malloc_table_stat(&stat);
    return stat.blocks * (size_t)HS_SNAPSHOT_BLOCK + stat.stacks * (size_t)HS_SNAPSHOT_STACK;
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
        HS_ASSERT(site->what == HS_NO_CLASS || (site->what < native_count && natives[site->what].frames),
                  "malloc site %u: native frames %u of %u", i, site->what, native_count);
    }
}
#endif

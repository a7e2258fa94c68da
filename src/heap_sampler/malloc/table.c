/* See malloc/table.h. */
#include "heap_sampler/malloc/table.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/must.h"
#include "heap_sampler/base/table.h"
#include "heap_sampler/estimate/draw.h"
#include "heap_sampler/estimate/epochs.h"
#include "heap_sampler/events/changes.h"
#include "heap_sampler/events/probes.h"
#include "heap_sampler/malloc/stacks.h"
#include "heap_sampler/sites/folding.h"
#include "heap_sampler/sites/sampler.h"
#include "heap_sampler/stacks/capture.h"
#include "heap_sampler/stacks/stack_table.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

enum { BLOCKS_MAX = 3 << 13,   /* while own memory is bounded: 1.3 MB */
       BIRTHS_MAX = 1 << 12 };  /* 224 KiB */

struct block {
    uintptr_t address;          /* 0: the place is empty */
    uint64_t size, id;
    float longest;              /* the longest interval at which it is a sample (estimate/epochs.h) */
    uint32_t stack, epoch, birth_gc, thread;
    hs_session_set sessions;
    uint8_t debts;              /* deaths of earlier blocks at this address that are still to be told */
};

struct session {
    struct hs_malloc_session is;
    uint32_t thread;            /* only this thread's blocks; 0: all threads' */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static struct block *blocks;            /* by address; linear probing, at most three quarters full */
static uint32_t block_count, block_places;
static struct session sessions[HS_SESSIONS];
static struct hs_epochs epochs = {.use = HS_MEM_MALLOC};
static struct hs_random chance;
static uint64_t dropped;
static uint64_t next_id;
static struct hs_changes changes = {.use = HS_MEM_MALLOC, .most = 1 << 13};     /* 192 KiB, for listeners */
/* Births that listeners have not been told of yet. Each holds its stack and its epoch as a living block does: the block may be gone. */
static struct birth {
    uint64_t id, size, asked;
    uint32_t stack, epoch, gc, thread;
    hs_session_set listeners;
} *births;
static uint32_t birth_count, birth_capacity;
static bool told_later;         /* what waits for a safe point is asked for already */
static int64_t told_at;         /* seconds */

/* -- the mutex ------------------------------------------------------------------- */

/* Set while this thread holds the mutex: a crash reporter that calls malloc must not lock it again. */
static _Thread_local __attribute__((tls_model("initial-exec"))) bool held;

static void
unlock_malloc(void)
{
    held = false;
    pthread_mutex_unlock(&mutex);
}

static void
lock_malloc(void)
{
    pthread_mutex_lock(&mutex);
    held = true;
}

static const struct hs_user_of_nodes user_of_nodes = {
    rb_hs_malloc_fold_begin,
    rb_hs_malloc_fold_end,
    rb_hs_malloc_forget_addresses,
};

/* A C library may fork without MRI's hooks, and the child's first malloc must find the mutex free. jemalloc registered its handlers
 * before these, so they run closer to the fork. */
__attribute__((constructor)) static void
follow_forks(void)
{
    pthread_atfork(lock_malloc, unlock_malloc, unlock_malloc);
    rb_hs_folding_used_by_nodes(&user_of_nodes);
}

/* Of this module's share of memory the blocks' table has what it may yet need,
 * the last and the one before, so that however many stacks there are a sample is
 * never lost. */
_Static_assert(BLOCKS_MAX / 3 * 4 * sizeof(struct block) / 2 * 3 <= HS_MALLOC_BLOCKS_BYTES, "malloc/stacks.c leaves them so much");

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
    rb_hs_malloc_stacks_beside(places * sizeof(*blocks));
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
    rb_hs_malloc_stack_lives(block->stack, false);
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

/* -- listeners: events/changes.h -------------------------------------------- */

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
tell_gone(const struct block *block, enum hs_change_kind kind, hs_session_set sessions)
{
    rb_hs_changes_add(&changes, kind, sessions, hs_malloc_id(block->id), 0);
    if (hs_free_traced_p() && sessions & 1u << HS_MAIN) rb_hs_probe_free(hs_malloc_id(block->id));
}

/* Of its birth, or that it counts more now. */
static void
tell_tracer_of_weight(const struct block *block)
{
    rb_hs_probe_alloc(hs_malloc_id(block->id), block->size, epochs.list[block->epoch].interval[HS_MAIN]);
}

static void
tell_birth(const struct block *block, uint64_t asked)
{
    if (hs_alloc_traced_p() && block->sessions & 1u << HS_MAIN) tell_tracer_of_weight(block);
    struct birth birth = {
        .id = hs_malloc_id(block->id),
        .size = block->size,
        .asked = asked,
        .stack = block->stack,
        .epoch = block->epoch,
        .gc = block->birth_gc,
        .thread = block->thread,
        .listeners = block->sessions & HS_LISTENERS,
    };
    if (!birth.listeners) return;
    if (birth_count == BIRTHS_MAX ||
        !rb_hs_grow(HS_MEM_MALLOC, (void **)&births, &birth_capacity, (uint64_t)birth_count + 1, sizeof(*births))) {
        changes.missed++;
        return;
    }
    births[birth_count++] = birth;
    epochs.list[birth.epoch].records++;
    rb_hs_malloc_stack_lives(birth.stack, true);
}

static void
bury(const struct block *block, uint32_t gc)
{
    double age = (double)(gc - block->birth_gc);
    tell_gone(block, HS_CHANGE_DIED, block->sessions);
    for (int s = 0; s < HS_PROFILES; s++) {
        if (!(block->sessions & (1u << s))) continue;
        struct hs_totals *totals = rb_hs_malloc_stack_totals(s, block->stack);
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
    if (held) return;
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
    tell_later();
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
    uint64_t interval[HS_SESSIONS] = {0};
    for (int s = 0; s < HS_SESSIONS; s++) {
        if (sessions[s].is.on) interval[s] = sessions[s].is.interval;
    }
    return rb_hs_epoch_enter(&epochs, interval);
}

/* *data: the sessions of which something changes. */
static bool
lengthen(struct block *block, void *data)
{
    hs_session_set was = block->sessions, *changed = data;
    uint32_t epoch = block->epoch;
    bool kept = rb_hs_lengthen(&epochs, block->longest, &block->sessions, &block->epoch);
    hs_session_set touched = kept ? rb_hs_epochs_differ(&epochs, epoch, block->epoch, was) : was;
    *changed |= touched;
    tell_gone(block, HS_CHANGE_FORGOTTEN, kept ? was & (hs_session_set)~block->sessions : was);
    if (!kept) return false;
    if (hs_alloc_traced_p() && touched & block->sessions & 1u << HS_MAIN) tell_tracer_of_weight(block);
    for (int s = 0; s < HS_SESSIONS; s++) {
        if ((was & ~block->sessions) & (1u << s)) sessions[s].is.samples--;
    }
    return true;
}

static void
thin_blocks(void)
{
    hs_session_set changed = 0;
    filter_blocks(lengthen, &changed);
    for (int s = 0; s < HS_SESSIONS; s++) sessions[s].is.thinnings += changed >> s & 1;
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
    thin_blocks();
    rb_hs_changes_add(&changes, HS_CHANGE_INTERVAL, (hs_session_set)(1u << (session - sessions)), 0, session->is.interval);
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
        block->sessions |= (hs_session_set)(1u << s);
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
    block->stack = rb_hs_malloc_stack_of(birth);
    if (block->stack == HS_MALLOC_NO_STACK) return false;

    block->id = ++next_id;
    tell_birth(block, birth->asked);
    block->sessions &= (hs_session_set)~HS_LISTENERS | rb_hs_followers;
    if (!block->sessions) {
        epochs.list[block->epoch].records--;
        return true;
    }
    uint32_t place = place_of(birth->address);
    if (blocks[place].address) {
        block->debts = (uint8_t)(blocks[place].debts + 1);
        bury(&blocks[place], birth->gc);
        remove_block(place);
        place = place_of(birth->address);
    }
    blocks[place] = *block;
    block_count++;
    rb_hs_malloc_stack_lives(block->stack, true);
    for (int s = 0; s < HS_SESSIONS; s++) {
        if (!(block->sessions & (1u << s))) continue;
        sessions[s].is.samples++;
        if (s >= HS_PROFILES) continue;
        struct hs_totals *totals = rb_hs_malloc_stack_totals(s, block->stack);
        struct hs_estimate one = estimate_of(block, s);
        rb_hs_estimate_add(&totals->alloc, &one);
    }
    return true;
}

bool
rb_hs_malloc_born(const struct hs_malloc_birth *birth)
{
    struct block block = {.address = birth->address, .size = birth->size, .birth_gc = birth->gc, .thread = birth->thread};
    if (held) return false;
    lock_malloc();
    if (find_keepers(birth, &block)) {
        if (add_block(birth, &block)) {
            widen_intervals();
        }
        else {
            epochs.list[block.epoch].records--;
            rb_hs_malloc_stacks_short_of_room();
            dropped++;
        }
    }
    bool wanted = rb_hs_malloc_names_wanted();
    tell_later();
    unlock_malloc();
    return wanted;
}

/* -- sessions ------------------------------------------------------------------------------ */

bool
rb_hs_malloc_session_start(int s, uint64_t interval, uint32_t thread)
{
    lock_malloc();
    sessions[s] = (struct session){
        .is = {.on = true, .interval = interval, .first_interval = interval},
        .thread = thread,
    };
    bool ok = enter_epoch() && (s >= HS_PROFILES || rb_hs_malloc_stacks_begin(s));
    if (!ok) sessions[s] = (struct session){.is = {.on = false}};
    unlock_malloc();
    return ok;
}

static bool
leave(struct block *block, void *data)
{
    unsigned bit = 1u << *(int *)data;
    if (!(block->sessions & bit)) return true;
    if (block->sessions == bit) return false;
    block->sessions &= (hs_session_set)~bit;
    sessions[*(int *)data].is.samples--;
    return true;
}

void
rb_hs_malloc_session_stop(int s)
{
    lock_malloc();
    if (sessions[s].is.on) {
        filter_blocks(leave, &s);
        if (s < HS_PROFILES) rb_hs_malloc_stacks_end(s);
        sessions[s] = (struct session){.is = {.on = false}};
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
    lock_malloc();
    bool any = rb_hs_malloc_stacks_next_raw(raw, frames);
    unlock_malloc();
    return any;
}

void
rb_hs_malloc_named(const struct hs_malloc_raw *raw, uint32_t node)
{
    HS_CONTRACT(vm);
    lock_malloc();
    rb_hs_malloc_stacks_named(raw, node);
    unlock_malloc();
}

static void
renumber_blocks(const uint32_t *new_number)
{
    for (uint32_t place = 0; place < block_places; place++) {
        if (blocks[place].address) blocks[place].stack = new_number[blocks[place].stack];
    }
    for (uint32_t i = 0; i < birth_count; i++) births[i].stack = new_number[births[i].stack];
}

void
rb_hs_malloc_join_stacks(void)
{
    lock_malloc();
    rb_hs_malloc_stacks_join(renumber_blocks);
    unlock_malloc();
}

void
rb_hs_malloc_forget_addresses(void)
{
    lock_malloc();
    rb_hs_malloc_stacks_forget_addresses();
    unlock_malloc();
}

/* -- what listeners are told at a safe point -------------------------------------------- */

void
rb_hs_malloc_listeners_told(void)
{
    lock_malloc();
    told_later = false;
    told_at = rb_hs_coarse_seconds();
    unlock_malloc();
}

static void
copy_birth(const struct birth *birth, struct hs_malloc_birth_copy *copy)
{
    uint32_t node = rb_hs_malloc_stack_node(birth->stack);
    *copy = (struct hs_malloc_birth_copy){
        .id = birth->id,
        .size = birth->size,
        .asked = birth->asked,
        .gc = birth->gc,
        .thread = birth->thread,
        .node = node == HS_MALLOC_RAW ? HS_NODE_EMPTY : node,
        .labels = rb_hs_malloc_stack_labels(birth->stack),
        .listeners = birth->listeners,
    };
    memcpy(copy->interval, epochs.list[birth->epoch].interval + HS_PROFILES, sizeof(copy->interval));
    epochs.list[birth->epoch].records--;
    rb_hs_malloc_stack_lives(birth->stack, false);
}

uint32_t
rb_hs_malloc_take_births(struct hs_malloc_birth_copy *copies, uint32_t most)
{
    HS_CONTRACT(vm);
    lock_malloc();
    uint32_t count = birth_count < most ? birth_count : most;
    for (uint32_t i = 0; i < count; i++) copy_birth(&births[i], &copies[i]);
    birth_count -= count;
    if (birth_count) memmove(births, births + count, birth_count * sizeof(*births));
    unlock_malloc();
    return count;
}

struct hs_changes
rb_hs_malloc_take_changes(void)
{
    lock_malloc();
    struct hs_changes taken = rb_hs_changes_take(&changes);
    unlock_malloc();
    return taken;
}

void
rb_hs_malloc_forget_listeners(hs_session_set listeners)
{
    lock_malloc();
    rb_hs_changes_forget(&changes, listeners);
    for (uint32_t i = 0; i < birth_count; i++) births[i].listeners &= (hs_session_set)~listeners;
    unlock_malloc();
}

/* -- folding -------------------------------------------------------------------------------------- */

bool
rb_hs_malloc_stacks_full(void)
{
    lock_malloc();
    bool full = rb_hs_malloc_stacks_too_many();
    unlock_malloc();
    return full;
}

void
rb_hs_malloc_fold_begin(bool *keep, bool spare)
{
    HS_CONTRACT(write);
    lock_malloc();
    rb_hs_malloc_stacks_fold_begin(keep, spare);
}

void
rb_hs_malloc_fold_end(const uint32_t *new_node)
{
    /* Where the living have so many stacks, folding does not help: fewer samples do. */
    if (!rb_hs_malloc_stacks_fold_end(new_node, renumber_blocks)) widen_once();
    unlock_malloc();
}

/* -- label sets that go ------------------------------------------------------------------------------ */

void
rb_hs_malloc_see_labels(bool used[HS_LABEL_NUMBERS])
{
    lock_malloc();
    rb_hs_malloc_stacks_see_labels(used);
    unlock_malloc();
}

void
rb_hs_malloc_keep_labels(const bool used[HS_LABEL_NUMBERS])
{
    HS_CONTRACT(write);
    lock_malloc();
    rb_hs_malloc_stacks_keep_labels(used, renumber_blocks);
    unlock_malloc();
}

/* -- snapshots ----------------------------------------------------------------------------------------- */

bool
rb_hs_malloc_copy(struct hs_malloc_copy *copy, int s)
{
    HS_CONTRACT(tables);
    *copy = (struct hs_malloc_copy){0};
    lock_malloc();
    const struct session *session = &sessions[s];
    copy->interval = session->is.interval;
    copy->first_interval = session->is.first_interval;
    copy->interval_changes = session->is.interval_changes;
    copy->thinnings = session->is.thinnings;
    copy->blocks = rb_hs_malloc(HS_MEM_SNAPSHOTS, session->is.samples * sizeof(*copy->blocks) + 1);
    bool ok = copy->blocks && rb_hs_malloc_stacks_copy(copy, s);
    for (uint32_t place = 0; ok && place < block_places; place++) {
        const struct block *block = &blocks[place];
        if (!block->address || !(block->sessions & (1u << s))) continue;
        copy->blocks[copy->block_count] = (struct hs_malloc_block_copy){
            block->address,
            block->size,
            epochs.list[block->epoch].interval[s],
            block->stack,
            block->birth_gc,
            block->thread,
            copy->block_count,
            0,
        };
        copy->block_count++;
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
    *copy = (struct hs_malloc_copy){0};
}

void
rb_hs_malloc_table_stat(struct hs_malloc_table_stat *stat)
{
    lock_malloc();
    *stat = (struct hs_malloc_table_stat){.blocks = block_count, .dropped = dropped};
    rb_hs_malloc_stacks_count(&stat->stacks, &stat->raw);
    unlock_malloc();
}

size_t
rb_hs_malloc_snapshot_bytes(void)
{
    struct hs_malloc_table_stat stat;
    rb_hs_malloc_table_stat(&stat);
    return stat.blocks * (size_t)HS_SNAPSHOT_BLOCK + stat.stacks * (size_t)HS_SNAPSHOT_STACK;
}

#if HS_CHECKING
/* -- checks ---------------------------------------------------------------------------------------------- */

/* The lock as well: nodes are compared with. */
void
rb_hs_malloc_check(void)
{
    uint64_t samples[HS_SESSIONS] = {0};
    uint32_t count = 0;
    lock_malloc();
    for (uint32_t place = 0; place < block_places; place++) {
        const struct block *block = &blocks[place];
        if (!block->address) continue;
        count++;
        HS_MUST(place_of(block->address) == place, "the block at %p is not found", (void *)block->address);
        HS_MUST(rb_hs_malloc_stack_used_p(block->stack), "the block at %p: stack %u", (void *)block->address, block->stack);
        HS_MUST(block->epoch < epochs.count, "the block at %p: epoch %u of %u", (void *)block->address, block->epoch,
                epochs.count);
        HS_MUST(block->sessions, "the block at %p has no session", (void *)block->address);
        for (int s = 0; s < HS_SESSIONS; s++) samples[s] += block->sessions >> s & 1;
    }
    for (uint32_t i = 0; i < birth_count; i++) {
        HS_MUST(rb_hs_malloc_stack_used_p(births[i].stack), "birth %u: stack %u", i, births[i].stack);
    }
    HS_MUST(count == block_count, "%u blocks, counted %u", block_count, count);
    for (int s = 0; s < HS_SESSIONS; s++) {
        HS_MUST(samples[s] == sessions[s].is.samples, "session %d has %llu blocks, counted %llu", s,
                (unsigned long long)sessions[s].is.samples, (unsigned long long)samples[s]);
    }
    rb_hs_malloc_stacks_check(block_count + birth_count);
    unlock_malloc();
}

bool
rb_hs_malloc_mislead(void)
{
    lock_malloc();
    bool done = rb_hs_malloc_stacks_mislead();
    unlock_malloc();
    return done;
}
#endif

/*
 * See malloc_stacks.h.
 *
 * Stacks stand in chunks that never move, so that a handle is an index and a
 * sample needs no allocation: room is made ahead of need, outside of malloc.
 */
#include "malloc_stacks.h"
#include "check.h"
#include "memory.h"
#include "table.h"

#include <pthread.h>
#include <string.h>

enum {
    CHUNK = 512,                /* stacks */
    CHUNKS_MAX = HS_MALLOC_STACKS_MAX / CHUNK,
    PENDING_FRAMES = 16 << 10,  /* raw frames: the deepest stack (4,096) fits several times */
    FRAMES_LEAST = 16,          /* of a stack that is cut for want of room */
    NONE = UINT32_MAX
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* What each sample writes is kept apart from the addresses, which stay as they
 * are: a forked child copies few pages. */
struct stack {
    struct hs_stack_hash hash;  /* b is 0: it is not found by its hash any more */
    uint64_t taken;             /* samples */
    uint32_t node;              /* or HS_MALLOC_PENDING */
    uint32_t used;              /* the dump before which it was last met or listed; 0: free */
    uint32_t next_free;
    uint32_t native_count;
};

struct chunk {
    struct stack stacks[CHUNK];
    uintptr_t native[CHUNK][HS_NATIVE_MAX];
};

static struct chunk *chunks[CHUNKS_MAX];
static uint32_t chunk_count, stack_count, free_stacks = NONE;

/* Handles + 1 by hash; open addressing, at most half full, since there are
 * twice as many places as room for stacks. */
static uint32_t *index_places;
static uint32_t index_size;

/* Frames of pending stacks, one stack after the other; begun anew when all of
 * them are resolved. */
struct pending_stack {
    uint32_t handle, depth, at;
    bool truncated;
};
static struct hs_raw_frame *pending_frames;
static struct pending_stack *pending_stacks;
static uint32_t frames_used, pending_count, pending_next, pending_capacity;

static uint32_t dump_count = 1;         /* the number of the next dump */
static uint32_t dumps_open, first_open; /* begun and not ended; the number of the first of them */
static uint64_t taken, no_room;

static struct stack *
stack_of(uint32_t handle)
{
    return &chunks[handle / CHUNK]->stacks[handle % CHUNK];
}

static uintptr_t *
native_of(uint32_t handle)
{
    return chunks[handle / CHUNK]->native[handle % CHUNK];
}

/* -- the mutex --------------------------------------------------------------- */

bool
rb_hs_malloc_stacks_try_lock(void)
{
    return pthread_mutex_trylock(&mutex) == 0;
}

void
rb_hs_malloc_stacks_lock(void)
{
    pthread_mutex_lock(&mutex);
}

void
rb_hs_malloc_stacks_unlock(void)
{
    pthread_mutex_unlock(&mutex);
}

/* -- room -------------------------------------------------------------------- */

static uint32_t *
place_of(const struct hs_stack_hash *hash)
{
    uint32_t place = (uint32_t)hash->a & (index_size - 1);
    while (index_places[place]) {
        const struct stack *stack = stack_of(index_places[place] - 1);
        if (stack->hash.a == hash->a && stack->hash.b == hash->b) break;
        place = (place + 1) & (index_size - 1);
    }
    return &index_places[place];
}

/* Stacks whose hash was forgotten (b is 0) are not in it. */
static void
index_all(void)
{
    memset(index_places, 0, index_size * sizeof(*index_places));
    for (uint32_t handle = 0; handle < chunk_count * CHUNK; handle++) {
        const struct stack *stack = stack_of(handle);
        if (stack->used && stack->hash.b) *place_of(&stack->hash) = handle + 1;
    }
}

/* The two allocations are made without the mutex: a malloc may be sampled. */
static bool
add_chunk(void)
{
    uint32_t size = index_size ? index_size : CHUNK * 2;
    while (size < (chunk_count + 1) * CHUNK * 2) size *= 2;
    struct chunk *chunk = rb_hs_malloc(HS_MEM_MALLOC, sizeof(*chunk));
    uint32_t *places = size > index_size ? rb_hs_calloc(HS_MEM_MALLOC, size, sizeof(*places)) : NULL;
    if (!chunk || (size > index_size && !places)) {
        rb_hs_free(HS_MEM_MALLOC, chunk);
        rb_hs_free(HS_MEM_MALLOC, places);
        return false;
    }

    uint32_t *old_places = NULL;
    rb_hs_malloc_stacks_lock();
    uint32_t first = chunk_count * CHUNK;
    chunks[chunk_count++] = chunk;
    memset(chunk->stacks, 0, sizeof(chunk->stacks));
    for (uint32_t i = CHUNK; i-- > 0; ) {
        chunk->stacks[i].next_free = free_stacks;
        free_stacks = first + i;
    }
    if (places) {
        old_places = index_places;
        index_places = places;
        index_size = size;
        index_all();
    }
    rb_hs_malloc_stacks_unlock();
    rb_hs_free(HS_MEM_MALLOC, old_places);
    return true;
}

bool
rb_hs_malloc_stacks_open(void)
{
    if (pending_frames) return true;
    enum { PENDING_STACKS = PENDING_FRAMES / 8 };
    /* Not cleared, so that hardly any of it becomes resident. */
    struct hs_raw_frame *frames = rb_hs_malloc(HS_MEM_MALLOC, PENDING_FRAMES * sizeof(*frames));
    struct pending_stack *stacks = rb_hs_malloc(HS_MEM_MALLOC, PENDING_STACKS * sizeof(*stacks));
    if (!frames || !stacks || !add_chunk()) {
        rb_hs_free(HS_MEM_MALLOC, frames);
        rb_hs_free(HS_MEM_MALLOC, stacks);
        return false;
    }
    pending_stacks = stacks;
    pending_capacity = PENDING_STACKS;
    pending_frames = frames;
    return true;
}

bool
rb_hs_malloc_stacks_make_room(void)
{
    if (!pending_frames) return false;
    rb_hs_malloc_stacks_lock();
    uint32_t room = chunk_count * CHUNK - stack_count;
    rb_hs_malloc_stacks_unlock();
    if (room >= CHUNK / 2) return false;
    if (chunk_count < CHUNKS_MAX && add_chunk()) return chunk_count > CHUNKS_MAX / 4;
    return true;
}

void
rb_hs_malloc_stacks_stat(struct hs_malloc_stack_stat *stat)
{
    rb_hs_malloc_stacks_lock();
    *stat = (struct hs_malloc_stack_stat){ stack_count, pending_count - pending_next, taken, no_room };
    rb_hs_malloc_stacks_unlock();
}

/* -- inside malloc ------------------------------------------------------------- */

uint32_t
rb_hs_malloc_stack_take(const struct hs_stack_hash *hash)
{
    uint32_t handle = *place_of(hash);
    if (!handle) return NONE;
    struct stack *stack = stack_of(handle - 1);
    stack->taken++;
    stack->used = dump_count;
    taken++;
    return handle - 1;
}

struct hs_raw_frame *
rb_hs_malloc_stack_add(const struct hs_stack_hash *hash, const uintptr_t *native, uint32_t native_count, uint32_t depth,
                       bool truncated, uint32_t *handle, uint32_t *room)
{
    bool cut = depth > PENDING_FRAMES - frames_used;
    if (cut) depth = PENDING_FRAMES - frames_used;
    if (free_stacks == NONE || pending_count == pending_capacity || (cut && depth < FRAMES_LEAST)) {
        no_room++;
        return NULL;
    }
    *room = depth;
    *handle = free_stacks;
    struct stack *stack = stack_of(*handle);
    free_stacks = stack->next_free;
    stack_count++;
    taken++;
    /* One that is cut is not found again: the next time there may be room. */
    stack->hash = cut ? (struct hs_stack_hash){ 0, 0 } : *hash;
    if (!cut) *place_of(hash) = *handle + 1;
    stack->taken = 1;
    stack->node = HS_MALLOC_PENDING;
    stack->used = dump_count;
    stack->native_count = native_count < HS_NATIVE_MAX ? native_count : HS_NATIVE_MAX;
    memcpy(native_of(*handle), native, stack->native_count * sizeof(*native));

    struct hs_raw_frame *frames = pending_frames + frames_used;
    pending_stacks[pending_count++] = (struct pending_stack){ *handle, depth, frames_used, truncated || cut };
    frames_used += depth;
    return frames;
}

/* -- resolving ------------------------------------------------------------------ */

bool
rb_hs_malloc_stacks_pending(struct hs_malloc_pending *pending)
{
    bool any = false;
    rb_hs_malloc_stacks_lock();
    if (pending_next < pending_count) {
        const struct pending_stack *next = &pending_stacks[pending_next];
        *pending = (struct hs_malloc_pending){ next->handle, next->depth, next->truncated, pending_frames + next->at };
        any = true;
    }
    rb_hs_malloc_stacks_unlock();
    return any;
}

void
rb_hs_malloc_stack_resolve(const struct hs_malloc_pending *pending, uint32_t node)
{
    rb_hs_malloc_stacks_lock();
    stack_of(pending->handle)->node = node;
    if (++pending_next == pending_count) pending_next = pending_count = frames_used = 0;
    rb_hs_malloc_stacks_unlock();
}

void
rb_hs_malloc_stacks_forget_addresses(void)
{
    if (!index_places) return;
    rb_hs_malloc_stacks_lock();
    for (uint32_t handle = 0; handle < chunk_count * CHUNK; handle++) stack_of(handle)->hash.b = 0;
    memset(index_places, 0, index_size * sizeof(*index_places));
    rb_hs_malloc_stacks_unlock();
}

/* -- nodes ------------------------------------------------------------------------ */

static bool
has_node(const struct stack *stack)
{
    return stack->used && stack->node != HS_MALLOC_PENDING;
}

void
rb_hs_malloc_stacks_keep_nodes(bool *keep)
{
    rb_hs_malloc_stacks_lock();
    for (uint32_t handle = 0; handle < chunk_count * CHUNK; handle++) {
        const struct stack *stack = stack_of(handle);
        if (has_node(stack)) keep[stack->node] = true;
    }
    rb_hs_malloc_stacks_unlock();
}

void
rb_hs_malloc_stacks_renumber(const uint32_t *new_node)
{
    rb_hs_malloc_stacks_lock();
    for (uint32_t handle = 0; handle < chunk_count * CHUNK; handle++) {
        struct stack *stack = stack_of(handle);
        if (has_node(stack)) stack->node = new_node[stack->node];
    }
    rb_hs_malloc_stacks_unlock();
}

/* -- dumps ------------------------------------------------------------------------- */

uint32_t
rb_hs_malloc_stacks_begin_dump(void)
{
    rb_hs_malloc_stacks_lock();
    uint32_t dump = dump_count++;
    if (!dumps_open++) first_open = dump;
    rb_hs_malloc_stacks_unlock();
    return dump;
}

bool
rb_hs_malloc_stack_listed(uint32_t dump, uint32_t handle, struct hs_malloc_stack *copy)
{
    bool found = false;
    rb_hs_malloc_stacks_lock();
    if (handle < chunk_count * CHUNK && stack_of(handle)->used) {
        struct stack *stack = stack_of(handle);
        if (stack->used <= dump) stack->used = dump + 1;
        *copy = (struct hs_malloc_stack){ .taken = stack->taken, .node = stack->node, .used = true, .native_count = stack->native_count };
        memcpy(copy->native, native_of(handle), stack->native_count * sizeof(*copy->native));
        found = true;
    }
    rb_hs_malloc_stacks_unlock();
    return found;
}

/* A thread may have met a stack and not yet told jemalloc; so a stack that was
 * met since the dump before this one stays, listed or not.  While another dump
 * is open, which may list what this one does not, all stay. */
void
rb_hs_malloc_stacks_end_dump(bool told)
{
    bool freed = false;
    rb_hs_malloc_stacks_lock();
    if (--dumps_open) told = false;
    for (uint32_t handle = 0; told && handle < chunk_count * CHUNK; handle++) {
        struct stack *stack = stack_of(handle);
        if (!has_node(stack) || stack->used >= first_open) continue;
        stack->used = 0;
        stack->next_free = free_stacks;
        free_stacks = handle;
        stack_count--;
        freed = true;
    }
    if (freed) index_all();
    rb_hs_malloc_stacks_unlock();
}

void
rb_hs_malloc_stacks_in_child(void)
{
    dumps_open = 0;
}

#if HS_CHECKING
/* -- checks ---------------------------------------------------------------------------- */

static void
check_free_stacks(uint32_t used)
{
    uint32_t all = chunk_count * CHUNK, unused = 0;
    for (uint32_t handle = free_stacks; handle != NONE; handle = stack_of(handle)->next_free) {
        HS_MUST(handle < all && !stack_of(handle)->used && ++unused <= all, "malloc stack %u of %u is on the free list", handle,
                all);
    }
    HS_MUST(used + unused == all, "%u malloc stacks: %u used, %u free", all, used, unused);
}

static void
check_index(uint32_t findable)
{
    uint32_t indexed = 0;
    for (uint32_t place = 0; place < index_size; place++) {
        uint32_t handle = index_places[place];
        if (!handle) continue;
        indexed++;
        HS_MUST(handle <= chunk_count * CHUNK && stack_of(handle - 1)->used, "malloc stack %u is indexed and free", handle - 1);
        HS_MUST(place_of(&stack_of(handle - 1)->hash) == &index_places[place], "malloc stack %u is not found by its hash",
                handle - 1);
    }
    HS_MUST(indexed == findable, "%u malloc stacks can be found, %u are indexed", findable, indexed);
}

/* The lock as well: nodes are compared with. */
void
rb_hs_malloc_stacks_check(void)
{
    uint32_t used = 0, findable = 0, pending = 0;
    rb_hs_malloc_stacks_lock();
    for (uint32_t handle = 0; handle < chunk_count * CHUNK; handle++) {
        const struct stack *stack = stack_of(handle);
        if (!stack->used) continue;
        used++;
        findable += stack->hash.b != 0;
        pending += !has_node(stack);
        HS_MUST(!has_node(stack) || stack->node == HS_NODE_EMPTY || stack->node < rb_hs_node_count,
                "malloc stack %u: node %u of %u", handle, stack->node, rb_hs_node_count);
        HS_MUST(stack->taken, "malloc stack %u has no sample", handle);
        HS_MUST(stack->used <= dump_count, "malloc stack %u: listed by dump %u of %u", handle, stack->used, dump_count);
    }
    HS_MUST(used == stack_count, "%u malloc stacks, counted %u", used, stack_count);
    HS_MUST(pending == pending_count - pending_next, "%u malloc stacks without a name, %u wait for one", pending,
            pending_count - pending_next);
    check_free_stacks(used);
    check_index(findable);
    rb_hs_malloc_stacks_unlock();
}
#endif

/* See heap_walk/walk.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/kernel.h"
#include "heap_sampler/heap_walk/walk.h"

#include <malloc.h>
#include <setjmp.h>
#include <signal.h>

enum { STEPS_LEAST = 1 << 18,   /* and one for so many slots of the heap */
       SLOTS_A_STEP = 32,
       WORDS_A_STEP = 64,       /* on average, if all steps are made */
       BLOCK_BYTES_MOST = 1 << 16,
       CHUNK_BYTES = 512,
       ABOVE_MOST = 256 };      /* objects between a stack and one that it leads to */

/* Addresses below and above are none of a program: on x86-64 they end at 2^47, on arm64 at 2^48. */
static const uintptr_t lowest = 1 << 16, highest = (uintptr_t)1 << 48;

static struct block {
    uintptr_t start, end;
    uint32_t position;
} *wanted_blocks;               /* sorted by address */
static uint32_t *owner_of;      /* by position: the object's number; the first that is reached */

/* A part of memory whose words are looked at, for the object that leads there. */
struct step {
    const uintptr_t *start;
    uint32_t bytes, number;
    bool fleeting;              /* the object may be younger than an old block: then such a block is not its */
};

static struct hs_walk *walk;
static const struct hs_wanted *blocks;
static bool lasting_followed;   /* what objects lead to that the first pass reached */
static uint64_t words_left;
static struct step *steps;
static uint32_t step_count, step_most;
static struct hs_map seen;      /* addresses of steps, and of whole chunks, plus 1 */

/* The wanted block that has this address inside; NULL: none. Some allocators of libraries put a header in front of what they return
 * (SQLite's has a size), and lists lead to structs in the middle of blocks. */
static const struct block *
block_at(uintptr_t address)
{
    uint32_t low = 0, high = blocks->count - blocks->objects;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (wanted_blocks[middle].start <= address) low = middle + 1;
        else high = middle;
    }
    return low && address < wanted_blocks[low - 1].end ? &wanted_blocks[low - 1] : NULL;
}

static void
own_block(const struct block *block, uint32_t number)
{
    if (!owner_of[block->position]) owner_of[block->position] = number;
}

/* A field that is known has the pointer. */
static void
own(const void *pointer, void *number)
{
    const struct block *block = block_at((uintptr_t)pointer);
    if (block) own_block(block, *(const uint32_t *)number);
}

/* -- what an object of C code leads to ------------------------------------------------------ */

static void
add_step(const void *start, size_t bytes, uint32_t number, bool fleeting)
{
    if (step_count == step_most || rb_hs_map_find(&seen, (uintptr_t)start) || !rb_hs_arena_put(&seen, (uintptr_t)start, 0)) return;
    steps[step_count++] = (struct step){start, bytes < BLOCK_BYTES_MOST ? (uint32_t)bytes : BLOCK_BYTES_MOST, number, fleeting};
}

static void
lead_to(uintptr_t address, uint32_t number, bool fleeting)
{
    const struct block *block = block_at(address);
    if (block) {
        bool younger = fleeting && blocks->sample(blocks->data, block->position).old;
        if (!younger) own_block(block, number);
        add_step((const void *)block->start, block->end - block->start, number, fleeting);
    }
    else if (step_count < step_most && rb_hs_allocator_has_p((const void *)address)) {
        add_step((const void *)address, malloc_usable_size((void *)address), number, fleeting);
    }
}

/* Is it no fiber local or thread variable that leads from a stack to the object? */
static bool
local_variable_p(VALUE stack, VALUE object)
{
    static VALUE known;         /* many objects have it above them */
    static struct hs_edge edge;
    if (object != known) rb_hs_edge(stack, known = object, &edge);
    return edge.kind != HS_EDGE_FIBER_LOCAL && edge.kind != HS_EDGE_THREAD_LOCAL;
}

/* Is the object of this number in a variable of code that runs, and nothing shows that it has been there for long?
 * An old object shows that (it has survived three GCs), but only objects with write barriers become old; or the old
 * object or environment that leads there; or a fiber local or thread variable.  So an object without write barriers
 * in a local variable of a method never gets an old block, which has survived four major GCs (profile/kept.c): the
 * block is "(not reached)". */
static bool
fleeting_p(uint32_t number)
{
    const struct hs_slot_index *index = &walk->index;
    uint32_t from;
    if (walk->pass == HS_PASS_LASTING || RB_OBJ_PROMOTED_RAW(hs_index_object(index, number))) return false;
    for (int steps = 0; (from = *hs_index_from(index, number)) < HS_NODE_NUMBERS && steps < ABOVE_MOST; steps++) {
        if (rb_hs_walk_stack_p(hs_index_object(index, from))) break;
        number = from;
    }
    VALUE object = hs_index_object(index, number);
    return !RB_OBJ_PROMOTED_RAW(object) && (from >= HS_NODE_NUMBERS || local_variable_p(hs_index_object(index, from), object));
}

/* Do its pointers lead to what belongs to others, too?  Ruby's own types lead to structs of the VM.  Types that free
 * something and mark nothing do not: Encoding::Converter.  A Mutex does: to its fiber. */
static bool
shares_p(VALUE object)
{
    const rb_data_type_t *type = RTYPEDDATA_TYPE(object);
    bool frees = type->function.dfree && type->function.dfree != RUBY_TYPED_DEFAULT_FREE;
    if (frees && !type->function.dmark && rb_heap_sampler_sync_of(object) == RB_HEAP_SAMPLER_NO_SYNC) return false;
    return rb_hs_same_library_p(type, &ruby_threadptr_data_type);
}

static void
begin_at(VALUE object, uint32_t number)
{
    bool typed = RTYPEDDATA_P(object), fleeting = fleeting_p(number);
    const char *data = typed ? RTYPEDDATA_GET_DATA(object) : DATA_PTR(object);
    if (!data || (typed && shares_p(object))) return;
    bool embedded = typed && RTYPEDDATA_EMBEDDED_P(object);
    if (embedded) add_step(data, (size_t)((const char *)object + rb_gc_obj_slot_size(object) - data), number, fleeting);
    else lead_to((uintptr_t)data, number, fleeting);
}

/* -- before and in the walk --------------------------------------------------------------------- */

static void
look_for_blocks(VALUE object, uint32_t number)
{
    if (walk->pass != HS_PASS_LASTING && !lasting_followed) {
        lasting_followed = true;
        rb_hs_blocks_follow();
    }
    rb_hs_owned_blocks(object, own, &number);
    if (BUILTIN_TYPE(object) == T_DATA) begin_at(object, number);
}

static int
compare_starts(const void *left, const void *right)
{
    uintptr_t a = ((const struct block *)left)->start, b = ((const struct block *)right)->start;
    return (a > b) - (a < b);
}

bool
rb_hs_blocks_make(struct hs_walk *of, const struct hs_wanted *wanted, uint32_t *owners)
{
    walk = of;
    blocks = wanted;
    if (wanted->objects == wanted->count) return true;
    uint32_t count = wanted->count - wanted->objects;
    wanted_blocks = rb_hs_arena_map(count * sizeof(*wanted_blocks));
    if (!wanted_blocks) return false;
    for (uint32_t i = 0; i < count; i++) {
        uintptr_t start = wanted->sample(wanted->data, wanted->objects + i).address;
        wanted_blocks[i] = (struct block){start, start + malloc_usable_size((void *)start), wanted->objects + i};
    }
    rb_hs_sort(wanted_blocks, count, sizeof(*wanted_blocks), compare_starts);
    walk->each = look_for_blocks;
    owner_of = owners;
    step_most = STEPS_LEAST + walk->index.slots / SLOTS_A_STEP;
    words_left = (uint64_t)step_most * WORDS_A_STEP;
    steps = rb_hs_arena_map(step_most * sizeof(*steps));
    return steps != NULL;
}

/* -- behind it ------------------------------------------------------------------------------------ */

/* A word may be the address of what was given back to the kernel. */
static sigjmp_buf beyond;

static void
jump(int number)
{
    (void)number;
    siglongjmp(beyond, 1);
}

static void
guard(void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_NODEFER};
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
}

/* Has no step looked at this chunk yet?  An address in the middle of a block begins a step, too, so steps overlap: most of the words
 * went to SQLite's free blocks, again and again. */
static bool
new_chunk_p(const uintptr_t *start)
{
    uintptr_t key = (uintptr_t)start + 1;
    return !rb_hs_map_find(&seen, key) && rb_hs_arena_put(&seen, key, 0);
}

static void
look_at(struct step *step)
{
    const uintptr_t *end = step->start + step->bytes / sizeof(uintptr_t);
    for (const uintptr_t *at = step->start; at < end && words_left; at++, words_left--) {
        while ((uintptr_t)at % CHUNK_BYTES == 0 && !new_chunk_p(at)) {
            at += CHUNK_BYTES / sizeof(uintptr_t);
            if (at >= end) return;
        }
        uintptr_t word = *at;
        if (word < lowest || word >= highest || word % sizeof(uintptr_t)) continue;
        if (hs_index_number(&walk->index, (VALUE)word)) continue;       /* the walk follows references to objects */
        lead_to(word, step->number, step->fleeting);
    }
}

void
rb_hs_blocks_follow(void)
{
    static volatile uint32_t next;
    guard(jump);
    sigsetjmp(beyond, 0);       /* comes back with the next step */
    while (next < step_count && words_left) look_at(&steps[next++]);
    guard(SIG_DFL);
}

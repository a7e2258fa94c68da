/* See heap_walk/walk.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/kernel.h"
#include "heap_sampler/heap_walk/walk.h"

#include <malloc.h>
#include <setjmp.h>
#include <signal.h>

enum { STEPS_LEAST = 1 << 16,   /* and one for so many slots of the heap */
       SLOTS_A_STEP = 32,
       WORDS_A_STEP = 64,       /* on average, if all steps are made */
       BLOCK_BYTES_MOST = 1 << 16 };

/* Addresses below and above are none of a program. */
static const uintptr_t lowest = 1 << 16, highest = (uintptr_t)1 << 47;

static struct hs_map positions; /* of the wanted blocks, by address */
static uint32_t *owner_of;      /* by position: the object's number; the first that is reached */

/* A part of memory whose words are looked at, for the object that leads there. */
struct step {
    const uintptr_t *start;
    uint32_t bytes, number;
};

static const struct hs_slot_index *index_of_slots;
static uint64_t words_left;
static struct step *steps;
static uint32_t step_count, step_most;
static struct hs_map seen;      /* addresses of steps */

/* The block belongs to the object of this number. */
static void
own(const void *pointer, void *number)
{
    const uint32_t *position = rb_hs_map_find(&positions, (uintptr_t)pointer);
    if (position && !owner_of[*position]) owner_of[*position] = *(const uint32_t *)number;
}

/* -- what an object of a C extension leads to ------------------------------------------------ */

static void
add_step(const void *start, size_t bytes, uint32_t number)
{
    if (step_count == step_most || rb_hs_map_find(&seen, (uintptr_t)start) || !rb_hs_arena_put(&seen, (uintptr_t)start, 0)) return;
    steps[step_count++] = (struct step){start, bytes < BLOCK_BYTES_MOST ? (uint32_t)bytes : BLOCK_BYTES_MOST, number};
}

static void
add_block(const void *block, uint32_t number)
{
    if (step_count < step_most && rb_hs_allocator_has_p(block)) add_step(block, malloc_usable_size((void *)block), number);
}

static void
begin_at(VALUE object, uint32_t number)
{
    if (!RTYPEDDATA_P(object)) {
        if (DATA_PTR(object)) add_block(DATA_PTR(object), number);
        return;
    }
    const char *data = RTYPEDDATA_GET_DATA(object);
    if (!data || rb_hs_same_library_p(RTYPEDDATA_TYPE(object), &ruby_threadptr_data_type)) return;
    if (RTYPEDDATA_EMBEDDED_P(object)) add_step(data, (size_t)((const char *)object + rb_gc_obj_slot_size(object) - data), number);
    else add_block(data, number);
}

/* -- before and in the walk --------------------------------------------------------------------- */

static void
look_for_blocks(VALUE object, uint32_t number)
{
    rb_hs_owned_blocks(object, own, &number);
    if (BUILTIN_TYPE(object) == T_DATA) begin_at(object, number);
}

bool
rb_hs_blocks_make(struct hs_walk *walk, const struct hs_wanted *wanted, uint32_t *owners)
{
    if (wanted->objects == wanted->count) return true;
    for (uint32_t i = wanted->objects; i < wanted->count; i++) {
        if (!rb_hs_arena_put(&positions, wanted->sample(wanted->data, i).address, i)) return false;
    }
    walk->each = look_for_blocks;
    owner_of = owners;
    index_of_slots = &walk->index;
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

static void
look_at(struct step *step)
{
    for (uint32_t i = 0; i < step->bytes / sizeof(uintptr_t) && words_left; i++, words_left--) {
        uintptr_t word = step->start[i];
        if (word < lowest || word >= highest || word % sizeof(uintptr_t)) continue;
        if (hs_index_number(index_of_slots, (VALUE)word)) continue;     /* the walk follows references to objects */
        own((const void *)word, &step->number);
        add_block((const void *)word, step->number);
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

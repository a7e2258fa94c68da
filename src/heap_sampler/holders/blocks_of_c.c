/* See holders/blocks_of_c.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/holders/blocks_of_c.h"
#include "heap_sampler/base/table.h"
#include "heap_sampler/holders/edge_visit.h"
#include "heap_sampler/holders/slot_index.h"
#include "heap_sampler/native/allocator.h"

#include <malloc.h>
#include <setjmp.h>
#include <signal.h>

enum { STEPS_LEAST = 1 << 16,   /* and one for so many slots of the heap */
       SLOTS_A_STEP = 32,
       WORDS_A_STEP = 64,       /* on average, if all steps are made */
       BLOCK_BYTES_MOST = 1 << 16 };

/* Addresses below and above are none of a program. */
static const uintptr_t lowest = 1 << 16, highest = (uintptr_t)1 << 47;

/* A part of memory whose words are looked at, for the object that leads there. */
struct step {
    const uintptr_t *start;
    uint32_t bytes, number;
};

static const struct hs_slot_index *index_of_slots;
static uint64_t words_left;
static struct step *steps;
static uint32_t step_count, step_most;
static uintptr_t *seen;         /* addresses of steps; 0: empty; linear probing */
static uint32_t seen_mask;

bool
rb_hs_c_blocks_make(const struct hs_slot_index *index)
{
    uint32_t places = 1;
    index_of_slots = index;
    step_most = STEPS_LEAST + index->slots / SLOTS_A_STEP;
    words_left = (uint64_t)step_most * WORDS_A_STEP;
    while (places < step_most * 2) places *= 2;
    seen_mask = places - 1;
    steps = rb_hs_arena_map(step_most * sizeof(*steps));
    seen = rb_hs_arena_map(places * sizeof(*seen));
    return steps && seen;
}

/* Is it met for the first time? */
static bool
new_p(uintptr_t address)
{
    uint32_t place = (uint32_t)hs_mix(address) & seen_mask;
    for (; seen[place]; place = (place + 1) & seen_mask) {
        if (seen[place] == address) return false;
    }
    seen[place] = address;
    return true;
}

static void
add_step(const void *start, size_t bytes, uint32_t number)
{
    if (step_count == step_most || !new_p((uintptr_t)start)) return;
    steps[step_count++] = (struct step){start, bytes < BLOCK_BYTES_MOST ? (uint32_t)bytes : BLOCK_BYTES_MOST, number};
}

static void
add_block(const void *block, uint32_t number)
{
    if (step_count < step_most && rb_hs_allocator_has_p(block)) add_step(block, malloc_usable_size((void *)block), number);
}

void
rb_hs_c_blocks_note(VALUE object, uint32_t number)
{
    if (BUILTIN_TYPE(object) != T_DATA) return;
    if (!RTYPEDDATA_P(object)) {
        if (DATA_PTR(object)) add_block(DATA_PTR(object), number);
        return;
    }
    const char *data = RTYPEDDATA_GET_DATA(object);
    if (!data || rb_hs_same_library_p(RTYPEDDATA_TYPE(object), &ruby_threadptr_data_type)) return;
    if (RTYPEDDATA_EMBEDDED_P(object)) add_step(data, (size_t)((const char *)object + rb_gc_obj_slot_size(object) - data), number);
    else add_block(data, number);
}

/* -- what is not there any more ----------------------------------------------------------- */

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

/* ----------------------------------------------------------------------------------------- */

/* References to objects are followed by the walk. */
static bool
address_p(uintptr_t word)
{
    return word >= lowest && word < highest && word % sizeof(uintptr_t) == 0 && hs_index_number(index_of_slots, (VALUE)word) == HS_NO_OBJECT;
}

static void
look_at(const struct step *step, void (*found)(const void *pointer, uint32_t number))
{
    for (uint32_t i = 0; i < step->bytes / sizeof(uintptr_t) && words_left; i++, words_left--) {
        uintptr_t word = step->start[i];
        if (!address_p(word)) continue;
        found((const void *)word, step->number);
        add_block((const void *)word, step->number);
    }
}

void
rb_hs_c_blocks_follow(void (*found)(const void *pointer, uint32_t number))
{
    static volatile uint32_t next;
    guard(jump);
    sigsetjmp(beyond, 0);       /* comes back with the next step */
    while (next < step_count && words_left) look_at(&steps[next++], found);
    guard(SIG_DFL);
}

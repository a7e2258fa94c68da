/* See memory/majors.h. */
#include "heap_sampler/memory/majors.h"
#ifndef HEAP_SAMPLER_STANDALONE
#include "heap_sampler/mri.h"
#include "heap_sampler/memory/account.h"
#include "heap_sampler/settings/options.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/contract.h"
#endif

#include <string.h>

enum { OLDER = HS_MAJORS - HS_MAJORS_NEWEST };

static void
thin(struct hs_majors *majors)
{
    for (uint32_t i = 1; i < OLDER / 2; i++) majors->list[i] = majors->list[2 * i];
    memmove(&majors->list[OLDER / 2], &majors->list[OLDER], HS_MAJORS_NEWEST * sizeof(*majors->list));
    majors->older = OLDER / 2;
    majors->count -= OLDER / 2;
    majors->step *= 2;
}

/* The oldest of the newest becomes the last of the older ones, or goes. */
static void
age(struct hs_majors *majors)
{
    uint64_t number = majors->added - HS_MAJORS_NEWEST;
    if (majors->older == OLDER && number % majors->step == 0) thin(majors);
    if (number % majors->step == 0) {
        majors->older++;
        return;
    }
    struct hs_major *gone = &majors->list[majors->older];
    memmove(gone, gone + 1, (HS_MAJORS_NEWEST - 1) * sizeof(*gone));
    majors->count--;
}

void
rb_hs_majors_add(struct hs_majors *majors, const struct hs_major *major)
{
    if (!majors->step) majors->step = 1;
    if (majors->count - majors->older == HS_MAJORS_NEWEST) age(majors);
    majors->list[majors->count++] = *major;
    majors->added++;
}

/* Each heap has slots of twice the size.  Malloc's bytes are not known for each point: then the bytes of the point
 * before count. */
static uint64_t
bytes_alive(const struct hs_majors *majors, uint32_t point)
{
    uint64_t bytes = 0;
    for (uint32_t heap = 0; heap < HS_HEAPS_MAX; heap++) bytes += (uint64_t)majors->list[point].slots[heap] * 40 << heap;
    while (point && !majors->list[point].malloc) point--;
    return bytes + majors->list[point].malloc;
}

bool
rb_hs_majors_rise_p(const struct hs_majors *majors, uint64_t since_ns)
{
    uint32_t quarter = majors->count / 4, last = majors->count - quarter;
    uint64_t most = 0, least = UINT64_MAX;
    if (quarter < 2 || majors->list[last].ns <= since_ns) return false;
    for (uint32_t i = quarter; i < majors->count; i++) {
        uint64_t bytes = bytes_alive(majors, i);
        if ((i < 2 * quarter || majors->list[i].ns <= since_ns) && most < bytes) most = bytes;
        if (i >= last && least > bytes) least = bytes;
    }
    return least > most + most / 32;
}

#ifndef HEAP_SAMPLER_STANDALONE
static struct hs_majors majors;         /* [read], [write]; of the clock that does not go back */
static bool sweeping;                   /* [vm]; the newest is not swept yet */

/* jemalloc takes 25 us to add up its statistics, for each used arena, and glibc 25 ms for 100,000 free blocks. So a reading
 * is followed by none in so many times what it took. */
enum { MALLOC_EVERY = 1000 };
static uint64_t malloc_due_ns;          /* [vm] */

/* While slots are sampled the mark bits have been counted just before. */
static uint32_t
slots_alive(uint32_t heap)
{
    struct rb_heap_sampler_heap_use use;
    if (rb_heap_sampler_drawing) return (uint32_t)rb_hs_heap_use(heap)->live_slots;
    rb_heap_sampler_gc_heap_use(heap, false, &use);
    return (uint32_t)use.live_slots;
}

void
rb_heap_sampler_on_major_marked(void)
{
    HS_CONTRACT(gc);
    HS_CONTRACT(free);
    struct rb_heap_sampler_gc_counts counts;
    if (!rb_heap_sampler_drawing && !rb_hs_options.standby) return;
    rb_heap_sampler_gc_counts(&counts);
    struct hs_major major = {.ns = rb_hs_steady_ns(), .objects = counts.objects, .gc = (uint32_t)counts.gc};
    for (uint32_t i = 0; i < counts.heap_count && i < HS_HEAPS_MAX; i++) major.slots[i] = slots_alive(i);
    rb_hs_lock();
    rb_hs_majors_add(&majors, &major);
    rb_hs_unlock();
    sweeping = true;
}

void
rb_heap_sampler_on_sweep_end(void)
{
    if (!sweeping) return;
    HS_CONTRACT(gc);
    HS_CONTRACT(free);
    sweeping = false;
    if (rb_hs_steady_ns() < malloc_due_ns) return;
    uint64_t began = rb_hs_thread_cpu_ns(), bytes = rb_hs_malloc_allocated();
    malloc_due_ns = rb_hs_steady_ns() + (rb_hs_thread_cpu_ns() - began) * MALLOC_EVERY;
    rb_hs_lock();
    majors.list[majors.count - 1].malloc = bytes;
    rb_hs_unlock();
}

void
rb_hs_majors_copy(struct hs_majors *copy)
{
    HS_CONTRACT(tables);
    uint64_t ago = rb_hs_now_ns() - rb_hs_steady_ns();
    *copy = majors;
    for (uint32_t i = 0; i < copy->count; i++) copy->list[i].ns += ago;
}

bool
rb_hs_memory_rises_p(uint64_t since_ns)
{
    rb_hs_lock();
    bool rises = rb_hs_majors_rise_p(&majors, since_ns);
    rb_hs_unlock();
    return rises;
}
#endif

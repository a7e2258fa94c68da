/* The lists of threads and fibers, and the census: see memory/threads.h. */
#include "heap_sampler/memory/threads.h"
#include "heap_sampler/memory/smaps.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/contract.h"
#include "heap_sampler/base/table.h"
#include "internal/heap_sampler.h"

#include <string.h>
#include <unistd.h>

/* -- the lists ------------------------------------------------------------------------- */

enum { MARK = UINT32_MAX };     /* origin of what is no thread and no fiber */

/* Protects the lists, and the numbers of places. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct rb_heap_sampler_alive heads[HS_ALIVE_KINDS];      /* of rings; all zero: nothing was ever added */

static void
insert_after(struct rb_heap_sampler_alive *place, struct rb_heap_sampler_alive *alive)
{
    alive->previous = place;
    alive->next = place->next;
    place->next->previous = alive;
    place->next = alive;
}

static void
take_out(struct rb_heap_sampler_alive *alive)
{
    alive->previous->next = alive->next;
    alive->next->previous = alive->previous;
    alive->previous = alive->next = NULL;
}

static struct rb_heap_sampler_alive *
head_of(enum hs_alive_kind kind)
{
    struct rb_heap_sampler_alive *head = &heads[kind];
    if (!head->next) head->next = head->previous = head;
    return head;
}

void
rb_hs_thread_list_add(enum hs_alive_kind kind, struct rb_heap_sampler_alive *alive, const struct hs_creation_place *place)
{
    hs_lock(&mutex, HS_LOCK_THREADS);
    alive->origin = place->origin;
    if (alive->origin == HS_CREATION_FIXED) alive->origin = rb_hs_creation_site((struct hs_text){place->text, place->len});
    insert_after(head_of(kind), alive);
    hs_unlock(&mutex, HS_LOCK_THREADS);
}

void
rb_hs_thread_list_remove(struct rb_heap_sampler_alive *alive)
{
    hs_lock(&mutex, HS_LOCK_THREADS);
    if (alive->next) {
        take_out(alive);
        rb_hs_creation_site_leave(alive->origin);
    }
    hs_unlock(&mutex, HS_LOCK_THREADS);
}

void
rb_hs_thread_list_before_fork(void)
{
    hs_lock(&mutex, HS_LOCK_THREADS);
}

/* The child has no census: the threads that left marks are not there, and their stacks may go. */
static void
remove_marks(struct rb_heap_sampler_alive *head)
{
    for (struct rb_heap_sampler_alive *alive = head->next, *next; alive != head; alive = next) {
        next = alive->next;
        if (alive->origin == MARK) take_out(alive);
    }
}

void
rb_hs_thread_list_after_fork(bool child)
{
    if (child && rb_hs_creation_sites_after_fork()) {
        for (int kind = 0; kind < HS_ALIVE_KINDS; kind++) remove_marks(head_of((enum hs_alive_kind)kind));
    }
    hs_unlock(&mutex, HS_LOCK_THREADS);
}

/* -- counting -------------------------------------------------------------------------- */

enum { BATCH = 64 };            /* read in one hold of the lock */

struct counting {
    struct hs_census *census;
    enum hs_alive_kind kind;
    struct hs_population *by_origin;    /* NULL: not asked for */
    uint32_t origins;
    int pagemap;
    struct {
        uint32_t origin;
        struct hs_thread_look look;
    } batch[BATCH];
};

static uint64_t
resident(const struct counting *counting, const struct hs_stack_range *range)
{
    enum { MOST = 1 << 26 };    /* a stack without a limit: what grows downwards is used at its upper end */
    uintptr_t end = range->start + range->size, start = range->size > MOST ? end - MOST : range->start;
    if (!range->size || counting->pagemap < 0) return 0;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
    return rb_hs_survey_resident(counting->pagemap, start & ~page, (end + page) & ~page);
}

static void
add_one(struct hs_population *population, enum hs_alive_state state, uint64_t stacks)
{
    population->count += state != HS_ENDED;
    population->states[state]++;
    population->stacks += stacks;
}

static void
count_one(struct counting *counting, uint32_t origin, const struct hs_thread_look *look)
{
    struct hs_census *census = counting->census;
    uint64_t stacks = resident(counting, &look->mapped);
    for (int i = 0; i < 2; i++) {
        uint64_t bytes = resident(counting, &look->malloced[i]);
        census->malloced += look->malloced[i].size;
        census->malloced_resident += bytes;
        stacks += bytes;
    }
    add_one(&census->of[counting->kind], look->state, stacks);
    if (counting->by_origin) add_one(&counting->by_origin[origin < counting->origins ? origin : HS_CREATION_OTHER], look->state, stacks);
}

/* The next of the list after `place`, in the batch; how many. */
static uint32_t
read_batch(struct counting *counting, struct rb_heap_sampler_alive **place)
{
    const struct rb_heap_sampler_alive *head = &heads[counting->kind];
    uint32_t count = 0;
    while (count < BATCH && (*place)->next != head) {
        *place = (*place)->next;
        if ((*place)->origin == MARK) continue;
        counting->batch[count].origin = (*place)->origin;
        if (counting->kind == HS_THREADS) rb_hs_thread_look(*place, &counting->batch[count++].look);
        else rb_hs_fiber_look(*place, &counting->batch[count++].look);
    }
    return count;
}

static void
count_list(struct counting *counting)
{
    struct rb_heap_sampler_alive mark = {.origin = MARK}, *place;
    uint32_t count;
    hs_lock(&mutex, HS_LOCK_THREADS);
    place = head_of(counting->kind);
    while ((count = read_batch(counting, &place))) {
        insert_after(place, &mark);
        hs_unlock(&mutex, HS_LOCK_THREADS);
        for (uint32_t i = 0; i < count; i++) count_one(counting, counting->batch[i].origin, &counting->batch[i].look);
        hs_lock(&mutex, HS_LOCK_THREADS);
        place = mark.previous;
        take_out(&mark);
    }
    hs_unlock(&mutex, HS_LOCK_THREADS);
}

/* -- by place --------------------------------------------------------------------------- */

/* The most populous first, "(other)" last. */
static int
compare_places(const void *left, const void *right)
{
    const struct hs_creation_site *a = left, *b = right;
    const struct hs_population *pa = &a->population, *pb = &b->population;
    if (pa->count != pb->count) return pa->count > pb->count ? -1 : 1;
    if (pa->states[HS_ENDED] != pb->states[HS_ENDED]) return pa->states[HS_ENDED] > pb->states[HS_ENDED] ? -1 : 1;
    if (a->line != b->line) return a->line < b->line ? -1 : 1;
    return a->path.ptr < b->path.ptr ? -1 : a->path.ptr > b->path.ptr;
}

static void
add_population(struct hs_population *sum, const struct hs_population *one)
{
    sum->count += one->count;
    sum->stacks += one->stacks;
    for (int i = 0; i < HS_ALIVE_STATES; i++) sum->states[i] += one->states[i];
}

static bool
empty_p(const struct hs_population *population)
{
    return !population->count && !population->states[HS_ENDED];
}

static void
add_places(struct hs_census *census, enum hs_alive_kind kind, const struct hs_population *by_origin, uint32_t origins)
{
    uint32_t before = census->place_count, capacity = before;
    if (!rb_hs_grow(HS_MEM_SNAPSHOTS, (void **)&census->places, &capacity, (uint64_t)before + origins, sizeof(*census->places))) return;

    struct hs_creation_site *places = census->places + before, other = {.kind = kind};
    uint32_t count = 0;
    other.path = rb_hs_creation_site_path(HS_CREATION_OTHER, &other.line);
    other.population = by_origin[HS_CREATION_OTHER];
    for (uint32_t i = HS_CREATION_OTHER + 1; i < origins; i++) {
        if (empty_p(&by_origin[i])) continue;
        struct hs_creation_site *place = &places[count++];
        *place = (struct hs_creation_site){.kind = kind, .population = by_origin[i]};
        place->path = rb_hs_creation_site_path(i, &place->line);
    }
    rb_hs_sort(places, count, sizeof(*places), compare_places);
    while (count > HS_CENSUS_SITES) add_population(&other.population, &places[--count].population);
    if (!empty_p(&other.population)) places[count++] = other;
    census->place_count = before + count;
}

/* -- all of it ----------------------------------------------------------------------------- */

static void
count_kind(struct counting *counting, enum hs_alive_kind kind, bool places)
{
    counting->kind = kind;
    counting->origins = rb_hs_creation_site_count();
    counting->by_origin = places ? rb_hs_calloc(HS_MEM_SNAPSHOTS, counting->origins, sizeof(*counting->by_origin)) : NULL;
    count_list(counting);
    if (counting->by_origin) add_places(counting->census, kind, counting->by_origin, counting->origins);
    rb_hs_free(HS_MEM_SNAPSHOTS, counting->by_origin);
}

/* The numbers of these paths are held. */
static void
copy_paths(struct hs_census *census)
{
    size_t size = 0, at = 0;
    for (uint32_t i = 0; i < census->place_count; i++) size += census->places[i].path.len;
    census->paths = census->place_count ? rb_hs_malloc(HS_MEM_SNAPSHOTS, size) : NULL;
    if (!census->paths) census->place_count = 0;
    for (uint32_t i = 0; i < census->place_count; i++) {
        struct hs_text *path = &census->places[i].path;
        path->ptr = memcpy(census->paths + at, path->ptr, path->len);
        at += path->len;
    }
}

void
rb_hs_census_take(struct hs_census *census, bool places)
{
    HS_CONTRACT(free);
    rb_hs_creation_sites_hold();
    struct counting counting = {.census = census, .pagemap = rb_hs_survey_open_pagemap()};
    *census = (struct hs_census){.taken = true, .stacks_known = counting.pagemap >= 0};
    for (int kind = 0; kind < HS_ALIVE_KINDS; kind++) count_kind(&counting, (enum hs_alive_kind)kind, places);
    copy_paths(census);
    rb_hs_creation_sites_release();
    if (counting.pagemap >= 0) close(counting.pagemap);
}

void
rb_hs_census_free(struct hs_census *census)
{
    rb_hs_free(HS_MEM_SNAPSHOTS, census->places);
    rb_hs_free(HS_MEM_SNAPSHOTS, census->paths);
    census->places = NULL;
    census->paths = NULL;
    census->place_count = 0;
}

/*
 * See account/alive.h.
 *
 * There may be a hundred thousand fibers: who visits them leaves the mutex now
 * and then, and a mark of its own in the list, so that nobody who makes a fiber
 * waits for long.  New ones are added before the first, and so not visited.
 */
#include "heap_sampler/account/alive.h"
#include "heap_sampler/base/must.h"
#include "internal/heap_sampler.h"

#include <pthread.h>

/* Protects the lists, and the numbers of places. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
/* Protects the marks: of visits that leave the mutex there is one at a time. */
static pthread_mutex_t visits = PTHREAD_MUTEX_INITIALIZER;

static struct rb_heap_sampler_alive heads[HS_ALIVE_KINDS];      /* of rings; all zero: nothing was ever added */
static struct rb_heap_sampler_alive marks[HS_ALIVE_KINDS];

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
rb_hs_alive_add(enum hs_alive_kind kind, struct rb_heap_sampler_alive *alive, const struct hs_alive_place *place)
{
    pthread_mutex_lock(&mutex);
    bool line = place->origin == HS_ORIGINS_FIXED;
    alive->origin = line ? rb_hs_origin(place->path, place->len, place->line) : place->origin;
    insert_after(head_of(kind), alive);
    pthread_mutex_unlock(&mutex);
}

bool
rb_hs_alive_p(const struct rb_heap_sampler_alive *alive)
{
    return alive->next != NULL;
}

void
rb_hs_alive_remove(struct rb_heap_sampler_alive *alive)
{
    pthread_mutex_lock(&mutex);
    if (rb_hs_alive_p(alive)) {
        take_out(alive);
        rb_hs_origin_leave(alive->origin);
    }
    pthread_mutex_unlock(&mutex);
}

void
rb_hs_alive_each(enum hs_alive_kind kind, const struct hs_alive_visit *visit)
{
    if (visit->work) pthread_mutex_lock(&visits);
    pthread_mutex_lock(&mutex);
    struct rb_heap_sampler_alive *head = head_of(kind), *mark = &marks[kind];
    for (struct rb_heap_sampler_alive *alive = head->next; alive != head; alive = alive->next) {
        if (alive == mark || visit->copy(alive, visit->data)) continue;
        insert_after(alive, mark);
        pthread_mutex_unlock(&mutex);
        visit->work(visit->data);
        pthread_mutex_lock(&mutex);
        alive = mark->previous;
        take_out(mark);
    }
    pthread_mutex_unlock(&mutex);
    if (!visit->work) return;
    visit->work(visit->data);
    pthread_mutex_unlock(&visits);
}

void
rb_hs_alive_before_fork(void)
{
    pthread_mutex_lock(&mutex);
}

/* The child has no visitor: the thread that left a mark is not there. */
void
rb_hs_alive_after_fork(bool child)
{
    for (int kind = 0; child && kind < HS_ALIVE_KINDS; kind++) {
        if (rb_hs_alive_p(&marks[kind])) take_out(&marks[kind]);
    }
    if (child) {
        pthread_mutex_init(&visits, NULL);
        rb_hs_origins_after_fork();
    }
    pthread_mutex_unlock(&mutex);
}

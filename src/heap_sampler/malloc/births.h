#ifndef HEAP_SAMPLER_MALLOC_BIRTHS_H
#define HEAP_SAMPLER_MALLOC_BIRTHS_H
/*
 * Births in malloc that listeners have not been told of yet.  A birth holds its
 * stack and its epoch as a living block does, so that both are there when it is
 * told, though the block may be gone.
 *
 * Under the malloc mutex, which table.c holds.
 */
#include <stdbool.h>
#include <stdint.h>
#include "heap_sampler/estimate/epochs.h"

struct hs_malloc_told {
    uint64_t id, size, asked;
    uint32_t stack, epoch, gc, thread;
    hs_session_set listeners;
};

/* false: there is no room for it. */
bool rb_hs_malloc_births_add(const struct hs_malloc_told *birth);
uint32_t rb_hs_malloc_births_count(void);
/* The oldest of them; NULL: there is none. */
struct hs_malloc_told *rb_hs_malloc_births_at(uint32_t i);
/* The first `count` have been told. */
void rb_hs_malloc_births_drop(uint32_t count);
void rb_hs_malloc_births_renumber(const uint32_t *new_number);

#endif

#ifndef HEAP_SAMPLER_ACCOUNT_BODIES_H
#define HEAP_SAMPLER_ACCOUNT_BODIES_H
/*
 * Which addresses are GC's heap pages: the hook beside their mmap says so, from
 * the first page on.  And which of these a forked process has from its parent.
 *
 * Reading is [any], and takes no lock.
 */
#include <stdbool.h>
#include <stdint.h>

/* All heap pages are of this size, and aligned to it. */
#define HS_BODY_BYTES (UINT64_C(1) << 16)

/* The first body from `from` (aligned to a body) on that is, or is not, a heap
 * page; `to` if there is none before it. */
uint64_t rb_hs_next_body(uint64_t from, uint64_t to, bool wanted);

/* This process was just forked: each heap page that it has is its parent's too.
 * false: no memory, and none is known to be.  [gvl], and no other thread runs. */
bool rb_hs_bodies_inherit(void);
/* The same as rb_hs_next_body, of heap pages that were there at the fork and
 * have not been given back since. */
uint64_t rb_hs_next_inherited(uint64_t from, uint64_t to, bool wanted);

#endif

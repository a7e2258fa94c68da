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

/*
 * The heap pages that a forked process has from its parent, and which parts of
 * them it shares with nobody any more (copy-on-write).
 *
 * The kernel keeps this by memory pages of its own (4 KiB), and says of each
 * whether it is mapped once (/proc/self/pagemap, bit 56, which needs no
 * privilege).  A memory page of an inherited heap page that is mapped once was
 * written to since the fork: by this process, or by all others that had it.
 * If the parent has ended it may as well be that nobody else is left, so then
 * nothing is known.
 *
 * No MRI header.  [any] [free], unless a function says otherwise.
 */

struct hs_inherited {
    bool known;
    const char *missing;        /* why not; NULL: the process was not forked, or it is known */
    uint64_t bytes;             /* resident, of the heap pages that are inherited */
    uint64_t unshared;          /* of these, shared with nobody now */
};

/* A reading of the kernel's answers, a heap page at a time. */
struct hs_sharing {
    struct hs_inherited sum;
    int pagemap;                /* -1: there is nothing to know, or to read */
    uint64_t page_size;
    uint64_t body;              /* the heap page that was asked about last; 0: none */
    uint64_t entries[16];       /* of its memory pages */
};

/* This process was just forked from `parent`. `sampled`: the sampler was on at the fork. [gvl], and no other thread runs. */
void rb_hs_inherited_after_fork(int parent, bool sampled);

/* Fills *sharing with what is known of all inherited heap pages. */
void rb_hs_sharing_begin(struct hs_sharing *sharing);
/* Is the memory page at this address, of the heap page `body`, inherited and shared with nobody? */
bool rb_hs_unshared_p(struct hs_sharing *sharing, uint64_t body, uint64_t address);
void rb_hs_sharing_end(struct hs_sharing *sharing);

#endif

#ifndef HEAP_SAMPLER_MEMORY_SMAPS_H
#define HEAP_SAMPLER_MEMORY_SMAPS_H
/* A survey of the process's mappings: how much of the address space is resident, and what it is used for. */
#include <stdbool.h>
#include <stdint.h>

static inline uint64_t
hs_smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Resident bytes; from heap to other each byte of `rss` is in one field. */
struct hs_survey {
    uint64_t rss;
    uint64_t heap;              /* in the bodies of GC's heap pages */
    uint64_t stacks;            /* of threads and fibers */
    uint64_t files;             /* mapped, their .bss included */
    uint64_t jit;               /* executable memory that is no file's */
    uint64_t noreserve;         /* what is left of mappings with MAP_NORESERVE, */
    uint64_t other;             /* and of all others */

    uint64_t pss;               /* 0: not read */
};

/* Allocates nothing. `may_hold_up`: as for rb_hs_account_take; without it noreserve may be 0, and counted in `other`. False:
 * /proc cannot be read, and *survey is as it was. [any] [free] */
bool rb_hs_survey_take(struct hs_survey *survey, bool may_hold_up);

/* /proc/self/pagemap, which the caller closes; -1: it cannot be read. */
int rb_hs_survey_open_pagemap(void);
/* How much of [start, end), from page to page, the kernel has in memory, bytes. */
uint64_t rb_hs_survey_resident(int pagemap, uint64_t start, uint64_t end);

/* What of malloc's blocks is resident: a large block may never have been touched. [any] */
struct hs_residency {
    int pagemap;                /* -1: it cannot be read */
    uint64_t pages_left;        /* that are asked for */
};
struct hs_residency rb_hs_residency_open(void);
/* The share of a block; 1 where it is not known. */
double rb_hs_resident_part(struct hs_residency *residency, uint64_t address, uint64_t size);
void rb_hs_residency_close(struct hs_residency *residency);

/* -- heap page map ---------------------------------------------------------------- */

/* Which addresses are GC's heap pages, and which of these a forked process has from its parent: the hook at their mmap records
 * each, from the first page on. Reading is [any], and takes no lock. */

/* All heap pages are of this size, and aligned to it. */
#define HS_BODY_BYTES (UINT64_C(1) << 16)

/* The first body from `from` (aligned to a body) on that is, or is not, a heap
 * page; `to` if there is none before it. */
uint64_t rb_hs_next_body(uint64_t from, uint64_t to, bool wanted);

/*
 * The heap pages that a forked process has from its parent, and which parts of them no other process shares any more
 * (copy-on-write).
 *
 * Bit 56 of an entry of /proc/self/pagemap says that no other process maps this memory page (4 KiB, as a rule).  A
 * sample on such a page counts with its slot's size.  This shows which objects live on memory that is not shared any
 * more, and which of them were allocated there since the fork.  It does not show which code wrote to the page.  Mark
 * bits and ages of objects are in malloc's memory, so a GC does not write to heap pages for them.  Where the parent has
 * ended nothing is reported: its pages are the child's alone without a write.  A page that the parent wrote to is not
 * shared either.
 *
 * [any] [free], unless a function has its own contract.
 */

struct hs_inherited {
    bool known;
    const char *missing;        /* why not; NULL: the process was not forked, or it is known */
    uint64_t bytes;             /* resident, of the heap pages that are inherited */
    uint64_t unshared;          /* of these, not shared any more */
};

/* A reading of pagemap, a heap page at a time. */
struct hs_sharing {
    struct hs_inherited sum;
    int pagemap;                /* -1: there is nothing to know, or to read */
    uint64_t page_size;
    uint64_t body;              /* the heap page that was read last; 0: none */
    uint64_t entries[16];       /* of its memory pages */
};

/* This process was just forked from `parent`. `sampled`: the sampler was on at the fork. [gvl], and no other thread runs. */
void rb_hs_inherited_after_fork(int parent, bool sampled);

/* Fills *sharing with what is known of all inherited heap pages. */
void rb_hs_sharing_begin(struct hs_sharing *sharing);
/* Is the memory page at this address, of the heap page `body`, inherited and not shared any more? */
bool rb_hs_unshared_p(struct hs_sharing *sharing, uint64_t body, uint64_t address);
void rb_hs_sharing_end(struct hs_sharing *sharing);

/* -- cgroup ----------------------------------------------------------------------- */

/*
 * How much memory there is for the cgroup that this process belongs to, and how much of it is used: of every group on
 * the way up to the root (cgroup v2 and v1), and of the machine above them.  The kernel drops inactive page cache
 * before it kills, so that is subtracted: memory.current less inactive_file (v1: usage_in_bytes less
 * total_inactive_file; of the machine MemTotal less MemAvailable).
 *
 * `root` is put before /proc and /sys: "", and a folder of files in tests.  These functions allocate nothing, leave no
 * file open, and may run in a signal handler.  No MRI header.  [any]
 */

struct hs_memory_limit {
    uint64_t used, bytes;       /* the limit is never 0 */
    bool machine;               /* no cgroup has a limit */
};

/* The group that uses the largest share of its limit; the machine if no group has a limit below the machine's memory. Of a
 * group that uses less than `percent` the page cache is not subtracted: the kernel takes longest for its statistics. False:
 * there is nothing to read. */
bool rb_hs_memory_limit_read(const char *root, uint32_t percent, struct hs_memory_limit *limit);

enum { HS_GROUP_NAME = 96 };
struct hs_memory_room {
    uint64_t left, limit;       /* bytes; limit 0: no group is short */
    bool kills_group;           /* memory.oom.group: at this limit the kernel ends more than one process */
    char group[HS_GROUP_NAME];  /* its path, cut at the end; "": the machine */
};

/* Is there a group, or the machine, with less than `some` bytes left?  Or with less than `all`, where the kernel would end
 * every process of a cgroup at once?  Then `room` is the group that has least.  In addition to the limit at which the
 * kernel
 * kills, memory.high counts (the kernel delays processes there), and v1's limit of memory and swap.  Swap is no room. */
bool rb_hs_memory_short_p(const char *root, uint64_t some, uint64_t all, struct hs_memory_room *room);

/* A field of /proc/self/status that is in kB, such as "RssAnon", in bytes; 0: not known. */
uint64_t rb_hs_memory_status(const char *root, const char *name);

#endif

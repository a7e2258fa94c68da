#ifndef HEAP_SAMPLER_ACCOUNT_CGROUP_H
#define HEAP_SAMPLER_ACCOUNT_CGROUP_H
/*
 * How much memory there is for the cgroup that this process belongs to, and
 * how much of it is in use.  No MRI header; tested alone.
 *
 * The kernel kills when a group is at its limit, not when a process is: four
 * workers with a quarter each die together.  So the group's use counts.  Its
 * page cache counts against the limit too, but the kernel drops the inactive
 * part before it kills: that part is subtracted.
 *
 * A limit applies to all groups below it, so every group on the way up to the
 * root is read.  cgroup v2 and v1.  Above them all stands the machine, whose
 * limit is its memory: what is not available is in use.
 *
 * `root` stands before /proc and /sys: "", and a folder of files in tests.
 * These functions allocate nothing, leave no file open, and may run in a signal
 * handler. [any]
 */
#include <stdbool.h>
#include <stdint.h>

struct hs_memory_limit {
    uint64_t used, bytes;       /* the limit is never 0 */
    bool machine;               /* no cgroup has a limit */
};

/* The group that uses the largest share of its limit; the machine if no group has a limit below the machine's memory. A group
 * that uses less than `percent`, all of its page cache included, is reported so: its statistics are not read, which takes the
 * kernel the longest. False: there is nothing to read. */
bool rb_hs_memory_limit_read(const char *root, uint32_t percent, struct hs_memory_limit *limit);

enum { HS_GROUP_NAME = 96 };
struct hs_memory_room {
    uint64_t left, limit;       /* bytes; limit 0: no group is short */
    bool kills_group;           /* memory.oom.group: at this limit the kernel ends more than one process */
    char group[HS_GROUP_NAME];  /* its path, cut at the end; "": the machine */
};

/* Is there a group, or the machine, with less than `some` bytes left?  Or with less than `all`, where the kernel would end
 * every process of a cgroup at once?  Then `room` is the one that has least.  Beside the limit at which the kernel kills,
 * memory.high counts (the kernel delays processes there), and v1's limit of memory and swap together.  Swap is no room. */
bool rb_hs_memory_short_p(const char *root, uint64_t some, uint64_t all, struct hs_memory_room *room);

/* What copy-on-write can copy: this process's anonymous memory, swapped out or not, in bytes; 0: not known. */
uint64_t rb_hs_memory_anonymous(const char *root);

#endif

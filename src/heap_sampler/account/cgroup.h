#ifndef HEAP_SAMPLER_ACCOUNT_CGROUP_H
#define HEAP_SAMPLER_ACCOUNT_CGROUP_H
/*
 * How much memory there is for the cgroup that this process belongs to, and
 * how much of it is in use.  No MRI header; tested alone.
 *
 * The kernel kills when a group is at its limit, not when a process is: four
 * workers with a quarter each die together.  So what counts is the group's use.
 * Its page cache counts against the limit too, but the part that nobody used of
 * late is dropped before anything is killed: that much is taken off.
 *
 * A limit applies to all groups below it, so every group on the way up to the
 * root is looked at, and the one that is nearest its limit is told.  cgroup v2 and
 * v1.  Where no group has a limit below the machine's memory, it is the
 * machine's: all that is not available.
 */
#include <stdbool.h>
#include <stdint.h>

struct hs_memory_limit {
    uint64_t used, bytes;       /* the limit is never 0 */
    bool machine;               /* no cgroup has a limit */
};

/* `root` stands before /proc and /sys: "", and a folder of files in tests.  A
 * group that uses less than `percent` of its limit, with all of its page cache, is told
 * so: its statistics are not read, which takes the kernel the longest.  False: there is
 * nothing to read.  It allocates nothing and leaves no file open. [any] */
bool rb_hs_memory_limit_read(const char *root, uint32_t percent, struct hs_memory_limit *limit);

#endif

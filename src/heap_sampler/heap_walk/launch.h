#ifndef HEAP_SAMPLER_HEAP_WALK_LAUNCH_H
#define HEAP_SAMPLER_HEAP_WALK_LAUNCH_H
/*
 * What retains a sample? A child of this process has a copy of its memory as of
 * now.  It walks the heap from the roots, and finds for each sample the chain
 * of references on which it is reached.
 *
 *     this process                          the child
 *     prepare   is there memory for it, in every cgroup above?
 *     fork      all that needs the GVL:     walk.c   from the roots, breadth first
 *               a copy of the page tables   chains.c the chains of the samples, by name,
 *     wait      Ruby code runs on                    in shared memory (retainers.h)
 *     end       what was found is checked
 *
 * The copies of the samples and the fork are of one moment: they are made under the same hold of the VM lock, with a
 * barrier, and of the sampler's lock (rb_hs_snapshot_begin).  The child reads these copies, and what it finds is by
 * their position.  So the parts of a row add up to the row.  A GC that compacts is ended first.
 *
 * The child calls neither malloc(3) nor what allocates objects, and runs no Ruby
 * code, but it calls the mark functions of extensions.  Where one of these hangs
 * or crashes, the child ends, and this process reports which it was.
 *
 * The program does not see the child: its end sends no signal, and Process.wait
 * does not find it; a wait with __WALL or __WCLONE does.  Nothing of it is left when wait has returned.
 *
 * Memory.  A walk costs the child's tables and, by copy-on-write, each page that
 * the program writes meanwhile: at most all of its anonymous memory.  A walk
 * begins only if all of that fits into every cgroup above.  A walk that a person
 * requests begins with less, unless the kernel would end a whole cgroup at its
 * limit (memory.oom.group): it needs the tables, and one and a half times the
 * reserve.  Its child is not nice then, since it has to end quickly.  Every 10 ms
 * a signal handler of the child looks how much is left (0.2 ms of CPU time).  The
 * child ends when that is less than the reserve: 32 MiB, and an eighth of the
 * anonymous memory where not all fits.  While the kernel takes a child of 1,000
 * MiB apart, a program that only writes copies 6 MiB (31 MiB from a nice child).
 * After a walk that was killed, or ended so, none begins by itself, in forked
 * children either.  A walk that a person requests, and that comes to its end,
 * lifts this.
 *
 * One at a time.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "heap_sampler/kernel.h"
#include "heap_sampler/heap_walk/retainers.h"

/* A sample: an object, or a block of malloc. */
struct hs_wanted_sample {
    uintptr_t address;          /* the VALUE, or what malloc returned */
    bool pinned;                /* must GC.compact not move the object? */
    bool old;                   /* of a block: has it survived several major GCs? */
    struct hs_estimate weight;  /* what it stands for */
};

/* The samples whose chains are wanted, by position: first the objects, then the blocks. */
struct hs_wanted {
    const void *data;
    uint32_t objects, count;
    struct hs_wanted_sample (*sample)(const void *data, uint32_t position);
};

struct hs_walk_child {
    pid_t pid;                  /* 0: none */
    struct hs_found *found;     /* shared with the child; NULL: none */
    uint64_t deadline_ns;       /* from the fork on */
    uint64_t begun_ns;
    uint64_t pages;             /* that page tables have room for; 0: not known */
    uint64_t reserve;           /* bytes: it ends when less are left */
    bool fits;                  /* all that the walk can cost; else the child has to be quick to end */
    struct hs_wanted wanted;
    struct hs_retainers *into;
    bool ended;
    int status;                 /* as waitpid(2) has it, when it has ended */
};

/* `seconds` is the deadline, 0: the usual one. `by_itself`: no person requests it. [gvl] [free] False: refused, for into->refusal. */
bool rb_hs_retainers_prepare(struct hs_walk_child *child, struct hs_retainers *into, unsigned seconds, bool by_itself);
/* [vm], and no other Ractor runs; not in GC. */
void rb_hs_retainers_fork(struct hs_walk_child *child, const struct hs_wanted *wanted);
/* Until the child has ended, or *interrupted is true: then false. [any] */
bool rb_hs_retainers_wait(struct hs_walk_child *child, const volatile bool *interrupted);
/* After each prepare that was not refused: `into` gets what was found. A child that has not ended is killed. [any] */
void rb_hs_retainers_end(struct hs_walk_child *child);
/* Objects are about to be freed: no walk begins any more. */
void rb_hs_retainers_no_more(void);
/* In a child of Ruby's that was forked while a walk was under way: it is not this process's. */
void rb_hs_retainers_after_fork(void);

/*
 * due.c: when a walk begins by itself.  In a process whose memory does not grow there is the first one, and no other.
 *
 *     the first   when half of its price is paid for; while a process of less than a minute fills its heap, it waits
 *     growth      more is live than at the last walk, or the major GCs since then left more alive than those before
 *     short       two fifths of the memory limit are used: once
 *
 * All wait until what was forced before is paid for.  What the walk costs is paid for afterwards: its child is nice.
 */

/* Is a walk due, for a profile of every= or at-rss= (`for_files`), or for a client with such a share? [free], one thread at a time */
bool rb_hs_walk_due_p(bool for_files, uint32_t ppm, bool short_of_memory);
/* A walk for one of these has ended, with an answer or a crash: it is not tried again. [free] */
void rb_hs_walk_made(bool for_files);
/* In a child of Ruby's, which has had no walk. */
void rb_hs_walks_forget(void);

/* child.c: what the forked child of the process `parent` does; it exits with NONE, NO_ROOM, RAN_SHORT or BROKEN of enum hs_refusal. */
void rb_hs_child_run(const struct hs_walk_child *child, pid_t parent) __attribute__((noreturn));

#endif

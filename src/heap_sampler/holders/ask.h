#ifndef HEAP_SAMPLER_HOLDERS_ASK_H
#define HEAP_SAMPLER_HOLDERS_ASK_H
/*
 * Why is it alive?  A child of this process, which has a copy of its memory as
 * of now, walks the heap from the roots and says of each sample on which chain
 * of references it is reached.
 *
 *     this process                          the child
 *     prepare   is there memory for it, in every cgroup above?
 *     fork      all that needs the GVL:     walk.h   from the roots, breadth first
 *               a copy of the page tables   chains.h the chains of the samples, by name
 *     wait      Ruby code runs on           answer.h writes it into shared memory, and ends
 *     answer    read and checked
 *
 * It calls neither malloc(3) nor what allocates objects, and runs no code of
 * Ruby's, but it calls the mark functions of extensions.  Where one of these
 * hangs or crashes, the child ends, and this process says which it was.
 *
 * The program does not see the child: its end sends no signal, and Process.wait
 * does not find it.  Nothing of it is left when wait has returned.
 *
 * Memory.  A walk costs the child's tables and, by copy-on-write, each page that
 * the program writes meanwhile: at most all of its anonymous memory.  A walk
 * begins only if all of that fits into every cgroup above.  One that a person
 * asks for begins with less, unless the kernel would end a whole cgroup at its
 * limit (memory.oom.group).  The child looks every few milliseconds how much is
 * left, and ends when that is less than a reserve.  After a walk that was killed,
 * or ended so, none begins by itself, in forked children either, until one that a
 * person asks for has come to its end.
 *
 * One at a time.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "heap_sampler/estimate/draw.h"
#include "heap_sampler/holders/holders.h"

/* What chains are asked for: objects and blocks of malloc by their position. */
struct hs_wanted {
    const void *data;
    uint32_t objects, blocks;
    uintptr_t (*object)(const void *data, uint32_t position);   /* a VALUE */
    uintptr_t (*block)(const void *data, uint32_t position);    /* what malloc returned */
    bool (*pinned)(const void *data, uint32_t position);        /* must GC.compact not move the object? */
    struct hs_estimate (*object_weight)(const void *data, uint32_t position);   /* what it stands for */
    struct hs_estimate (*block_weight)(const void *data, uint32_t position);
};

struct hs_holders_child {
    pid_t pid;                  /* 0: none */
    struct hs_answer_room room; /* shared with the child; start: NULL: none */
    uint64_t deadline_ns;       /* from the fork on */
    uint64_t begun_ns;
    uint64_t reserve;           /* bytes: it ends when less are left */
    bool fits;                  /* all that the walk can cost */
    struct hs_progress *progress;
    struct hs_wanted wanted;
    struct hs_holders *into;
    bool ended;
    int status;                 /* as waitpid(2) has it, when it has ended */
};

/* `seconds` is the deadline, 0: the usual one. `by_itself`: no person asks. [gvl] [free] False: refused, into->refusal says why. */
bool rb_hs_holders_prepare(struct hs_holders_child *child, struct hs_holders *into, unsigned seconds, bool by_itself);
/* [vm], and no other Ractor runs; not in GC. */
void rb_hs_holders_fork(struct hs_holders_child *child, const struct hs_wanted *wanted);
/* Until the child has ended, or *interrupted is true: then false. [any] */
bool rb_hs_holders_wait(struct hs_holders_child *child, const volatile bool *interrupted);
/* After each prepare that was not refused: the answer is read. A child that has not ended is killed. [any] */
void rb_hs_holders_end(struct hs_holders_child *child);
/* Objects are about to be freed: nobody asks any more. */
void rb_hs_holders_no_more(void);
/* In a child of Ruby's that was forked while a walk was under way: it is not this process's. */
void rb_hs_holders_after_fork(void);

/* -- child.c: what the forked child does --------------------------------------- */

enum hs_child_exit { HS_CHILD_DONE,
                     HS_CHILD_NO_ROOM = 3,
                     HS_CHILD_NOT_WRITTEN = 4,
                     HS_CHILD_RAN_SHORT = 5 };

struct hs_child_order {
    struct hs_answer_room *room;        /* for the answer */
    unsigned seconds;           /* after so many it is killed by an alarm */
    struct hs_progress *progress;
    const struct hs_wanted *wanted;
    pid_t parent;               /* it ends when this process has ended */
    uint64_t reserve;           /* bytes: it ends when less are left */
    bool nice;                  /* false: it has to be quick to end */
};

void rb_hs_child_run(const struct hs_child_order *order) __attribute__((noreturn));

#endif

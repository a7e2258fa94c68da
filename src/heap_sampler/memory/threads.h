#ifndef HEAP_SAMPLER_MEMORY_THREADS_H
#define HEAP_SAMPLER_MEMORY_THREADS_H
/*
 * All threads and fibers that there are, from the first on, sampling or not: where they were made, what
 * they do, and how much of their stacks is resident.
 *
 * Stacks are large and hardly touched: of the stacks of 2,000 sleeping threads, 2.0 GiB, 18.9 MiB were resident.
 * So what malloc gives for a stack is no sample (rb_heap_sampler_stack_begins); threads and fibers are counted.
 *
 * *The lists* (thread_list.c).  A part of each struct is its place in a list: 24 bytes, no memory of ours.  It
 * enters when it is made and leaves when its struct is freed; both take a mutex for a few stores.  Under that
 * mutex the structs may be read, on any thread, without the GVL.
 *
 * *Where it was made* (creation_sites.c): path and line of its block, since `Thread.new` often stands in a
 * library and the block in the application.  A block in C (Enumerator#next, rb_thread_create) has the Ruby line
 * that called it.
 *
 * *What it does* (threads.c) is looked at when it is counted, so that a switch of threads or fibers costs nothing.
 *
 * *A census* (thread_list.c) goes through a list in batches of 64.  In between it leaves a mark of its own in the
 * list and leaves the mutex; without the mutex it asks /proc/self/pagemap how much of each stack is resident.  So
 * a thread that makes another one waits for 64 looks at most.  What is new meanwhile is not counted.  Several
 * censuses may go on at once.
 *
 * *Ended.*  A thread keeps its VM stack until its object is collected; it counts as `ended`.  After a fork the
 * parent's threads are such.  MRI keeps stacks of ended fibers for the next fiber, and they stay resident until
 * the kernel needs memory (MADV_FREE): they are in the account's `stacks`, and no fiber has them.
 *
 * Instructions (callgrind: 2,200 fibers less 200, 250 threads less 50): a fiber's life has 4,383 in place of
 * 4,018, a thread's 95,650 in place of 94,815.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "heap_sampler/memory/account.h"
#include "heap_sampler/base/table.h"

struct rb_heap_sampler_alive;   /* internal/heap_sampler.h */

enum hs_alive_kind { HS_THREADS,
                     HS_FIBERS,
                     HS_ALIVE_KINDS };

/* In the order of their fields (memory/account.h). */
enum hs_alive_state {
    /* of threads */
    HS_RUNNING,                 /* it holds the GVL of its Ractor */
    HS_RUNNABLE,                /* it waits for it */
    HS_SLEEPING,                /* in sleep, or waiting for a time */
    HS_WAITING,                 /* for another thread: a Mutex, Queue, ConditionVariable, Thread#join */
    HS_BLOCKED,                 /* without the GVL: in a system call, or C code that let go of it */
    /* of fibers */
    HS_CREATED,                 /* it was never resumed */
    HS_RESUMED,                 /* it runs */
    HS_SUSPENDED,
    /* of both: it has ended, but its object still exists */
    HS_ENDED,
    HS_ALIVE_STATES
};

/* What a state is called in files and in Ruby; 0: one of this kind cannot be in it. */
enum hs_field rb_hs_alive_state_field(enum hs_alive_kind kind, enum hs_alive_state state);

/* -- figures of all: plain data ---------------------------------------------------------- */

struct hs_population {
    uint32_t count;             /* that live */
    uint32_t states[HS_ALIVE_STATES];   /* those in HS_ENDED are not in `count` */
    uint64_t stacks;            /* resident bytes of their stacks */
};

struct hs_creation_site {
    enum hs_alive_kind kind;
    uint32_t line;              /* 0: none */
    struct hs_text path;        /* in `paths` */
    struct hs_population population;
};

enum { HS_CENSUS_SITES = 64 };  /* of a kind in a census, the most populous; what is left is "(other)" */

/* What was never touched of a stack is not resident, and in no figure but `malloced`. */
struct hs_census {
    bool taken;
    bool stacks_known;          /* else the kernel did not say what is resident */
    struct hs_population of[HS_ALIVE_KINDS];
    uint64_t malloced;          /* bytes of stacks from malloc(3), of those that ended too, */
    uint64_t malloced_resident; /* and of these the resident */
    struct hs_creation_site *places;    /* by kind, the most populous first; NULL: no memory */
    uint32_t place_count;
    char *paths;
};

/* Without `places` it allocates nothing. Free it. [any] [free] */
void rb_hs_census_take(struct hs_census *census, bool places);
void rb_hs_census_free(struct hs_census *census);

/* -- the lists ----------------------------------------------------------------------------- */

/* Places that are no line of Ruby's, by number. */
enum { HS_CREATION_OTHER,
       HS_CREATION_MAIN,          /* the main thread's */
       HS_CREATION_C,             /* C code that no Ruby code had called */
       HS_CREATION_FIXED };

enum { HS_CREATION_SITES = 1024,
       HS_CREATION_TEXT_MAX = 1024 + 12 };        /* bytes, of a path and a line: a longer one is HS_CREATION_OTHER */

/* Where something was made. */
struct hs_creation_place {
    uint32_t origin;            /* HS_CREATION_FIXED: a line of Ruby code, by its text */
    uint32_t len;
    char text[HS_CREATION_TEXT_MAX];      /* "path:line" */
};

/* [any] */
void rb_hs_thread_list_add(enum hs_alive_kind kind, struct rb_heap_sampler_alive *alive, const struct hs_creation_place *place);
/* If it is in a list. [any], in GC too. */
void rb_hs_thread_list_remove(struct rb_heap_sampler_alive *alive);

/* For fork: nothing is added or removed between the two. */
void rb_hs_thread_list_before_fork(void);
void rb_hs_thread_list_after_fork(bool child);

/* What the VM says of one without the GVL, by plain loads. Under the lock of the lists. */
struct hs_thread_look {
    enum hs_alive_state state;
    struct hs_stack_range {
        uintptr_t start;
        size_t size;            /* 0: none */
    } mapped,                   /* what has a mapping of its own */
        malloced[2];              /* what comes from malloc(3): VM stack, stack of signals */
};
void rb_hs_thread_look(const struct rb_heap_sampler_alive *thread, struct hs_thread_look *look);
void rb_hs_fiber_look(const struct rb_heap_sampler_alive *fiber, struct hs_thread_look *look);

/* Beyond HS_CREATION_SITES the numbers that no thread and no fiber has any more are used again, or the new one is
 * HS_CREATION_OTHER.  A census holds the numbers meanwhile. */

/* The number of a text "path:line", which one more thread or fiber has, or one less. Under the lock of the lists. */
uint32_t rb_hs_creation_site(struct hs_text text);
void rb_hs_creation_site_leave(uint32_t origin);
/* Between hold and release no number gets another line. [any] */
void rb_hs_creation_sites_hold(void);
void rb_hs_creation_sites_release(void);
/* In the child other threads hold none; whether one did. */
bool rb_hs_creation_sites_after_fork(void);
/* Path and line of a number that is held; line 0: none. [any] */
struct hs_text rb_hs_creation_site_path(uint32_t origin, uint32_t *line);
/* How many numbers there are. [any] */
uint32_t rb_hs_creation_site_count(void);

#endif

#ifndef HEAP_SAMPLER_ACCOUNT_ALIVE_H
#define HEAP_SAMPLER_ACCOUNT_ALIVE_H
/*
 * The lists of all threads and of all fibers that there are, from the first on,
 * sampling or not.
 *
 *     thread or fiber        in its list
 *     made                   from here
 *     runs, waits, …         what it does is looked at when somebody counts
 *     has ended              still: its object may be referred to, and hold its stack
 *     its struct is freed    to here
 *
 * A place in a list is a part of the thread's or the fiber's own struct: no
 * memory of ours, and a few stores to begin and to end.  Who holds the mutex
 * may read the struct of each that is in a list, since it leaves the list
 * before it is freed.  No MRI header.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "heap_sampler/account/census.h"
#include "heap_sampler/base/texts.h"

struct rb_heap_sampler_alive;   /* internal/heap_sampler.h */

/* Where something was made. */
struct hs_alive_place {
    uint32_t origin;            /* HS_ORIGIN_MAIN, HS_ORIGIN_C; HS_ORIGINS_FIXED: a line, */
    uint32_t line;              /* this one */
    const char *path;           /* in no heap slot */
    size_t len;
};

/* [any] It takes the mutex. */
void rb_hs_alive_add(enum hs_alive_kind kind, struct rb_heap_sampler_alive *alive, const struct hs_alive_place *place);
/* Is it in a list? By who may add it, or with the mutex held. */
bool rb_hs_alive_p(const struct rb_heap_sampler_alive *alive);
/* If it is in a list. [any], in GC too. */
void rb_hs_alive_remove(struct rb_heap_sampler_alive *alive);

/* Visits all of a list that were there when it began.  `copy` is called with the mutex held, and may read the struct
 * that it is given; false: it is given no more until `work` was called, without the mutex.  `work` is called at the end too.
 * Without `work`, which `copy` must not want then, the mutex is held from the beginning to the end, and no other visit is
 * waited for. [any] */
struct hs_alive_visit {
    bool (*copy)(const struct rb_heap_sampler_alive *alive, void *data);
    void (*work)(void *data);
    void *data;
};
void rb_hs_alive_each(enum hs_alive_kind kind, const struct hs_alive_visit *visit);

/* For fork: nobody adds or removes between the two. */
void rb_hs_alive_before_fork(void);
void rb_hs_alive_after_fork(bool child);

/*
 * Where threads and fibers were made: path and line of their blocks, each by
 * a number.
 *
 * There are HS_ORIGINS of them at most, a megabyte with the longest paths.  When
 * one more is wanted, the numbers of those that no thread and no fiber has any
 * more are used again; where there is none, the new one is HS_ORIGIN_OTHER.  A
 * thread that counts by number holds them meanwhile.  No MRI header.
 */

enum { HS_ORIGINS = 1024,
       HS_ORIGIN_PATH_MAX = 1024 };     /* bytes: a longer path is HS_ORIGIN_OTHER */

/* Numbers of places that are no line of Ruby's. */
enum { HS_ORIGIN_OTHER,
       HS_ORIGIN_MAIN,          /* the main thread's */
       HS_ORIGIN_C,             /* C code that no Ruby code had called */
       HS_ORIGINS_FIXED };

/* The number of a line, which one more thread or fiber has. The mutex of account/alive.c is held. */
uint32_t rb_hs_origin(const char *path, size_t len, uint32_t line);
/* It is one less. The same. */
void rb_hs_origin_leave(uint32_t origin);
/* Between the two no number gets another line. [any] */
void rb_hs_origins_hold(void);
void rb_hs_origins_release(void);
/* In the child other threads hold none. */
void rb_hs_origins_after_fork(void);
/* Path and line of a number that is held; line 0: none. [any] */
struct hs_text rb_hs_origin_path(uint32_t origin, uint32_t *line);
/* How many numbers there are. [any] */
uint32_t rb_hs_origin_count(void);

#endif

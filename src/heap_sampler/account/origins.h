#ifndef HEAP_SAMPLER_ACCOUNT_ORIGINS_H
#define HEAP_SAMPLER_ACCOUNT_ORIGINS_H
/*
 * Where threads and fibers were made: path and line of their blocks, each by
 * a number.
 *
 * A place is never forgotten, so whoever has its number may read it without a
 * lock.  There are HS_ORIGINS of them at most, a megabyte with the longest
 * paths; after that a new one is HS_ORIGIN_OTHER.  No MRI header.
 */
#include <stddef.h>
#include <stdint.h>
#include "heap_sampler/base/texts.h"

enum { HS_ORIGINS = 1024,
       HS_ORIGIN_PATH_MAX = 1024 };     /* bytes: a longer path is HS_ORIGIN_OTHER */

/* Numbers of places that are no line of Ruby's. */
enum { HS_ORIGIN_OTHER,
       HS_ORIGIN_MAIN,          /* the main thread's */
       HS_ORIGIN_C,             /* C code that no Ruby code had called */
       HS_ORIGINS_FIXED };

/* The number of a line. The mutex of account/alive.c is held. */
uint32_t rb_hs_origin(const char *path, size_t len, uint32_t line);
/* Path and line of a number; line 0: none. [any] */
struct hs_text rb_hs_origin_path(uint32_t origin, uint32_t *line);
/* How many numbers there are. [any] */
uint32_t rb_hs_origin_count(void);

#endif

#ifndef HEAP_SAMPLER_HOLDERS_ROOTS_H
#define HEAP_SAMPLER_HOLDERS_ROOTS_H
/*
 * Where a walk begins, and in which order: named constants first, since a
 * constant's name says more than any other.
 *
 *   Object's constants, theirs, and so on: all modules that have a name
 *   global variables
 *   blocks of at_exit
 *   what the VM has, and libraries have registered; then its Ractors, and so their threads
 *   (behind the pass of the running, since a local variable's name says more) the machine stack of the thread that asked
 *   (in the pass of caches) compiled code, and names of symbols that were made from strings
 *   (behind all) finalizers
 *
 * In the child.
 */
#include "heap_sampler/holders/holders.h"
#include "heap_sampler/holders/walk.h"
#include <stdbool.h>

/* As rb_hs_root_edge knows the roots of that kind. */
const char *rb_hs_root_category(enum hs_top top);
/* False: no memory. */
bool rb_hs_roots_read(struct hs_walk *walk);
/* All passes, from what was read. */
void rb_hs_roots_walk(struct hs_walk *walk);

/*
 * Blocks of ObjectSpace.define_finalizer.  MRI's table of them is a root, and an entry leaves it when its object has died.
 * So it is the object that keeps its blocks (walk.c follows them as a reference), and the table keeps the others: of
 * objects that nobody refers to, or their own finalizers alone.
 *
 * In the child.
 */

/* False: no memory. */
bool rb_hs_finalizers_read(struct hs_walk *walk);
/* Those that the table keeps, behind all other passes. */
void rb_hs_finalizers_walk(struct hs_walk *walk);
/* At the end of a walk without an object: which of the objects that nobody else refers to now do their own finalizers keep? They
 * are reached.  True: some are. */
bool rb_hs_finalizers_settle(struct hs_walk *walk);

#endif

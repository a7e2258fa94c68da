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

/* As rb_hs_root_edge knows the roots of that kind. */
const char *rb_hs_root_category(enum hs_top top);
/* False: no memory. */
bool rb_hs_roots_read(struct hs_walk *walk);
/* All passes, from what was read. */
void rb_hs_roots_walk(struct hs_walk *walk);

#endif

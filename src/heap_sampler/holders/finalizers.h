#ifndef HEAP_SAMPLER_HOLDERS_FINALIZERS_H
#define HEAP_SAMPLER_HOLDERS_FINALIZERS_H
/*
 * Blocks of ObjectSpace.define_finalizer.  MRI's table of them is a root, and an entry leaves it when its object has died.
 * So it is the object that keeps its blocks (walk.c follows them as a reference), and the table keeps the others: of
 * objects that nobody refers to, or their own finalizers alone.
 *
 * In the child.
 */
#include <stdbool.h>
#include "heap_sampler/holders/walk.h"

/* False: no memory. */
bool rb_hs_finalizers_read(struct hs_walk *walk);
/* Those that the table keeps, behind all other passes. */
void rb_hs_finalizers_walk(struct hs_walk *walk);
/* At the end of a walk without an object: which of the objects that nobody else refers to now do their own finalizers keep? They
 * are reached.  True: some are. */
bool rb_hs_finalizers_settle(struct hs_walk *walk);

#endif

#ifndef HEAP_SAMPLER_HOLDERS_PINS_H
#define HEAP_SAMPLER_HOLDERS_PINS_H
/*
 * Who pins: of each sample that GC.compact must not move, a reference that says
 * so.  A heap page with one such object stays, however empty it is.
 *
 *     Foo (foo in foo.so) --rb_gc_mark--> String      data of Foo
 *     machine stack of a thread  --?--> String        C stack of Thread, and where that thread stands
 *     frame of a method ---> String                   local text of Report#draw
 *     Hash#compare_by_identity ---> key               {} key of Hash
 *
 * What a mark function knows to be a reference goes before what a machine stack
 * may have, and else the first that the walk meets.  The last full mark said
 * what is pinned; where the walk finds no pin, there is none any more.
 *
 * In the child.
 */
#include "heap_sampler/holders/ask.h"
#include "heap_sampler/holders/chains.h"

/* Before the walk, which notes pins from then on. False: no memory. */
bool rb_hs_pins_read(struct hs_walk *walk, const struct hs_wanted *wanted);
/* After all samples have their chains; no pin is noted any more. By position; NULL: no memory. */
const struct hs_pin_nodes *rb_hs_pins_name(struct hs_chains *chains, const struct hs_wanted *wanted);

#endif

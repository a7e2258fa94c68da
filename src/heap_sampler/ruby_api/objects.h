#ifndef HEAP_SAMPLER_RUBY_API_OBJECTS_H
#define HEAP_SAMPLER_RUBY_API_OBJECTS_H
/*
 * The objects behind samples.  They are found, never held: a sample keeps
 * nothing alive, and its object may die or move at any time.
 *
 * [gvl] [free]; the VM lock is taken inside.
 */
#include <stddef.h>
#include <stdint.h>
#include "ruby/ruby.h"
#include "heap_sampler/profile/profile.h"

/* The living object of the sample with this id, 0 if there is none. Goes
 * through all records. Not to be handed to Ruby code unseen: it may be any. */
VALUE rb_hs_object_of_id(uint64_t id);

/* What ObjectSpace.memsize_of says of each sample's object, bytes; `sizes` has
 * room for them all, and keeps what it holds where the object has died. Other
 * threads run between batches of them, and other Ractors stand still in each. Where objects moved meanwhile and there is no memory
 * to find out where to, those that moved count as dead. */
void rb_hs_objects_measure(struct hs_live_samples *samples, size_t *sizes);

#endif

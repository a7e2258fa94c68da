#ifndef HEAP_SAMPLER_STORE_CLASS_TABLE_H
#define HEAP_SAMPLER_STORE_CLASS_TABLE_H
/*
 * Classes of sampled objects, by number.  A number stands for a class and a type (T_STRING, …); the class itself is
 * a weak key, its name a text.
 *
 * A class without a permanent name is looked at again after each mark, so that `Foo = Class.new` names the samples
 * that came before it.  Naming reads the class's own name: it allocates nothing and calls no Ruby method.
 *
 * [vm] [free]: functions that take a VALUE read heap slots, and so take the sampler's lock themselves; the others: [read].
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "ruby/ruby.h"

/* `klass` as the allocator got it: 0, a singleton or an internal class too. */
uint32_t rb_hs_class_of_allocation(VALUE klass, VALUE flags);

uint32_t rb_hs_class_text(uint32_t class_id);
uint32_t rb_hs_class_type_text(uint32_t class_id);

/* After marking, and after moving. [gc], and the lock */
void rb_hs_classes_sweep(bool full_mark);
void rb_hs_classes_move(void);
/* Names of classes that have got them since. [vm] [free] */
void rb_hs_classes_rename(void);

extern uint64_t rb_hs_classes_dropped;

/* "Foo", or "" if it has no name yet; cut to the buffer. False: the name is not its last one. [vm] */
bool rb_hs_class_name(VALUE klass, char *buffer, size_t size);
/* The same, and for a class without a name its superclass: "(anonymous Class < Foo)". [vm] */
bool rb_hs_class_full_name(VALUE klass, char *name, size_t size);
/* The same of an object as the allocator got it, which need not have a class. [vm] */
bool rb_hs_class_name_of(VALUE klass, VALUE flags, char *name, size_t size);

/* Are there more than so many sixteenths of what there may be? [read] */
bool rb_hs_classes_crowded(unsigned sixteenths);
uint32_t rb_hs_class_count(void);
/* The numbers of classes that are not in `used` become free. texts[number] is set for each text of the others. [write] */
void rb_hs_classes_keep(const bool *used, bool *texts);

#endif

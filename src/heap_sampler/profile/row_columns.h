#ifndef HEAP_SAMPLER_PROFILE_ROW_COLUMNS_H
#define HEAP_SAMPLER_PROFILE_ROW_COLUMNS_H
/*
 * The columns of a row, declared here and nowhere else in C.
 *
 * To add one: its field in struct hs_row (profile.h), a line below, and a line in
 * lib/heap_sample/profile/columns.rb; doc/format.md tells what it means.
 *
 * HS_ROW_COLUMNS is what Ruby gets (GC::SampleProfile#raw), in its order:
 * COLUMN(name, value as a Ruby object). HS_ROW_VALUES are the numbers that a file
 * has of each row, in the order of its sample types, which is frozen
 * (doc/format.md): VALUE(sample type, unit, number). `row` is a struct hs_row.
 */
#include "heap_sampler/profile/profile.h"

#define HS_ROW_ESTIMATE(COLUMN, part) \
    COLUMN(part##_samples, ULL2NUM(row->part.samples)) \
    COLUMN(part##_objects, DBL2NUM(row->part.objects)) \
    COLUMN(part##_space, DBL2NUM(row->part.space)) \
    COLUMN(part##_variance, DBL2NUM(row->part.variance))

#define HS_ROW_COLUMNS(COLUMN) \
    COLUMN(stack, UINT2NUM(row->node)) \
    COLUMN(class, UINT2NUM(row->class_name)) \
    COLUMN(type, UINT2NUM(row->type)) \
    COLUMN(slot_size, UINT2NUM(row->slot_size)) \
    COLUMN(thread, UINT2NUM(row->thread)) \
    COLUMN(birth_gc, row->has_birth ? ULL2NUM(row->birth_gc) : Qnil) \
    HS_ROW_ESTIMATE(COLUMN, inuse) \
    HS_ROW_ESTIMATE(COLUMN, young) \
    HS_ROW_ESTIMATE(COLUMN, alloc) \
    HS_ROW_ESTIMATE(COLUMN, dead) \
    COLUMN(dead_gcs, DBL2NUM(row->dead_gcs)) \
    COLUMN(library, UINT2NUM(row->library)) \
    COLUMN(malloc, RBOOL(row->malloced)) \
    COLUMN(memsize, DBL2NUM(row->memsize)) \
    COLUMN(resident, DBL2NUM(rb_hs_row_resident(row))) \
    COLUMN(holds_free, DBL2NUM(row->holds_free.space)) \
    COLUMN(holds_free_variance, DBL2NUM(row->holds_free.variance)) \
    COLUMN(holds_free_pinned, DBL2NUM(row->holds_free_pinned)) \
    COLUMN(unshared, DBL2NUM(row->unshared.space)) \
    COLUMN(unshared_variance, DBL2NUM(row->unshared.variance)) \
    COLUMN(unshared_born, DBL2NUM(row->unshared_born)) \
    COLUMN(label_set, UINT2NUM(row->labels))

/* Of one kind of memory; 0 in the rows of the other. */
#define HS_ROW_VALUES_OF(VALUE, kind, is_kind) \
    VALUE(kind##_alloc_objects, count, is_kind ? row->alloc.objects : 0) \
    VALUE(kind##_alloc_space, bytes, is_kind ? row->alloc.space : 0) \
    VALUE(kind##_inuse_objects, count, is_kind ? row->inuse.objects : 0) \
    VALUE(kind##_inuse_space, bytes, is_kind ? row->inuse.space : 0)

#define HS_ROW_VALUES(VALUE) \
    VALUE(alloc_objects, count, row->alloc.objects) \
    VALUE(alloc_space, bytes, row->alloc.space) \
    VALUE(inuse_objects, count, row->inuse.objects) \
    VALUE(inuse_space, bytes, row->inuse.space) \
    VALUE(inuse_samples, count, row->inuse.samples) \
    VALUE(alloc_samples, count, row->alloc.samples) \
    VALUE(inuse_var, bytes2, row->inuse.variance) \
    VALUE(alloc_var, bytes2, row->alloc.variance) \
    VALUE(young_objects, count, row->young.objects) \
    VALUE(young_space, bytes, row->young.space) \
    VALUE(dead_objects, count, row->dead.objects) \
    VALUE(dead_space, bytes, row->dead.space) \
    VALUE(dead_gcs, count, row->dead_gcs) \
    HS_ROW_VALUES_OF(VALUE, slots, !row->malloced) \
    HS_ROW_VALUES_OF(VALUE, malloc, row->malloced) \
    VALUE(inuse_memsize, bytes, row->memsize) \
    VALUE(inuse_resident, bytes, rb_hs_row_resident(row)) \
    VALUE(dead_samples, count, row->dead.samples) \
    VALUE(dead_var, bytes2, row->dead.variance) \
    VALUE(holds_free, bytes, row->holds_free.space) \
    VALUE(holds_free_var, bytes2, row->holds_free.variance) \
    VALUE(holds_free_pinned, bytes, row->holds_free_pinned) \
    VALUE(unshared, bytes, row->unshared.space) \
    VALUE(unshared_var, bytes2, row->unshared.variance) \
    VALUE(unshared_born, bytes, row->unshared_born)

#endif

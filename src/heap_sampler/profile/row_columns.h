#ifndef HEAP_SAMPLER_PROFILE_ROW_COLUMNS_H
#define HEAP_SAMPLER_PROFILE_ROW_COLUMNS_H
/*
 * The columns of a row, declared here and nowhere else in C.
 *
 * To add one: its field in struct hs_row (profile.h), lines below, and a line in
 * lib/heap_sample/profile/columns.rb; doc/heap_sampler.proto has its number and says what it means.
 *
 * HS_ROW_COLUMNS is what Ruby gets (GC::SampleProfile#raw), in its order:
 * COLUMN(name, value as a Ruby object). HS_ROW_VALUES are the values of a file's
 * samples, in the order of its sample types: VALUE(sample type, unit, number). HS_ROW_FIELDS
 * are the numbers of its message Row: FIELD(number of the field, number), and VARIANCE(number of the field,
 * estimate that has samples and objects, what has the bytes and their variance); encode_pprof.c has the
 * others, and is_all_dead(). `row` is a struct hs_row.
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

/* Every program's files of heaps have these, and ours no others. */
#define HS_ROW_VALUES(VALUE) \
    VALUE(alloc_objects, count, row->alloc.objects) \
    VALUE(alloc_space, bytes, row->alloc.space) \
    VALUE(inuse_objects, count, row->inuse.objects) \
    VALUE(inuse_space, bytes, row->inuse.space)

#define HS_ROW_ESTIMATE_FIELDS(FIELD, VARIANCE, number, part) \
    FIELD(number, row->part.samples) \
    FIELD(number + 1, row->part.objects) \
    FIELD(number + 2, row->part.space) \
    VARIANCE(number + 3, row->part, row->part)

#define HS_ROW_FIELDS(FIELD, VARIANCE) \
    FIELD(4, row->slot_size) \
    HS_ROW_ESTIMATE_FIELDS(FIELD, VARIANCE, 5, inuse) \
    HS_ROW_ESTIMATE_FIELDS(FIELD, VARIANCE, 9, young) \
    HS_ROW_ESTIMATE_FIELDS(FIELD, VARIANCE, 13, alloc) \
    FIELD(17, row->dead.samples) \
    if (!is_all_dead(&row->dead, &row->alloc)) { \
        FIELD(18, row->dead.objects) \
        FIELD(19, row->dead.space) \
        VARIANCE(20, row->dead, row->dead) \
    } \
    FIELD(21, row->dead_gcs) \
    FIELD(22, row->memsize) \
    FIELD(24, row->holds_free.space) \
    VARIANCE(25, row->inuse, row->holds_free) \
    FIELD(26, row->holds_free_pinned) \
    FIELD(27, row->unshared.space) \
    VARIANCE(28, row->inuse, row->unshared) \
    FIELD(29, row->unshared_born)

#endif

/* How many entries a container has, and which variable limits it: see heap_walk/edge.h. The limit is an instance
 * variable of the owner, known by its name, with a positive number; the number is in no profile. */
#include "heap_sampler/mri.h"
#include "heap_sampler/kernel.h"
#include "heap_sampler/heap_walk/edge.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The Hash of a Set, which is written in Ruby before 4.0. The IDs are from set.rb and prelude.rb. 0: it is no Set. */
static VALUE
hash_of_set(VALUE object)
{
    const rb_const_entry_t *set = rb_const_lookup(rb_cObject, rb_intern("Set"));
    VALUE klass = RBASIC_CLASS(object);
    while (klass && set && klass != set->value) klass = RCLASS_SUPER(klass);
    return klass && set ? rb_attr_get(object, rb_intern("@hash")) : 0;
}

uint32_t
rb_hs_entries(VALUE object)
{
    bool unused;
    VALUE inner = 0;
    const st_table *weak = NULL;
    size_t count = HS_NO_ENTRIES;
    switch (BUILTIN_TYPE(object)) {
    case T_ARRAY: count = (size_t)RARRAY_LEN(object); break;
    case T_HASH: count = RHASH_SIZE(object); break;
    case T_OBJECT: inner = hash_of_set(object); break;
    case T_DATA:
        inner = rb_heap_sampler_queue_items(object, &unused);
        weak = rb_heap_sampler_weak_table(object, &unused);
#if RUBY_API_VERSION_MAJOR >= 4
        rb_heap_sampler_set_p(object, &count);
#endif
        break;
    default: break;
    }
    if (RTEST(inner)) return rb_hs_entries(inner);
    if (weak) count = weak->num_entries;
    return count < HS_NO_ENTRIES ? (uint32_t)count : HS_NO_ENTRIES;
}

/* -- bounds ------------------------------------------------------------------------------ */

/* Names of variables that limit a container, and ends of such names: @max_size, @cache_max_size. */
static const char limits[] =
    " max maximum limit capacity ttl lifetime time_to_live expiry expiration expires_in expires_after expire_after max_size maxsize"
    " maximum_size max_items max_count max_entries max_length max_keys max_bytes max_age max_queue ";

static bool
limit_p(struct hs_text name)
{
    char end[32];
    for (uint32_t i = 1; i < name.len; i++) {
        if (name.ptr[i - 1] != '@' && name.ptr[i - 1] != '_') continue;
        int length = snprintf(end, sizeof(end), " %.*s ", (int)(name.len - i), name.ptr + i);
        if (length < (int)sizeof(end) && strstr(limits, end)) return true;
    }
    return false;
}

/* nil, 0 and Float::INFINITY mean that there is no limit. */
static bool
number_p(VALUE value)
{
    char name[64];
    if (FIXNUM_P(value)) return FIX2LONG(value) > 0;
    if (RB_FLOAT_TYPE_P(value)) return RFLOAT_VALUE(value) > 0 && isfinite(RFLOAT_VALUE(value));
    if (SPECIAL_CONST_P(value) || BUILTIN_TYPE(value) != T_OBJECT) return false;
    rb_hs_class_name_of(RBASIC(value)->klass, RBASIC(value)->flags, name, sizeof(name));
    return strcmp(name, "ActiveSupport::Duration") == 0;
}

static int
find_limit_i(ID id, VALUE value, st_data_t data)
{
    struct hs_reference *limit = (struct hs_reference *)data;
    if (!limit_p(rb_hs_id_text(id)) || !number_p(value)) return ST_CONTINUE;
    limit->id = id;
    return ST_STOP;
}

bool
rb_hs_bound_edge(VALUE owner, VALUE container, struct hs_edge *edge)
{
    struct hs_reference limit = {.kind = HS_EDGE_IVAR, .parent = owner};
    bool sized = false, variables = owner && (RB_TYPE_P(owner, T_OBJECT) || RB_TYPE_P(owner, T_CLASS) || RB_TYPE_P(owner, T_MODULE));
    if (RB_TYPE_P(container, T_DATA)) rb_heap_sampler_queue_items(container, &sized);
    if (sized) limit = (struct hs_reference){.kind = HS_EDGE_DATA, .parent = container, .what = "max"};
    else if (variables) rb_ivar_foreach(owner, find_limit_i, (st_data_t)&limit);
    if (sized || limit.id) rb_hs_reference_name(&limit, edge);
    return sized || limit.id;
}

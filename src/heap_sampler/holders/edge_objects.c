/*
 * References of builtin types that hold objects of the program: instance
 * variables, members, elements, keys and values.
 */
#include "heap_sampler/holders/edge_visit.h"

#include <string.h>

/* -- instance variables --------------------------------------------------- */

/* They are found by shape, the last one first; a class's are the same, and class variables are among them. */
static enum hs_edge_kind
objects_variable_kind(ID id)
{
    struct hs_text name = rb_hs_id_text(id);
    return name.len > 2 && memcmp(name.ptr, "@@", 2) == 0 ? HS_EDGE_CVAR : HS_EDGE_IVAR;
}

static void
objects_variable(struct hs_visit *visit, ID id, VALUE value)
{
    if (RB_SPECIAL_CONST_P(value)) return;
    if (id == idLocals) {       /* of a Thread: thread_variable_set */
        hs_visit(visit, HS_EDGE_THREAD_LOCAL, "thread variables", 0, value);
    }
    else {
        hs_visit(visit, objects_variable_kind(id), NULL, id, value);
    }
}

static int
objects_variable_i(st_data_t id, st_data_t value, st_data_t data)
{
    struct hs_visit *visit = (struct hs_visit *)data;
    objects_variable(visit, (ID)id, (VALUE)value);
    return hs_visit_st_table(visit);
}

static void
objects_variables(struct hs_visit *visit, VALUE object, const VALUE *values, st_table *table)
{
    if (rb_shape_obj_too_complex(object)) {
        if (table) st_foreach(table, objects_variable_i, (st_data_t)visit);
        return;
    }
    const rb_shape_t *shape = rb_shape_get_shape(object);
    while (shape->parent_id != INVALID_SHAPE_ID && !visit->enough) {
        if (shape->type == SHAPE_IVAR) objects_variable(visit, shape->edge_name, values[shape->next_iv_index - 1]);
        shape = rb_shape_get_shape_by_id(shape->parent_id);
    }
}

void
rb_hs_visit_variables(struct hs_visit *visit, VALUE object)
{
    struct gen_ivtbl *table;
    switch (BUILTIN_TYPE(object)) {
    case T_OBJECT:
        objects_variables(visit, object, ROBJECT_IVPTR(object), (st_table *)ROBJECT(object)->as.heap.ivptr);
        break;
    case T_CLASS:
    case T_MODULE:
        objects_variables(visit, object, RCLASS_IVPTR(object), (st_table *)RCLASS_IVPTR(object));
        break;
    default:
        /* Without an ID it does not ask which Ractor this is. */
        if (!rb_gen_ivtbl_get(object, 0, &table)) break;
        objects_variables(visit, object, table->as.shape.ivptr, table->as.complex.table);
        break;
    }
}

/* -- members -------------------------------------------------------------- */

/* The names of members: an array of symbols that the class or its nearest ancestor has; 0: none. */
struct objects_members {
    VALUE names;
};

static bool
objects_members_i(const struct hs_reference *reference, void *data)
{
    static const char name[] = "__members__";
    struct hs_text text = rb_hs_id_text(reference->id);
    if (text.len != sizeof(name) - 1 || memcmp(text.ptr, name, text.len)) return true;
    ((struct objects_members *)data)->names = reference->child;
    return false;
}

static VALUE
objects_members(VALUE object)
{
    struct objects_members members = {0};
    for (VALUE klass = RBASIC_CLASS(object); klass && !members.names; klass = RCLASS_SUPER(klass)) {
        if (BUILTIN_TYPE(klass) != T_CLASS) continue;
        struct hs_visit visit = {.at = {.parent = klass}, .each = objects_members_i, .data = &members};
        rb_hs_visit_variables(&visit, klass);
    }
    return members.names && RB_TYPE_P(members.names, T_ARRAY) ? members.names : 0;
}

static ID
objects_member_id(VALUE names, long member)
{
    if (!names || member >= RARRAY_LEN(names)) return 0;
    VALUE name = RARRAY_AREF(names, member);
    if (STATIC_SYM_P(name)) return RB_SYM2ID(name);
    return DYNAMIC_SYM_P(name) ? RSYMBOL(name)->id : 0;
}

static void
objects_visit_members(struct hs_visit *visit, VALUE object)
{
    VALUE names = objects_members(object);
    const VALUE *values = RSTRUCT_CONST_PTR(object);
    long count = RSTRUCT_LEN(object);
    for (long i = 0; i < count && !visit->enough; i++) {
        hs_visit(visit, HS_EDGE_MEMBER, NULL, objects_member_id(names, i), values[i]);
    }
}

/* -- elements ------------------------------------------------------------- */

static void
objects_visit_array(struct hs_visit *visit, VALUE array)
{
    if (ARY_SHARED_P(array)) {
        hs_visit(visit, HS_EDGE_SHARED, "shared memory", 0, ARY_SHARED_ROOT(array));
        return;
    }
    const VALUE *values = RARRAY_CONST_PTR(array);
    long count = RARRAY_LEN(array);
    for (long i = 0; i < count && !visit->enough; i++) hs_visit(visit, HS_EDGE_ELEMENT, "[]", 0, values[i]);
}

static int
objects_pair_i(st_data_t key, st_data_t value, st_data_t data)
{
    struct hs_visit *visit = (struct hs_visit *)data;
    hs_visit(visit, HS_EDGE_VALUE, "{} value", 0, (VALUE)value);
    hs_visit(visit, HS_EDGE_KEY, "{} key", 0, (VALUE)key);
    return hs_visit_st_table(visit);
}

static void
objects_visit_hash(struct hs_visit *visit, VALUE hash)
{
    rb_hash_stlike_foreach(hash, objects_pair_i, (st_data_t)visit);
    bool block = FL_TEST_RAW(hash, RHASH_PROC_DEFAULT);
    hs_visit(visit, HS_EDGE_DEFAULT, block ? "default block" : "default", 0, RHASH_IFNONE(hash));
}

/* -- the others ----------------------------------------------------------- */

static void
objects_visit_string(struct hs_visit *visit, VALUE string)
{
    if (STR_SHARED_P(string)) hs_visit(visit, HS_EDGE_SHARED, "shared memory", 0, RSTRING(string)->as.heap.aux.shared);
}

static void
objects_visit_file(struct hs_visit *visit, VALUE file)
{
    const rb_io_t *io = RFILE(file)->fptr;
    if (!io) return;
    hs_visit(visit, HS_EDGE_DATA, "path", 0, io->pathv);
    hs_visit(visit, HS_EDGE_DATA, "IO for writing", 0, io->tied_io_for_writing);
    hs_visit(visit, HS_EDGE_DATA, "conversion", 0, io->writeconv_asciicompat);
    hs_visit(visit, HS_EDGE_DATA, "conversion options", 0, io->writeconv_pre_ecopts);
    hs_visit(visit, HS_EDGE_DATA, "encoding options", 0, io->encs.ecopts);
    hs_visit(visit, HS_EDGE_DATA, "write lock", 0, io->write_lock);
    hs_visit(visit, HS_EDGE_DATA, "timeout", 0, io->timeout);
    hs_visit(visit, HS_EDGE_SELF, "self", 0, io->self);
}

void
rb_hs_visit_object(struct hs_visit *visit, VALUE object)
{
    switch (BUILTIN_TYPE(object)) {
    case T_OBJECT:
        rb_hs_visit_variables(visit, object);
        break;
    case T_STRUCT:
        objects_visit_members(visit, object);
        break;
    case T_ARRAY:
        objects_visit_array(visit, object);
        break;
    case T_HASH:
        objects_visit_hash(visit, object);
        break;
    case T_STRING:
        objects_visit_string(visit, object);
        break;
    case T_FILE:
        objects_visit_file(visit, object);
        break;
    case T_SYMBOL:
        hs_visit(visit, HS_EDGE_DATA, "name", 0, RSYMBOL(object)->fstr);
        break;
    case T_REGEXP:
        hs_visit(visit, HS_EDGE_DATA, "source", 0, RREGEXP(object)->src);
        break;
    case T_MATCH:
        hs_visit(visit, HS_EDGE_DATA, "string", 0, RMATCH(object)->str);
        hs_visit(visit, HS_EDGE_DATA, "regexp", 0, RMATCH(object)->regexp);
        break;
    case T_RATIONAL:
        hs_visit(visit, HS_EDGE_DATA, "numerator", 0, RRATIONAL(object)->num);
        hs_visit(visit, HS_EDGE_DATA, "denominator", 0, RRATIONAL(object)->den);
        break;
    case T_COMPLEX:
        hs_visit(visit, HS_EDGE_DATA, "real part", 0, RCOMPLEX(object)->real);
        hs_visit(visit, HS_EDGE_DATA, "imaginary part", 0, RCOMPLEX(object)->imag);
        break;
    default:
        break;
    }
}

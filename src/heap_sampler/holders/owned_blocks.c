/*
 * What an object has of malloc: the blocks that go when the object goes.  It
 * follows rb_gc_obj_free.  A block that some objects share (a method's
 * definition) is told for each of them.
 *
 * Not told: blocks behind those of an extension's object, what is in no object
 * (symbols, shapes, encodings), and stacks, which have an account of their own.
 */
#include "heap_sampler/holders/edge_visit.h"

/* As string.c has it: a literal of C code. */
#define OWNED_STR_NOFREE FL_USER18

/* Who is asked for, and who gets them. */
struct owned {
    void (*each)(const void *pointer, void *data);
    void *data;
};

static void
owned_tell(const struct owned *owned, const void *pointer)
{
    if (pointer) owned->each(pointer, owned->data);
}

/* -- tables --------------------------------------------------------------- */

static void
owned_in_st_table(const struct owned *owned, const st_table *table)
{
    owned_tell(owned, table->bins);
    owned_tell(owned, table->entries);
}

static void
owned_st_table(const struct owned *owned, const st_table *table)
{
    if (!table) return;
    owned_in_st_table(owned, table);
    owned_tell(owned, table);
}

/* As id_table.c has it. */
struct owned_id_table_form {
    int capa, num, used;
    void *items;
};

static void
owned_id_table(const struct owned *owned, const struct rb_id_table *table)
{
    if (!table) return;
    owned_tell(owned, ((const struct owned_id_table_form *)table)->items);
    owned_tell(owned, table);
}

/* -- objects of the program ----------------------------------------------- */

static void
owned_by_variables(const struct owned *owned, VALUE object, const VALUE *values)
{
    if (rb_shape_obj_too_complex(object)) {
        owned_st_table(owned, (const st_table *)values);
    }
    else {
        owned_tell(owned, values);
    }
}

static void
owned_by_generic_variables(const struct owned *owned, VALUE object)
{
    struct gen_ivtbl *table;
    if (!rb_gen_ivtbl_get(object, 0, &table)) return;
    if (rb_shape_obj_too_complex(object)) owned_st_table(owned, table->as.complex.table);
    owned_tell(owned, table);
}

static void
owned_by_match(const struct owned *owned, VALUE match)
{
    const rb_matchext_t *ext = RMATCH_EXT(match);
    owned_tell(owned, ext->regs.beg);
    owned_tell(owned, ext->regs.end);
    owned_tell(owned, ext->char_offset);
}

static void
owned_by_regexp(const struct owned *owned, const regex_t *pattern)
{
    if (!pattern) return;
    owned_tell(owned, pattern->p);
    owned_tell(owned, pattern->exact);
    owned_tell(owned, pattern->int_map);
    owned_tell(owned, pattern->int_map_backward);
    owned_tell(owned, pattern->repeat_range);
    owned_st_table(owned, pattern->name_table);
    owned_by_regexp(owned, pattern->chain);
    owned_tell(owned, pattern);
}

static void
owned_by_file(const struct owned *owned, const rb_io_t *io)
{
    if (!io) return;
    owned_tell(owned, io->rbuf.ptr);
    owned_tell(owned, io->wbuf.ptr);
    owned_tell(owned, io->cbuf.ptr);
    owned_tell(owned, io);
}

/* -- classes -------------------------------------------------------------- */

static enum rb_id_table_iterator_result
owned_entry_i(VALUE entry, void *owned)
{
    owned_tell(owned, (const void *)entry);
    return ID_TABLE_CONTINUE;
}

static enum rb_id_table_iterator_result
owned_calls_i(VALUE entry, void *owned)
{
    const struct rb_class_cc_entries *calls = (const void *)entry;
    owned_tell(owned, calls->entries);
    owned_tell(owned, calls);
    return ID_TABLE_CONTINUE;
}

/* A table whose values are blocks too. */
static void
owned_table_of_entries(struct owned *owned, struct rb_id_table *table, rb_id_table_foreach_values_func_t *each)
{
    if (!table) return;
    rb_id_table_foreach_values(table, each, owned);
    owned_id_table(owned, table);
}

static void
owned_by_class(struct owned *owned, VALUE klass)
{
    bool iclass = RB_TYPE_P(klass, T_ICLASS);
    if (!iclass || RICLASS_OWNS_M_TBL_P(klass)) owned_id_table(owned, RCLASS_M_TBL(klass));
    if (iclass) owned_id_table(owned, RCLASS_CALLABLE_M_TBL(klass));
    owned_table_of_entries(owned, RCLASS_CC_TBL(klass), owned_calls_i);
    if (iclass) return;
    owned_by_variables(owned, klass, RCLASS_IVPTR(klass));
    owned_table_of_entries(owned, RCLASS_CONST_TBL(klass), owned_entry_i);
    owned_table_of_entries(owned, RCLASS_CVC_TBL(klass), owned_entry_i);
    if (FL_TEST_RAW(klass, RCLASS_SUPERCLASSES_INCLUDE_SELF)) owned_tell(owned, RCLASS_SUPERCLASSES(klass));
}

/* -- code ----------------------------------------------------------------- */

static void
owned_by_keywords(const struct owned *owned, const struct rb_iseq_constant_body *body)
{
    const struct rb_iseq_param_keyword *keyword = body->param.keyword;
    if (!keyword) return;
    if (keyword->table != &body->local_table[keyword->bits_start - keyword->num]) owned_tell(owned, keyword->table);
    owned_tell(owned, keyword->default_values);
    owned_tell(owned, keyword);
}

static void
owned_by_code(const struct owned *owned, const struct rb_iseq_constant_body *body)
{
    if (!body) return;
    owned_tell(owned, body->iseq_encoded);
    owned_tell(owned, body->insns_info.body);
    owned_tell(owned, body->insns_info.positions);
#if VM_INSN_INFO_TABLE_IMPL == 2
    owned_tell(owned, body->insns_info.succ_index_table);
#endif
    owned_tell(owned, body->is_entries);
    owned_tell(owned, body->call_data);
    owned_tell(owned, body->catch_table);
    owned_tell(owned, body->param.opt_table);
    if (ISEQ_MBITS_BUFLEN(body->iseq_size) > 1) owned_tell(owned, body->mark_bits.list);
    owned_tell(owned, body->variable.original_iseq);
    owned_by_keywords(owned, body);
    if (body->local_table != rb_iseq_shared_exc_local_tbl) owned_tell(owned, body->local_table);
    owned_id_table(owned, body->outer_variables);
    owned_tell(owned, body);
}

static void
owned_by_imemo(const struct owned *owned, VALUE imemo)
{
    switch (imemo_type(imemo)) {
    case imemo_env:
        owned_tell(owned, ((const rb_env_t *)imemo)->env);
        break;
    case imemo_iseq:
        owned_by_code(owned, ISEQ_BODY((const rb_iseq_t *)imemo));
        break;
    case imemo_ment:
        owned_tell(owned, ((const rb_method_entry_t *)imemo)->def);
        break;
    case imemo_tmpbuf:
        owned_tell(owned, ((const rb_imemo_tmpbuf_t *)imemo)->ptr);
        break;
    default:
        break;
    }
}

/* -- T_DATA --------------------------------------------------------------- */

static void
owned_by_data(const struct owned *owned, VALUE object)
{
    if (!RTYPEDDATA_P(object)) {
        owned_tell(owned, DATA_PTR(object));
        return;
    }
    const rb_data_type_t *type = RTYPEDDATA_TYPE(object);
    const void *data = RTYPEDDATA_GET_DATA(object);
    if (!data) return;
    if (type == &ruby_threadptr_data_type) {
        owned_tell(owned, ((const rb_thread_t *)data)->specific_storage);
    }
    else if (rb_hs_vm_type_p(type, "weakmap") || rb_hs_vm_type_p(type, "weakkeymap")) {
        owned_st_table(owned, *(st_table *const *)data);
    }
    if (!RTYPEDDATA_EMBEDDED_P(object)) owned_tell(owned, data);
}

/* ------------------------------------------------------------------------- */

static void
owned_by_object(struct owned *owned, VALUE object)
{
    switch (BUILTIN_TYPE(object)) {
    case T_STRING:
        if (!STR_EMBED_P(object) && !FL_TEST(object, STR_SHARED | OWNED_STR_NOFREE)) {
            owned_tell(owned, RSTRING(object)->as.heap.ptr);
        }
        break;
    case T_ARRAY:
        if (!ARY_EMBED_P(object) && !ARY_SHARED_P(object)) owned_tell(owned, RARRAY(object)->as.heap.ptr);
        break;
    case T_HASH:
        if (RHASH_ST_TABLE_P(object)) owned_in_st_table(owned, RHASH_ST_TABLE(object));
        break;
    case T_OBJECT:
        if (!(RBASIC(object)->flags & ROBJECT_EMBED)) owned_by_variables(owned, object, ROBJECT(object)->as.heap.ivptr);
        break;
    case T_STRUCT:
        if (!(RBASIC(object)->flags & RSTRUCT_EMBED_LEN_MASK)) owned_tell(owned, RSTRUCT(object)->as.heap.ptr);
        break;
    case T_BIGNUM:
        if (!BIGNUM_EMBED_P(object)) owned_tell(owned, BIGNUM_DIGITS(object));
        break;
    case T_MATCH:
        owned_by_match(owned, object);
        break;
    case T_REGEXP:
        owned_by_regexp(owned, RREGEXP(object)->ptr);
        break;
    case T_FILE:
        owned_by_file(owned, RFILE(object)->fptr);
        break;
    case T_CLASS:
    case T_MODULE:
    case T_ICLASS:
        owned_by_class(owned, object);
        break;
    case T_IMEMO:
        owned_by_imemo(owned, object);
        break;
    case T_DATA:
        owned_by_data(owned, object);
        break;
    default:
        break;
    }
}

void
rb_hs_owned_blocks(VALUE object, void (*each)(const void *pointer, void *data), void *data)
{
    struct owned owned = {each, data};
    owned_by_object(&owned, object);
    if (FL_TEST(object, FL_EXIVAR)) owned_by_generic_variables(&owned, object);
}

/*
 * Going through the references of one parent, an object or a root, and through the
 * blocks of malloc that an object owns; see heap_walk/edge.h.
 *
 * References come in the order of how much their name says: a local variable
 * before a value on the same stack, a variable before a class.
 *
 * Of an extension's T_DATA only its mark function knows the references, unless
 * its type declares them: they have the name of the type (names.c).  Values that
 * only a machine stack has do not come either.
 *
 * An object owns the blocks that rb_gc_obj_free frees with it.  A block that some
 * objects share (a method's definition) comes for each of them.  Not among them
 * are blocks behind the block of an extension's object, and what is in no object
 * (symbols, shapes, encodings).  Stacks are counted elsewhere (memory/threads.h).
 */
#include "heap_sampler/mri.h"
#include "heap_sampler/base/contract.h"
#include "heap_sampler/heap_walk/edge.h"

#include <string.h>

struct hs_visit {
    struct hs_reference at;     /* what the next references have in common: parent, code, method, pc */
    hs_each_reference *each;
    void *data;
    bool enough;                /* the caller needs no more references */
    void (*block)(const void *pointer, void *data);     /* NULL: no blocks are wanted */
};

/* A reference to `child`, if that can be an object; `what` and `id` as in struct hs_reference. */
static void
visit(struct hs_visit *v, enum hs_edge_kind kind, const char *what, ID id, VALUE child)
{
    if (v->enough || RB_SPECIAL_CONST_P(child)) return;
    v->at.kind = kind;
    v->at.what = what;
    v->at.id = id;
    v->at.child = child;
    v->enough = !v->each(&v->at, v->data);
}

/* What follows is in this code. NULL: in none. */
static void
enter_code(struct hs_visit *v, const rb_iseq_t *iseq, const VALUE *pc, const rb_callable_method_entry_t *me)
{
    v->at.code = iseq;
    v->at.pc = pc;
    v->at.method = me;
    v->at.caller = NULL;
}

/* The iseq of that name, or NULL: what a control frame calls so may be something else. */
static const rb_iseq_t *
iseq_of(const void *code)
{
    return code && imemo_type_p((VALUE)code, imemo_iseq) ? code : NULL;
}

/* The method whose frame or environment it is, or NULL. */
static const rb_callable_method_entry_t *
method_of_ep(const VALUE *ep)
{
    rb_control_frame_t frame = {.ep = ep};
    return rb_vm_frame_method_entry(&frame);
}

/* -- words of a struct, and tables -------------------------------------------- */

static void
visit_fields(struct hs_visit *v, const struct hs_field *field, const void *data)
{
    for (; field->what && !v->enough; field++) visit(v, field->kind, field->what, 0, *(const VALUE *)((const char *)data + field->offset));
}

static void
visit_values(struct hs_visit *v, enum hs_edge_kind kind, const char *what, const VALUE *values, size_t count)
{
    for (size_t i = 0; i < count && !v->enough; i++) visit(v, kind, what, 0, values[i]);
}

/* The values of a table. */
struct table_visit {
    struct hs_visit *visit;
    enum hs_edge_kind kind;
    const char *what;
};

static enum rb_id_table_iterator_result
visit_entry_i(ID id, VALUE value, void *data)
{
    const struct table_visit *table = data;
    visit(table->visit, table->kind, table->what, id, value);
    return table->visit->enough ? ID_TABLE_STOP : ID_TABLE_CONTINUE;
}

static int
visit_value_i(st_data_t key, st_data_t value, st_data_t data)
{
    const struct table_visit *table = (const struct table_visit *)data;
    visit(table->visit, table->kind, table->what, 0, (VALUE)value);
    return table->visit->enough ? ST_STOP : ST_CONTINUE;
}

static void
visit_table_values(struct hs_visit *v, enum hs_edge_kind kind, const char *what, st_table *table)
{
    struct table_visit data = {v, kind, what};
    if (table) st_foreach(table, visit_value_i, (st_data_t)&data);
}

/* -- blocks of malloc --------------------------------------------------------- */

static void
own_all(const struct hs_visit *v, const void *const *pointers, size_t count)
{
    for (size_t i = 0; i < count && v->block; i++) {
        if (pointers[i]) v->block(pointers[i], v->data);
    }
}
/* The object owns these blocks; NULL: none. */
#define OWN(v, ...) own_all(v, (const void *const[]){__VA_ARGS__}, sizeof((const void *const[]){__VA_ARGS__}) / sizeof(void *))

static void
own_st_table(const struct hs_visit *v, const st_table *table)
{
    if (table) OWN(v, table->bins, table->entries, table);
}

static void
own_id_table(const struct hs_visit *v, const struct rb_id_table *table)
{
    if (table) OWN(v, rb_heap_sampler_id_table_items(table), table);
}

static void
visit_table(struct hs_visit *v, enum hs_edge_kind kind, const char *what, struct rb_id_table *table)
{
    struct table_visit data = {v, kind, what};
    if (table && !v->enough) rb_id_table_foreach(table, visit_entry_i, &data);
    own_id_table(v, table);
}

/* A table whose values are blocks, too: `each` owns them. */
static void
visit_table_of_blocks(struct hs_visit *v, struct rb_id_table *table, rb_id_table_foreach_func_t *each)
{
    if (table && (v->block || !v->enough)) rb_id_table_foreach(table, each, v);
    own_id_table(v, table);
}

/* -- instance variables --------------------------------------------------- */

struct hs_text
rb_hs_id_text(ID id)
{
    VALUE name = id ? rb_id2str(id) : 0;
    if (!name || !RB_TYPE_P(name, T_STRING)) return (struct hs_text){"", 0};
    return (struct hs_text){RSTRING_PTR(name), (uint32_t)RSTRING_LEN(name)};
}

/* Instance variables of a class are stored alike, and class variables among them. */
static int
visit_variable_i(ID id, VALUE value, st_data_t data)
{
    struct hs_visit *v = (struct hs_visit *)data;
    if (RB_SPECIAL_CONST_P(value)) return ST_CONTINUE;
    struct hs_text name = rb_hs_id_text(id);
    bool of_class = name.len > 2 && memcmp(name.ptr, "@@", 2) == 0;
    if (id == idLocals) visit(v, HS_EDGE_THREAD_LOCAL, "thread variables", 0, value);   /* Thread#thread_variable_set */
    else visit(v, of_class ? HS_EDGE_CVAR : HS_EDGE_IVAR, NULL, id, value);
    return v->enough ? ST_STOP : ST_CONTINUE;
}

static void
own_variables(const struct hs_visit *v, VALUE object, const VALUE *values)
{
    if (HS_TOO_COMPLEX_P(object)) own_st_table(v, (const st_table *)values);
    else OWN(v, values);
}

#if RUBY_API_VERSION_MAJOR >= 4
/* An object that is no T_OBJECT has its variables in another object, an imemo, which has the form of a T_OBJECT. */
static void
visit_variables(struct hs_visit *v, VALUE object)
{
    bool own = RB_TYPE_P(object, T_OBJECT) || RB_TYPE_P(object, T_IMEMO);
    bool module = RB_TYPE_P(object, T_CLASS) || RB_TYPE_P(object, T_MODULE);
    VALUE holder = own ? object : module ? RCLASS_PRIME_FIELDS_OBJ(object)
                                         : rb_obj_fields_no_ractor_check(object);
    if (own && FL_TEST_RAW(object, OBJ_FIELD_HEAP)) own_variables(v, object, rb_imemo_fields_ptr(object));
    if (!own) visit(v, HS_EDGE_DATA, "variables", 0, holder);
    if (holder && !v->enough) rb_ivar_foreach(holder, visit_variable_i, (st_data_t)v);
}
#else
static void
visit_variables(struct hs_visit *v, VALUE object)
{
    struct gen_ivtbl *table;
    if (RB_TYPE_P(object, T_OBJECT)) {
        if (!(RBASIC(object)->flags & ROBJECT_EMBED)) own_variables(v, object, ROBJECT(object)->as.heap.ivptr);
    }
    else if (RB_TYPE_P(object, T_CLASS) || RB_TYPE_P(object, T_MODULE)) {
        own_variables(v, object, RCLASS_IVPTR(object));
    }
    else if (rb_gen_ivtbl_get(object, 0, &table)) {     /* without an ID it does not ask which Ractor this is */
        if (HS_TOO_COMPLEX_P(object)) own_st_table(v, table->as.complex.table);
        OWN(v, table);
    }
    if (!v->enough) rb_ivar_foreach(object, visit_variable_i, (st_data_t)v);
}
#endif

/* -- objects of the program ----------------------------------------------- */

/* The names of members: an array of symbols that the class or its nearest ancestor has; 0: none. */
static VALUE
member_names(VALUE object)
{
    VALUE names = 0;
    for (VALUE klass = RBASIC_CLASS(object); klass && !RTEST(names); klass = RCLASS_SUPER(klass)) {
        if (BUILTIN_TYPE(klass) == T_CLASS) names = rb_attr_get(klass, rb_intern("__members__"));       /* an ID that struct.c has made */
    }
    return RTEST(names) && RB_TYPE_P(names, T_ARRAY) ? names : 0;
}

static ID
member_id(VALUE names, long member)
{
    if (!names || member >= RARRAY_LEN(names)) return 0;
    VALUE name = RARRAY_AREF(names, member);
    if (STATIC_SYM_P(name)) return RB_SYM2ID(name);
    return DYNAMIC_SYM_P(name) ? RSYMBOL(name)->id : 0;
}

static void
visit_struct(struct hs_visit *v, VALUE object)
{
    VALUE names = v->enough ? 0 : member_names(object);
    const VALUE *values = RSTRUCT_CONST_PTR(object);
    if (!(RBASIC(object)->flags & RSTRUCT_EMBED_LEN_MASK)) OWN(v, RSTRUCT(object)->as.heap.ptr);
    long count = RSTRUCT_LEN(object);
    for (long i = 0; i < count && !v->enough; i++) visit(v, HS_EDGE_MEMBER, NULL, member_id(names, i), values[i]);
}

static void
visit_array(struct hs_visit *v, VALUE array)
{
    if (!ARY_EMBED_P(array) && !ARY_SHARED_P(array)) OWN(v, RARRAY(array)->as.heap.ptr);
    if (ARY_SHARED_P(array)) visit(v, HS_EDGE_SHARED, "shared memory", 0, ARY_SHARED_ROOT(array));
    else visit_values(v, HS_EDGE_ELEMENT, "[]", RARRAY_CONST_PTR(array), (size_t)RARRAY_LEN(array));
}

static int
visit_pair_i(st_data_t key, st_data_t value, st_data_t data)
{
    struct hs_visit *v = (struct hs_visit *)data;
    visit(v, HS_EDGE_VALUE, "{} value", 0, (VALUE)value);
    visit(v, HS_EDGE_KEY, "{} key", 0, (VALUE)key);
    return v->enough ? ST_STOP : ST_CONTINUE;
}

static void
visit_hash(struct hs_visit *v, VALUE hash)
{
    if (RHASH_ST_TABLE_P(hash)) OWN(v, RHASH_ST_TABLE(hash)->bins, RHASH_ST_TABLE(hash)->entries);
    if (v->enough) return;
    rb_hash_stlike_foreach(hash, visit_pair_i, (st_data_t)v);
    bool block = FL_TEST_RAW(hash, RHASH_PROC_DEFAULT);
    visit(v, HS_EDGE_DEFAULT, block ? "default block" : "default", 0, RHASH_IFNONE(hash));
}

/* It has no bytes that are in its slot, another string's, or a literal of C code. */
static void
visit_string(struct hs_visit *v, VALUE string)
{
    if (rb_str_memsize(string)) OWN(v, RSTRING(string)->as.heap.ptr);
    if (STR_SHARED_P(string)) visit(v, HS_EDGE_SHARED, "shared memory", 0, RSTRING(string)->as.heap.aux.shared);
}

static void
visit_file(struct hs_visit *v, VALUE file)
{
    static const struct hs_field fields[] = {
        HS_FIELD(rb_io_t, pathv, DATA, "path"),
        HS_FIELD(rb_io_t, tied_io_for_writing, DATA, "IO for writing"),
        HS_FIELD(rb_io_t, writeconv_asciicompat, DATA, "conversion"),
        HS_FIELD(rb_io_t, writeconv_pre_ecopts, DATA, "conversion options"),
        HS_FIELD(rb_io_t, encs.ecopts, DATA, "encoding options"),
        HS_FIELD(rb_io_t, write_lock, DATA, "write lock"),
        HS_FIELD(rb_io_t, timeout, DATA, "timeout"),
        HS_FIELD(rb_io_t, self, SELF, "self"),
        {0},
    };
    const rb_io_t *io = RFILE(file)->fptr;
    if (!io) return;
    OWN(v, io->rbuf.ptr, io->wbuf.ptr, io->cbuf.ptr, io);
    visit_fields(v, fields, io);
}

static void
visit_bignum(struct hs_visit *v, VALUE number)
{
    if (!BIGNUM_EMBED_P(number)) OWN(v, BIGNUM_DIGITS(number));
}

static void
visit_match(struct hs_visit *v, VALUE match)
{
    const rb_matchext_t *ext = RMATCH_EXT(match);
    OWN(v, ext->regs.beg, ext->regs.end, ext->char_offset);
}

static void
visit_regexp(struct hs_visit *v, VALUE regexp)
{
    for (const regex_t *pattern = RREGEXP(regexp)->ptr; pattern; pattern = pattern->chain) {
        OWN(v, pattern->p, pattern->exact, pattern->int_map, pattern->int_map_backward, pattern->repeat_range, pattern);
        own_st_table(v, pattern->name_table);
    }
}

/* What types have as words of their own. */
static const struct hs_field builtin_fields[T_MASK + 1][3] = {
    [T_SYMBOL] = {HS_FIELD(struct RSymbol, fstr, DATA, "name")},
    [T_REGEXP] = {HS_FIELD(struct RRegexp, src, DATA, "source")},
    [T_MATCH] = {HS_FIELD(struct RMatch, str, DATA, "string"), HS_FIELD(struct RMatch, regexp, DATA, "regexp")},
    [T_RATIONAL] = {HS_FIELD(struct RRational, num, DATA, "numerator"), HS_FIELD(struct RRational, den, DATA, "denominator")},
    [T_COMPLEX] = {HS_FIELD(struct RComplex, real, DATA, "real part"), HS_FIELD(struct RComplex, imag, DATA, "imaginary part")},
};

/* -- classes and modules, and the ICLASS that stands for a module among a class's ancestors ------- */

static enum rb_id_table_iterator_result
enough_p(const struct hs_visit *v)
{
    return v->enough && !v->block ? ID_TABLE_STOP : ID_TABLE_CONTINUE;
}

static enum rb_id_table_iterator_result
visit_constant_i(ID id, VALUE value, void *v)
{
    const rb_const_entry_t *entry = (const void *)value;
    OWN(v, entry);
    visit(v, HS_EDGE_CONSTANT, NULL, id, entry->value);
    visit(v, HS_EDGE_CODE, "file of constant", id, entry->file);
    return enough_p(v);
}

#if RUBY_API_VERSION_MAJOR >= 4
/* Both caches are objects that mark their entries. */
static void
visit_caches(struct hs_visit *v, VALUE module, bool iclass)
{
    if (!iclass) {
        visit(v, HS_EDGE_CACHE, "cache of class variables", 0, HS_CLASS_EXT(module)->cvc_tbl);
        if (RCLASS_SUPERCLASSES_WITH_SELF_P(module)) OWN(v, RCLASS_SUPERCLASSES(module));
    }
    visit(v, HS_EDGE_CACHE, "cache of calls", 0, HS_CLASS_EXT(module)->cc_tbl);
}
#else
static enum rb_id_table_iterator_result
visit_class_variable_i(ID id, VALUE value, void *v)
{
    const struct rb_cvar_class_tbl_entry *entry = (const void *)value;
    OWN(v, entry);
    visit(v, HS_EDGE_CACHE, "cache of", id, (VALUE)entry->cref);
    return enough_p(v);
}

static enum rb_id_table_iterator_result
visit_calls_i(ID id, VALUE value, void *v)
{
    const struct rb_class_cc_entries *calls = (const void *)value;
    OWN(v, calls->entries, calls);
    visit(v, HS_EDGE_CACHE, "cached method", id, (VALUE)calls->cme);
    for (int i = 0; i < calls->len; i++) visit(v, HS_EDGE_CACHE, "cached calls of", id, (VALUE)calls->entries[i].cc);
    return enough_p(v);
}

static void
visit_caches(struct hs_visit *v, VALUE module, bool iclass)
{
    if (!iclass) {
        visit_table_of_blocks(v, RCLASS_CVC_TBL(module), visit_class_variable_i);
        if (FL_TEST_RAW(module, RCLASS_SUPERCLASSES_INCLUDE_SELF)) OWN(v, RCLASS_SUPERCLASSES(module));
    }
    visit_table_of_blocks(v, RCLASS_CC_TBL(module), visit_calls_i);
}
#endif

static void
visit_module(struct hs_visit *v, VALUE module)
{
    bool iclass = RB_TYPE_P(module, T_ICLASS);
    if (!iclass) {
        visit_table_of_blocks(v, RCLASS_CONST_TBL(module), visit_constant_i);
        visit_variables(v, module);
    }
    if (RB_TYPE_P(module, T_CLASS) && RCLASS_SINGLETON_P(module)) visit(v, HS_EDGE_CLASS, "object", 0, RCLASS_ATTACHED_OBJECT(module));
    visit(v, HS_EDGE_SUPERCLASS, "superclass", 0, RCLASS_SUPER(module));
    if (iclass) visit(v, HS_EDGE_SUPERCLASS, "included in", 0, RCLASS_INCLUDER(module));
    if (!iclass || RICLASS_OWNS_M_TBL_P(module)) visit_table(v, HS_EDGE_METHOD, "method", RCLASS_M_TBL(module));
    if (iclass) visit_table(v, HS_EDGE_METHOD, "method", HS_CLASS_EXT(module)->callable_m_tbl);
    else visit(v, HS_EDGE_CODE, "name", 0, HS_CLASS_EXT(module)->classpath);
    visit_caches(v, module, iclass);
}

/* -- blocks and methods --------------------------------------------------- */

static void
visit_locals(struct hs_visit *v, const rb_iseq_t *iseq, const VALUE *locals)
{
    const struct rb_iseq_constant_body *body = ISEQ_BODY(iseq);
    for (unsigned int i = 0; i < body->local_table_size && !v->enough; i++) visit(v, HS_EDGE_LOCAL, "local", body->local_table[i], locals[i]);
}

static void
visit_env(struct hs_visit *v, const void *imemo)
{
    const rb_env_t *env = imemo;
    OWN(v, env->env);
    if (!env->ep || v->enough) return;
    const rb_iseq_t *iseq = iseq_of(env->iseq);
    enter_code(v, iseq, NULL, method_of_ep(env->ep));
    if (iseq) visit_locals(v, iseq, env->ep - (VM_ENV_DATA_SIZE - 1) - ISEQ_BODY(iseq)->local_table_size);
    if (!VM_ENV_LOCAL_P(env->ep)) visit(v, HS_EDGE_ENVIRONMENT, "locals outside", 0, (VALUE)rb_vm_env_prev_env(env));
    visit(v, HS_EDGE_CODE, "code", 0, (VALUE)env->iseq);
    visit(v, HS_EDGE_METHOD, "method", 0, env->ep[VM_ENV_DATA_INDEX_ME_CREF]);
    if (VM_ENV_LOCAL_P(env->ep)) visit(v, HS_EDGE_BLOCK, "block argument", 0, VM_ENV_BLOCK_HANDLER(env->ep));
    visit_values(v, HS_EDGE_STACK, "argument", env->env, env->env_size);
}

/* Of a Proc or Binding: what it is a block of, with its self and the locals around it. */
static void
visit_captured(struct hs_visit *v, const struct rb_captured_block *captured)
{
    if (captured->ep) enter_code(v, iseq_of(captured->code.iseq), NULL, method_of_ep(captured->ep));
    visit(v, HS_EDGE_SELF, "self", 0, captured->self);
    if (captured->ep) visit(v, HS_EDGE_ENVIRONMENT, "locals outside", 0, captured->ep[VM_ENV_DATA_INDEX_ENV]);
    visit(v, HS_EDGE_CODE, "code", 0, captured->code.val);
}

static void
visit_block(struct hs_visit *v, const struct rb_block *block)
{
    if (block->type == block_type_symbol) visit(v, HS_EDGE_BLOCK, "symbol", 0, block->as.symbol);
    else if (block->type == block_type_proc) visit(v, HS_EDGE_BLOCK, "block", 0, block->as.proc);
    else visit_captured(v, &block->as.captured);
}

static void
visit_hook(VALUE object, void *data)
{
    visit(data, HS_EDGE_DATA, "enabled TracePoint", 0, object);
}

static const struct hs_field definition_fields[1 << VM_METHOD_TYPE_MINIMUM_BITS][3] = {
    [VM_METHOD_TYPE_ISEQ] = {
        HS_FIELD(rb_method_definition_t, body.iseq.iseqptr, CODE, "code"),
        HS_FIELD(rb_method_definition_t, body.iseq.cref, CODE, "scope"),
    },
    [VM_METHOD_TYPE_ATTRSET] = {HS_FIELD(rb_method_definition_t, body.attr.location, CODE, "place")},
    [VM_METHOD_TYPE_IVAR] = {HS_FIELD(rb_method_definition_t, body.attr.location, CODE, "place")},
    [VM_METHOD_TYPE_BMETHOD] = {HS_FIELD(rb_method_definition_t, body.bmethod.proc, BLOCK, "block")},
    [VM_METHOD_TYPE_ALIAS] = {HS_FIELD(rb_method_definition_t, body.alias.original_me, METHOD, "original")},
    [VM_METHOD_TYPE_REFINED] = {HS_FIELD(rb_method_definition_t, body.refined.orig_me, METHOD, "original")},
};

static void
visit_method(struct hs_visit *v, const void *imemo)
{
    const rb_method_entry_t *method = imemo;
    const rb_method_definition_t *definition = method->def;
    OWN(v, definition);
    if (definition) visit_fields(v, definition_fields[definition->type], definition);
    bool block = definition && definition->type == VM_METHOD_TYPE_BMETHOD;
    if (block) rb_heap_sampler_each_hook(HS_UNTIL_4(definition->body.bmethod.hooks), visit_hook, v);
    if (definition && definition->iseq_overload) visit(v, HS_EDGE_METHOD, "itself", 0, (VALUE)method);
    visit(v, HS_EDGE_CLASS, "owner", 0, method->owner);
    visit(v, HS_EDGE_CLASS, "class", 0, method->defined_class);
}

/* -- compiled code -------------------------------------------------------- */

static void
visit_literals(struct hs_visit *v, const rb_iseq_t *iseq)
{
    const struct rb_iseq_constant_body *body = ISEQ_BODY(iseq);
    if (!body->mark_bits.list) return;
    const iseq_bits_t *bits = ISEQ_MBITS_BUFLEN(body->iseq_size) == 1 ? &body->mark_bits.single : body->mark_bits.list;
    for (unsigned int i = 0; i < body->iseq_size && !v->enough; i++) {
        if (!ISEQ_MBITS_SET_P(bits, i)) continue;
        bool block = iseq_of((const void *)body->iseq_encoded[i]) != NULL;
        enter_code(v, iseq, body->iseq_encoded + i, NULL);
        visit(v, HS_EDGE_CODE, block ? "block" : "literal", 0, body->iseq_encoded[i]);
    }
    enter_code(v, iseq, NULL, NULL);
}

static void
visit_inline_caches(struct hs_visit *v, const struct rb_iseq_constant_body *body)
{
    if (!body->is_entries) return;
    const union iseq_inline_storage_entry *at = body->is_entries + body->ivc_size;
    for (unsigned int i = 0; i < body->icvarc_size; i++, at++) {
        const struct iseq_inline_cvar_cache_entry *cache = (const void *)at;
        if (cache->entry) visit(v, HS_EDGE_CACHE, "cache of a class variable", 0, cache->entry->class_value);
    }
    for (unsigned int i = 0; i < body->ise_size; i++, at++) visit(v, HS_EDGE_CODE, "value that is made once", 0, at->once.value);
    for (unsigned int i = 0; i < body->ic_size; i++, at++) visit(v, HS_EDGE_CACHE, "cached constant", 0, (VALUE)at->ic_cache.entry);
}

static void
visit_calls(struct hs_visit *v, const struct rb_iseq_constant_body *body)
{
    if (!body->call_data) return;
    for (unsigned int i = 0; i < body->ci_size && !v->enough; i++) {
        visit(v, HS_EDGE_CODE, "call", 0, (VALUE)body->call_data[i].ci);
        visit(v, HS_EDGE_CACHE, "call cache", 0, (VALUE)body->call_data[i].cc);
    }
}

static void
visit_keywords(struct hs_visit *v, const struct rb_iseq_constant_body *body)
{
    const struct rb_iseq_param_keyword *keyword = body->param.keyword;
    if (!body->param.flags.has_kw || !keyword || !keyword->default_values) return;
    visit_values(v, HS_EDGE_CODE, "default of a keyword", keyword->default_values, (size_t)(keyword->num - keyword->required_num));
}

static void
visit_rescues(struct hs_visit *v, const struct rb_iseq_constant_body *body)
{
    const struct iseq_catch_table *table = body->catch_table;
    for (unsigned int i = 0; table && i < table->size; i++) {
        visit(v, HS_EDGE_CODE, "rescue", 0, (VALUE)table->entries[i].iseq);     /* by way of the table: it is packed */
    }
}

static const struct hs_field body_fields[] = {
    HS_FIELD(struct rb_iseq_constant_body, parent_iseq, CODE, "code outside"),
    HS_FIELD(struct rb_iseq_constant_body, local_iseq, CODE, "method outside"),
    HS_FIELD(struct rb_iseq_constant_body, mandatory_only_iseq, CODE, "short form"),
    HS_FIELD(struct rb_iseq_constant_body, location.label, CODE, "name"),
    HS_FIELD(struct rb_iseq_constant_body, location.base_label, CODE, "name"),
    HS_FIELD(struct rb_iseq_constant_body, location.pathobj, CODE, "path"),
    HS_FIELD(struct rb_iseq_constant_body, variable.coverage, CODE, "coverage"),
    HS_FIELD(struct rb_iseq_constant_body, variable.pc2branchindex, CODE, "coverage"),
    HS_FIELD(struct rb_iseq_constant_body, variable.script_lines, CODE, "source"),
    {0},
};

static void
own_code(const struct hs_visit *v, const struct rb_iseq_constant_body *body)
{
    const struct rb_iseq_param_keyword *keyword = body->param.keyword;
    OWN(v, body->iseq_encoded, body->insns_info.body, body->insns_info.positions, body->is_entries, body->call_data, body->catch_table,
        body->param.opt_table, body->variable.original_iseq);
#if VM_INSN_INFO_TABLE_IMPL == 2
    OWN(v, body->insns_info.succ_index_table);
#endif
    if (ISEQ_MBITS_BUFLEN(body->iseq_size) > 1) OWN(v, body->mark_bits.list);
    if (keyword && keyword->table != &body->local_table[keyword->bits_start - keyword->num]) OWN(v, keyword->table);
    if (keyword) OWN(v, keyword->default_values, keyword);
    if (body->local_table != rb_iseq_shared_exc_local_tbl) OWN(v, body->local_table);
    own_id_table(v, body->outer_variables);
    OWN(v, body);
}

static void
visit_iseq(struct hs_visit *v, const void *imemo)
{
    const rb_iseq_t *iseq = imemo;
    const struct rb_iseq_constant_body *body = ISEQ_BODY(iseq);
    if (body) own_code(v, body);
    if (!body || v->enough) return;
    enter_code(v, iseq, NULL, NULL);
    visit_literals(v, iseq);
    visit_keywords(v, body);
    visit_rescues(v, body);
    visit_fields(v, body_fields, body);
    visit(v, HS_EDGE_CODE, "RubyVM::InstructionSequence", 0, iseq->wrapper);
    visit_inline_caches(v, body);
    visit_calls(v, body);
    bool hooks = !FL_TEST_RAW((VALUE)iseq, ISEQ_NOT_LOADED_YET | ISEQ_USE_COMPILE_DATA);
    if (hooks) rb_heap_sampler_each_hook(HS_UNTIL_4(iseq->aux.exec.local_hooks), visit_hook, v);
}

/* -- what else the VM has as imemo ---------------------------------------- */

static void
visit_buffer(struct hs_visit *v, const void *imemo)
{
    const rb_imemo_tmpbuf_t *buffer = imemo;
    OWN(v, buffer->ptr);
    for (; buffer && !v->enough; buffer = HS_UNTIL_4(buffer->next)) visit_values(v, HS_EDGE_STACK, "value", buffer->ptr, buffer->cnt);
}

#if RUBY_API_VERSION_MAJOR >= 4
static void
visit_fields_object(struct hs_visit *v, const void *imemo)
{
    visit_variables(v, (VALUE)imemo);
    visit(v, HS_EDGE_DATA, "owner", 0, rb_imemo_fields_owner((VALUE)imemo));
}
#endif

static void
visit_call_cache(struct hs_visit *v, const void *imemo)
{
    const struct rb_callcache *cache = imemo;
    if (!vm_cc_super_p(cache) && !vm_cc_refinement_p(cache)) return;
    visit(v, HS_EDGE_CACHE, "method", 0, (VALUE)cache->cme_);
    visit(v, HS_EDGE_CACHE, "class", 0, cache->klass);
}

/* By imemo_type: those that consist of some words, and the others. */
static const struct hs_field imemo_words[IMEMO_MASK + 1][5] = {
    [imemo_cref] = {
        HS_FIELD(rb_cref_t, klass_or_self, CODE, "class of scope"),
        HS_FIELD(rb_cref_t, next, CODE, "outer scope"),
        HS_FIELD(rb_cref_t, refinements, CODE, "refinements of scope"),
    },
    [imemo_svar] = {
        HS_FIELD(struct vm_svar, lastline, LOCAL, "$_"),
        HS_FIELD(struct vm_svar, backref, LOCAL, "$~"),
        HS_FIELD(struct vm_svar, others, LOCAL, "flip-flops"),
        HS_FIELD(struct vm_svar, cref_or_me, METHOD, "method"),
    },
    [imemo_memo] = {
        HS_FIELD(struct MEMO, v1, STACK, "value"),
        HS_FIELD(struct MEMO, v2, STACK, "value"),
        HS_FIELD(struct MEMO, u3.value, STACK, "value"),
    },
    [imemo_ifunc] = {HS_FIELD(struct vm_ifunc, data, DATA, "data of a block in C")},
    [imemo_throw_data] = {HS_FIELD(struct vm_throw_data, throw_obj, STACK, "thrown value")},
    [imemo_constcache] = {HS_FIELD(struct iseq_inline_constant_cache_entry, value, CACHE, "value")},
#if RUBY_API_VERSION_MAJOR >= 4
    [imemo_cvar_entry] = {
        HS_FIELD(struct rb_cvar_class_tbl_entry, class_value, CACHE, "class"),
        HS_FIELD(struct rb_cvar_class_tbl_entry, cref, CACHE, "scope"),
    },
#endif
};
static void (*const imemo_visits[IMEMO_MASK + 1])(struct hs_visit *, const void *) = {
    [imemo_env] = visit_env,
    [imemo_ment] = visit_method,
    [imemo_iseq] = visit_iseq,
    [imemo_tmpbuf] = visit_buffer,
    [imemo_callcache] = visit_call_cache,
#if RUBY_API_VERSION_MAJOR >= 4
    [imemo_fields] = visit_fields_object,
#endif
};

static void
visit_imemo(struct hs_visit *v, VALUE imemo)
{
    enum imemo_type type = imemo_type(imemo);
    if (imemo_visits[type]) imemo_visits[type](v, (const void *)imemo);
    else visit_fields(v, imemo_words[type], (const void *)imemo);
}

/*
 * -- stacks of threads and fibers: the VM stack by frames, and what the VM keeps with it --------------------------------
 *
 * A frame's values on the VM stack are those between the stack pointer of its
 * caller and its own: the receiver, arguments and other locals, three words of
 * the environment, and what it works on.
 */

const rb_execution_context_t *
rb_hs_ec_of(VALUE object)
{
    bool thread = rb_typeddata_is_kind_of(object, &ruby_threadptr_data_type);
    void *data = thread || rb_obj_is_fiber(object) ? RTYPEDDATA_GET_DATA(object) : NULL;
    if (!data) return NULL;
    return thread ? ((const rb_thread_t *)data)->ec : rb_fiberptr_get_ec(data);
}

static const rb_control_frame_t *
stack_end(const rb_execution_context_t *ec)
{
    return (const void *)(ec->vm_stack + ec->vm_stack_size);
}

static bool
on_stack_p(const rb_execution_context_t *ec, const VALUE *ep)
{
    return ep >= ec->vm_stack && ep < ec->vm_stack + ec->vm_stack_size;
}

/* Is the code in a file, and not compiled into Ruby? */
static bool
in_file_p(VALUE path)
{
    return RB_TYPE_P(path, T_STRING) && strncmp(RSTRING_PTR(path), "<internal:", 10) != 0;
}

static bool
has_line_p(const rb_control_frame_t *frame)
{
    const rb_iseq_t *iseq = iseq_of(frame->iseq);
    return iseq && frame->pc && in_file_p(rb_iseq_path(iseq));
}

/* The next references are of this frame. A method in C, or one that is compiled into Ruby, gets the line of its caller. */
static void
enter_frame(struct hs_visit *v, const rb_execution_context_t *ec, const rb_control_frame_t *frame)
{
    const rb_iseq_t *iseq = iseq_of(frame->iseq);
    enter_code(v, iseq, iseq ? frame->pc : NULL, frame->ep ? method_of_ep(frame->ep) : NULL);
    if (!v->at.method) return;
    const rb_control_frame_t *caller = frame;
    while (caller < stack_end(ec) && !has_line_p(caller)) caller++;
    if (caller == frame || caller == stack_end(ec)) return;
    v->at.caller = caller->iseq;
    v->at.caller_pc = caller->pc;
}

/* Where a block has taken the variables to the heap, what they were stays on the stack, and is marked. */
static const VALUE *
locals_of(const rb_execution_context_t *ec, const rb_control_frame_t *frame, const rb_iseq_t *iseq)
{
    const VALUE *end = NULL;
    if (on_stack_p(ec, frame->ep)) end = frame->ep - (VM_ENV_DATA_SIZE - 1);
    else if (frame + 1 < stack_end(ec) && VM_FRAME_RUBYFRAME_P(frame)) end = rb_vm_base_ptr(frame) - VM_ENV_DATA_SIZE;
    const VALUE *locals = end ? end - ISEQ_BODY(iseq)->local_table_size : NULL;
    return locals && on_stack_p(ec, locals) && end <= frame->sp ? locals : NULL;
}

static void
visit_escaped(struct hs_visit *v, const char *what, const VALUE *ep)
{
    if (VM_ENV_FLAGS(ep, VM_ENV_FLAG_ESCAPED)) visit(v, HS_EDGE_ENVIRONMENT, what, 0, ep[VM_ENV_DATA_INDEX_ENV]);
}

static void
visit_frame_variables(struct hs_visit *v, const rb_execution_context_t *ec, const rb_control_frame_t *frame)
{
    const rb_iseq_t *iseq = iseq_of(frame->iseq);
    const VALUE *locals = iseq && frame->pc ? locals_of(ec, frame, iseq) : NULL;
    enter_frame(v, ec, frame);
    if (locals) visit_locals(v, iseq, locals);
    visit_escaped(v, "locals", frame->ep);
    if (!VM_ENV_LOCAL_P(frame->ep)) visit_escaped(v, "locals outside", VM_ENV_PREV_EP(frame->ep));
}

static void
visit_frame_values(struct hs_visit *v, const rb_execution_context_t *ec, const rb_control_frame_t *frame, const VALUE *from)
{
    enter_frame(v, ec, frame);
    if (from < frame->sp) visit_values(v, HS_EDGE_STACK, "stack", from, (size_t)(frame->sp - from));
    bool code = iseq_of(frame->iseq) != NULL;   /* else a block in C */
    visit(v, code ? HS_EDGE_CODE : HS_EDGE_BLOCK, code ? "code" : "block", 0, (VALUE)frame->iseq);
    visit(v, HS_EDGE_BLOCK, "block", 0, (VALUE)frame->block_code);
}

/* Of all frames the variables first: `rows.each` is named by the variable, not as the self of Array#each. */
static void
visit_frames(struct hs_visit *v, const rb_execution_context_t *ec)
{
    const rb_control_frame_t *frame, *end = stack_end(ec);
    for (frame = ec->cfp; frame < end && !v->enough; frame++) visit_frame_variables(v, ec, frame);
    for (frame = ec->cfp; frame < end && !v->enough; frame++) {
        enter_frame(v, ec, frame);
        visit(v, HS_EDGE_SELF, "self", 0, frame->self);
    }
    for (frame = ec->cfp; frame < end && !v->enough; frame++) {
        visit_frame_values(v, ec, frame, frame + 1 < end ? frame[1].sp : ec->vm_stack);
    }
    enter_code(v, NULL, NULL, NULL);
}

static void
visit_stack(struct hs_visit *v, const rb_execution_context_t *ec)
{
    static const struct hs_field fields[] = {
        HS_FIELD(rb_execution_context_t, errinfo, LOCAL, "$!"),
        HS_FIELD(rb_execution_context_t, root_svar, LOCAL, "special variables"),
        HS_FIELD(rb_execution_context_t, local_storage_recursive_hash, STACK, "recursion guard"),
        HS_FIELD(rb_execution_context_t, local_storage_recursive_hash_for_trace, STACK, "recursion guard"),
        HS_FIELD(rb_execution_context_t, private_const_reference, STACK, "constant"),
        {0},
    };
    visit_table(v, HS_EDGE_FIBER_LOCAL, ":", ec->local_storage);
    visit(v, HS_EDGE_FIBER_LOCAL, "fiber storage", 0, ec->storage);
    if (ec->vm_stack && ec->cfp) visit_frames(v, ec);
    visit_fields(v, fields, ec);
}

/* A fiber that has no object: its thread has its stack. */
static void
visit_fiber_of_thread(struct hs_visit *v, rb_fiber_t *fiber)
{
    VALUE self = fiber ? rb_fiberptr_self(fiber) : 0;
    if (self) visit(v, HS_EDGE_DATA, "fiber", 0, self);
    else if (fiber) visit_stack(v, rb_fiberptr_get_ec(fiber));
}

static void
visit_thread_start(struct hs_visit *v, const rb_thread_t *thread)
{
    if (thread->invoke_type == thread_invoke_type_proc || thread->invoke_type == thread_invoke_type_ractor_proc) {
        visit(v, HS_EDGE_BLOCK, "block", 0, thread->invoke_arg.proc.proc);
        visit(v, HS_EDGE_DATA, "arguments", 0, thread->invoke_arg.proc.args);
    }
    else if (thread->invoke_type == thread_invoke_type_func) {
        visit(v, HS_EDGE_DATA, "argument", 0, (VALUE)thread->invoke_arg.func.arg);
    }
}

static void
visit_thread(struct hs_visit *v, const rb_thread_t *thread)
{
    static const struct hs_field own[] = {
        HS_FIELD(rb_thread_t, value, DATA, "value"),
        HS_FIELD(rb_thread_t, name, DATA, "name"),
        HS_FIELD(rb_thread_t, scheduler, DATA, "fiber scheduler"),
        HS_FIELD(rb_thread_t, locking_mutex, DATA, "mutex it waits for"),
        HS_FIELD(rb_thread_t, pending_interrupt_queue, DATA, "pending interrupts"),
        HS_FIELD(rb_thread_t, pending_interrupt_mask_stack, DATA, "interrupt masks"),
        HS_FIELD(rb_thread_t, last_status, DATA, "$?"),
        {0},
    };
    static const struct hs_field others[] = {
        HS_FIELD(rb_thread_t, top_self, DATA, "main object"),
        HS_FIELD(rb_thread_t, top_wrapper, DATA, "wrapper of load"),
        HS_FIELD(rb_thread_t, thgroup, DATA, "group"),
        {0},
    };
    visit_variables(v, v->at.parent);
    visit_thread_start(v, thread);
    visit_fields(v, own, thread);
    visit_fiber_of_thread(v, thread->ec ? thread->ec->fiber_ptr : NULL);
    visit_fiber_of_thread(v, thread->root_fiber);
    visit_fields(v, others, thread);
    if (thread->ractor) visit(v, HS_EDGE_DATA, "Ractor", 0, rb_ractor_self(thread->ractor));
}

static void
visit_fiber(struct hs_visit *v, rb_fiber_t *fiber)
{
    const rb_execution_context_t *ec = rb_fiberptr_get_ec(fiber);
    struct rb_heap_sampler_fiber_references references;
    rb_heap_sampler_fiber_references(fiber, &references);
    visit_stack(v, ec);
    visit(v, HS_EDGE_BLOCK, "block", 0, references.block);
    visit(v, HS_EDGE_DATA, "value", 0, references.value);
    visit(v, HS_EDGE_DATA, "resumed by", 0, references.resumed_by);
    if (ec->thread_ptr) visit(v, HS_EDGE_DATA, "thread", 0, ec->thread_ptr->self);
    visit(v, HS_EDGE_SELF, "self", 0, rb_fiberptr_self(fiber));
}

#if RUBY_API_VERSION_MAJOR >= 4
static int
visit_targeted_hooks_i(st_data_t key, st_data_t hooks, st_data_t v)
{
    rb_heap_sampler_each_hook((const rb_hook_list_t *)hooks, visit_hook, (void *)v);
    return ST_CONTINUE;
}
#endif

static void
visit_ractor(struct hs_visit *v, rb_ractor_t *ractor)
{
    static const struct hs_field fields[] = {
        HS_FIELD(rb_ractor_t, r_stdin, GVAR, "$stdin"),
        HS_FIELD(rb_ractor_t, r_stdout, GVAR, "$stdout"),
        HS_FIELD(rb_ractor_t, r_stderr, GVAR, "$stderr"),
        HS_FIELD(rb_ractor_t, name, DATA, "name"),
        HS_FIELD(rb_ractor_t, loc, DATA, "place"),
#if RUBY_API_VERSION_MAJOR >= 4
        HS_FIELD(rb_ractor_t, sync.default_port_value, DATA, "port"),
#else
        HS_FIELD(rb_ractor_t, receiving_mutex, DATA, "mutex"),
#endif
        {0},
    };
    rb_thread_t *thread;
    visit_table(v, HS_EDGE_THREAD_LOCAL, "Ractor local", ractor->idkey_local_storage);
    visit_fields(v, fields, ractor);
    rb_heap_sampler_each_hook(&ractor->pub.hooks, visit_hook, v);
#if RUBY_API_VERSION_MAJOR >= 4
    if (ractor->pub.targeted_hooks) st_foreach(ractor->pub.targeted_hooks, visit_targeted_hooks_i, (st_data_t)v);
#endif
    if (!ractor->threads.cnt) return;
    ccan_list_for_each(&ractor->threads.set, thread, lt_node) visit(v, HS_EDGE_DATA, "thread", 0, thread->self);
}

/* -- T_DATA: objects whose memory C code gave its own form ---------------- */

static int
visit_weak_key_value_i(st_data_t key, st_data_t value, st_data_t data)
{
    struct hs_visit *v = (struct hs_visit *)data;
    bool freed = UNDEF_P(*(const VALUE *)key);  /* and not taken out yet */
    if (!freed) visit(v, HS_EDGE_VALUE, "{} value", 0, (VALUE)value);
    return v->enough ? ST_STOP : ST_CONTINUE;
}

static const struct hs_form *
form_of(const rb_data_type_t *type)
{
    static const struct hs_form *const files[] = {
        rb_heap_sampler_forms_of_enumerator,
        rb_heap_sampler_forms_of_proc,
        rb_heap_sampler_forms_of_thread_sync,
        rb_heap_sampler_forms_of_variable,
        rb_heap_sampler_forms_of_vm,
        rb_heap_sampler_forms_of_vm_backtrace,
        rb_heap_sampler_forms_of_vm_trace,
    };
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        for (const struct hs_form *form = files[i]; form->type; form++) {
            if (form->type == type) return form;
        }
    }
    return NULL;
}

/* A type that says where its references are. */
static void
visit_declared(struct hs_visit *v, const rb_data_type_t *type, const char *data)
{
    const size_t *offset = (const size_t *)(uintptr_t)type->function.dmark;
    for (; *offset != RUBY_REF_END && !v->enough; offset++) visit(v, HS_EDGE_DATA, "data", 0, *(const VALUE *)(data + *offset));
}

static void
visit_data(struct hs_visit *v, VALUE object)
{
    bool typed = RTYPEDDATA_P(object), weak_keys;
    void *data = typed ? RTYPEDDATA_GET_DATA(object) : DATA_PTR(object);
    if (!data) return;
    if (!typed || !RTYPEDDATA_EMBEDDED_P(object)) OWN(v, data);
    if (!typed) return;
    const rb_data_type_t *type = RTYPEDDATA_TYPE(object);
    const st_table *weak = rb_heap_sampler_weak_table(object, &weak_keys);
    own_st_table(v, weak);
    if (type == &ruby_threadptr_data_type) OWN(v, ((const rb_thread_t *)data)->specific_storage);
    if (v->enough) return;
    const struct hs_form *form = form_of(type);
    if (type == &ruby_threadptr_data_type) visit_thread(v, data);
    else if (type == &ruby_binding_data_type) visit_block(v, &((const rb_binding_t *)data)->block);
    else if (rb_obj_is_proc(object)) visit_block(v, &((const rb_proc_t *)data)->block);
    else if (rb_obj_is_fiber(object)) visit_fiber(v, data);
    else if (rb_ractor_p(object)) visit_ractor(v, data);
    else if (form) visit_fields(v, form->fields, data);
    else if (weak_keys) st_foreach((st_table *)weak, visit_weak_key_value_i, (st_data_t)v);
    else if (type->flags & RUBY_TYPED_DECL_MARKING) visit_declared(v, type, data);
    if (type == &ruby_binding_data_type) visit(v, HS_EDGE_CODE, "path", 0, ((const rb_binding_t *)data)->pathobj);
}

/* ------------------------------------------------------------------------- */

static void (*const visits[T_MASK + 1])(struct hs_visit *, VALUE) = {
    [T_OBJECT] = visit_variables,
    [T_STRUCT] = visit_struct,
    [T_ARRAY] = visit_array,
    [T_HASH] = visit_hash,
    [T_STRING] = visit_string,
    [T_FILE] = visit_file,
    [T_BIGNUM] = visit_bignum,
    [T_MATCH] = visit_match,
    [T_REGEXP] = visit_regexp,
    [T_CLASS] = visit_module,
    [T_MODULE] = visit_module,
    [T_ICLASS] = visit_module,
    [T_IMEMO] = visit_imemo,
    [T_DATA] = visit_data,
};

static void
visit_object(struct hs_visit *v, VALUE object)
{
    enum ruby_value_type type = BUILTIN_TYPE(object);
    if (visits[type]) visits[type](v, object);
    visit_fields(v, builtin_fields[type], (const void *)object);
    enter_code(v, NULL, NULL, NULL);
    if (HS_VARIABLES_OUTSIDE_P(object)) visit_variables(v, object);
    if (v->enough) return;
    visit(v, HS_EDGE_FINALIZER, "finalizer", 0, rb_heap_sampler_gc_finalizers(object));
    bool own_word = type == T_FLOAT || type == T_BIGNUM || type == T_SYMBOL || type == T_IMEMO;        /* in place of the class */
    if (!own_word) visit(v, HS_EDGE_CLASS, "class", 0, RBASIC_CLASS(object));
}

void
rb_hs_references(VALUE parent, hs_each_reference *each, void *data)
{
    HS_CONTRACT(vm);
    struct hs_visit v = {.at = {.parent = parent}, .each = each, .data = data};
    visit_object(&v, parent);
}

void
rb_hs_owned_blocks(VALUE object, void (*each)(const void *pointer, void *data), void *data)
{
    struct hs_visit v = {.block = each, .data = data, .enough = true};
    visit_object(&v, object);
}

/* -- roots ------------------------------------------------------------------ */

static enum rb_id_table_iterator_result
visit_global_i(VALUE entry, void *v)
{
    ID id;
    VALUE value = rb_heap_sampler_global(entry, &id);
    visit(v, HS_EDGE_GVAR, NULL, id, value);
    return ID_TABLE_CONTINUE;
}

static void
visit_finalizer(VALUE object, VALUE blocks, void *data)
{
    visit(data, HS_EDGE_FINALIZER, "(finalizer)", 0, blocks);
}

/* Variables that C code registered: rb_gc_register_address, rb_global_variable. */
static void
visit_addresses(struct hs_visit *v, const rb_vm_t *vm)
{
    for (const struct global_object_list *at = vm->global_object_list; at && !v->enough; at = at->next) {
        v->at.address = at->varptr;
        visit(v, HS_EDGE_ADDRESS, NULL, 0, *at->varptr);
    }
    v->at.address = NULL;
}

static enum rb_id_table_iterator_result
visit_missing_method_i(VALUE method, void *data)
{
    struct hs_visit *v = data;
    visit(v, HS_EDGE_CACHE, "(cache of missing methods)", 0, method);
    return v->enough ? ID_TABLE_STOP : ID_TABLE_CONTINUE;
}

/* The files that Ruby has loaded. */
static void
visit_loader(struct hs_visit *v, const HS_LOADER *loader)
{
    static const struct hs_field fields[] = {
        HS_FIELD(HS_LOADER, load_path, GVAR, "$LOAD_PATH"),
        HS_FIELD(HS_LOADER, loaded_features, GVAR, "$LOADED_FEATURES"),
        HS_FIELD(HS_LOADER, load_path_snapshot, ROOT, "(cache of $LOAD_PATH)"),
        HS_FIELD(HS_LOADER, load_path_check_cache, ROOT, "(cache of $LOAD_PATH)"),
        HS_FIELD(HS_LOADER, expanded_load_path, ROOT, "(cache of $LOAD_PATH)"),
        HS_FIELD(HS_LOADER, loaded_features_snapshot, ROOT, "(cache of $LOADED_FEATURES)"),
        HS_FIELD(HS_LOADER, loaded_features_realpaths, ROOT, "(cache of $LOADED_FEATURES)"),
        HS_FIELD(HS_LOADER, loaded_features_realpath_map, ROOT, "(cache of $LOADED_FEATURES)"),
        HS_FIELD(HS_LOADER, top_self, ROOT, "(main object)"),
        {0},
    };
    visit_table_values(v, HS_EDGE_ROOT, "(files that are being loaded)", loader->loading_table);
    visit_fields(v, fields, loader);
}

static const struct hs_field vm_fields[] = {
    HS_FIELD(rb_vm_t, mark_object_ary, ROOT, "(objects of C code)"),
    HS_FIELD(rb_vm_t, orig_progname, GVAR, "$0"),
    HS_FIELD(rb_vm_t, coverages, ROOT, "(coverage)"),
    HS_FIELD(rb_vm_t, me2counter, ROOT, "(coverage)"),
    HS_FIELD(rb_vm_t, self, ROOT, "(VM)"),
    {0},
};

static void
visit_vm(struct hs_visit *v)
{
    const rb_vm_t *vm = GET_VM();
    rb_ractor_t *ractor;
    ccan_list_for_each(&vm->ractor.set, ractor, vmlr_node) visit(v, HS_EDGE_ROOT, "(threads)", 0, rb_ractor_self(ractor));
#if RUBY_API_VERSION_MAJOR >= 4
    if (vm->root_box) visit_loader(v, vm->root_box);
    if (vm->main_box) visit_loader(v, vm->main_box);
#else
    visit_loader(v, vm);
#endif
    visit_values(v, HS_EDGE_ROOT, "(trap)", vm->trap_list.cmd, RUBY_NSIG);
    visit_addresses(v, vm);
    visit_fields(v, vm_fields, vm);
    rb_id_table_foreach_values(vm->negative_cme_table, visit_missing_method_i, v);
    visit_table_values(v, HS_EDGE_CACHE, "(cache of methods)", vm->overloaded_cme_table);
    visit_values(v, HS_EDGE_CACHE, "(cache of calls)", (const VALUE *)vm->global_cc_cache_table, VM_GLOBAL_CC_CACHE_TABLE_SIZE);
}

void
rb_hs_root_references(enum hs_top root, hs_each_reference *each, void *data)
{
    struct hs_visit v = {.each = each, .data = data};
    if (root == HS_TOP_CONSTANTS) visit(&v, HS_EDGE_ROOT, "(constants)", 0, rb_cObject);
    if (root == HS_TOP_GLOBALS) rb_id_table_foreach_values(rb_heap_sampler_globals(), visit_global_i, &v);
    if (root == HS_TOP_FINALIZERS) rb_heap_sampler_gc_each_finalizer(visit_finalizer, &v);
    if (root == HS_TOP_VM || root == HS_TOP_THREADS || root == HS_TOP_CACHES) visit_vm(&v);
}

/* -- where code stands ------------------------------------------------------ */

/* A file that stands in the library's own folder, such as monitor.rb; gems are in folders below it. */
static bool
in_library_p(VALUE path)
{
    char folder[32];
    int length = snprintf(folder, sizeof(folder), "/ruby/%d.%d.%d/", ruby_api_version[0], ruby_api_version[1], ruby_api_version[2]);
    const char *found = memmem(RSTRING_PTR(path), (size_t)RSTRING_LEN(path), folder, (size_t)length);
    return found && !memchr(found + length, '/', (size_t)(RSTRING_END(path) - found - length));
}

void
rb_hs_edge_stands_at(struct hs_edge *edge, const rb_execution_context_t *ec, const rb_control_frame_t *cfp)
{
    if (cfp) cfp = rb_vm_get_ruby_level_next_cfp(ec, cfp);
    for (; cfp; cfp = rb_vm_get_ruby_level_next_cfp(ec, RUBY_VM_PREVIOUS_CONTROL_FRAME(cfp))) {
        VALUE path = rb_iseq_path(hs_iseq_of(cfp));
        if (!in_file_p(path)) continue;
        bool library = in_library_p(path);
        if (library && edge->line) continue;
        edge->path = (struct hs_text){RSTRING_PTR(path), (uint32_t)RSTRING_LEN(path)};
        edge->line = (uint32_t)rb_vm_get_sourceline(cfp);
        if (!library) return;
    }
}

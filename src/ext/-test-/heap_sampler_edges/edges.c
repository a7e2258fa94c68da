/*
 * Bug::HeapSamplerEdges: names of edges, for test/ruby/test_heap_sampler_edges.rb.
 */
#include "ruby/ruby.h"

#if USE_HEAP_SAMPLER
#include "heap_sampler/base/libraries.h"
#include "heap_sampler/heap_walk/edge.h"
#include "internal/gc.h"
#include "internal/sanitizers.h"
#include "ruby/onigmo.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

/* jemalloc's, if that is the allocator. */
int mallctl(const char *name, void *old, size_t *old_length, void *new, size_t new_length) __attribute__((weak));

static VALUE
edge_value(const struct hs_edge *edge)
{
    VALUE path = edge->path.len ? rb_utf8_str_new(edge->path.ptr, edge->path.len) : Qnil;
    return rb_ary_new_from_args(4, ID2SYM(rb_intern(rb_hs_edge_words[edge->kind])),
                                rb_utf8_str_new(edge->text, (long)edge->length), path, UINT2NUM(edge->line));
}

/* edge(parent, child) -> [kind, text, path, line] */
static VALUE
s_edge(VALUE self, VALUE parent, VALUE child)
{
    struct hs_edge edge;
    rb_hs_edge(parent, child, &edge);
    return edge_value(&edge);
}

/* root_edge(category, child) -> the same; the category of the GC, or "constants" */
static VALUE
s_root_edge(VALUE self, VALUE category, VALUE child)
{
    struct hs_edge edge;
    const char *name = StringValueCStr(category);
    rb_hs_root_edge(strcmp(name, "constants") == 0 ? HS_TOP_CONSTANTS : rb_hs_root_of(name, child), child, &edge);
    return edge_value(&edge);
}

/* The blocks among what finalizers keep: [[edge, …], found?] */
struct finalizers {
    VALUE block, edges;
    bool found;
};

static void
finalizers_find(VALUE child, void *data)
{
    struct finalizers *finalizers = data;
    if (child == finalizers->block) finalizers->found = true;
}

static bool
finalizers_i(const struct hs_reference *reference, void *data)
{
    struct finalizers *finalizers = data;
    struct hs_edge edge;
    rb_objspace_reachable_objects_from(reference->child, finalizers_find, finalizers);
    rb_hs_reference_name(reference, &edge);
    if (finalizers->found) rb_ary_push(finalizers->edges, edge_value(&edge));
    return !finalizers->found;
}

/* finalizers(block) -> [[edge], true]: the finalizer that has this block */
static VALUE
s_finalizers(VALUE self, VALUE block)
{
    struct finalizers finalizers = {.block = block, .edges = rb_ary_new()};
    rb_hs_root_references(HS_TOP_FINALIZERS, finalizers_i, &finalizers);
    return rb_ary_new_from_args(2, finalizers.edges, finalizers.found ? Qtrue : Qfalse);
}

/* -- the shortest chain from one object to another, by what the GC would mark ---------------------------------------- */

struct chain_link {
    VALUE object;
    size_t from;
};

struct chain {
    st_table *seen;
    struct chain_link *links;
    size_t count, capacity, at;
};

static void
chain_reach(VALUE object, void *data)
{
    struct chain *chain = data;
    if (st_insert(chain->seen, (st_data_t)object, 1)) return;
    if (chain->count == chain->capacity) {
        chain->capacity = chain->capacity ? 2 * chain->capacity : 1024;
        chain->links = realloc(chain->links, chain->capacity * sizeof(*chain->links));
    }
    chain->links[chain->count++] = (struct chain_link){object, chain->at};
}

static VALUE
chain_names(const struct chain *chain, size_t last)
{
    VALUE names = rb_ary_new();
    for (; last; last = chain->links[last].from) {
        struct hs_edge edge;
        rb_hs_edge(chain->links[chain->links[last].from].object, chain->links[last].object, &edge);
        rb_ary_unshift(names, edge_value(&edge));
    }
    return names;
}

/* Whether the shortest chain goes through classes is chance: they lead everywhere. */
static bool
chain_stops_at(VALUE object, VALUE parent)
{
    if (object == parent || RB_TYPE_P(object, T_MODULE)) return object != parent;
    return RB_TYPE_P(object, T_CLASS) && !RB_FL_TEST_RAW(object, RUBY_FL_SINGLETON);
}

/* chain(parent, child) -> [edge, …]; nil: the GC would not come from one to the other */
static VALUE
s_chain(VALUE self, VALUE parent, VALUE child)
{
    struct chain chain = {.seen = st_init_numtable()};
    VALUE names = Qnil;
    chain_reach(parent, &chain);
    for (; chain.at < chain.count && NIL_P(names); chain.at++) {
        VALUE object = chain.links[chain.at].object;
        if (object == child) names = chain_names(&chain, chain.at);
        else if (!chain_stops_at(object, parent)) rb_objspace_reachable_objects_from(object, chain_reach, &chain);
    }
    st_free_table(chain.seen);
    free(chain.links);
    return names;
}

/* -- all objects of the process -------------------------------------------------------------------------------------- */

enum { OTHERS_MAX = 20 };

struct sweep {
    uint64_t edges, by_kind[HS_EDGE_KIND_COUNT];
    uint64_t unnamed, out_of_form, untold;
    struct hs_edge others[OTHERS_MAX];
    int other_count;
    VALUE parent;
    uint64_t blocks, block_bytes;
};

static void
sweep_count(struct sweep *sweep, const struct hs_edge *edge)
{
    sweep->edges++;
    sweep->by_kind[edge->kind]++;
    if (!edge->length) sweep->unnamed++;
    if (edge->length != strlen(edge->text) || edge->length >= HS_EDGE_TEXT_MAX) sweep->out_of_form++;
    if (edge->kind == HS_EDGE_OTHER && sweep->other_count < OTHERS_MAX) sweep->others[sweep->other_count++] = *edge;
}

static void
sweep_edge(VALUE child, void *data)
{
    struct sweep *sweep = data;
    struct hs_edge edge;
    rb_hs_edge(sweep->parent, child, &edge);
    sweep_count(sweep, &edge);
}

static void
sweep_root(const char *category, VALUE child, void *data)
{
    struct hs_edge edge;
    rb_hs_root_edge(rb_hs_root_of(category, child), child, &edge);
    sweep_count(data, &edge);
}

static int
sweep_objects(void *begin, void *end, size_t size, void *data)
{
    struct sweep *sweep = data;
    for (char *at = begin; at < (char *)end; at += size) {
        VALUE object = (VALUE)at;
        if (rb_asan_poisoned_object_p(object)) continue;   /* a free slot */
        int type = RB_BUILTIN_TYPE(object);
        if (type == T_NONE || type == T_ZOMBIE || type == T_MOVED || rb_objspace_garbage_object_p(object)) continue;
        /* A hash or an array of many is looked through for each. */
        sweep->parent = object;
        rb_objspace_reachable_objects_from(object, sweep_edge, sweep);
    }
    return 0;
}

static uint64_t
allocated_bytes(void)
{
    uint64_t bytes = 0;
    size_t length = sizeof(bytes);
    if (mallctl) mallctl("thread.allocated", &bytes, &length, NULL, 0);
    return bytes;
}

static size_t
allocated_objects(void)
{
    return rb_gc_stat(ID2SYM(rb_intern("total_allocated_objects")));
}

static int
sweep_nothing(void *begin, void *end, size_t size, void *data)
{
    return 0;
}

/* What going through the objects allocates by itself. */
static uint64_t
sweep_own_bytes(void)
{
    uint64_t before = allocated_bytes();
    rb_objspace_each_objects(sweep_nothing, NULL);
    return allocated_bytes() - before;
}

static VALUE
sweep_value(const struct sweep *sweep, size_t objects, uint64_t bytes)
{
    VALUE result = rb_hash_new(), kinds = rb_hash_new(), others = rb_ary_new();
    for (int i = 0; i < HS_EDGE_KIND_COUNT; i++) {
        rb_hash_aset(kinds, ID2SYM(rb_intern(rb_hs_edge_words[i])), ULL2NUM(sweep->by_kind[i]));
    }
    for (int i = 0; i < sweep->other_count; i++) rb_ary_push(others, edge_value(&sweep->others[i]));
#define SET(name, value) rb_hash_aset(result, ID2SYM(rb_intern(name)), value)
    SET("edges", ULL2NUM(sweep->edges));
    SET("kinds", kinds);
    SET("others", others);
    SET("unnamed", ULL2NUM(sweep->unnamed));
    SET("out_of_form", ULL2NUM(sweep->out_of_form));
    SET("allocated_objects", SIZET2NUM(objects));
    SET("allocated_bytes", mallctl ? ULL2NUM(bytes) : Qnil);
#undef SET
    return result;
}

/* sweep -> {edges:, kinds:, …}: each reference of each object, and of the roots, is named */
static VALUE
s_sweep(VALUE self)
{
    struct sweep *sweep = calloc(1, sizeof(*sweep));
    VALUE disabled = rb_gc_disable();
    size_t objects = allocated_objects();       /* the first call makes a symbol, which may need a heap page */
    uint64_t own_bytes = sweep_own_bytes();
    uint64_t bytes = allocated_bytes();
    rb_objspace_each_objects(sweep_objects, sweep);
    rb_objspace_reachable_objects_from_root(sweep_root, sweep);
    bytes = allocated_bytes() - bytes - own_bytes;
    objects = allocated_objects() - objects;
    if (!RTEST(disabled)) rb_gc_enable();
    VALUE value = sweep_value(sweep, objects, bytes);
    free(sweep);
    return value;
}

/* -- blocks ---------------------------------------------------------------------------------------------------------- */

static void
block_i(const void *pointer, void *data)
{
    rb_ary_push((VALUE)data, SIZET2NUM(malloc_usable_size((void *)pointer)));
}

/* blocks(object) -> [bytes, …]: the blocks of malloc that it owns */
static VALUE
s_blocks(VALUE self, VALUE object)
{
    VALUE sizes = rb_ary_new();
    rb_hs_owned_blocks(object, block_i, (void *)sizes);
    return sizes;
}

/* What objects own, compared with what the GC thinks that they use. */
struct audit {
    uint64_t objects, blocks, short_objects;
    int short_type;
    size_t owned;               /* by the object that is looked at */
};

static void
audit_i(const void *pointer, void *data)
{
    struct audit *audit = data;
    audit->blocks++;
    audit->owned += malloc_usable_size((void *)pointer);
}

/* Those whose size says nothing of other objects' blocks, and that malloc alone has. */
static bool
audit_wants(VALUE object)
{
    switch (RB_BUILTIN_TYPE(object)) {
    case T_STRING:
    case T_ARRAY:
    case T_HASH:
    case T_OBJECT:
    case T_STRUCT:
    case T_BIGNUM:
    case T_MATCH:
    case T_REGEXP:
        return true;
    default:
        return false;
    }
}

static int
audit_objects(void *begin, void *end, size_t size, void *data)
{
    struct audit *audit = data;
    for (char *at = begin; at < (char *)end; at += size) {
        VALUE object = (VALUE)at;
        if (rb_objspace_garbage_object_p(object) || !audit_wants(object)) continue;
        audit->objects++;
        audit->owned = 0;
        rb_hs_owned_blocks(object, audit_i, audit);
        /* memsize_of counts twice what is in the slot of a hash and of a match. */
        size_t twice = RB_TYPE_P(object, T_HASH) ? sizeof(st_table) : RB_TYPE_P(object, T_MATCH) ? sizeof(struct re_registers)
                                                                                                 : 0;
        if (audit->owned + rb_gc_obj_slot_size(object) + twice >= rb_obj_memsize_of(object)) continue;
        audit->short_objects++;
        audit->short_type = RB_BUILTIN_TYPE(object);
    }
    return 0;
}

/* audit -> [objects, blocks, objects that own less than ObjectSpace.memsize_of says, the type of one of them] */
static VALUE
s_audit(VALUE self)
{
    struct audit audit = {0};
    rb_objspace_each_objects(audit_objects, &audit);
    return rb_ary_new_from_args(4, ULL2NUM(audit.objects), ULL2NUM(audit.blocks), ULL2NUM(audit.short_objects),
                                INT2NUM(audit.short_type));
}

/* -- an object in C of unknown form ------------------------------------------------------------------ */

static void
box_mark(void *value)
{
    rb_gc_mark(*(VALUE *)value);
}

static const rb_data_type_t box_type = {"edges/box", {box_mark, RUBY_DEFAULT_FREE}, 0, 0, RUBY_TYPED_FREE_IMMEDIATELY};

static VALUE
box_of(const rb_data_type_t *type, VALUE value)
{
    VALUE *box;
    VALUE object = TypedData_Make_Struct(rb_cObject, VALUE, type, box);
    *box = value;
    return object;
}

static VALUE
s_box(VALUE self, VALUE value)
{
    return box_of(&box_type, value);
}

/* It has the name of a type of the VM's. */
static const rb_data_type_t queue_type = {"queue", {box_mark, RUBY_DEFAULT_FREE}, 0, 0, RUBY_TYPED_FREE_IMMEDIATELY};

static VALUE
s_box_named_queue(VALUE self, VALUE value)
{
    return box_of(&queue_type, value);
}

/* The same, and it says where its reference is. */
RUBY_REFERENCES(declared_references) = {0, RUBY_REF_END};
static const rb_data_type_t declared_type = {
    "edges/declared",
    {RUBY_REFS_LIST_PTR(declared_references), RUBY_DEFAULT_FREE},
    0,
    0,
    RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_DECL_MARKING,
};

static VALUE
s_declared(VALUE self, VALUE value)
{
    return box_of(&declared_type, value);
}

static VALUE hidden_address;    /* it has no symbol */
VALUE hs_edges_seen_address;    /* it has a symbol */

static VALUE
s_register(VALUE self, VALUE hidden, VALUE seen)
{
    hidden_address = hidden;
    hs_edges_seen_address = seen;
    rb_gc_register_address(&hidden_address);
    rb_gc_register_address(&hs_edges_seen_address);
    return Qnil;
}

/* A block in C that has a value. */
static VALUE
ifunc_i(RB_BLOCK_CALL_FUNC_ARGLIST(value, data))
{
    return data;
}

static VALUE
s_block_in_c(VALUE self, VALUE value)
{
    return rb_proc_new(ifunc_i, value);
}

void Init_heap_sampler_edges(void);

void
Init_heap_sampler_edges(void)
{
    VALUE bug = rb_define_module("Bug");
    VALUE edges = rb_define_module_under(bug, "HeapSamplerEdges");
    rb_hs_libraries_refresh();  /* this extension is new; a walk does it before its fork */
    rb_define_singleton_method(edges, "edge", s_edge, 2);
    rb_define_singleton_method(edges, "root_edge", s_root_edge, 2);
    rb_define_singleton_method(edges, "finalizers", s_finalizers, 1);
    rb_define_singleton_method(edges, "chain", s_chain, 2);
    rb_define_singleton_method(edges, "sweep", s_sweep, 0);
    rb_define_singleton_method(edges, "blocks", s_blocks, 1);
    rb_define_singleton_method(edges, "audit", s_audit, 0);
    rb_define_singleton_method(edges, "box", s_box, 1);
    rb_define_singleton_method(edges, "box_named_queue", s_box_named_queue, 1);
    rb_define_singleton_method(edges, "declared", s_declared, 1);
    rb_define_singleton_method(edges, "register", s_register, 2);
    rb_define_singleton_method(edges, "block_in_c", s_block_in_c, 1);
}
#else
void Init_heap_sampler_edges(void);

void
Init_heap_sampler_edges(void)
{
}
#endif

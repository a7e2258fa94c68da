/*
 * Bug::HeapSamplerEdges: names of edges, for test/ruby/test_heap_sampler_edges.rb.
 */
#include "ruby/ruby.h"

#if USE_HEAP_SAMPLER
#include "heap_sampler/holders/edge.h"
#include "internal/gc.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

/* jemalloc's, if that is the allocator. */
int mallctl(const char *name, void *old, size_t *old_length, void *new, size_t new_length) __attribute__((weak));

static VALUE
edge_value(const struct hs_edge *edge)
{
    VALUE path = edge->path.len ? rb_utf8_str_new(edge->path.ptr, edge->path.len) : Qnil;
    return rb_ary_new_from_args(4, ID2SYM(rb_intern(rb_hs_edge_kind_word(edge->kind))),
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

/* root_edge(category, child) -> the same */
static VALUE
s_root_edge(VALUE self, VALUE category, VALUE child)
{
    struct hs_edge edge;
    rb_hs_root_edge(StringValueCStr(category), child, &edge);
    return edge_value(&edge);
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

/* chain(parent, child) -> [edge, …]; nil: the GC would not come from one to the other */
static VALUE
s_chain(VALUE self, VALUE parent, VALUE child)
{
    struct chain chain = {.seen = st_init_numtable()};
    VALUE names = Qnil;
    chain_reach(parent, &chain);
    for (; chain.at < chain.count && NIL_P(names); chain.at++) {
        if (chain.links[chain.at].object == child) names = chain_names(&chain, chain.at);
        else rb_objspace_reachable_objects_from(chain.links[chain.at].object, chain_reach, &chain);
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
    rb_hs_root_edge(category, child, &edge);
    sweep_count(data, &edge);
}

static int
sweep_objects(void *begin, void *end, size_t size, void *data)
{
    struct sweep *sweep = data;
    for (char *at = begin; at < (char *)end; at += size) {
        VALUE object = (VALUE)at;
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

static VALUE
sweep_value(const struct sweep *sweep, size_t objects, uint64_t bytes)
{
    VALUE result = rb_hash_new(), kinds = rb_hash_new(), others = rb_ary_new();
    for (int i = 0; i < HS_EDGE_KIND_COUNT; i++) {
        rb_hash_aset(kinds, ID2SYM(rb_intern(rb_hs_edge_kind_word(i))), ULL2NUM(sweep->by_kind[i]));
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
    size_t objects = allocated_objects();
    uint64_t bytes = allocated_bytes();
    rb_objspace_each_objects(sweep_objects, sweep);
    rb_objspace_reachable_objects_from_root(sweep_root, sweep);
    bytes = allocated_bytes() - bytes;
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

/* -- an object in C whose form nobody knows -------------------------------------------------------------------------- */

static void
box_mark(void *value)
{
    rb_gc_mark(*(VALUE *)value);
}

static const rb_data_type_t box_type = {"edges/box", {box_mark, RUBY_DEFAULT_FREE}, 0, 0, RUBY_TYPED_FREE_IMMEDIATELY};

static VALUE
s_box(VALUE self, VALUE value)
{
    VALUE *box;
    VALUE object = TypedData_Make_Struct(rb_cObject, VALUE, &box_type, box);
    *box = value;
    return object;
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
    VALUE *box;
    VALUE object = TypedData_Make_Struct(rb_cObject, VALUE, &declared_type, box);
    *box = value;
    return object;
}

static VALUE hidden_address;    /* no symbol tells it */
VALUE hs_edges_seen_address;    /* a symbol tells it */

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
    rb_define_singleton_method(edges, "edge", s_edge, 2);
    rb_define_singleton_method(edges, "root_edge", s_root_edge, 2);
    rb_define_singleton_method(edges, "chain", s_chain, 2);
    rb_define_singleton_method(edges, "sweep", s_sweep, 0);
    rb_define_singleton_method(edges, "blocks", s_blocks, 1);
    rb_define_singleton_method(edges, "box", s_box, 1);
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

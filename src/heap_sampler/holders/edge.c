/*
 * Which file knows the references of an object, and the first that leads to a
 * child; see holders/edge.h.
 *
 * References are told in the order of how much their name says: a local
 * variable before a value on the same stack, a variable before a class.
 */
#include "heap_sampler/holders/edge_visit.h"
#include "heap_sampler/base/must.h"

/* Those without a class pointer: it is a word of their own. */
static bool
edge_has_class(VALUE object)
{
    switch (BUILTIN_TYPE(object)) {
    case T_FLOAT:
    case T_BIGNUM:
    case T_SYMBOL:
    case T_IMEMO:
        return false;
    default:
        return true;
    }
}

static void
edge_visit(struct hs_visit *visit, VALUE parent)
{
    switch (BUILTIN_TYPE(parent)) {
    case T_CLASS:
    case T_MODULE:
    case T_ICLASS:
        rb_hs_visit_module(visit, parent);
        break;
    case T_IMEMO:
        rb_hs_visit_imemo(visit, parent);
        break;
    case T_DATA:
        rb_hs_visit_data(visit, parent);
        break;
    default:
        rb_hs_visit_object(visit, parent);
        break;
    }
    hs_visit_in(visit, NULL, NULL, NULL);
    if (FL_TEST(parent, FL_EXIVAR)) rb_hs_visit_variables(visit, parent);
    hs_visit(visit, HS_EDGE_FINALIZER, "finalizer", 0, rb_heap_sampler_gc_finalizers(parent));
    if (edge_has_class(parent)) hs_visit(visit, HS_EDGE_CLASS, "class", 0, RBASIC_CLASS(parent));
}

void
rb_hs_references(VALUE parent, hs_each_reference *each, void *data)
{
    HS_CONTRACT(vm);
    struct hs_visit visit = {.at = {.parent = parent}, .each = each, .data = data};
    if (!RB_SPECIAL_CONST_P(parent)) edge_visit(&visit, parent);
}

/* One child looked for, and the first reference to it. */
struct edge_search {
    VALUE child;
    struct hs_reference found;
    bool is_found;
};

static bool
edge_search_i(const struct hs_reference *reference, void *data)
{
    struct edge_search *search = data;
    if (reference->child != search->child) return true;
    search->found = *reference;
    search->is_found = true;
    return false;
}

/* An array refers to its class and its elements only: no need to look for the child among a million of them. */
static bool
edge_element_p(VALUE parent, VALUE child)
{
    return RB_TYPE_P(parent, T_ARRAY) && !ARY_SHARED_P(parent) && !FL_TEST(parent, FL_EXIVAR | FL_FINALIZE) &&
        child != RBASIC_CLASS(parent);
}

void
rb_hs_edge(VALUE parent, VALUE child, struct hs_edge *edge)
{
    struct edge_search search = {.child = child};
    if (edge_element_p(parent, child)) {
        search.found = (struct hs_reference){.child = child, .parent = parent, .kind = HS_EDGE_ELEMENT, .what = "[]"};
        search.is_found = true;
    }
    else {
        rb_hs_references(parent, edge_search_i, &search);
    }
    if (search.is_found) {
        rb_hs_reference_name(&search.found, edge);
    }
    else {
        rb_hs_edge_unknown(parent, child, edge);
    }
}

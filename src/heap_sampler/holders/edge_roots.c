/*
 * References of roots, by the category that the GC gives them.
 */
#include "heap_sampler/holders/edge_visit.h"

#include <string.h>

static void
roots_global_i(ID id, VALUE value, void *data)
{
    hs_visit(data, HS_EDGE_GVAR, NULL, id, value);
}

static void
roots_visit_globals(struct hs_visit *visit)
{
    rb_heap_sampler_each_global(roots_global_i, visit);
}

static void
roots_finalizer_i(VALUE object, VALUE blocks, void *data)
{
    hs_visit(data, HS_EDGE_FINALIZER, "(finalizer)", 0, blocks);
}

static void
roots_visit_finalizers(struct hs_visit *visit)
{
    rb_heap_sampler_gc_each_finalizer(roots_finalizer_i, visit);
}

static void
roots_visit_constants(struct hs_visit *visit)
{
    hs_visit(visit, HS_EDGE_ROOT, "(constants)", 0, rb_cObject);
}

/* Variables that C code registered: rb_gc_register_address, rb_global_variable. */
static void
roots_visit_addresses(struct hs_visit *visit, const rb_vm_t *vm)
{
    for (const struct global_object_list *at = vm->global_object_list; at && !visit->enough; at = at->next) {
        visit->at.address = at->varptr;
        hs_visit(visit, HS_EDGE_ADDRESS, NULL, 0, *at->varptr);
    }
    visit->at.address = NULL;
}

static void
roots_visit_ractors(struct hs_visit *visit, const rb_vm_t *vm)
{
    rb_ractor_t *ractor;
    ccan_list_for_each(&vm->ractor.set, ractor, vmlr_node)
    {
        hs_visit(visit, HS_EDGE_ROOT, "(threads)", 0, rb_ractor_self(ractor));
    }
}

static enum rb_id_table_iterator_result
roots_missing_method_i(ID id, VALUE method, void *data)
{
    hs_visit(data, HS_EDGE_CACHE, "(cache of missing methods)", 0, method);
    return hs_visit_id_table(data);
}

static int
roots_overloaded_i(st_data_t key, st_data_t value, st_data_t data)
{
    struct hs_visit *visit = (struct hs_visit *)data;
    hs_visit(visit, HS_EDGE_CACHE, "(cache of methods)", 0, (VALUE)value);
    return hs_visit_st_table(visit);
}

static int
roots_loading_i(st_data_t path, st_data_t shield, st_data_t data)
{
    struct hs_visit *visit = (struct hs_visit *)data;
    hs_visit(visit, HS_EDGE_ROOT, "(files that are being loaded)", 0, (VALUE)shield);
    return hs_visit_st_table(visit);
}

static void
roots_visit_caches(struct hs_visit *visit, const rb_vm_t *vm)
{
    rb_id_table_foreach(vm->negative_cme_table, roots_missing_method_i, visit);
    if (vm->overloaded_cme_table) st_foreach(vm->overloaded_cme_table, roots_overloaded_i, (st_data_t)visit);
    for (int i = 0; i < VM_GLOBAL_CC_CACHE_TABLE_SIZE && !visit->enough; i++) {
        hs_visit(visit, HS_EDGE_CACHE, "(cache of calls)", 0, (VALUE)vm->global_cc_cache_table[i]);
    }
}

static void
roots_visit_loaded(struct hs_visit *visit, const rb_vm_t *vm)
{
    hs_visit(visit, HS_EDGE_GVAR, "$LOAD_PATH", 0, vm->load_path);
    hs_visit(visit, HS_EDGE_GVAR, "$LOADED_FEATURES", 0, vm->loaded_features);
    static const char load_path[] = "(cache of $LOAD_PATH)", features[] = "(cache of $LOADED_FEATURES)";
    hs_visit(visit, HS_EDGE_ROOT, load_path, 0, vm->load_path_snapshot);
    hs_visit(visit, HS_EDGE_ROOT, load_path, 0, vm->load_path_check_cache);
    hs_visit(visit, HS_EDGE_ROOT, load_path, 0, vm->expanded_load_path);
    hs_visit(visit, HS_EDGE_ROOT, features, 0, vm->loaded_features_snapshot);
    hs_visit(visit, HS_EDGE_ROOT, features, 0, vm->loaded_features_realpaths);
    hs_visit(visit, HS_EDGE_ROOT, features, 0, vm->loaded_features_realpath_map);
    if (vm->loading_table) st_foreach(vm->loading_table, roots_loading_i, (st_data_t)visit);
}

static void
roots_visit_vm(struct hs_visit *visit)
{
    const rb_vm_t *vm = GET_VM();
    roots_visit_ractors(visit, vm);
    roots_visit_loaded(visit, vm);
    for (int i = 0; i < RUBY_NSIG; i++) hs_visit(visit, HS_EDGE_ROOT, "(trap)", 0, vm->trap_list.cmd[i]);
    roots_visit_addresses(visit, vm);
    hs_visit(visit, HS_EDGE_ROOT, "(objects of C code)", 0, vm->mark_object_ary);
    hs_visit(visit, HS_EDGE_ROOT, "(main object)", 0, vm->top_self);
    hs_visit(visit, HS_EDGE_GVAR, "$0", 0, vm->orig_progname);
    hs_visit(visit, HS_EDGE_ROOT, "(coverage)", 0, vm->coverages);
    hs_visit(visit, HS_EDGE_ROOT, "(coverage)", 0, vm->me2counter);
    hs_visit(visit, HS_EDGE_ROOT, "(VM)", 0, vm->self);
    roots_visit_caches(visit, vm);
}

void
rb_hs_root_references(const char *category, hs_each_reference *each, void *data)
{
    struct hs_visit visit = {.each = each, .data = data};
    if (strcmp(category, "vm") == 0) roots_visit_vm(&visit);
    if (strcmp(category, "global_tbl") == 0) roots_visit_globals(&visit);
    if (strcmp(category, HS_ROOT_FINALIZERS) == 0) roots_visit_finalizers(&visit);
    if (strcmp(category, HS_ROOT_CONSTANTS) == 0) roots_visit_constants(&visit);
}

/* Those that are not told one by one. */
static const char *
roots_name(const char *category)
{
    static const char *const names[][2] = {
        {"vm", "(VM)"},
        {"end_proc", "(at_exit)"},
        {"global_tbl", "(global variables)"},
        {"YJIT", "(YJIT)"},
        {"machine_context", "(machine stack)"},
        {HS_ROOT_FINALIZERS, "(finalizer)"},
        {HS_ROOT_CONSTANTS, "(constants)"},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (strcmp(category, names[i][0]) == 0) return names[i][1];
    }
    return "(root)";
}

/* The first reference of a root to a child. */
struct roots_search {
    VALUE child;
    struct hs_reference found;
};

static bool
roots_search_i(const struct hs_reference *reference, void *data)
{
    struct roots_search *search = data;
    if (reference->child != search->child) return true;
    search->found = *reference;
    return false;
}

void
rb_hs_root_edge(const char *category, VALUE child, struct hs_edge *edge)
{
    struct roots_search search = {
        .child = child,
        .found = {.child = child, .kind = HS_EDGE_ROOT, .what = roots_name(category)},
    };
    rb_hs_root_references(category, roots_search_i, &search);
    rb_hs_reference_name(&search.found, edge);
}

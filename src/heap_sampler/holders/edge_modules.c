/*
 * References of classes, modules and the ICLASS that stands for a module among
 * a class's ancestors.
 */
#include "heap_sampler/holders/edge_visit.h"

static enum rb_id_table_iterator_result
modules_constant_i(ID id, VALUE entry, void *data)
{
    hs_visit(data, HS_EDGE_CONSTANT, NULL, id, ((const rb_const_entry_t *)entry)->value);
    return hs_visit_id_table(data);
}

static enum rb_id_table_iterator_result
modules_constant_file_i(ID id, VALUE entry, void *data)
{
    hs_visit(data, HS_EDGE_CODE, "file of constant", id, ((const rb_const_entry_t *)entry)->file);
    return hs_visit_id_table(data);
}

static enum rb_id_table_iterator_result
modules_method_i(ID id, VALUE method, void *data)
{
    hs_visit(data, HS_EDGE_METHOD, "method", id, method);
    return hs_visit_id_table(data);
}

static enum rb_id_table_iterator_result
modules_class_variable_cache_i(ID id, VALUE value, void *data)
{
    const struct rb_cvar_class_tbl_entry *entry = (const void *)value;
    hs_visit(data, HS_EDGE_CACHE, "cache of", id, (VALUE)entry->cref);
    return hs_visit_id_table(data);
}

static enum rb_id_table_iterator_result
modules_call_cache_i(ID id, VALUE value, void *data)
{
    struct hs_visit *visit = data;
    const struct rb_class_cc_entries *calls = (const void *)value;
    hs_visit(visit, HS_EDGE_CACHE, "cached method", id, (VALUE)calls->cme);
    for (int i = 0; i < calls->len && !visit->enough; i++) {
        hs_visit(visit, HS_EDGE_CACHE, "cached calls of", id, (VALUE)calls->entries[i].cc);
    }
    return hs_visit_id_table(visit);
}

static void
modules_table(struct hs_visit *visit, struct rb_id_table *table, rb_id_table_foreach_func_t *each)
{
    if (table && !visit->enough) rb_id_table_foreach(table, each, visit);
}

/* Of what classes and modules have, and an ICLASS shares with its module. */
static void
modules_visit_own(struct hs_visit *visit, VALUE module)
{
    modules_table(visit, RCLASS_CONST_TBL(module), modules_constant_i);
    rb_hs_visit_variables(visit, module);
    if (RB_TYPE_P(module, T_CLASS) && RCLASS_SINGLETON_P(module)) {
        hs_visit(visit, HS_EDGE_CLASS, "object", 0, RCLASS_ATTACHED_OBJECT(module));
    }
    hs_visit(visit, HS_EDGE_SUPERCLASS, "superclass", 0, RCLASS_SUPER(module));
    modules_table(visit, RCLASS_M_TBL(module), modules_method_i);
    hs_visit(visit, HS_EDGE_CODE, "name", 0, RCLASS_EXT(module)->classpath);
    modules_table(visit, RCLASS_CONST_TBL(module), modules_constant_file_i);
    modules_table(visit, RCLASS_CVC_TBL(module), modules_class_variable_cache_i);
}

static void
modules_visit_iclass(struct hs_visit *visit, VALUE iclass)
{
    hs_visit(visit, HS_EDGE_SUPERCLASS, "superclass", 0, RCLASS_SUPER(iclass));
    hs_visit(visit, HS_EDGE_SUPERCLASS, "included in", 0, RCLASS_INCLUDER(iclass));
    if (RICLASS_OWNS_M_TBL_P(iclass)) modules_table(visit, RCLASS_M_TBL(iclass), modules_method_i);
    modules_table(visit, RCLASS_CALLABLE_M_TBL(iclass), modules_method_i);
}

void
rb_hs_visit_module(struct hs_visit *visit, VALUE module)
{
    if (RB_TYPE_P(module, T_ICLASS)) {
        modules_visit_iclass(visit, module);
    }
    else {
        modules_visit_own(visit, module);
    }
    modules_table(visit, RCLASS_CC_TBL(module), modules_call_cache_i);
}

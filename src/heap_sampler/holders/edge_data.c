/*
 * References of T_DATA: objects whose memory C code gave its own form.  The
 * VM's forms are declared (threads, blocks, Ractors) or written down here, as
 * names of the words they consist of.  Of an extension's object only its mark
 * function knows the references: they have the name of its type.
 */
#include "heap_sampler/holders/edge_visit.h"

#include <string.h>

/* -- forms that are private to a file of MRI's ---------------------------- */

enum { DATA_WORDS_MAX = 10 };

/* By the type's name: the words of the struct, in order; NULL: no reference. */
static const struct data_form {
    const char *type;
    const char *words[DATA_WORDS_MAX];
} data_forms[] = {
    {"enumerator",
     {"receiver", NULL, "arguments", "fiber", "memo", "lookahead", "fed value", "end", "size", "lazy steps"}},
    {"generator", {"block", "receiver"}},
    {"yielder", {"block"}},
    {"proc_entry", {"block", "memo"}},
    {"producer", {"initial value", "block"}},
    {"chain", {"enumerables"}},
    {"product", {"enumerables"}},
    {"method", {"receiver", "class", "module", "owner", "method"}},
    {"queue", {NULL, NULL, NULL, "items"}},
    {"sized_queue", {NULL, NULL, NULL, "items"}},
    {"autoload_const", {NULL, NULL, "feature", "module", NULL, "value", NULL, "file"}},
    {"autoload_data", {"path", "mutex"}},
    {"tracepoint", {NULL, NULL, "targets", NULL, NULL, "block", NULL, "self"}},
    {"VM/pin_array_list", {"earlier objects"}},
    {"backtrace", {NULL, "array", "locations"}},
};

static const struct data_form *
data_form_of(const rb_data_type_t *type)
{
    for (size_t i = 0; i < sizeof(data_forms) / sizeof(*data_forms); i++) {
        if (strcmp(data_forms[i].type, type->wrap_struct_name) == 0) return &data_forms[i];
    }
    return NULL;
}

static bool
data_names_owner(const char *word)
{
    return strcmp(word, "class") == 0 || strcmp(word, "module") == 0 || strcmp(word, "owner") == 0;
}

static void
data_visit_words(struct hs_visit *visit, const struct data_form *form, const VALUE *words)
{
    for (int i = 0; i < DATA_WORDS_MAX && !visit->enough; i++) {
        const char *word = form->words[i];
        if (word && words[i]) hs_visit(visit, data_names_owner(word) ? HS_EDGE_CLASS : HS_EDGE_DATA, word, 0, words[i]);
    }
}

/* -- threads and fibers --------------------------------------------------- */

/* A fiber that has no object: its thread has its stack. */
static void
data_visit_fiber_of_thread(struct hs_visit *visit, rb_fiber_t *fiber)
{
    if (!fiber) return;
    VALUE self = rb_fiberptr_self(fiber);
    if (self) {
        hs_visit(visit, HS_EDGE_DATA, "fiber", 0, self);
    }
    else {
        rb_hs_visit_stack(visit, rb_fiberptr_get_ec(fiber));
    }
}

static void
data_visit_thread(struct hs_visit *visit, const rb_thread_t *thread)
{
    rb_hs_visit_variables(visit, visit->at.parent);
    if (thread->invoke_type == thread_invoke_type_proc || thread->invoke_type == thread_invoke_type_ractor_proc) {
        hs_visit(visit, HS_EDGE_BLOCK, "block", 0, thread->invoke_arg.proc.proc);
        hs_visit(visit, HS_EDGE_DATA, "arguments", 0, thread->invoke_arg.proc.args);
    }
    else if (thread->invoke_type == thread_invoke_type_func) {
        hs_visit(visit, HS_EDGE_DATA, "argument", 0, (VALUE)thread->invoke_arg.func.arg);
    }
    hs_visit(visit, HS_EDGE_DATA, "value", 0, thread->value);
    hs_visit(visit, HS_EDGE_DATA, "name", 0, thread->name);
    hs_visit(visit, HS_EDGE_DATA, "fiber scheduler", 0, thread->scheduler);
    hs_visit(visit, HS_EDGE_DATA, "mutex it waits for", 0, thread->locking_mutex);
    hs_visit(visit, HS_EDGE_DATA, "pending interrupts", 0, thread->pending_interrupt_queue);
    hs_visit(visit, HS_EDGE_DATA, "interrupt masks", 0, thread->pending_interrupt_mask_stack);
    hs_visit(visit, HS_EDGE_DATA, "$?", 0, thread->last_status);
    data_visit_fiber_of_thread(visit, thread->ec ? thread->ec->fiber_ptr : NULL);
    data_visit_fiber_of_thread(visit, thread->root_fiber);
    hs_visit(visit, HS_EDGE_DATA, "main object", 0, thread->top_self);
    hs_visit(visit, HS_EDGE_DATA, "wrapper of load", 0, thread->top_wrapper);
    hs_visit(visit, HS_EDGE_DATA, "group", 0, thread->thgroup);
    if (thread->ractor) hs_visit(visit, HS_EDGE_DATA, "Ractor", 0, rb_ractor_self(thread->ractor));
}

static void
data_visit_fiber(struct hs_visit *visit, rb_fiber_t *fiber)
{
    const rb_execution_context_t *ec = rb_fiberptr_get_ec(fiber);
    struct rb_heap_sampler_fiber_kept kept;
    rb_heap_sampler_fiber_keeps(fiber, &kept);
    rb_hs_visit_stack(visit, ec);
    hs_visit(visit, HS_EDGE_BLOCK, "block", 0, kept.block);
    hs_visit(visit, HS_EDGE_DATA, "value", 0, kept.value);
    hs_visit(visit, HS_EDGE_DATA, "resumed by", 0, kept.resumed_by);
    if (ec->thread_ptr) hs_visit(visit, HS_EDGE_DATA, "thread", 0, ec->thread_ptr->self);
    hs_visit(visit, HS_EDGE_SELF, "self", 0, rb_fiberptr_self(fiber));
}

static enum rb_id_table_iterator_result
data_ractor_local_i(ID id, VALUE value, void *data)
{
    hs_visit(data, HS_EDGE_THREAD_LOCAL, "Ractor local", id, value);
    return hs_visit_id_table(data);
}

static void
data_visit_ractor(struct hs_visit *visit, rb_ractor_t *ractor)
{
    if (ractor->idkey_local_storage) rb_id_table_foreach(ractor->idkey_local_storage, data_ractor_local_i, visit);
    hs_visit(visit, HS_EDGE_GVAR, "$stdin", 0, ractor->r_stdin);
    hs_visit(visit, HS_EDGE_GVAR, "$stdout", 0, ractor->r_stdout);
    hs_visit(visit, HS_EDGE_GVAR, "$stderr", 0, ractor->r_stderr);
    hs_visit(visit, HS_EDGE_DATA, "name", 0, ractor->name);
    hs_visit(visit, HS_EDGE_DATA, "place", 0, ractor->loc);
    hs_visit(visit, HS_EDGE_DATA, "mutex", 0, ractor->receiving_mutex);
    rb_hs_visit_hooks(visit, &ractor->pub.hooks);
    rb_thread_t *thread;
    if (!ractor->threads.cnt) return;
    ccan_list_for_each(&ractor->threads.set, thread, lt_node)
    {
        hs_visit(visit, HS_EDGE_DATA, "thread", 0, thread->self);
    }
}

/* -- the others of the VM ------------------------------------------------- */

static int
data_weak_key_value_i(st_data_t key, st_data_t value, st_data_t data)
{
    struct hs_visit *visit = (struct hs_visit *)data;
    bool dead = UNDEF_P(*(const VALUE *)key);   /* and not taken out yet */
    if (!dead) hs_visit(visit, HS_EDGE_VALUE, "{} value", 0, (VALUE)value);
    return hs_visit_st_table(visit);
}

/* Types that say where their references are. */
static void
data_visit_declared(struct hs_visit *visit, const rb_data_type_t *type, const char *data)
{
    const size_t *offset = (const size_t *)(uintptr_t)type->function.dmark;
    for (; *offset != RUBY_REF_END && !visit->enough; offset++) {
        hs_visit(visit, HS_EDGE_DATA, "data", 0, *(const VALUE *)(data + *offset));
    }
}

static void
data_visit_vm_object(struct hs_visit *visit, const rb_data_type_t *type, void *data)
{
    const char *name = type->wrap_struct_name;
    if (strcmp(name, "proc") == 0) {
        rb_hs_visit_block(visit, &((const rb_proc_t *)data)->block);
    }
    else if (strcmp(name, "fiber") == 0) {
        data_visit_fiber(visit, data);
    }
    else if (strcmp(name, "ractor") == 0) {
        data_visit_ractor(visit, data);
    }
    else if (strcmp(name, "weakkeymap") == 0) {
        st_foreach(*(st_table **)data, data_weak_key_value_i, (st_data_t)visit);
    }
    else {
        const struct data_form *form = data_form_of(type);
        if (form) data_visit_words(visit, form, data);
        else if (type->flags & RUBY_TYPED_DECL_MARKING) data_visit_declared(visit, type, data);
    }
}

void
rb_hs_visit_data(struct hs_visit *visit, VALUE object)
{
    if (!RTYPEDDATA_P(object)) return;
    const rb_data_type_t *type = RTYPEDDATA_TYPE(object);
    void *data = RTYPEDDATA_GET_DATA(object);
    if (!data) return;
    if (type == &ruby_threadptr_data_type) {
        data_visit_thread(visit, data);
    }
    else if (type == &ruby_binding_data_type) {
        rb_hs_visit_block(visit, &((const rb_binding_t *)data)->block);
        hs_visit(visit, HS_EDGE_CODE, "path", 0, ((const rb_binding_t *)data)->pathobj);
    }
    else if (rb_hs_same_library_p(type, &ruby_threadptr_data_type)) {
        data_visit_vm_object(visit, type, data);
    }
    else if (type->flags & RUBY_TYPED_DECL_MARKING) {
        data_visit_declared(visit, type, data);
    }
}

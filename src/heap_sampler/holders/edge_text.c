/*
 * From a reference to its name.  Names have one form:
 *
 *   WORD NAME of PLACE          "local repo of block in Badge#initialize"
 *
 * where WORD or NAME may be missing, and PLACE is the code that the reference
 * is in, or the parent: its class, or what it is itself where it is a class, a
 * method or code.  A constant is its path, and a root has no PLACE.
 */
#include "heap_sampler/holders/edge_visit.h"
#include "heap_sampler/stacks/capture.h"
#include "heap_sampler/stacks/class_table.h"

#include <string.h>

static void
text_add(struct hs_edge *edge, const char *text, size_t length)
{
    size_t room = sizeof(edge->text) - 1 - edge->length;
    if (length > room) length = room;
    memcpy(edge->text + edge->length, text, length);
    edge->length += length;
    edge->text[edge->length] = '\0';
}

static void
text_add_cstr(struct hs_edge *edge, const char *text)
{
    text_add(edge, text, strlen(text));
}

/* With a blank before it, where something stands already. */
static void
text_add_word(struct hs_edge *edge, const char *text, size_t length)
{
    if (edge->length && length) text_add(edge, " ", 1);
    text_add(edge, text, length);
}

/* -- places --------------------------------------------------------------- */

static void
text_put_line(struct hs_edge *edge, const rb_iseq_t *iseq, const VALUE *pc)
{
    VALUE path = rb_iseq_path(iseq);
    if (!RB_TYPE_P(path, T_STRING)) return;
    edge->path = (struct hs_text){RSTRING_PTR(path), (uint32_t)RSTRING_LEN(path)};
    edge->line = (uint32_t)rb_hs_line_of(iseq, pc);
}

static void
text_add_code(struct hs_edge *edge, const rb_iseq_t *iseq, const VALUE *pc, const rb_callable_method_entry_t *me)
{
    char label[HS_LABEL_MAX];
    text_add(edge, label, rb_hs_label_of_code(label, iseq, me));
    text_put_line(edge, iseq, pc);
}

static void
text_add_method(struct hs_edge *edge, const rb_callable_method_entry_t *me)
{
    char label[HS_LABEL_MAX];
    if (me->def) text_add(edge, label, rb_hs_label_of_method(label, me));
}

static void
text_add_class_name(struct hs_edge *edge, VALUE klass)
{
    char name[256];
    rb_hs_class_full_name(klass, name, sizeof(name));
    text_add_cstr(edge, name);
}

static void
text_add_class_of(struct hs_edge *edge, VALUE object)
{
    char name[256];
    rb_hs_object_class_name(object, name, sizeof(name));
    text_add_cstr(edge, name);
}

/* "singleton class of Report", "singleton class of a Badge". */
static void
text_add_singleton(struct hs_edge *edge, VALUE klass)
{
    VALUE object = RCLASS_ATTACHED_OBJECT(klass);
    text_add_cstr(edge, "singleton class of ");
    if (!RB_SPECIAL_CONST_P(object) && (RB_TYPE_P(object, T_CLASS) || RB_TYPE_P(object, T_MODULE))) {
        text_add_class_name(edge, object);
    }
    else if (!RB_SPECIAL_CONST_P(object)) {
        text_add_cstr(edge, "a ");
        text_add_class_of(edge, object);
    }
}

static void
text_add_module(struct hs_edge *edge, VALUE module)
{
    if (RB_TYPE_P(module, T_CLASS) && RCLASS_SINGLETON_P(module)) {
        text_add_singleton(edge, module);
        return;
    }
    bool iclass = RB_TYPE_P(module, T_ICLASS);
    if (iclass) module = RBASIC_CLASS(module);
    if (!module) return;
    text_add_cstr(edge, RB_TYPE_P(module, T_MODULE) ? "module " : "class ");
    text_add_class_name(edge, module);
}

static void
text_add_parent(struct hs_edge *edge, VALUE parent)
{
    switch (BUILTIN_TYPE(parent)) {
    case T_CLASS:
    case T_MODULE:
    case T_ICLASS:
        text_add_module(edge, parent);
        break;
    case T_IMEMO:
        if (imemo_type(parent) == imemo_ment) {
            text_add_cstr(edge, "method ");
            text_add_method(edge, (const rb_callable_method_entry_t *)parent);
            break;
        }
        /* fall through */
    default:
        text_add_class_of(edge, parent);
        break;
    }
}

static void
text_add_place(struct hs_edge *edge, const struct hs_reference *reference)
{
    if (!reference->code && !reference->method && !reference->parent) return;
    if (edge->length) text_add_cstr(edge, " of ");
    if (reference->code) {
        text_add_code(edge, reference->code, reference->pc, reference->method);
    }
    else if (reference->method) {
        text_add_method(edge, reference->method);
    }
    else {
        text_add_parent(edge, reference->parent);
    }
    if (reference->caller) text_put_line(edge, reference->caller, reference->caller_pc);
}

/* -- names ---------------------------------------------------------------- */

static void
text_clear(struct hs_edge *edge, enum hs_edge_kind kind)
{
    edge->kind = kind;
    edge->line = 0;
    edge->path = (struct hs_text){"", 0};
    edge->length = 0;
    edge->text[0] = '\0';
}

/* Constants of Object have no path. */
static void
text_name_constant(struct hs_edge *edge, const struct hs_reference *reference)
{
    struct hs_text name = rb_hs_id_text(reference->id);
    if (reference->parent != rb_cObject) {
        text_add_class_name(edge, reference->parent);
        text_add_cstr(edge, "::");
    }
    text_add(edge, name.ptr, name.len);
}

/* "rb_cFoo in foo.so", "variable in foo.so". */
static void
text_name_address(struct hs_edge *edge, const struct hs_reference *reference)
{
    struct hs_library_place place;
    rb_hs_library_place(reference->address, &place);
    if (place.symbol.len) {
        text_add(edge, place.symbol.ptr, place.symbol.len);
    }
    else {
        text_add_cstr(edge, "variable");
    }
    if (!place.library.len) return;
    text_add_cstr(edge, " in ");
    text_add(edge, place.library.ptr, place.library.len);
}

void
rb_hs_reference_name(const struct hs_reference *reference, struct hs_edge *edge)
{
    text_clear(edge, reference->kind);
    if (reference->kind == HS_EDGE_CONSTANT) {
        text_name_constant(edge, reference);
        return;
    }
    if (reference->kind == HS_EDGE_ADDRESS) {
        text_name_address(edge, reference);
        return;
    }
    struct hs_text name = rb_hs_id_text(reference->id);
    if (reference->what) text_add_cstr(edge, reference->what);
    text_add_word(edge, name.ptr, name.len);
    text_add_place(edge, reference);
}

/* -- what is not known better --------------------------------------------- */

/* "data of Foo (foo in foo.so)": the type's name and library, where they say more than the class. */
static void
text_name_data(struct hs_edge *edge, VALUE parent)
{
    bool typed = RTYPEDDATA_P(parent);
    const void *form = typed ? (const void *)RTYPEDDATA_TYPE(parent) : (const void *)RDATA(parent)->dmark;
    struct hs_library_place place;
    rb_hs_library_place(form, &place);
    text_add_cstr(edge, "data of ");
    text_add_class_of(edge, parent);
    text_add_cstr(edge, " (");
    text_add_cstr(edge, typed ? RTYPEDDATA_TYPE(parent)->wrap_struct_name : "untyped");
    if (place.library.len) {
        text_add_cstr(edge, " in ");
        text_add(edge, place.library.ptr, place.library.len);
    }
    text_add_cstr(edge, ")");
}

static bool
text_has_stack(VALUE object)
{
    if (!RTYPEDDATA_P(object)) return false;
    const rb_data_type_t *type = RTYPEDDATA_TYPE(object);
    return type == &ruby_threadptr_data_type || rb_hs_vm_type_p(type, "fiber");
}

void
rb_hs_edge_unknown(VALUE parent, VALUE child, struct hs_edge *edge)
{
    text_clear(edge, HS_EDGE_OTHER);
    if (RB_SPECIAL_CONST_P(parent)) {
        text_add_cstr(edge, "?");
    }
    else if (RB_TYPE_P(parent, T_DATA) && text_has_stack(parent)) {
        edge->kind = HS_EDGE_STACK;
        text_add_cstr(edge, "C stack of ");
        text_add_class_of(edge, parent);
    }
    else if (RB_TYPE_P(parent, T_DATA)) {
        edge->kind = HS_EDGE_DATA;
        text_name_data(edge, parent);
    }
    else if (imemo_type_p(parent, imemo_iseq)) {
        edge->kind = HS_EDGE_CODE;
        text_add_cstr(edge, "part of ");
        text_add_code(edge, (const rb_iseq_t *)parent, NULL, NULL);
    }
    else {
        text_add_cstr(edge, "reference of ");
        text_add_parent(edge, parent);
    }
}

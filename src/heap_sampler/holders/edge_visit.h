#ifndef HEAP_SAMPLER_HOLDERS_EDGE_VISIT_H
#define HEAP_SAMPLER_HOLDERS_EDGE_VISIT_H
/*
 * Going through the references of one parent: what the files edge_*.c share.
 * A file knows the references of some types of objects; edge.c knows the file.
 */
#include "heap_sampler/mri.h"
#include "heap_sampler/holders/edge.h"

struct hs_visit {
    struct hs_reference at;     /* what the next references have in common: parent, code, method, pc */
    hs_each_reference *each;
    void *data;
    bool enough;                /* the rest need not be told */
};

/* A reference to `child`, if that can be an object; `what` and `id` as in struct hs_reference. */
static inline void
hs_visit(struct hs_visit *visit, enum hs_edge_kind kind, const char *what, ID id, VALUE child)
{
    if (visit->enough || RB_SPECIAL_CONST_P(child)) return;
    visit->at.kind = kind;
    visit->at.what = what;
    visit->at.id = id;
    visit->at.child = child;
    visit->enough = !visit->each(&visit->at, visit->data);
}

static inline enum rb_id_table_iterator_result
hs_visit_id_table(const struct hs_visit *visit)
{
    return visit->enough ? ID_TABLE_STOP : ID_TABLE_CONTINUE;
}

static inline int
hs_visit_st_table(const struct hs_visit *visit)
{
    return visit->enough ? ST_STOP : ST_CONTINUE;
}

/* What follows is in this code. NULL: in none. */
static inline void
hs_visit_in(struct hs_visit *visit, const rb_iseq_t *iseq, const VALUE *pc, const rb_callable_method_entry_t *me)
{
    visit->at.code = iseq;
    visit->at.pc = pc;
    visit->at.method = me;
    visit->at.caller = NULL;
}

/* Each for the types that its file knows. */
void rb_hs_visit_object(struct hs_visit *visit, VALUE object);          /* edge_objects.c: builtin types */
void rb_hs_visit_variables(struct hs_visit *visit, VALUE object);       /* its instance variables, of every type */
void rb_hs_visit_module(struct hs_visit *visit, VALUE module);          /* edge_modules.c: classes, modules, ICLASS */
void rb_hs_visit_imemo(struct hs_visit *visit, VALUE imemo);            /* edge_code.c */
void rb_hs_visit_block(struct hs_visit *visit, const struct rb_block *block);
void rb_hs_visit_hooks(struct hs_visit *visit, const struct rb_hook_list_struct *hooks);      /* enabled TracePoints; NULL: none */
void rb_hs_visit_stack(struct hs_visit *visit, const rb_execution_context_t *ec);       /* edge_stacks.c */
void rb_hs_visit_data(struct hs_visit *visit, VALUE object);            /* edge_data.c: T_DATA */

/* edge_words.c. Is it the VM's type of that name? */
bool rb_hs_vm_type_p(const rb_data_type_t *type, const char *name);

/* The iseq of that name, or NULL: what a control frame calls so may be something else. */
static inline const rb_iseq_t *
hs_iseq(const void *code)
{
    return code && imemo_type_p((VALUE)code, imemo_iseq) ? code : NULL;
}

/* The method whose frame or environment it is, or NULL. */
static inline const rb_callable_method_entry_t *
hs_method_of_ep(const VALUE *ep)
{
    rb_control_frame_t frame = {.ep = ep};
    return rb_vm_frame_method_entry(&frame);
}

/* The name of an ID; length 0: it has none. */
struct hs_text rb_hs_id_text(ID id);

/* edge_libraries.c: where an address lies. */
struct hs_library_place {
    struct hs_text library;     /* "libfoo.so", or "" */
    struct hs_text symbol;      /* of the variable that it is in, or "" */
};
void rb_hs_library_place(const void *address, struct hs_library_place *place);
/* Are they of the same executable or library? */
bool rb_hs_same_library_p(const void *one, const void *other);

#endif

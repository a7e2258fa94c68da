/*
 * References of a thread's or a fiber's stack: the VM stack by frames, and what
 * the VM keeps beside it.  Values that only the machine stack has do not come:
 * who asks for one gets "C stack" (edge_data.c).
 *
 * A frame's values on the VM stack are those between the stack pointer of its
 * caller and its own: the receiver, arguments and other locals, three words of
 * the environment, and what it works on.
 */
#include "heap_sampler/holders/edge_visit.h"

#include <string.h>

static const rb_control_frame_t *
stacks_end(const rb_execution_context_t *ec)
{
    return (const void *)(ec->vm_stack + ec->vm_stack_size);
}

static bool
stacks_holds(const rb_execution_context_t *ec, const VALUE *ep)
{
    return ep >= ec->vm_stack && ep < ec->vm_stack + ec->vm_stack_size;
}

/* Or is it compiled into Ruby? */
static bool
stacks_in_file(VALUE path)
{
    return RB_TYPE_P(path, T_STRING) && strncmp(RSTRING_PTR(path), "<internal:", 10) != 0;
}

static bool
stacks_has_line(const rb_control_frame_t *frame)
{
    const rb_iseq_t *iseq = hs_iseq(frame->iseq);
    return iseq && frame->pc && stacks_in_file(rb_iseq_path(iseq));
}

/* The next references are of this frame. A method in C, or one that is compiled into Ruby, gets the line of its caller. */
static void
stacks_enter(struct hs_visit *visit, const rb_execution_context_t *ec, const rb_control_frame_t *frame)
{
    const rb_iseq_t *iseq = hs_iseq(frame->iseq);
    hs_visit_in(visit, iseq, iseq ? frame->pc : NULL, frame->ep ? hs_method_of_ep(frame->ep) : NULL);
    if (!visit->at.method) return;
    const rb_control_frame_t *caller = frame;
    while (caller < stacks_end(ec) && !stacks_has_line(caller)) caller++;
    if (caller == frame || caller == stacks_end(ec)) return;
    visit->at.caller = caller->iseq;
    visit->at.caller_pc = caller->pc;
}

/* Where a block has taken the variables to the heap, what they were stays on the stack, and is marked. */
static const VALUE *
stacks_locals(const rb_execution_context_t *ec, const rb_control_frame_t *frame, const rb_iseq_t *iseq)
{
    const VALUE *end = NULL;
    if (stacks_holds(ec, frame->ep)) end = frame->ep - (VM_ENV_DATA_SIZE - 1);
    else if (frame + 1 < stacks_end(ec) && VM_FRAME_RUBYFRAME_P(frame)) end = rb_vm_base_ptr(frame) - VM_ENV_DATA_SIZE;
    const VALUE *locals = end ? end - ISEQ_BODY(iseq)->local_table_size : NULL;
    return locals && stacks_holds(ec, locals) && end <= frame->sp ? locals : NULL;
}

static void
stacks_visit_locals(struct hs_visit *visit, const rb_execution_context_t *ec, const rb_control_frame_t *frame)
{
    const rb_iseq_t *iseq = hs_iseq(frame->iseq);
    if (!iseq || !frame->pc) return;
    const struct rb_iseq_constant_body *body = ISEQ_BODY(iseq);
    const VALUE *locals = stacks_locals(ec, frame, iseq);
    if (!locals) return;
    for (unsigned int i = 0; i < body->local_table_size && !visit->enough; i++) {
        hs_visit(visit, HS_EDGE_LOCAL, "local", body->local_table[i], locals[i]);
    }
}

static void
stacks_visit_environments(struct hs_visit *visit, const rb_control_frame_t *frame)
{
    const VALUE *ep = frame->ep;
    if (VM_ENV_FLAGS(ep, VM_ENV_FLAG_ESCAPED)) {
        hs_visit(visit, HS_EDGE_ENVIRONMENT, "locals", 0, ep[VM_ENV_DATA_INDEX_ENV]);
    }
    if (VM_ENV_LOCAL_P(ep)) return;
    const VALUE *around = VM_ENV_PREV_EP(ep);
    if (VM_ENV_FLAGS(around, VM_ENV_FLAG_ESCAPED)) {
        hs_visit(visit, HS_EDGE_ENVIRONMENT, "locals outside", 0, around[VM_ENV_DATA_INDEX_ENV]);
    }
}

static void
stacks_visit_variables(struct hs_visit *visit, const rb_execution_context_t *ec, const rb_control_frame_t *frame)
{
    stacks_enter(visit, ec, frame);
    stacks_visit_locals(visit, ec, frame);
    stacks_visit_environments(visit, frame);
}

static void
stacks_visit_self(struct hs_visit *visit, const rb_execution_context_t *ec, const rb_control_frame_t *frame)
{
    stacks_enter(visit, ec, frame);
    hs_visit(visit, HS_EDGE_SELF, "self", 0, frame->self);
}

static void
stacks_visit_values(struct hs_visit *visit, const rb_execution_context_t *ec, const rb_control_frame_t *frame, const VALUE *from)
{
    stacks_enter(visit, ec, frame);
    for (; from < frame->sp && !visit->enough; from++) hs_visit(visit, HS_EDGE_STACK, "stack", 0, *from);
    bool code = hs_iseq(frame->iseq) != NULL;   /* else a block in C */
    hs_visit(visit, code ? HS_EDGE_CODE : HS_EDGE_BLOCK, code ? "code" : "block", 0, (VALUE)frame->iseq);
    hs_visit(visit, HS_EDGE_BLOCK, "block", 0, (VALUE)frame->block_code);
}

static void
stacks_visit_vm_stack(struct hs_visit *visit, const rb_execution_context_t *ec)
{
    const rb_control_frame_t *end = stacks_end(ec);
    /* Of all frames the variables first: `rows.each` is named by the variable, not as the self of Array#each. */
    for (const rb_control_frame_t *frame = ec->cfp; frame < end && !visit->enough; frame++) {
        stacks_visit_variables(visit, ec, frame);
    }
    for (const rb_control_frame_t *frame = ec->cfp; frame < end && !visit->enough; frame++) {
        stacks_visit_self(visit, ec, frame);
    }
    for (const rb_control_frame_t *frame = ec->cfp; frame < end && !visit->enough; frame++) {
        stacks_visit_values(visit, ec, frame, frame + 1 < end ? frame[1].sp : ec->vm_stack);
    }
    hs_visit_in(visit, NULL, NULL, NULL);
}

static enum rb_id_table_iterator_result
stacks_fiber_local_i(ID id, VALUE value, void *data)
{
    hs_visit(data, HS_EDGE_FIBER_LOCAL, "fiber local", id, value);
    return hs_visit_id_table(data);
}

void
rb_hs_visit_stack(struct hs_visit *visit, const rb_execution_context_t *ec)
{
    if (ec->local_storage) rb_id_table_foreach(ec->local_storage, stacks_fiber_local_i, visit);
    hs_visit(visit, HS_EDGE_FIBER_LOCAL, "fiber storage", 0, ec->storage);
    if (ec->vm_stack && ec->cfp) stacks_visit_vm_stack(visit, ec);
    hs_visit(visit, HS_EDGE_LOCAL, "$!", 0, ec->errinfo);
    hs_visit(visit, HS_EDGE_LOCAL, "special variables", 0, ec->root_svar);
    hs_visit(visit, HS_EDGE_STACK, "recursion guard", 0, ec->local_storage_recursive_hash);
    hs_visit(visit, HS_EDGE_STACK, "recursion guard", 0, ec->local_storage_recursive_hash_for_trace);
    hs_visit(visit, HS_EDGE_STACK, "constant", 0, ec->private_const_reference);
}

/* A file that stands in the library's own folder, such as monitor.rb; gems are in folders below it. */
static bool
stacks_in_library(VALUE path)
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
        VALUE path = rb_iseq_path(cfp->iseq);
        if (!stacks_in_file(path)) continue;
        bool library = stacks_in_library(path);
        if (library && edge->line) continue;
        edge->path = (struct hs_text){RSTRING_PTR(path), (uint32_t)RSTRING_LEN(path)};
        edge->line = (uint32_t)rb_vm_get_sourceline(cfp);
        if (!library) return;
    }
}

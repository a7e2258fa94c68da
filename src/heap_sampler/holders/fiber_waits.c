/* See holders/fiber_waits.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/holders/fiber_waits.h"
#include "heap_sampler/holders/edge_visit.h"

#include <string.h>

enum { FRAMES_MOST = 12 };      /* that a scheduler may have above its `block` */

/* Is it the frame of a method of that name, whose receiver is this? */
static bool
method_p(const rb_control_frame_t *cfp, VALUE self, const char *name)
{
    if (cfp->self != self || !hs_iseq(cfp->iseq)) return false;
    const rb_callable_method_entry_t *me = rb_vm_frame_method_entry(cfp);
    struct hs_text text = me && me->def ? rb_hs_id_text(me->def->original_id) : (struct hs_text){"", 0};
    return text.len == strlen(name) && memcmp(text.ptr, name, text.len) == 0;
}

/* Undefined: it has no such parameter. */
static VALUE
parameter(const rb_control_frame_t *cfp, unsigned number)
{
    const struct rb_iseq_constant_body *body = ISEQ_BODY(cfp->iseq);
    if ((unsigned)(body->param.lead_num + body->param.opt_num) <= number) return Qundef;
    return (cfp->ep - (VM_ENV_DATA_SIZE - 1) - body->local_table_size)[number];
}

static const rb_control_frame_t *
block_of_scheduler(const rb_execution_context_t *ec, VALUE scheduler)
{
    const rb_control_frame_t *cfp = ec->cfp;
    for (int i = 0; i < FRAMES_MOST && !RUBY_VM_CONTROL_FRAME_STACK_OVERFLOW_P(ec, cfp); i++) {
        if (method_p(cfp, scheduler, "block")) return cfp;
        cfp = RUBY_VM_PREVIOUS_CONTROL_FRAME(cfp);
    }
    return NULL;
}

static bool
suspended_p(const rb_fiber_t *fiber)
{
    struct rb_heap_sampler_fiber_kept kept;
    rb_heap_sampler_fiber_keeps(fiber, &kept);
    return kept.suspended;
}

const rb_control_frame_t *
rb_hs_fiber_waits_in(VALUE object)
{
    const rb_fiber_t *fiber = RTYPEDDATA_GET_DATA(object);
    if (!fiber || !suspended_p(fiber)) return NULL;
    const rb_execution_context_t *ec = rb_fiberptr_get_ec((rb_fiber_t *)fiber);
    if (!ec->cfp || !ec->thread_ptr || NIL_P(ec->thread_ptr->scheduler)) return NULL;
    const rb_control_frame_t *cfp = block_of_scheduler(ec, ec->thread_ptr->scheduler);
    if (!cfp || !NIL_P(parameter(cfp, 1))) return NULL;
    const rb_control_frame_t *caller = RUBY_VM_PREVIOUS_CONTROL_FRAME(cfp);
    if (RUBY_VM_CONTROL_FRAME_STACK_OVERFLOW_P(ec, caller) || RB_SPECIAL_CONST_P(caller->self)) return NULL;
    return caller->self == parameter(cfp, 0) ? caller : NULL;
}

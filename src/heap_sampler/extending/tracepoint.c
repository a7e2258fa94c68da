/*
 * RUBY_INTERNAL_EVENT_SAMPLED_NEWOBJ for rb_tracepoint_new: while a trace point
 * wants it, there is a listener that fires the event.
 */
#include "heap_sampler/mri.h"
#include "heap_sampler/base/must.h"
#include "heap_sampler/base/report.h"
#include "heap_sampler/events/listeners.h"
#include "heap_sampler/slots/sessions.h"
#include "heap_sampler/sites/sampler.h"

#include "eval_intern.h"

#include <errno.h>
#include <string.h>

static uint64_t interval = 512 * 1024;
static rb_heap_sampler_listener_t listener;

static VALUE
fire_event(VALUE object)
{
    rb_execution_context_t *ec = GET_EC();
    EXEC_EVENT_HOOK(ec, RUBY_INTERNAL_EVENT_SAMPLED_NEWOBJ, ec->cfp->self, 0, 0, 0, object);
    return Qnil;
}

/* vm_trace.c expects of internal events that they raise nothing: what it has noted is put right. */
static void
allocated(const rb_heap_sampler_allocation_t *allocation, void *unused)
{
    rb_execution_context_t *ec = GET_EC();
    rb_hook_list_t *hooks = rb_ec_ractor_hooks(ec);
    struct rb_trace_arg_struct *traced = ec->trace_arg;
    unsigned int running = hooks->running;
    int state = 0;
    rb_protect(fire_event, allocation->object, &state);
    if (!state) return;
    ec->trace_arg = traced;
    hooks->running = running;
    rb_jump_tag(state);
}

static void
listen(void)
{
    rb_heap_sampler_listener_type_t type = {.struct_size = sizeof(type), .interval = interval, .allocated = allocated};
    listener = rb_heap_sampler_listen(&type, NULL);
    if (!listener) rb_hs_warn("no sampled allocations for trace points: %s", strerror(errno));
}

rb_event_flag_t
rb_heap_sampler_event_flags(rb_event_flag_t events)
{
    bool wanted = events & RUBY_INTERNAL_EVENT_SAMPLED_NEWOBJ;
    if (wanted && !listener) listen();
    if (!wanted && listener) {
        rb_heap_sampler_unlisten(listener);
        listener = 0;
    }
    return (events & ~(rb_event_flag_t)RUBY_INTERNAL_EVENT_SAMPLED_NEWOBJ) | rb_hs_listeners_event_flag();
}

bool
rb_heap_sampler_tracepoint_interval(uint64_t wanted)
{
    HS_CONTRACT(gvl);
    HS_CONTRACT(free);
    if (!wanted || wanted > RUBY_HEAP_SAMPLER_INTERVAL_MAX || rb_hs_listener_now()) return false;
    int session = rb_hs_listener_session(listener);
    if (session && !rb_hs_session_retune(session, wanted, false)) return false;
    interval = wanted;
    return true;
}

const rb_heap_sampler_allocation_t *
rb_heap_sampler_tracearg(const struct rb_trace_arg_struct *trace_arg)
{
    return trace_arg->event == RUBY_INTERNAL_EVENT_SAMPLED_NEWOBJ ? rb_hs_listener_now() : NULL;
}

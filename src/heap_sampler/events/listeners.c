/* See events/listeners.h. */
#include "heap_sampler/events/listeners.h"
#include "heap_sampler/base/locks.h"
#include "heap_sampler/base/must.h"
#include "heap_sampler/base/report.h"
#include "heap_sampler/base/texts.h"
#include "heap_sampler/estimate/draw.h"
#include "heap_sampler/stacks/stack_table.h"

#include "eval_intern.h"

#include <string.h>

enum { LISTENERS = HS_SESSIONS - HS_PROFILES };
_Static_assert(LISTENERS == RUBY_HEAP_SAMPLER_LISTENERS_MAX, "a session each");

struct hs_changes rb_hs_slot_changes = {.use = HS_MEM_RECORDS, .most = 1 << 17};        /* 3 MiB */

static struct hs_listener listeners[LISTENERS];
static uint64_t last_serial;
static uint64_t errors, missed; /* atomic */

/* -- who listens ------------------------------------------------------------------- */

static void
note_followers(void)
{
    rb_hs_followers = 0;
    for (int i = 0; i < LISTENERS; i++) {
        if (listeners[i].serial && listeners[i].type.changed) rb_hs_followers |= (hs_session_set)(1u << (HS_PROFILES + i));
    }
}

int
rb_hs_listener_enter(const rb_heap_sampler_listener_type_t *type, void *data, uint64_t *serial)
{
    HS_CONTRACT(gvl);
    for (int i = 0; i < LISTENERS; i++) {
        if (listeners[i].serial) continue;
        listeners[i] = (struct hs_listener){.serial = ++last_serial, .type = *type, .data = data};
        *serial = last_serial;
        note_followers();
        return HS_PROFILES + i;
    }
    return 0;
}

void
rb_hs_listener_leave(int session)
{
    HS_CONTRACT(gvl);
    listeners[session - HS_PROFILES] = (struct hs_listener){.serial = 0};
    note_followers();
}

struct hs_listener *
rb_hs_listener_of(int session)
{
    struct hs_listener *listener = &listeners[session - HS_PROFILES];
    return listener->serial ? listener : NULL;
}

int
rb_hs_listener_session(uint64_t serial)
{
    for (int i = 0; serial && i < LISTENERS; i++) {
        if (listeners[i].serial == serial) return HS_PROFILES + i;
    }
    return 0;
}

unsigned
rb_hs_listener_count(void)
{
    unsigned count = 0;
    for (int i = 0; i < LISTENERS; i++) count += listeners[i].on;
    return count;
}

uint64_t
rb_hs_stack_number(uint32_t node)
{
    return node == HS_NODE_EMPTY ? 0 : (uint64_t)(rb_hs_nodes_generation + 1) << 32 | node;
}

/* -- calls: nothing gets out ---------------------------------------------------------- */

struct call {
    struct call *next;          /* in `calls` */
    const rb_thread_t *th;
    const struct hs_listener *listener;
    const rb_heap_sampler_allocation_t *allocations;
    const rb_heap_sampler_change_t *changes;
    size_t count;
    bool at_once;
    struct hs_text_bytes *names;        /* held: those of frames that it asks for */
};

/* Those that run now, on the stacks of their threads; the sampler's lock. */
static struct call *calls;

static void
enter_call(struct call *call)
{
    rb_hs_lock();
    call->names = rb_hs_texts_hold();
    call->next = calls;
    calls = call;
    rb_hs_unlock();
}

static void
leave_call(const struct call *call)
{
    rb_hs_lock();
    struct call **place = &calls;
    while (*place != call) place = &(*place)->next;
    *place = call->next;
    rb_hs_unlock();
    rb_hs_texts_release(call->names);
}

/* The innermost of this thread. */
static const struct call *
current_call(void)
{
    const rb_execution_context_t *ec = calls ? rb_current_execution_context(false) : NULL;
    if (!ec) return NULL;
    rb_hs_lock();
    const struct call *call = calls;
    while (call && call->th != rb_ec_thread_ptr(ec)) call = call->next;
    rb_hs_unlock();
    return call;
}

static VALUE
call_listener(VALUE data)
{
    const struct call *call = (const struct call *)data;
    const struct hs_listener *listener = call->listener;
    if (call->at_once) listener->type.allocated(call->allocations, listener->data);
    else if (call->allocations) listener->type.malloced(call->allocations, call->count, listener->data);
    else listener->type.changed(call->changes, call->count, listener->data);
    return Qnil;
}

static void
count_error(VALUE error)
{
    if (__atomic_fetch_add(&errors, 1, __ATOMIC_RELAXED)) return;
    const char *name = rb_obj_is_kind_of(error, rb_eException) ? rb_obj_classname(error) : "a throw";
    rb_hs_warn("a listener's function ended with %s, which is ignored; stat counts such errors as listener_errors", name);
}

/* Where the program is deep in its stack, a call may find no room on it. */
static bool
own_trouble_p(VALUE error)
{
    return RTEST(rb_obj_is_kind_of(error, rb_eStandardError)) || RTEST(rb_obj_is_kind_of(error, rb_eSysStackError)) ||
        RTEST(rb_obj_is_kind_of(error, rb_eNoMemError));
}

/* What a listener's own code raises is its own trouble. What is meant for the thread takes effect a little later. */
static void
take_exception(rb_execution_context_t *ec, enum ruby_tag_type state)
{
    VALUE error = ec->errinfo;
    rb_thread_t *th = rb_ec_thread_ptr(ec);
    bool raised = state == TAG_RAISE && !own_trouble_p(error);
    if (!raised && state != TAG_FATAL) {
        count_error(error);
        return;
    }
    rb_threadptr_pending_interrupt_enque(th, state == TAG_FATAL && FIXNUM_P(error) ? INT2FIX(0) : error); /* 0: it is killed */
    rb_threadptr_interrupt(th);
}

/* An instruction that allocates need not have said how high its operands stand: above the stack pointer are some, and
 * arguments that are being laid out, where the frames of what is called come to stand (rb_raise makes an exception).  So
 * this is set aside and put back.  The stack pointer stays: what is above it may be old, and GC marks all below it.  The
 * machine stack, where it is meanwhile, is marked with care, and pins. */
static size_t
words_above(const rb_execution_context_t *ec)
{
    enum { ARGUMENTS = 512 };
    const rb_control_frame_t *cfp = ec->cfp;
    const VALUE *top = cfp->sp;
    bool first = RUBY_VM_PREVIOUS_CONTROL_FRAME(cfp) == RUBY_VM_END_CONTROL_FRAME(ec);     /* of the main thread: it has no base */
    if (!first && cfp->iseq && VM_FRAME_RUBYFRAME_P(cfp)) {
        const VALUE *most = rb_vm_base_ptr(cfp) + ISEQ_BODY(cfp->iseq)->stack_max;
        if (most > top) top = most;
    }
    top += ARGUMENTS;
    if (top > (const VALUE *)cfp) top = (const VALUE *)cfp;
    return (size_t)(top - cfp->sp);
}

static int
call_protected(struct call *call)
{
    int state = 0;
    call->th = rb_ec_thread_ptr(GET_EC());
    enter_call(call);
    rb_protect(call_listener, (VALUE)call, &state);
    leave_call(call);
    return state;
}

/* MRI calls no TracePoint of Ruby's while this stands in ec->trace_arg: what `allocated` does is seen by none. */
static struct rb_trace_arg_struct no_tracing;

/* Afterwards it is as if there had been no call. */
static void
call_unseen(struct call *call)
{
    /* Where the stack ends before rb_protect has a tag, MRI's SystemStackError would jump past what puts all this back. */
    if (ruby_stack_check()) {
        __atomic_add_fetch(&missed, call->count, __ATOMIC_RELAXED);
        return;
    }
    rb_execution_context_t *ec = GET_EC();
    struct rb_trace_arg_struct *traced = ec->trace_arg;
    if (call->at_once && !traced) ec->trace_arg = &no_tracing;
    /* Set while MRI makes a backtrace: what is raised then would be taken for a fault of raising. */
    uint8_t raised = ec->raised_flag;
    ec->raised_flag = 0;
    /* What waits for a safe point waits on: another thread would run with the VM lock held, and a jump of it would give that
     * back; a finalizer or a trap would run Ruby code. */
    rb_atomic_t masked = ec->interrupt_mask;
    if (call->at_once) ec->interrupt_mask = ~(rb_atomic_t)0;
    VALUE errinfo = ec->errinfo, block = ec->passed_block_handler;
    rb_control_frame_t *cfp = ec->cfp;
    VALUE *sp = cfp->sp;
    size_t size = call->at_once ? words_above(ec) * sizeof(VALUE) : 0;
    VALUE *above = ALLOCA_N(VALUE, size / sizeof(VALUE) + 1);
    memcpy(above, sp, size);
    int state = call_protected(call);
    memcpy(sp, above, size);
    cfp->sp = sp;
    ec->passed_block_handler = block;
    ec->trace_arg = traced;
    ec->raised_flag = raised;
    ec->interrupt_mask = masked;
    if (state) take_exception(ec, (enum ruby_tag_type)state);
    ec->errinfo = errinfo;
}

/* Does it listen still, and is there something to tell? */
static const struct hs_listener *
hears(int session, uint64_t serial, size_t count)
{
    HS_CONTRACT(gvl);
    const struct hs_listener *listener = rb_hs_listener_of(session);
    return count && listener && listener->serial == serial && listener->on ? listener : NULL;
}

void
rb_hs_listener_call_malloced(int session, uint64_t serial, const rb_heap_sampler_allocation_t *allocations, size_t count)
{
    const struct hs_listener *listener = hears(session, serial, count);
    if (listener && listener->type.malloced) call_unseen(&(struct call){.listener = listener, .allocations = allocations, .count = count});
}

void
rb_hs_listener_call_changed(int session, uint64_t serial, const rb_heap_sampler_change_t *changes, size_t count)
{
    const struct hs_listener *listener = hears(session, serial, count);
    if (listener && listener->type.changed) call_unseen(&(struct call){.listener = listener, .changes = changes, .count = count});
}

uint64_t
rb_hs_listener_errors(void)
{
    return __atomic_load_n(&errors, __ATOMIC_RELAXED);
}

uint64_t
rb_hs_listener_missed(void)
{
    return __atomic_load_n(&missed, __ATOMIC_RELAXED);
}

bool
rb_hs_listener_called_p(void)
{
    return current_call() != NULL;
}

const rb_heap_sampler_allocation_t *
rb_hs_listener_now(void)
{
    const struct call *call = current_call();
    return call && call->at_once ? call->allocations : NULL;
}

/* -- what `allocated` may not do, in check builds ------------------------------------------ */

#if HS_CHECKING
void
rb_heap_sampler_on_frame(const void *iseq)
{
    HS_MUST(!iseq || !rb_hs_listener_now(), "a listener's `allocated` calls Ruby code");
}

bool
rb_heap_sampler_calling_p(void)
{
    return rb_hs_listener_now() != NULL;
}

static void
check_after(const rb_heap_sampler_allocation_t *allocation, VALUE klass, VALUE flags)
{
    HS_CONTRACT(vm);
    HS_MUST(RTEST(rb_gc_disable_no_rest()), "a listener's `allocated` has enabled GC");
    HS_MUST(RBASIC_CLASS(allocation->object) == klass && RBASIC(allocation->object)->flags == flags,
            "a listener's `allocated` has changed the object");
}

static void
call_allocated(const struct hs_listener *listener, const rb_heap_sampler_allocation_t *allocation)
{
    VALUE klass = RBASIC_CLASS(allocation->object), flags = RBASIC(allocation->object)->flags;
    call_unseen(&(struct call){.listener = listener, .allocations = allocation, .count = 1, .at_once = true});
    check_after(allocation, klass, flags);
}
#else
static void
call_allocated(const struct hs_listener *listener, const rb_heap_sampler_allocation_t *allocation)
{
    call_unseen(&(struct call){.listener = listener, .allocations = allocation, .count = 1, .at_once = true});
}
#endif

/* -- from a sampled slot to an object ----------------------------------------------------- */

/* Between these two a thread does nothing but to initialise the object, so it stays on its native thread. */
static _Thread_local __attribute__((tls_model("initial-exec"))) struct hs_sampled pending;
static unsigned pending_count;  /* of all threads; [vm] */

static void
set_event_flag(bool set)
{
    if (set) __atomic_fetch_or(&ruby_vm_event_flags, RUBY_INTERNAL_EVENT_SAMPLED_NEWOBJ, __ATOMIC_RELAXED);
    else __atomic_fetch_and(&ruby_vm_event_flags, ~(rb_event_flag_t)RUBY_INTERNAL_EVENT_SAMPLED_NEWOBJ, __ATOMIC_RELAXED);
}

void
rb_hs_listeners_sampled(const struct hs_sampled *sampled)
{
    HS_CONTRACT(vm);
    if (!pending.listeners) pending_count++;
    pending = *sampled;
    set_event_flag(true);
}

rb_event_flag_t
rb_hs_listeners_event_flag(void)
{
    return pending_count ? RUBY_INTERNAL_EVENT_SAMPLED_NEWOBJ : 0;
}

static struct hs_sampled
take_pending(void)
{
    struct hs_sampled sampled = pending;
    pending.listeners = 0;
    if (sampled.listeners) pending_count--;
    if (!pending_count) set_event_flag(false);
    return sampled;
}

static rb_heap_sampler_allocation_t
allocation_of(const struct hs_sampled *sampled, VALUE object)
{
    return (rb_heap_sampler_allocation_t){
        .struct_size = sizeof(rb_heap_sampler_allocation_t),
        .id = sampled->id,
        .memory = RB_HEAP_SAMPLER_SLOT,
        .object = object,
        .klass = RB_TYPE_P(object, T_IMEMO) ? 0 : RBASIC_CLASS(object),     /* a call cache has another's there */
        .type = RB_BUILTIN_TYPE(object),
        .size = sampled->size,
        .slot_size = sampled->slot_size,
        .thread = sampled->thread,
        .labels = sampled->labels,
        .stack = sampled->stack,
        .gc_count = sampled->gc_count,
    };
}

void
rb_heap_sampler_on_newobj(VALUE object)
{
    HS_CONTRACT(vm);
    HS_CONTRACT(free);
    struct hs_sampled sampled = take_pending();
    if (!sampled.listeners) return;
    rb_heap_sampler_allocation_t allocation = allocation_of(&sampled, object);
    for (int i = 0; i < LISTENERS; i++) {
        if (!(sampled.listeners & 1u << (HS_PROFILES + i)) || !listeners[i].on || !listeners[i].type.allocated) continue;
        rb_heap_sampler_allocation_t own = allocation;
        own.interval = sampled.interval[i];
        own.weight = rb_hs_weight((double)own.slot_size, (double)own.interval);
        own.weight_bytes = own.weight * (double)own.slot_size;
        call_allocated(&listeners[i], &own);
    }
}

/* The one thread that is left goes on; calls that others were in are over, and what they were about to tell. */
void
rb_hs_listeners_after_fork(void)
{
    const rb_thread_t *th = GET_THREAD();
    struct call **place = &calls;
    while (*place) {
        if ((*place)->th == th) {
            place = &(*place)->next;
            continue;
        }
        rb_hs_texts_release((*place)->names);
        *place = (*place)->next;
    }
    pending_count = pending.listeners != 0;
    set_event_flag(pending_count != 0);
}

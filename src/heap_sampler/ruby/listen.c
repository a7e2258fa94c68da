/*
 * include/ruby/heap_sampler.h: listeners are let in and out, and called: at once
 * for slots, at safe points for all else (sampling/listeners.h).  The event for
 * rb_tracepoint_new is such a listener.  While a trace point wants the event, our
 * bit in ruby_vm_event_flags is not set: MRI's own is, and the listener fires it.
 *
 * A call is made with no lock of ours held, by rb_protect.  In a call of
 * `allocated` the VM lock is held, TracePoints are off and interrupts wait.
 * Check builds assert what a listener may not do there: run Ruby code (a hook in
 * vm_push_frame, which other builds do not have), enable GC, change the object.
 * Within 16 KiB of the machine stack's end no listener is called, and the event
 * counts as missed.
 */
#include "heap_sampler/mri.h"
#include "heap_sampler/kernel.h"
#include "heap_sampler/settings/options.h"
#include "heap_sampler/base/contract.h"
#include "heap_sampler/base/report.h"
#include "heap_sampler/base/table.h"
#include "heap_sampler/ruby/ruby_api.h"

#include "eval_intern.h"

#include <errno.h>
#include <string.h>

enum { LISTENERS = HS_SESSIONS - HS_PROFILES };
_Static_assert(LISTENERS == RUBY_HEAP_SAMPLER_LISTENERS_MAX, "a session each");

/* By session, from HS_PROFILES on. [gvl] */
static struct listener {
    uint64_t serial;            /* 0: the place is free */
    bool on;                    /* else it is on its way in or out */
    rb_heap_sampler_listener_type_t type;
    void *data;
} listeners[LISTENERS];
static uint64_t last_serial;
static uint64_t errors, missed; /* atomic figures */

static int
session_of(const struct listener *listener)
{
    return HS_PROFILES + (int)(listener - listeners);
}

static struct listener *
find_listener(uint64_t serial)
{
    for (int i = 0; serial && i < LISTENERS; i++) {
        if (listeners[i].serial == serial) return &listeners[i];
    }
    return NULL;
}

unsigned
rb_hs_listener_count(void)
{
    unsigned count = 0;
    for (int i = 0; i < LISTENERS; i++) count += listeners[i].on;
    return count;
}

uint64_t
rb_hs_listener_errors(void)
{
    return __atomic_load_n(&errors, __ATOMIC_RELAXED);
}

uint64_t
rb_heap_sampler_missed(void)
{
    HS_CONTRACT(gvl);
    return __atomic_load_n(&missed, __ATOMIC_RELAXED);
}

/* -- calls: nothing gets out ---------------------------------------------------------- */

struct call {
    struct hs_listener_call is;         /* the first: it is found by this */
    const struct listener *listener;
    const rb_heap_sampler_allocation_t *allocations;
    const rb_heap_sampler_change_t *changes;
    size_t count;
    bool at_once;
};

/* What `allocated` is called for on this thread; NULL: it is not. [gvl] */
static const rb_heap_sampler_allocation_t *
allocation_now(void)
{
    const struct call *call = (struct call *)rb_hs_listener_called();
    return call && call->at_once ? call->allocations : NULL;
}

static VALUE
call_listener(VALUE data)
{
    const struct call *call = (const struct call *)data;
    const struct listener *listener = call->listener;
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
    if (!first && hs_iseq_of(cfp) && VM_FRAME_RUBYFRAME_P(cfp)) {
        const VALUE *most = rb_vm_base_ptr(cfp) + ISEQ_BODY(hs_iseq_of(cfp))->stack_max;
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
    rb_hs_listener_call_begin(&call->is);
    rb_protect(call_listener, (VALUE)call, &state);
    rb_hs_listener_call_end(&call->is);
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
#if VM_CHECK_MODE > 0
    if (size) *sp = Qfalse;     /* a canary stands there, so that no frame is pushed in instructions that call nothing */
#endif
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

/* -- at once: a sampled slot is an object now -------------------------------------------------- */

static rb_heap_sampler_allocation_t
allocation_of(const struct hs_sampled *sampled, int session)
{
    uint64_t interval = sampled->interval[session - HS_PROFILES];
    double weight = rb_hs_weight((double)sampled->slot_size, (double)interval);
    return (rb_heap_sampler_allocation_t){
        .struct_size = sizeof(rb_heap_sampler_allocation_t),
        .id = sampled->id,
        .memory = hs_of_malloc_p(sampled->id) ? RB_HEAP_SAMPLER_MALLOC : RB_HEAP_SAMPLER_SLOT,
        .size = sampled->size,
        .slot_size = sampled->slot_size,
        .weight = weight,
        .weight_bytes = weight * (double)sampled->slot_size,
        .interval = interval,
        .thread = sampled->thread,
        .labels = sampled->labels,
        .stack = sampled->stack,
        .gc_count = sampled->gc_count,
    };
}

#if HS_CHECKING
void
rb_heap_sampler_on_frame(const void *iseq)
{
    HS_ASSERT(!iseq || !allocation_now(), "a listener's `allocated` calls Ruby code");
}

bool
rb_heap_sampler_calling_p(void)
{
    return allocation_now() != NULL;
}
#endif

static void
call_allocated(const struct listener *listener, const rb_heap_sampler_allocation_t *allocation)
{
#if HS_CHECKING
    struct RBasic before = *RBASIC(allocation->object);
#endif
    call_unseen(&(struct call){.listener = listener, .allocations = allocation, .count = 1, .at_once = true});
#if HS_CHECKING
    HS_ASSERT(RTEST(rb_gc_disable_no_rest()), "a listener's `allocated` has enabled GC");
    HS_ASSERT(memcmp(&before, RBASIC(allocation->object), sizeof(before)) == 0, "a listener's `allocated` has changed the object");
#endif
}

void
rb_heap_sampler_on_newobj(VALUE object)
{
    HS_CONTRACT(vm);
    HS_CONTRACT(free);
    struct hs_sampled sampled = rb_hs_listeners_take_sampled();
    for (int s = HS_PROFILES; sampled.listeners && s < HS_SESSIONS; s++) {
        const struct listener *listener = &listeners[s - HS_PROFILES];
        if (!(sampled.listeners & 1u << s) || !listener->on || !listener->type.allocated) continue;
        rb_heap_sampler_allocation_t allocation = allocation_of(&sampled, s);
        allocation.object = object;
        allocation.klass = RB_TYPE_P(object, T_IMEMO) ? 0 : RBASIC_CLASS(object);   /* a call cache has another's there */
        allocation.type = RB_BUILTIN_TYPE(object);
        call_allocated(listener, &allocation);
    }
}

/* -- at a safe point: what waited ----------------------------------------------------------- */

enum { AT_ONCE = 256 };         /* events in a call */

/* What is reported, by one thread at a time. Not on the machine stack: where that ends, frames as large as these leap over its
 * guard page. */
static struct {
    struct hs_sampled sampled[AT_ONCE];
    rb_heap_sampler_allocation_t allocations[AT_ONCE];
    rb_heap_sampler_change_t changes[AT_ONCE];
} batch;

/* The listener of this session, if it listens still, and did when the batch was taken: the `newest` was the last then. */
static const struct listener *
listener_in(int session, uint64_t newest)
{
    HS_CONTRACT(gvl);
    const struct listener *listener = &listeners[session - HS_PROFILES];
    return listener->on && listener->serial <= newest ? listener : NULL;
}

static void
report_allocations_to(int session, uint64_t newest, uint32_t sampled)
{
    size_t count = 0;
    for (uint32_t i = 0; i < sampled; i++) {
        if (batch.sampled[i].listeners & 1u << session) batch.allocations[count++] = allocation_of(&batch.sampled[i], session);
    }
    const struct listener *listener = listener_in(session, newest);
    if (count && listener && listener->type.malloced) {
        call_unseen(&(struct call){.listener = listener, .allocations = batch.allocations, .count = count});
    }
}

static void
report_allocations(uint64_t newest)
{
    uint32_t sampled;
    do {
        RB_VM_LOCK_ENTER();
        rb_hs_malloc_name_stacks();
        sampled = rb_hs_malloc_take_allocations(batch.sampled, AT_ONCE);
        RB_VM_LOCK_LEAVE();
        for (int s = HS_PROFILES; s < HS_SESSIONS; s++) report_allocations_to(s, newest, sampled);
    } while (sampled == AT_ONCE);
}

static void
report_changes_to(int session, uint64_t newest, const struct hs_changes *changes)
{
    for (uint32_t i = 0; i < changes->count;) {
        size_t count = 0;
        for (; i < changes->count && count < AT_ONCE; i++) {
            const struct hs_change *change = &changes->list[i];
            if (!(change->listeners & 1u << session)) continue;
            rb_heap_sampler_memory_t memory = changes->use == HS_MEM_MALLOC ? RB_HEAP_SAMPLER_MALLOC : RB_HEAP_SAMPLER_SLOT;
            batch.changes[count++] = (rb_heap_sampler_change_t){(rb_heap_sampler_change_kind_t)change->kind, memory, change->id, change->value};
        }
        const struct listener *listener = listener_in(session, newest);
        if (!count || !listener || !listener->type.changed) return;
        call_unseen(&(struct call){.listener = listener, .changes = batch.changes, .count = count});
    }
}

static void
report_changes(uint64_t newest, struct hs_changes *changes)
{
    for (int s = HS_PROFILES; s < HS_SESSIONS; s++) report_changes_to(s, newest, changes);
    rb_hs_free(changes->use, changes->list);
    __atomic_add_fetch(&missed, changes->missed, __ATOMIC_RELAXED);
}

static const rb_thread_t *reporting;    /* atomic, acquired and released as a lock: another one may come between, in a call */

void
rb_heap_sampler_flush(void)
{
    HS_CONTRACT(gvl);
    HS_CONTRACT(free);
    const rb_thread_t *none = NULL;
    if (rb_hs_listener_called() ||
        !__atomic_compare_exchange_n(&reporting, &none, GET_THREAD(), false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        return;
    }
    uint64_t newest = last_serial;
    /* Changes of a block are taken before allocations are, so that no free is reported before its allocation. */
    struct hs_changes of_malloc = rb_hs_malloc_take_changes();
    rb_hs_lock();
    struct hs_changes of_slots = rb_hs_changes_take(&rb_hs_slot_store.changes);
    rb_hs_unlock();
    report_allocations(newest);
    report_changes(newest, &of_malloc);
    report_changes(newest, &of_slots);
    __atomic_store_n(&reporting, NULL, __ATOMIC_RELEASE);
}

void
rb_hs_extending_after_fork(void)
{
    if (reporting != GET_THREAD()) reporting = NULL;
    rb_hs_listeners_after_fork();
}

/* -- usdt=on: sampling while there is a tracer; and the job for safe points ---------------------- */

static uint64_t begun;          /* the serial of the session that a tracer has begun: it ends that one only */

static void
start_for_tracer(void)
{
    begun = 0;
    if (rb_hs_session(HS_MAIN)->on) return;
    if (rb_hs_start_by_settings(true)) begun = rb_hs_session_started(HS_MAIN)->serial;
}

static void
follow_tracer(void)
{
    const struct hs_session *session = rb_hs_session(HS_MAIN);
    rb_hs_usdt.started = !rb_hs_usdt.started;
    if (rb_hs_usdt.started) start_for_tracer();
    else if (begun && session->on && rb_hs_session_started(HS_MAIN)->serial == begun) rb_hs_session_stop(HS_MAIN);
}

static void
job(void *unused)
{
    (void)unused;
    if (hs_usdt_turn_p() && !rb_hs_stack_short_p()) follow_tracer();    /* else a later one does: each mark asks again */
    rb_heap_sampler_flush();
}

void
rb_hs_extending_boot(bool usdt)
{
    bool later = rb_hs_later_begin(job);
    if (!usdt) return;
    if (!HS_PROBES) rb_hs_warn("usdt=on: this Ruby has no probes; build it on a system that has sys/sdt.h (systemtap-sdt-dev)");
    rb_hs_usdt.wanted = HS_PROBES && later;
}

/* -- letting in, and out -------------------------------------------------------------------- */

/* What a later version has more is not wanted by an extension of an earlier one. */
static bool
read_type(const rb_heap_sampler_listener_type_t *type, rb_heap_sampler_listener_type_t *wanted)
{
    *wanted = (rb_heap_sampler_listener_type_t){.struct_size = sizeof(*wanted)};
    if (type->struct_size < offsetof(rb_heap_sampler_listener_type_t, malloced) || type->struct_size > sizeof(*wanted)) return false;
    memcpy(wanted, type, type->struct_size);
    return wanted->interval <= RUBY_HEAP_SAMPLER_INTERVAL_MAX && wanted->malloc_interval <= RUBY_HEAP_SAMPLER_INTERVAL_MAX &&
        (wanted->interval || wanted->malloc_interval);
}

static bool
begin(int session, const rb_heap_sampler_listener_type_t *type)
{
    if (type->interval && !rb_hs_session_listen(session, type->interval)) return false;
    if (!type->malloc_interval || rb_hs_malloc_start(session, type->malloc_interval, 0)) return true;
    rb_hs_session_stop(session);
    return false;
}

static hs_session_set
set_of(const struct listener *listener)
{
    return (hs_session_set)(1u << session_of(listener));
}

static void
leave(struct listener *listener)
{
    *listener = (struct listener){.serial = 0};
    rb_hs_followers &= (hs_session_set)~set_of(listener);
}

static rb_heap_sampler_listener_t
refuse(int why)
{
    errno = why;
    return 0;
}

rb_heap_sampler_listener_t
rb_heap_sampler_listen(const rb_heap_sampler_listener_type_t *type, void *data)
{
    HS_CONTRACT(gvl);
    HS_CONTRACT(free);
    rb_heap_sampler_listener_type_t wanted;
    struct listener *place = listeners;
    if (!read_type(type, &wanted)) return refuse(EINVAL);
    if (allocation_now()) return refuse(EDEADLK);
    while (place < listeners + LISTENERS && place->serial) place++;
    if (!rb_hs_later_p() || place == listeners + LISTENERS) return refuse(EAGAIN);
    *place = (struct listener){.serial = ++last_serial, .type = wanted, .data = data};
    if (wanted.changed) rb_hs_followers |= set_of(place);
    if (!begin(session_of(place), &wanted)) {
        leave(place);
        return refuse(ENOMEM);
    }
    place->on = true;
    return place->serial;
}

bool
rb_heap_sampler_unlisten(rb_heap_sampler_listener_t serial)
{
    HS_CONTRACT(gvl);
    HS_CONTRACT(free);
    struct listener *listener = find_listener(serial);
    if (!listener || !listener->on) return false;
    listener->on = false;
    rb_hs_session_stop(session_of(listener));
    rb_hs_lock();
    rb_hs_changes_forget(&rb_hs_slot_store.changes, set_of(listener));
    rb_hs_unlock();
    rb_hs_malloc_forget_listeners(set_of(listener));
    leave(listener);
    return true;
}

uint64_t
rb_heap_sampler_interval(rb_heap_sampler_listener_t serial, rb_heap_sampler_memory_t memory)
{
    HS_CONTRACT(gvl);
    const struct listener *listener = find_listener(serial);
    if (!listener) return 0;
    if (memory == RB_HEAP_SAMPLER_MALLOC) {
        struct hs_session of_malloc = rb_hs_malloc_session(session_of(listener));
        return of_malloc.on ? of_malloc.interval : 0;
    }
    const struct hs_session *session = rb_hs_session(session_of(listener));
    return session->on ? session->interval : 0;
}

/* -- reading -------------------------------------------------------------------------------------- */

static rb_heap_sampler_frame_t
frame_of(uint32_t number)
{
    const struct hs_frame *frame = &rb_hs_frames[number];
    struct hs_text label = rb_hs_texts[frame->label], path = rb_hs_texts[frame->path];
    return (rb_heap_sampler_frame_t){label.ptr, path.ptr, label.len, path.len, (int)frame->line};
}

size_t
rb_heap_sampler_stack_frames(uint64_t stack, rb_heap_sampler_frame_t *frames, size_t most)
{
    HS_CONTRACT(gvl);
    HS_CONTRACT(free);
    size_t count = 0;
    rb_hs_lock();               /* other Ractors may add to the tables */
    uint32_t node = (uint32_t)stack;
    if (node >= rb_hs_node_count || hs_stack_number(node) != stack) node = HS_NODE_EMPTY;
    for (; node != HS_NODE_EMPTY; node = rb_hs_nodes[node].parent) {
        if (count < most) frames[count] = frame_of(rb_hs_nodes[node].frame);
        count++;
    }
    rb_hs_unlock();
    return count;
}

size_t
rb_heap_sampler_labels(uint32_t labels, char *text, size_t size)
{
    HS_CONTRACT(gvl);
    HS_CONTRACT(free);
    if (labels == HS_LABELS_NONE || labels >= HS_LABEL_NUMBERS) return 0;
    rb_hs_lock();
    struct hs_text lines = rb_hs_label_set_text((uint16_t)labels);
    if (size) memcpy(text, lines.ptr, lines.len < size ? lines.len : size);
    rb_hs_unlock();
    return lines.len;
}

double
rb_heap_sampler_weight(uint64_t size, uint64_t interval)
{
    return rb_hs_weight((double)size, (double)interval);
}

/* -- RUBY_INTERNAL_EVENT_SAMPLED_NEWOBJ: while a trace point wants it, a listener fires it ------- */

static uint64_t event_interval = 512 * 1024;
static rb_heap_sampler_listener_t event_listener;

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
    rb_heap_sampler_listener_type_t type = {.struct_size = sizeof(type), .interval = event_interval, .allocated = allocated};
    event_listener = rb_heap_sampler_listen(&type, NULL);
    if (!event_listener) rb_hs_warn("cannot send sampled allocations to trace points: %s", strerror(errno));
}

rb_event_flag_t
rb_heap_sampler_event_flags(rb_event_flag_t events)
{
    bool wanted = events & RUBY_INTERNAL_EVENT_SAMPLED_NEWOBJ;
    if (wanted && !event_listener) listen();
    if (!wanted && event_listener) {
        rb_heap_sampler_unlisten(event_listener);
        event_listener = 0;
    }
    return (events & ~(rb_event_flag_t)RUBY_INTERNAL_EVENT_SAMPLED_NEWOBJ) | rb_hs_listeners_event_flag();
}

bool
rb_heap_sampler_tracepoint_interval(uint64_t wanted)
{
    HS_CONTRACT(gvl);
    HS_CONTRACT(free);
    if (!wanted || wanted > RUBY_HEAP_SAMPLER_INTERVAL_MAX || allocation_now()) return false;
    const struct listener *listener = find_listener(event_listener);
    if (listener && !rb_hs_session_retune(session_of(listener), wanted, false)) return false;
    event_interval = wanted;
    return true;
}

const rb_heap_sampler_allocation_t *
rb_heap_sampler_tracearg(const struct rb_trace_arg_struct *trace_arg)
{
    return trace_arg->event == RUBY_INTERNAL_EVENT_SAMPLED_NEWOBJ ? allocation_now() : NULL;
}

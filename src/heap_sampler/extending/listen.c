/*
 * include/ruby/heap_sampler.h: listeners are let in and out, and are told at safe
 * points what could not be told before; and the event for rb_tracepoint_new.
 */
#include "heap_sampler/mri.h"
#include "heap_sampler/extending/extending.h"
#include "heap_sampler/base/locks.h"
#include "heap_sampler/base/must.h"
#include "heap_sampler/base/report.h"
#include "heap_sampler/base/texts.h"
#include "heap_sampler/estimate/draw.h"
#include "heap_sampler/events/changes.h"
#include "heap_sampler/events/listeners.h"
#include "heap_sampler/labels/label_sets.h"
#include "heap_sampler/malloc/hooks.h"
#include "heap_sampler/malloc/table.h"
#include "heap_sampler/slots/sessions.h"
#include "heap_sampler/sites/sampler.h"
#include "heap_sampler/stacks/stack_table.h"

#include "eval_intern.h"

#include <errno.h>
#include <string.h>

static uint64_t missed_by_slots, missed_by_malloc;      /* as they were when they were last looked at; [gvl] */

/* -- telling: what waits, at a safe point ---------------------------------------------- */

enum { AT_ONCE = 256,           /* events in a call */
       LISTENERS = HS_SESSIONS - HS_PROFILES };

/* Who listened when it was taken: another one may have got the session since. */
struct audience {
    uint64_t serial[LISTENERS];
};

/* What is told, by one at a time. Not on the machine stack: where that ends, frames as large as these leap over its guard page. */
static struct {
    struct hs_malloc_birth_copy births[AT_ONCE];
    rb_heap_sampler_allocation_t allocations[AT_ONCE];
    rb_heap_sampler_change_t changes[AT_ONCE];
} batch;

static rb_heap_sampler_allocation_t
allocation_of(const struct hs_malloc_birth_copy *birth, int session)
{
    uint64_t interval = birth->interval[session - HS_PROFILES];
    double weight = rb_hs_weight((double)birth->size, (double)interval);
    return (rb_heap_sampler_allocation_t){
        .struct_size = sizeof(rb_heap_sampler_allocation_t),
        .id = birth->id,
        .memory = RB_HEAP_SAMPLER_MALLOC,
        .size = birth->asked,
        .slot_size = birth->size,
        .weight = weight,
        .weight_bytes = weight * (double)birth->size,
        .interval = interval,
        .thread = birth->thread,
        .labels = birth->labels,
        .stack = rb_hs_stack_number(birth->node),
        .gc_count = birth->gc,
    };
}

static void
tell_births_to(const struct audience *to, int session, uint32_t count)
{
    size_t told = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (batch.births[i].listeners & 1u << session) batch.allocations[told++] = allocation_of(&batch.births[i], session);
    }
    rb_hs_listener_call_malloced(session, to->serial[session - HS_PROFILES], batch.allocations, told);
}

static void
tell_births(const struct audience *to)
{
    uint32_t count;
    do {
        RB_VM_LOCK_ENTER();
        rb_hs_malloc_name_stacks();
        count = rb_hs_malloc_take_births(batch.births, AT_ONCE);
        RB_VM_LOCK_LEAVE();
        for (int s = HS_PROFILES; count && s < HS_SESSIONS; s++) tell_births_to(to, s, count);
    } while (count == AT_ONCE);
}

static void
tell_changes_to(const struct audience *to, int session, const struct hs_changes *changes, rb_heap_sampler_memory_t memory)
{
    uint64_t serial = to->serial[session - HS_PROFILES];
    size_t count = 0;
    for (uint32_t i = 0; i < changes->count; i++) {
        const struct hs_change *change = &changes->list[i];
        if (!(change->listeners & 1u << session)) continue;
        batch.changes[count++] = (rb_heap_sampler_change_t){(rb_heap_sampler_change_kind_t)change->kind, memory, change->id, change->value};
        if (count < AT_ONCE) continue;
        rb_hs_listener_call_changed(session, serial, batch.changes, count);
        count = 0;
    }
    rb_hs_listener_call_changed(session, serial, batch.changes, count);
}

static void
tell_changes(const struct audience *to, struct hs_changes *changes, rb_heap_sampler_memory_t memory)
{
    for (int s = HS_PROFILES; changes->count && s < HS_SESSIONS; s++) tell_changes_to(to, s, changes, memory);
    rb_hs_changes_free(changes);
}

static struct hs_changes
take_slot_changes(void)
{
    rb_hs_lock();
    struct hs_changes taken = rb_hs_changes_take(&rb_hs_slot_changes);
    rb_hs_unlock();
    missed_by_slots = taken.missed;
    return taken;
}

static struct audience
audience_now(void)
{
    struct audience to = {{0}};
    for (int i = 0; i < LISTENERS; i++) {
        const struct hs_listener *listener = rb_hs_listener_of(HS_PROFILES + i);
        if (listener) to.serial[i] = listener->serial;
    }
    return to;
}

static const rb_thread_t *telling;      /* atomic: another one may come between, in a call */

void
rb_hs_tell_listeners(void)
{
    HS_CONTRACT(gvl);
    HS_CONTRACT(free);
    const rb_thread_t *nobody = NULL;
    if (rb_hs_listener_called_p() ||
        !__atomic_compare_exchange_n(&telling, &nobody, GET_THREAD(), false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        return;
    }
    struct audience to = audience_now();
    /* What becomes of a block is taken before births are, so that no death is told before its birth. */
    rb_hs_malloc_listeners_told();
    struct hs_changes of_malloc = rb_hs_malloc_take_changes(), of_slots = take_slot_changes();
    missed_by_malloc = of_malloc.missed;
    tell_births(&to);
    tell_changes(&to, &of_malloc, RB_HEAP_SAMPLER_MALLOC);
    tell_changes(&to, &of_slots, RB_HEAP_SAMPLER_SLOT);
    __atomic_store_n(&telling, NULL, __ATOMIC_RELEASE);
}

void
rb_hs_extending_after_fork(void)
{
    if (telling != GET_THREAD()) telling = NULL;
    rb_hs_listeners_after_fork();
}

void
rb_heap_sampler_flush(void)
{
    rb_hs_tell_listeners();
}

uint64_t
rb_heap_sampler_missed(void)
{
    HS_CONTRACT(gvl);
    return missed_by_slots + missed_by_malloc + rb_hs_listener_missed();
}

/* -- letting in, and out -------------------------------------------------------------------- */

static bool
interval_p(uint64_t interval)
{
    return interval <= RUBY_HEAP_SAMPLER_INTERVAL_MAX;
}

/* What a later version has more is not wanted by an extension of an earlier one. */
static bool
read_type(const rb_heap_sampler_listener_type_t *type, rb_heap_sampler_listener_type_t *wanted)
{
    *wanted = (rb_heap_sampler_listener_type_t){.struct_size = sizeof(*wanted)};
    if (type->struct_size < offsetof(rb_heap_sampler_listener_type_t, malloced) || type->struct_size > sizeof(*wanted)) return false;
    memcpy(wanted, type, type->struct_size);
    return interval_p(wanted->interval) && interval_p(wanted->malloc_interval) && (wanted->interval || wanted->malloc_interval);
}

static bool
begin(int session, const rb_heap_sampler_listener_type_t *type)
{
    if (type->interval && !rb_hs_session_listen(session, type->interval)) return false;
    if (!type->malloc_interval || rb_hs_malloc_start(session, type->malloc_interval, 0)) return true;
    rb_hs_session_stop(session);
    return false;
}

static void
forget(int session)
{
    hs_session_set listener = (hs_session_set)(1u << session);
    rb_hs_lock();
    rb_hs_changes_forget(&rb_hs_slot_changes, listener);
    rb_hs_unlock();
    rb_hs_malloc_forget_listeners(listener);
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
    uint64_t serial;
    if (!read_type(type, &wanted)) return refuse(EINVAL);
    if (rb_hs_listener_now()) return refuse(EDEADLK);
    if (!rb_hs_later_p()) return refuse(EAGAIN);
    int session = rb_hs_listener_enter(&wanted, data, &serial);
    if (!session) return refuse(EAGAIN);
    if (!begin(session, &wanted)) {
        rb_hs_listener_leave(session);
        return refuse(ENOMEM);
    }
    rb_hs_listener_of(session)->on = true;
    return serial;
}

bool
rb_heap_sampler_unlisten(rb_heap_sampler_listener_t serial)
{
    HS_CONTRACT(gvl);
    HS_CONTRACT(free);
    int session = rb_hs_listener_session(serial);
    if (!session || !rb_hs_listener_of(session)->on) return false;
    rb_hs_listener_of(session)->on = false;
    rb_hs_session_stop(session);
    forget(session);
    rb_hs_listener_leave(session);
    return true;
}

uint64_t
rb_heap_sampler_interval(rb_heap_sampler_listener_t serial, rb_heap_sampler_memory_t memory)
{
    HS_CONTRACT(gvl);
    int session = rb_hs_listener_session(serial);
    if (!session) return 0;
    if (memory == RB_HEAP_SAMPLER_MALLOC) {
        struct hs_malloc_session of_malloc = rb_hs_malloc_session(session);
        return of_malloc.on ? of_malloc.interval : 0;
    }
    return rb_hs_sampler.session[session].on ? rb_hs_sampler.session[session].interval : 0;
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
    if (node >= rb_hs_node_count || rb_hs_stack_number(node) != stack) node = HS_NODE_EMPTY;
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
    if (!wanted || wanted > RUBY_HEAP_SAMPLER_INTERVAL_MAX || rb_hs_listener_now()) return false;
    int session = rb_hs_listener_session(event_listener);
    if (session && !rb_hs_session_retune(session, wanted, false)) return false;
    event_interval = wanted;
    return true;
}

const rb_heap_sampler_allocation_t *
rb_heap_sampler_tracearg(const struct rb_trace_arg_struct *trace_arg)
{
    return trace_arg->event == RUBY_INTERNAL_EVENT_SAMPLED_NEWOBJ ? rb_hs_listener_now() : NULL;
}

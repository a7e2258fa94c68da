/* See heap_walk/walk.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/heap_walk/walk.h"

#include <stdio.h>
#include <string.h>

enum { THREADS_MOST = 1 << 14,
       WAITERS_MOST = 1 << 20,
       FRAMES_MOST = 4,         /* between what waits and the object whose method that is */
       SCHEDULER_FRAMES = 12 }; /* that a scheduler may have above its `block` */

/* The threads that wait, and behind them the fibers that were put off. */
static struct waiter {
    VALUE stack;                /* the Thread or Fiber */
    uint32_t number;            /* of that object */
    VALUE object;               /* that it waits for */
    const rb_thread_t *thread;  /* NULL: it is a fiber */
    bool owned;                 /* the object of a thread is a Mutex, and a thread holds it */
    const struct waiter *owner; /* that thread, if it waits, too */
    bool resumable;             /* a fiber: there is more than a scheduler that may resume it */
    bool live;
} *waiters;
static uint32_t thread_count, waiter_count;
static struct hs_map fiber_by_number;   /* its place */

/* -- what a thread waits for ------------------------------------------------------------------- */

/* One whose waiters are woken by who has it. */
static bool
waits_p(VALUE object)
{
    enum rb_heap_sampler_sync sync = rb_heap_sampler_sync_of(object);
    return sync == RB_HEAP_SAMPLER_QUEUE || sync == RB_HEAP_SAMPLER_MUTEX || rb_typeddata_is_kind_of(object, &ruby_threadptr_data_type);
}

/* ConditionVariable#wait calls Mutex#sleep; one that is called by itself is ended by Thread#wakeup alone. */
static VALUE
condition_below(const rb_execution_context_t *ec, const rb_control_frame_t *cfp)
{
    cfp = RUBY_VM_PREVIOUS_CONTROL_FRAME(cfp);
    if (RUBY_VM_CONTROL_FRAME_STACK_OVERFLOW_P(ec, cfp)) return 0;
    return rb_heap_sampler_sync_of(cfp->self) == RB_HEAP_SAMPLER_CONDITION ? cfp->self : 0;
}

static VALUE
object_of_frames(const rb_execution_context_t *ec)
{
    const rb_control_frame_t *cfp = ec->cfp;
    for (int i = 0; i < FRAMES_MOST && !RUBY_VM_CONTROL_FRAME_STACK_OVERFLOW_P(ec, cfp); i++) {
        enum rb_heap_sampler_sync sync = rb_heap_sampler_sync_of(cfp->self);
        if (sync == RB_HEAP_SAMPLER_MUTEX) return condition_below(ec, cfp);
        if (sync) return cfp->self;
        if (rb_typeddata_is_kind_of(cfp->self, &ruby_threadptr_data_type)) return cfp->self;
        cfp = RUBY_VM_PREVIOUS_CONTROL_FRAME(cfp);
    }
    return 0;
}

/* 0: it does not wait, or for a time, or for what is no object. */
static VALUE
waited_for(const rb_thread_t *th)
{
    if (th->status != THREAD_STOPPED_FOREVER || th == th->ractor->threads.main || !th->ec->cfp || RTEST(th->scheduler)) return 0;
    return RTEST(th->locking_mutex) ? th->locking_mutex : object_of_frames(th->ec);
}

static void
read_thread(const struct hs_walk *walk, const rb_thread_t *th)
{
    VALUE object = waited_for(th);
    if (!object || thread_count == THREADS_MOST) return;
    waiters[thread_count++] = (struct waiter){.stack = th->self, .number = hs_index_number(&walk->index, th->self), .object = object, .thread = th};
}

static const struct waiter *
waiter_of(VALUE thread)
{
    for (uint32_t i = 0; i < thread_count; i++) {
        if (waiters[i].stack == thread) return &waiters[i];
    }
    return NULL;
}

static bool
waiting_thread_p(VALUE thread)
{
    return waiter_of(thread) != NULL;
}

/* The thread that holds a Mutex unlocks it, at the latest when the thread ends. */
static void
note_owner(struct waiter *waiter)
{
    const rb_thread_t *holder = rb_heap_sampler_mutex_holder(waiter->object);
    waiter->owned = holder != NULL;
    waiter->owner = holder ? waiter_of(holder->self) : NULL;
}

static void
read_threads(const struct hs_walk *walk)
{
    rb_ractor_t *ractor;
    rb_thread_t *th;
    ccan_list_for_each(&GET_VM()->ractor.set, ractor, vmlr_node)
    {
        ccan_list_for_each(&ractor->threads.set, th, lt_node) read_thread(walk, th);
    }
}

/* -- fibers that a scheduler keeps ----------------------------------------------------------------- */

/* Is it the frame of a method of that name, whose receiver is this? */
static bool
method_p(const rb_control_frame_t *cfp, VALUE self, const char *name)
{
    if (cfp->self != self || !hs_iseq_of(cfp) || !imemo_type_p((VALUE)hs_iseq_of(cfp), imemo_iseq)) return false;
    const rb_callable_method_entry_t *me = rb_vm_frame_method_entry(cfp);
    struct hs_text text = me && me->def ? rb_hs_id_text(me->def->original_id) : (struct hs_text){"", 0};
    return text.len == strlen(name) && memcmp(text.ptr, name, text.len) == 0;
}

/* Undefined: it has no such parameter. */
static VALUE
parameter(const rb_control_frame_t *cfp, unsigned number)
{
    const struct rb_iseq_constant_body *body = ISEQ_BODY(hs_iseq_of(cfp));
    if ((unsigned)(body->param.lead_num + body->param.opt_num) <= number) return Qundef;
    return (cfp->ep - (VM_ENV_DATA_SIZE - 1) - body->local_table_size)[number];
}

static const rb_control_frame_t *
block_of_scheduler(const rb_execution_context_t *ec, VALUE scheduler)
{
    const rb_control_frame_t *cfp = ec->cfp;
    for (int i = 0; i < SCHEDULER_FRAMES && !RUBY_VM_CONTROL_FRAME_STACK_OVERFLOW_P(ec, cfp); i++) {
        if (method_p(cfp, scheduler, "block")) return cfp;
        cfp = RUBY_VM_PREVIOUS_CONTROL_FRAME(cfp);
    }
    return NULL;
}

/* The frame of the method that waits, whose receiver is what it waits for. NULL: it runs, has not begun, or waits for a time, or
 * for what is no such object. */
static const rb_control_frame_t *
fiber_waits_in(VALUE object)
{
    const rb_execution_context_t *ec = rb_hs_ec_of(object);
    if (!ec || !ec->cfp || !ec->thread_ptr || NIL_P(ec->thread_ptr->scheduler)) return NULL;
    struct rb_heap_sampler_fiber_kept kept;
    rb_heap_sampler_fiber_keeps(ec->fiber_ptr, &kept);
    if (!kept.suspended) return NULL;
    const rb_control_frame_t *cfp = block_of_scheduler(ec, ec->thread_ptr->scheduler);
    if (!cfp || !NIL_P(parameter(cfp, 1))) return NULL;
    const rb_control_frame_t *caller = RUBY_VM_PREVIOUS_CONTROL_FRAME(cfp);
    if (RUBY_VM_CONTROL_FRAME_STACK_OVERFLOW_P(ec, caller) || RB_SPECIAL_CONST_P(caller->self)) return NULL;
    return caller->self == parameter(cfp, 0) ? caller : NULL;
}

/* NULL: it was not put off. */
static struct waiter *
fiber_of(uint32_t number)
{
    const uint32_t *place = rb_hs_map_find(&fiber_by_number, number);
    return place ? &waiters[*place] : NULL;
}

static bool
put_off_fiber(struct hs_walk *walk, VALUE object, uint32_t number)
{
    if (!rb_obj_is_fiber(object) || waiter_count == WAITERS_MOST || fiber_of(number)) return false;
    const rb_control_frame_t *cfp = fiber_waits_in(object);
    if (!cfp || !waits_p(cfp->self) || !rb_hs_arena_put(&fiber_by_number, number, waiter_count)) return false;
    bool global = *hs_index_from(&walk->index, number) == HS_ROOT_NUMBERS + HS_TOP_GLOBALS;
    waiters[waiter_count++] = (struct waiter){.stack = object, .number = number, .object = cfp->self, .resumable = global};
    return true;
}

/* The number of what refers to the objects that are told just now. */
static uint32_t referrer;

/* What a machine stack seems to have is no reference. */
static void
found_reference(VALUE object, void *data)
{
    const struct hs_walk *walk = data;
    uint32_t number = hs_index_number(&walk->index, object);
    struct waiter *fiber = fiber_of(number);
    if (fiber && number != referrer && rb_heap_sampler_reference != RB_HEAP_SAMPLER_MAYBE_PINS) fiber->resumable = true;
}

/* May it resume a fiber that it refers to, other than as a scheduler? */
static bool
resumes_p(VALUE object, uint32_t number)
{
    if (RB_TYPE_P(object, T_IMEMO)) return imemo_type_p(object, imemo_env);
    if (!RB_TYPE_P(object, T_DATA)) return false;
    const struct waiter *fiber = fiber_of(number);
    return !fiber || fiber->live;
}

static void
look_for_fibers(const struct hs_walk *walk, VALUE object, uint32_t number)
{
    if (!resumes_p(object, number)) return;
    referrer = number;
    rb_objspace_reachable_objects_from(object, found_reference, (void *)(uintptr_t)walk);
}

/* Are there any fibers left for which to look? */
static bool
asleep_p(void)
{
    for (uint32_t i = thread_count; i < waiter_count; i++) {
        if (!waiters[i].live) return true;
    }
    return false;
}

bool
rb_hs_waiters_read(struct hs_walk *walk)
{
    waiters = rb_hs_arena_map(WAITERS_MOST * sizeof(*waiters));
    if (!waiters) return false;
    read_threads(walk);
    for (uint32_t i = 0; i < thread_count; i++) note_owner(&waiters[i]);
    waiter_count = thread_count;
    if (thread_count) walk->held_back = waiting_thread_p;
    walk->put_off = put_off_fiber;
    return true;
}

/* -- who can wake --------------------------------------------------------------------------------- */

/* May its Mutex be unlocked? */
static bool
owner_lives_p(const struct waiter *waiter)
{
    return waiter->owned && (!waiter->owner || waiter->owner->live);
}

static void
go_through(struct hs_walk *walk, const struct waiter *waiter, uint32_t from)
{
    if (waiter->thread) rb_hs_walk_reach(walk, waiter->stack, from);
    else rb_hs_walk_go_on(walk, waiter->number);
}

/* More was reached through it. A thread that can wake lives by itself, as each thread that runs: what it works on is not retained by
 * an object that happens to refer to the Thread, such as Timeout's list. */
static bool
wake(struct hs_walk *walk, struct waiter *waiter)
{
    if (waiter->live) return false;
    uint32_t *from = hs_index_from(&walk->index, waiter->number);
    uint32_t ractor = waiter->thread ? hs_index_number(&walk->index, rb_ractor_self(waiter->thread->ractor)) : 0;
    bool known = waiter->thread && *from;
    waiter->live = known || waiter->resumable || hs_walk_reached_p(walk, waiter->object) || owner_lives_p(waiter);
    if (known) *from = ractor;
    if (!waiter->live || known) return false;
    go_through(walk, waiter, ractor);
    return true;
}

void
rb_hs_waiters_forget(void)
{
    for (uint32_t i = 0; i < thread_count; i++) waiters[i].live = false;
    rb_hs_map_clear(&fiber_by_number);
    waiter_count = thread_count;
}

/* A fiber comes to be known when what leads to it has been woken. */
static bool
wake_all(struct hs_walk *walk)
{
    bool more = false;
    for (uint32_t i = 0; i < waiter_count; i++) more |= wake(walk, &waiters[i]);
    if (more) rb_hs_walk_pass(walk, HS_PASS_CACHED);
    return more;
}

/* Those that are left are gone through at last: what they alone retain is theirs. */
static void
reach_stuck(struct hs_walk *walk)
{
    for (uint32_t i = 0; i < waiter_count; i++) {
        if (waiters[i].live) continue;
        go_through(walk, &waiters[i], HS_ROOT_NUMBERS + HS_TOP_STUCK);
        *hs_index_from(&walk->index, waiters[i].number) = HS_ROOT_NUMBERS + HS_TOP_STUCK;
    }
    walk->put_off = NULL;
    rb_hs_walk_pass(walk, HS_PASS_CACHED);
    walk->put_off = put_off_fiber;
}

void
rb_hs_waiters_settle(struct hs_walk *walk)
{
    do {
        while (wake_all(walk)) continue;
        if (asleep_p()) rb_hs_walk_each_reached(walk, look_for_fibers);
    } while (wake_all(walk));
    reach_stuck(walk);
}

uint32_t
rb_hs_waiters_next_stuck(uint32_t *at)
{
    while (*at < waiter_count && waiters[*at].live) ++*at;
    return *at < waiter_count ? waiters[(*at)++].number : HS_NO_OBJECT;
}

/* -- in words --------------------------------------------------------------------------------------- */

void
rb_hs_waiter_edge(VALUE stack, struct hs_edge *edge)
{
    bool fiber = rb_obj_is_fiber(stack);
    const rb_execution_context_t *ec = rb_hs_ec_of(stack);
    const rb_control_frame_t *cfp = fiber ? fiber_waits_in(stack) : ec->cfp;
    VALUE object = !fiber ? waited_for(ec->thread_ptr) : cfp ? cfp->self
                                                             : 0;
    char name[HS_EDGE_TEXT_MAX / 2] = "an object";
    if (object) rb_hs_object_class_name(object, name, sizeof(name));
    *edge = (struct hs_edge){.kind = HS_EDGE_ROOT};
    edge->length = (size_t)snprintf(edge->text, sizeof(edge->text), "%swaits for %s", fiber ? "fiber " : "", name);
    rb_hs_edge_stands_at(edge, ec, cfp);
}

/* See heap_walk/walk.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/kernel.h"
#include "heap_sampler/heap_walk/walk.h"

#include <stdio.h>

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
    bool live;
} *waiters;
static uint32_t thread_count, waiter_count;
static struct hs_map fibers;    /* by number: those that were put off once */

/* -- what a thread waits for ------------------------------------------------------------------- */

/* Are the threads that wait for it woken by code that has it? */
static bool
waits_p(VALUE object)
{
    enum rb_heap_sampler_sync sync = rb_heap_sampler_sync_of(object);
    return sync == RB_HEAP_SAMPLER_QUEUE || sync == RB_HEAP_SAMPLER_MUTEX || rb_typeddata_is_kind_of(object, &ruby_threadptr_data_type);
}

/* ConditionVariable#wait calls Mutex#sleep; one that is called by itself is ended by Thread#wakeup alone. */
static VALUE
object_of_frames(const rb_execution_context_t *ec)
{
    bool sleeps = false;
    const rb_control_frame_t *cfp = ec->cfp;
    for (int i = 0; i < FRAMES_MOST && !RUBY_VM_CONTROL_FRAME_STACK_OVERFLOW_P(ec, cfp); i++) {
        enum rb_heap_sampler_sync sync = rb_heap_sampler_sync_of(cfp->self);
        if (sync == RB_HEAP_SAMPLER_CONDITION) return cfp->self;
        if (sleeps) return 0;
        sleeps = sync == RB_HEAP_SAMPLER_MUTEX;
        if (!sleeps && waits_p(cfp->self)) return cfp->self;
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

static void
read_threads(const struct hs_walk *walk)
{
    rb_ractor_t *ractor;
    rb_thread_t *th;
    ccan_list_for_each(&GET_VM()->ractor.set, ractor, vmlr_node)
    {
        ccan_list_for_each(&ractor->threads.set, th, lt_node)
        {
            struct waiter waiter = {.stack = th->self, .number = hs_index_number(&walk->index, th->self), .object = waited_for(th), .thread = th};
            if (waiter.object && thread_count < THREADS_MOST) waiters[thread_count++] = waiter;
        }
    }
}

/* -- fibers that a scheduler keeps ----------------------------------------------------------------- */

/* Is it the frame of the scheduler's method in Ruby of that name, an ID that scheduler.c has made? */
static bool
block_p(const rb_control_frame_t *cfp, VALUE scheduler)
{
    if (cfp->self != scheduler || !hs_iseq_of(cfp) || !imemo_type_p((VALUE)hs_iseq_of(cfp), imemo_iseq)) return false;
    const rb_callable_method_entry_t *me = rb_vm_frame_method_entry(cfp);
    return me && me->def && me->def->original_id == rb_intern("block");
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
        if (block_p(cfp, scheduler)) return cfp;
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
    struct rb_heap_sampler_fiber_references references;
    rb_heap_sampler_fiber_references(ec->fiber_ptr, &references);
    if (!references.suspended) return NULL;
    const rb_control_frame_t *cfp = block_of_scheduler(ec, ec->thread_ptr->scheduler);
    if (!cfp || !NIL_P(parameter(cfp, 1))) return NULL;
    const rb_control_frame_t *caller = RUBY_VM_PREVIOUS_CONTROL_FRAME(cfp);
    if (RUBY_VM_CONTROL_FRAME_STACK_OVERFLOW_P(ec, caller) || RB_SPECIAL_CONST_P(caller->self)) return NULL;
    return caller->self == parameter(cfp, 0) ? caller : NULL;
}

static bool
put_off_fiber(struct hs_walk *walk, VALUE object, uint32_t number)
{
    if (!rb_obj_is_fiber(object) || waiter_count == WAITERS_MOST || rb_hs_map_find(&fibers, number)) return false;
    const rb_control_frame_t *cfp = fiber_waits_in(object);
    if (!cfp || !waits_p(cfp->self) || !rb_hs_arena_put(&fibers, number, 0)) return false;
    if (*hs_index_from(&walk->index, number) == HS_ROOT_NUMBERS + HS_TOP_GLOBALS) hs_bit_set(&walk->index, walk->resumable, number);
    waiters[waiter_count++] = (struct waiter){.stack = object, .number = number, .object = cfp->self};
    return true;
}

bool
rb_hs_waiters_read(struct hs_walk *walk)
{
    waiters = rb_hs_arena_map(WAITERS_MOST * sizeof(*waiters));
    if (!waiters) return false;
    read_threads(walk);
    waiter_count = thread_count;
    if (thread_count) walk->held_back = waiting_thread_p;
    walk->put_off = put_off_fiber;
    return true;
}

/* -- what can wake -------------------------------------------------------------------------------- */

/* Does a thread wait for a Mutex whose holder can wake? The holder unlocks it, at the latest when that thread ends. */
static bool
holder_lives_p(const struct waiter *waiter)
{
    const rb_thread_t *holder = waiter->thread ? rb_heap_sampler_mutex_holder(waiter->object) : NULL;
    const struct waiter *waits = holder ? waiter_of(holder->self) : NULL;
    return holder && (!waits || waits->live);
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
    uint32_t ractor = waiter->thread ? hs_index_number(&walk->index, rb_ractor_self(waiter->thread->ractor)) : HS_NO_OBJECT;
    bool known = waiter->thread && *from;
    bool resumable = !waiter->thread && hs_bit_p(&walk->index, walk->resumable, waiter->number);
    waiter->live = known || resumable || hs_walk_reached_p(walk, waiter->object) || holder_lives_p(waiter);
    if (known) *from = ractor;
    if (!waiter->live || known) return false;
    go_through(walk, waiter, ractor);
    return true;
}

void
rb_hs_waiters_forget(void)
{
    for (uint32_t i = 0; i < thread_count; i++) waiters[i].live = false;
    rb_hs_map_clear(&fibers);
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

/* Goes through the threads and fibers that are left: what only they retain has them as its holder. */
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
    while (wake_all(walk)) continue;
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
    if (object) rb_hs_class_name_of(RBASIC(object)->klass, RBASIC(object)->flags, name, sizeof(name));
    *edge = (struct hs_edge){.kind = HS_EDGE_ROOT};
    edge->length = (size_t)snprintf(edge->text, sizeof(edge->text), "%swaits for %s", fiber ? "fiber " : "", name);
    rb_hs_edge_stands_at(edge, ec, cfp);
}

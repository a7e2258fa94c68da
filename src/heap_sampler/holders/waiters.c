/* See holders/waiters.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/holders/waiters.h"
#include "heap_sampler/holders/arena.h"
#include "heap_sampler/holders/holders.h"

#include <stdio.h>
#include <string.h>

enum { WAITERS_MOST = 1 << 14,
       FRAMES_MOST = 4 };       /* between what waits and the object whose method that is */

struct waiter {
    const rb_thread_t *thread;
    VALUE object;               /* that it waits for */
    bool live;
};

static struct waiter *waiters;
static VALUE *threads;          /* the Threads of all of them, for the walk */
static uint32_t waiter_count;

/* -- what a thread waits for ------------------------------------------------------------------- */

static const char *
type_of(VALUE object)
{
    return RB_TYPE_P(object, T_DATA) && RTYPEDDATA_P(object) ? RTYPEDDATA_TYPE(object)->wrap_struct_name : "";
}

static bool
typed_p(VALUE object, const char *type)
{
    return strcmp(type_of(object), type) == 0;
}

/* ConditionVariable#wait calls Mutex#sleep; one that is called by itself is ended by Thread#wakeup alone. */
static VALUE
condition_below(const rb_execution_context_t *ec, const rb_control_frame_t *cfp)
{
    cfp = RUBY_VM_PREVIOUS_CONTROL_FRAME(cfp);
    bool condition = !RUBY_VM_CONTROL_FRAME_STACK_OVERFLOW_P(ec, cfp) && typed_p(cfp->self, "condvar");
    return condition ? cfp->self : 0;
}

static VALUE
object_of_frames(const rb_execution_context_t *ec)
{
    const rb_control_frame_t *cfp = ec->cfp;
    for (int i = 0; i < FRAMES_MOST && !RUBY_VM_CONTROL_FRAME_STACK_OVERFLOW_P(ec, cfp); i++) {
        if (typed_p(cfp->self, "queue") || typed_p(cfp->self, "sized_queue") || typed_p(cfp->self, "condvar")) return cfp->self;
        if (typed_p(cfp->self, "mutex")) return condition_below(ec, cfp);
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
read_thread(const rb_thread_t *th)
{
    VALUE object = waited_for(th);
    if (!object || waiter_count == WAITERS_MOST) return;
    threads[waiter_count] = th->self;
    waiters[waiter_count++] = (struct waiter){th, object, false};
}

bool
rb_hs_waiters_read(struct hs_walk *walk)
{
    rb_ractor_t *ractor;
    rb_thread_t *th;
    waiters = rb_hs_arena_map(WAITERS_MOST * sizeof(*waiters));
    threads = rb_hs_arena_map(WAITERS_MOST * sizeof(*threads));
    if (!waiters || !threads) return false;
    ccan_list_for_each(&GET_VM()->ractor.set, ractor, vmlr_node)
    {
        ccan_list_for_each(&ractor->threads.set, th, lt_node) read_thread(th);
    }
    walk->held_back = threads;
    walk->held_back_count = waiter_count;
    return true;
}

/* -- who can wake --------------------------------------------------------------------------------- */

/* More was reached through it. */
static bool
wake(struct hs_walk *walk, struct waiter *waiter)
{
    if (waiter->live) return false;
    bool known = hs_walk_reached_p(walk, waiter->thread->self);
    waiter->live = known || hs_walk_reached_p(walk, waiter->object);
    if (!waiter->live || known) return false;
    rb_hs_walk_reach(walk, waiter->thread->self, hs_index_number(&walk->index, rb_ractor_self(waiter->thread->ractor)));
    rb_hs_walk_pass(walk, HS_PASS_CACHED);
    return true;
}

void
rb_hs_waiters_settle(struct hs_walk *walk)
{
    bool more = true;
    for (uint32_t i = 0; i < waiter_count; i++) waiters[i].live = false;
    while (more) {
        more = false;
        for (uint32_t i = 0; i < waiter_count; i++) more |= wake(walk, &waiters[i]);
    }
    for (uint32_t i = 0; i < waiter_count; i++) {
        if (!waiters[i].live) rb_hs_walk_reach(walk, waiters[i].thread->self, HS_ROOT_NUMBERS + HS_TOP_STUCK);
    }
    rb_hs_walk_pass(walk, HS_PASS_CACHED);
}

void
rb_hs_waiters_each_stuck(void (*each)(VALUE thread, void *data), void *data)
{
    for (uint32_t i = 0; i < waiter_count; i++) {
        if (!waiters[i].live) each(waiters[i].thread->self, data);
    }
}

/* -- in words --------------------------------------------------------------------------------------- */

/* The innermost line of Ruby code that is no part of Ruby. */
static void
set_place(struct hs_edge *edge, const rb_execution_context_t *ec)
{
    const rb_control_frame_t *cfp = rb_vm_get_ruby_level_next_cfp(ec, ec->cfp);
    for (; cfp; cfp = rb_vm_get_ruby_level_next_cfp(ec, RUBY_VM_PREVIOUS_CONTROL_FRAME(cfp))) {
        VALUE path = rb_iseq_path(cfp->iseq);
        if (!RB_TYPE_P(path, T_STRING) || strncmp(RSTRING_PTR(path), "<internal:", 10) == 0) continue;
        edge->path = (struct hs_text){RSTRING_PTR(path), (uint32_t)RSTRING_LEN(path)};
        edge->line = (uint32_t)rb_vm_get_sourceline(cfp);
        return;
    }
}

void
rb_hs_waiter_edge(VALUE thread, struct hs_edge *edge)
{
    const rb_thread_t *th = RTYPEDDATA_GET_DATA(thread);
    VALUE object = waited_for(th);
    char name[HS_EDGE_TEXT_MAX / 2] = "an object";
    if (object) rb_hs_object_class_name(object, name, sizeof(name));
    *edge = (struct hs_edge){.kind = HS_EDGE_ROOT};
    int length = snprintf(edge->text, sizeof(edge->text), "waits for %s", name);
    edge->length = length > 0 ? (size_t)length : 0;
    set_place(edge, th->ec);
}

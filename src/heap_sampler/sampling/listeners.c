/* See sampling/listeners.h. */
#include "heap_sampler/sampling/listeners.h"
#include "heap_sampler/base/contract.h"
#include "heap_sampler/base/table.h"

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

struct hs_sampled
rb_hs_listeners_take_sampled(void)
{
    HS_CONTRACT(vm);
    struct hs_sampled sampled = pending;
    pending.listeners = 0;
    if (sampled.listeners) pending_count--;
    if (!pending_count) set_event_flag(false);
    return sampled;
}

/* -- calls ------------------------------------------------------------------------------- */

/* Calls that run now; each is on the stack of its thread. Under the sampler's lock; whether there are any is an atomic figure:
 * a thread that has one wrote it itself, and finds it. */
static struct hs_listener_call *calls;

void
rb_hs_listener_call_begin(struct hs_listener_call *call)
{
    call->th = GET_THREAD();
    rb_hs_lock();
    call->names = rb_hs_texts_hold();
    call->outer = calls;
    calls = call;
    rb_hs_unlock();
}

void
rb_hs_listener_call_end(struct hs_listener_call *call)
{
    rb_hs_lock();
    struct hs_listener_call **place = &calls;
    while (*place != call) place = &(*place)->outer;
    *place = call->outer;
    rb_hs_unlock();
    rb_hs_texts_release(call->names);
}

struct hs_listener_call *
rb_hs_listener_called(void)
{
    const rb_execution_context_t *ec = __atomic_load_n(&calls, __ATOMIC_RELAXED) ? rb_current_execution_context(false) : NULL;
    if (!ec) return NULL;
    rb_hs_lock();
    struct hs_listener_call *call = calls;
    while (call && call->th != rb_ec_thread_ptr(ec)) call = call->outer;
    rb_hs_unlock();
    return call;
}

/* The one thread that is left goes on. Calls of other threads are over, and what was pending on them is lost. */
void
rb_hs_listeners_after_fork(void)
{
    const rb_thread_t *th = GET_THREAD();
    struct hs_listener_call **place = &calls;
    while (*place) {
        if ((*place)->th == th) {
            place = &(*place)->outer;
            continue;
        }
        rb_hs_texts_release((*place)->names);
        *place = (*place)->outer;
    }
    pending_count = pending.listeners != 0;
    set_event_flag(pending_count != 0);
}

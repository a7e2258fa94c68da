/* Where threads and fibers begin and go: see memory/threads.h, and mri.h for what this relies on. */
#include "heap_sampler/mri.h"
#include "heap_sampler/memory/threads.h"

#include "internal/proc.h"

#include <pthread.h>

/* -- where they were made ------------------------------------------------------------- */

/* A path in a heap slot is copied before the lock is taken: reading it may run the read barrier's handler. */
static void
set_line(struct hs_creation_place *of, VALUE path, int line)
{
    int len = snprintf(of->text, sizeof(of->text), "%.*s:%d", (int)RSTRING_LEN(path), RSTRING_PTR(path), line > 0 ? line : 0);
    bool fits = len > 0 && (size_t)len < sizeof(of->text);
    of->origin = fits ? HS_CREATION_FIXED : HS_CREATION_OTHER;
    of->len = (uint32_t)len;
}

/* Ruby's own methods in Ruby have their caller's line, as in Exception#backtrace. */
static bool
shown_p(const rb_control_frame_t *cfp)
{
    VALUE path = rb_iseq_path(hs_iseq_of(cfp));
    return RB_TYPE_P(path, T_STRING) && strncmp(RSTRING_PTR(path), "<internal:", 10) != 0;
}

/* The Ruby code that called the C code we are in. */
static void
line_of_caller(struct hs_creation_place *of)
{
    const rb_execution_context_t *ec = rb_current_execution_context(false);
    const rb_control_frame_t *cfp = ec && ec->cfp ? rb_vm_get_ruby_level_next_cfp(ec, ec->cfp) : NULL;
    while (cfp && !shown_p(cfp)) cfp = rb_vm_get_ruby_level_next_cfp(ec, RUBY_VM_PREVIOUS_CONTROL_FRAME(cfp));
    if (!cfp) {
        of->origin = HS_CREATION_C;
        return;
    }
    set_line(of, rb_iseq_path(hs_iseq_of(cfp)), rb_vm_get_sourceline(cfp));
}

/* A block's own line; a block in C has none. */
static void
line_of_block(struct hs_creation_place *of, VALUE proc)
{
    const rb_iseq_t *iseq = rb_obj_is_proc(proc) ? rb_proc_get_iseq(proc, NULL) : NULL;
    VALUE path = iseq ? rb_iseq_path(iseq) : Qnil;
    if (RB_TYPE_P(path, T_STRING)) set_line(of, path, ISEQ_BODY(iseq)->location.first_lineno);
    else line_of_caller(of);
}

static void
line_of_thread(struct hs_creation_place *of, const rb_thread_t *th)
{
    switch (th->invoke_type) {
    case thread_invoke_type_none: of->origin = HS_CREATION_MAIN; break;
    case thread_invoke_type_func: line_of_caller(of); break;
    default: line_of_block(of, th->invoke_arg.proc.proc); break;
    }
}

/* -- their lives ------------------------------------------------------------------------ */

void
rb_heap_sampler_thread_begins(struct rb_thread_struct *th)
{
    struct hs_creation_place of;
    if (th->heap_sampler.alive.next) return;    /* in a forked child it is in the list */
    const rb_execution_context_t *ec = rb_current_execution_context(false);
    if (ec) th->ec->heap_sampler_labels = ec->heap_sampler_labels;
    if (th->ec->vm_stack) th->heap_sampler.vm_stack = (uintptr_t)th->ec->vm_stack;
    line_of_thread(&of, th);
    rb_hs_thread_list_add(HS_THREADS, &th->heap_sampler.alive, &of);
}

/* In a thread's stack the C library has the thread-local variables, and what it stores about a thread, above the first frame of MRI,
 * and below what MRI uses there is a guard. Both have the same size in each native thread. So the first thread alone asks the C
 * library, which takes 2 microseconds, more than 1% of a thread's start. */
static size_t above, below;     /* atomic; `above` is stored last, 0: not known */

static void
measure_above_and_below(uintptr_t first, uintptr_t last)
{
    pthread_attr_t attr;
    void *start;
    size_t size;
    if (pthread_getattr_np(pthread_self(), &attr) != 0) return;
    if (pthread_attr_getstack(&attr, &start, &size) == 0) {
        __atomic_store_n(&below, last - (uintptr_t)start, __ATOMIC_RELAXED);
        __atomic_store_n(&above, (uintptr_t)start + size - first, __ATOMIC_RELEASE);
    }
    pthread_attr_destroy(&attr);
}

void
rb_heap_sampler_thread_runs(struct rb_thread_struct *th)
{
    uintptr_t first = (uintptr_t)th->ec->machine.stack_start, last = first - th->ec->machine.stack_maxsize;
    size_t over = 0;
    if (th->sched.malloc_stack) {       /* else M:N: find_stacks has the stack */
        if (!__atomic_load_n(&above, __ATOMIC_RELAXED)) measure_above_and_below(first, last);
        over = __atomic_load_n(&above, __ATOMIC_ACQUIRE);
        if (!over) return;
        last -= __atomic_load_n(&below, __ATOMIC_RELAXED);
    }
    th->heap_sampler.machine_stack = last;
    __atomic_store_n(&th->heap_sampler.machine_stack_size, first + over - last, __ATOMIC_RELEASE);
}

void
rb_heap_sampler_thread_goes(struct rb_thread_struct *th)
{
    rb_hs_thread_list_remove(&th->heap_sampler.alive);
}

void
rb_heap_sampler_fiber_begins(struct rb_heap_sampler_alive *fiber, VALUE proc)
{
    struct hs_creation_place of;
    line_of_block(&of, proc);
    rb_hs_thread_list_add(HS_FIBERS, fiber, &of);
}

void
rb_heap_sampler_fiber_goes(struct rb_heap_sampler_alive *fiber)
{
    rb_hs_thread_list_remove(fiber);
}

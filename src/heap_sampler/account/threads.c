/* Threads and fibers as MRI has them: see account/threads.h, and mri.h for what this relies on. */
#include "heap_sampler/mri.h"
#include "heap_sampler/account/threads.h"
#include "heap_sampler/account/alive.h"

#include "internal/proc.h"

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* -- where they were made ------------------------------------------------------------- */

/* A path in a heap slot is copied before the mutex is taken: reading it may run the read barrier's handler. */
struct line_of_code {
    struct hs_alive_place place;
    char path[HS_ORIGIN_PATH_MAX + 1];
};

static void
set_line(struct line_of_code *of, const char *path, size_t len, int line)
{
    size_t kept = len < sizeof(of->path) ? len : sizeof(of->path);
    memcpy(of->path, path, kept);
    of->place = (struct hs_alive_place){HS_ORIGINS_FIXED, line > 0 ? (uint32_t)line : 0, of->path, kept};
}

/* Ruby's own methods in Ruby have their caller's line, as in Exception#backtrace. */
static bool
shown_p(const rb_control_frame_t *cfp)
{
    VALUE path = rb_iseq_path(cfp->iseq);
    return RB_TYPE_P(path, T_STRING) && strncmp(RSTRING_PTR(path), "<internal:", 10) != 0;
}

/* The Ruby code that called the C code we are in. */
static void
line_of_caller(struct line_of_code *of)
{
    const rb_execution_context_t *ec = rb_current_execution_context(false);
    const rb_control_frame_t *cfp = ec && ec->cfp ? rb_vm_get_ruby_level_next_cfp(ec, ec->cfp) : NULL;
    while (cfp && !shown_p(cfp)) cfp = rb_vm_get_ruby_level_next_cfp(ec, RUBY_VM_PREVIOUS_CONTROL_FRAME(cfp));
    if (!cfp) {
        of->place = (struct hs_alive_place){.origin = HS_ORIGIN_C};
        return;
    }
    VALUE path = rb_iseq_path(cfp->iseq);
    set_line(of, RSTRING_PTR(path), (size_t)RSTRING_LEN(path), rb_vm_get_sourceline(cfp));
}

/* A block's own line; a block in C has none. */
static void
line_of_block(struct line_of_code *of, VALUE proc)
{
    const rb_iseq_t *iseq = rb_obj_is_proc(proc) ? rb_proc_get_iseq(proc, NULL) : NULL;
    VALUE path = iseq ? rb_iseq_path(iseq) : Qnil;
    if (!RB_TYPE_P(path, T_STRING)) {
        line_of_caller(of);
        return;
    }
    set_line(of, RSTRING_PTR(path), (size_t)RSTRING_LEN(path), ISEQ_BODY(iseq)->location.first_lineno);
}

static void
line_of_thread(struct line_of_code *of, const rb_thread_t *th)
{
    switch (th->invoke_type) {
    case thread_invoke_type_none: of->place = (struct hs_alive_place){.origin = HS_ORIGIN_MAIN}; break;
    case thread_invoke_type_func: line_of_caller(of); break;
    default: line_of_block(of, th->invoke_arg.proc.proc); break;
    }
}

/* -- their lives ------------------------------------------------------------------------ */

void
rb_heap_sampler_thread_begins(struct rb_thread_struct *th)
{
    struct line_of_code of;
    if (rb_hs_alive_p(&th->heap_sampler.alive)) return;         /* in a forked child */
    const rb_execution_context_t *ec = rb_current_execution_context(false);
    if (ec) th->ec->heap_sampler_labels = ec->heap_sampler_labels;
    if (th->ec->vm_stack) th->heap_sampler.vm_stack = (uintptr_t)th->ec->vm_stack;
    line_of_thread(&of, th);
    rb_hs_alive_add(HS_THREADS, &th->heap_sampler.alive, &of.place);
}

/* Above a thread's first frame lie its thread-local variables and what glibc keeps of it, whose address is its id. */
static uintptr_t
stack_end(uintptr_t first_frame)
{
    enum { TLS_MOST = 1 << 16,
           PTHREAD = 2304 };
    uintptr_t self = (uintptr_t)pthread_self();
    return self > first_frame && self - first_frame < TLS_MOST ? self + PTHREAD : first_frame;
}

void
rb_heap_sampler_thread_runs(struct rb_thread_struct *th)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), end = (stack_end((uintptr_t)th->ec->machine.stack_start) + page - 1) & ~(page - 1);
    size_t size = th->ec->machine.stack_maxsize & ~(page - 1);
    __atomic_store_n(&th->heap_sampler.machine_stack, end - size, __ATOMIC_RELAXED);
    __atomic_store_n(&th->heap_sampler.machine_stack_size, size, __ATOMIC_RELAXED);
}

void
rb_heap_sampler_thread_goes(struct rb_thread_struct *th)
{
    rb_hs_alive_remove(&th->heap_sampler.alive);
}

void
rb_heap_sampler_fiber_begins(struct rb_heap_sampler_alive *fiber, VALUE proc)
{
    struct line_of_code of;
    line_of_block(&of, proc);
    rb_hs_alive_add(HS_FIBERS, fiber, &of.place);
}

void
rb_heap_sampler_fiber_goes(struct rb_heap_sampler_alive *fiber)
{
    rb_hs_alive_remove(fiber);
}

/* -- what they do ------------------------------------------------------------------------- */

static enum hs_alive_state
state_of(const rb_thread_t *th)
{
    /* Who asks has let go of the GVL for that alone. */
    const rb_execution_context_t *ec = rb_current_execution_context(false);
    if (ec && rb_ec_thread_ptr(ec) == th) return HS_RUNNING;
    if (th->status == THREAD_KILLED) return HS_ENDED;
    if (th->blocking_region_buffer) return HS_BLOCKED;
    enum thread_sched_waiting_flag events = th->sched.waiting_reason.flags;     /* of M:N */
    if (events) return events & (thread_sched_waiting_io_read | thread_sched_waiting_io_write) ? HS_BLOCKED : HS_SLEEPING;
    if (th->status == THREAD_STOPPED) return HS_SLEEPING;
    if (th->status == THREAD_STOPPED_FOREVER) return HS_WAITING;
    return th->ractor->threads.sched.running == th ? HS_RUNNING : HS_RUNNABLE;
}

static struct hs_stack_range
block_at(const void *block)
{
    return (struct hs_stack_range){(uintptr_t)block, block ? malloc_usable_size((void *)block) : 0};
}

/* A thread of its own has its VM stack, and that of signals, from malloc; they are freed with its struct.  One of M:N has
 * both stacks in a mapping, the VM's below a guard page. */
static void
find_stacks(const rb_thread_t *th, struct hs_alive_look *look)
{
    const struct rb_heap_sampler_thread *ours = &th->heap_sampler;
    const char *context = th->sched.context_stack;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), vm_size = th->vm->default_params.thread_vm_stack_size;
    if (th->sched.malloc_stack) {
        look->malloced[0] = block_at(context);
        if (th->nt) look->malloced[1] = block_at(th->nt->altstack);
    }
    else if (ours->vm_stack) {
        look->malloced[0] = block_at((const void *)ours->vm_stack);
    }
    if (look->state == HS_ENDED) return;        /* its own stack is gone, or the C library's to use again */
    look->mapped = (struct hs_stack_range){
        __atomic_load_n(&ours->machine_stack, __ATOMIC_RELAXED),
        __atomic_load_n(&ours->machine_stack_size, __ATOMIC_RELAXED),
    };
    if (!context || th->sched.malloc_stack || !look->mapped.size) return;
    look->mapped = (struct hs_stack_range){
        (uintptr_t)context - page - vm_size,
        vm_size + page + th->vm->default_params.thread_machine_stack_size,
    };
}

static rb_thread_t *
thread_of(const struct rb_heap_sampler_alive *alive)
{
    return (rb_thread_t *)((char *)alive - offsetof(rb_thread_t, heap_sampler.alive));
}

void
rb_hs_thread_look(const struct rb_heap_sampler_alive *alive, struct hs_alive_look *look)
{
    const rb_thread_t *th = thread_of(alive);
    *look = (struct hs_alive_look){.state = state_of(th)};
    find_stacks(th, look);
}

void
rb_hs_fiber_look(const struct rb_heap_sampler_alive *alive, struct hs_alive_look *look)
{
    static const enum hs_alive_state states[] = {HS_CREATED, HS_RESUMED, HS_SUSPENDED, HS_ENDED};
    struct rb_heap_sampler_fiber fiber;
    rb_heap_sampler_fiber_look(alive, &fiber);
    *look = (struct hs_alive_look){.state = states[fiber.state], .mapped = {fiber.stack, fiber.stack ? fiber.stack_size : 0}};
}

/* -- waking the main thread ------------------------------------------------------------------- */

static struct {
    pid_t timer;                /* atomic: the timer thread's number; 0: not known */
    int wish;                   /* atomic: 1: if it sleeps, 2: if it reads, too */
} waking;

static bool
may_be_woken_p(const rb_thread_t *th, int wish, void (*signals)(void *))
{
    enum hs_alive_state state = state_of(th);
    if (state == HS_SLEEPING || state == HS_WAITING) return true;
    return wish > 1 && state == HS_BLOCKED && th->unblock.func == signals;
}

/* As rb_threadptr_interrupt does. What the thread waits for is looked at under the lock under which it changes that. */
static void
wake_main_thread(int wish, void (*signals)(void *))
{
    rb_thread_t *th = GET_VM()->ractor.main_thread;
    if (!th) return;
    rb_native_mutex_lock(&th->interrupt_lock);
    if (th->unblock.func && may_be_woken_p(th, wish, signals)) {
        RUBY_VM_SET_POSTPONED_JOB_INTERRUPT(th->ec);
        RUBY_VM_SET_INTERRUPT(th->ec);
        th->unblock.func(th->unblock.arg);
    }
    rb_native_mutex_unlock(&th->interrupt_lock);
}

void
rb_hs_threads_turn(void (*signals)(void *))
{
    __atomic_store_n(&waking.timer, (pid_t)syscall(SYS_gettid), __ATOMIC_RELAXED);
    int wish = __atomic_exchange_n(&waking.wish, 0, __ATOMIC_ACQ_REL);
    if (wish) wake_main_thread(wish, signals);
}

/* A number and no pthread_t: the timer thread may have ended, and then the signal goes nowhere. */
void
rb_hs_wake_main_thread(bool reading)
{
    pid_t timer = __atomic_load_n(&waking.timer, __ATOMIC_RELAXED);
    if (!timer) return;
    __atomic_store_n(&waking.wish, reading ? 2 : 1, __ATOMIC_RELEASE);
    syscall(SYS_tgkill, getpid(), timer, SIGVTALRM);
}

void
rb_hs_threads_after_fork(void)
{
    waking.timer = 0;
    waking.wish = 0;
}

/* What threads and fibers do, and where their stacks are: see memory/threads.h, and mri.h for what this relies on. */
#include "heap_sampler/mri.h"
#include "heap_sampler/memory/threads.h"

#include <malloc.h>
#include <unistd.h>

/* Each of these words of MRI's is read once, as an atomic figure would be: what a thread does may have changed meanwhile. */
static enum hs_alive_state
state_of(const rb_thread_t *th)
{
    /* The thread that takes the census has released the GVL for that alone. */
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

/* A thread of its own has its VM stack, and its signal stack, from malloc; they are freed with its struct.  One of
 * M:N has both stacks in a mapping, the VM's below a guard page. */
static void
find_stacks(const rb_thread_t *th, struct hs_thread_look *look)
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
    size_t size = __atomic_load_n(&ours->machine_stack_size, __ATOMIC_ACQUIRE);
    if (!size) return;
    look->mapped = (struct hs_stack_range){ours->machine_stack, size};
    if (!context || th->sched.malloc_stack) return;
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
rb_hs_thread_look(const struct rb_heap_sampler_alive *alive, struct hs_thread_look *look)
{
    const rb_thread_t *th = thread_of(alive);
    *look = (struct hs_thread_look){.state = state_of(th)};
    find_stacks(th, look);
}

void
rb_hs_fiber_look(const struct rb_heap_sampler_alive *alive, struct hs_thread_look *look)
{
    static const enum hs_alive_state states[] = {HS_CREATED, HS_RESUMED, HS_SUSPENDED, HS_ENDED};
    struct rb_heap_sampler_fiber fiber;
    rb_heap_sampler_fiber_look(alive, &fiber);
    *look = (struct hs_thread_look){.state = states[fiber.state], .mapped = {fiber.stack, fiber.stack ? fiber.stack_size : 0}};
}

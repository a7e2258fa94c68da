/* See labels/fibers.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/labels/fibers.h"
#include "heap_sampler/account/alive.h"
#include "heap_sampler/base/must.h"
#include "internal/cont.h"

uint16_t
rb_hs_labels_of(const rb_execution_context_t *ec)
{
    return ec->heap_sampler_labels;
}

uint16_t
rb_hs_labels_now(void)
{
    const rb_execution_context_t *ec = rb_current_execution_context(false);
    return ec ? ec->heap_sampler_labels : HS_LABELS_NONE;
}

void
rb_hs_labels_set(uint16_t number)
{
    rb_current_execution_context(true)->heap_sampler_labels = number;
}

/* One that has ended will run no more code, and its fibers may be freed before it. */
static bool
see_thread(const struct rb_heap_sampler_alive *alive, void *data)
{
    const rb_thread_t *th = (const rb_thread_t *)((const char *)alive - offsetof(rb_thread_t, heap_sampler.alive));
    bool *used = data;
    if (th->status == THREAD_KILLED) return true;
    used[th->ec->heap_sampler_labels] = true;
    if (th->root_fiber) used[rb_fiberptr_get_ec(th->root_fiber)->heap_sampler_labels] = true;
    return true;
}

static bool
see_fiber(const struct rb_heap_sampler_alive *alive, void *data)
{
    bool *used = data;
    used[rb_heap_sampler_fiber_labels(alive)] = true;
    return true;
}

void
rb_hs_fibers_see_labels(bool used[HS_LABEL_NUMBERS])
{
    HS_CONTRACT(vm);
    HS_CONTRACT(free);
    const struct hs_alive_visit threads = {see_thread, NULL, used}, fibers = {see_fiber, NULL, used};
    rb_vm_barrier();
    used[rb_hs_labels_now()] = true;
    rb_hs_alive_each(HS_THREADS, &threads);
    rb_hs_alive_each(HS_FIBERS, &fibers);
}

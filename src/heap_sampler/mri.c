/* What is read from MRI: how much of a machine stack is left, the labels of a fiber, and whether the contracts of base/contract.h hold. */
#include "heap_sampler/mri.h"
#include "heap_sampler/base/contract.h"
#include "heap_sampler/store/label_sets.h"

/* A start takes 20 KiB, a walk that is begun, a profile, an account and a save 12 (by the pages of a thread's new stack that are resident
 * afterwards); MRI wants 16 for itself. */
enum { STACK_NEEDED = 40 * 1024 };

bool
rb_hs_stack_short_p(void)
{
    const rb_execution_context_t *ec = GET_EC();
    uintptr_t start = (uintptr_t)ec->machine.stack_start, here = (uintptr_t)__builtin_frame_address(0);
    return (start > here ? start - here : here - start) + STACK_NEEDED > ec->machine.stack_maxsize;
}

struct masked {
    void (*function)(void *data);
    void *data;
};

static VALUE
call_function(VALUE data)
{
    const struct masked *masked = (const struct masked *)data;
    masked->function(masked->data);
    return Qnil;
}

/* rb_protect only guards against a fault of ours: nothing in there raises. */
void
rb_hs_call_masked(void (*function)(void *data), void *data)
{
    struct masked masked = {function, data};
    rb_execution_context_t *ec = GET_EC();
    const rb_atomic_t mask = ec->interrupt_mask;
    int raised = 0;
    ec->interrupt_mask = ~(rb_atomic_t)0;
    rb_protect(call_function, (VALUE)&masked, &raised);
    ec->interrupt_mask = mask;
    if (raised) rb_set_errinfo(Qnil);
}

void
rb_hs_need_stack(void)
{
    if (rb_hs_stack_short_p()) rb_raise(rb_eSysStackError, "stack level too deep for the heap sampler; call it from fewer nested calls");
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

#if HS_CHECKING
#include <stdarg.h>
#include <stdio.h>

void
rb_hs_fault(const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    rb_bug("heap sampler: %s", text);
}

bool
rb_hs_gvl_p(void)
{
    return ruby_thread_has_gvl_p();
}

/* When the VM ends, its threads go before its pages: MRI does not know the running thread any more, and one thread is left. */
static bool ended;

void
rb_hs_note_vm_end(void)
{
    ended = true;
}

/* The VM lock is held, or no other Ractor runs. */
bool
rb_hs_vm_locked_p(void)
{
    if (ended) return true;
    return rb_multi_ractor_p() ? rb_vm_locked_p() : ruby_thread_has_gvl_p();
}

bool
rb_hs_in_gc_p(void)
{
    return rb_hs_vm_locked_p() && rb_during_gc();
}
#endif

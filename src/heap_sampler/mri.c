/* The contracts of base/must.h that only MRI can judge. */
#include "heap_sampler/base/must.h"

#if HS_CHECKING
#include "heap_sampler/mri.h"

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

/* When the VM ends, its threads go before its pages: MRI does not say any more who runs, and one thread is left. */
static bool ended;

void
rb_hs_note_vm_end(void)
{
    ended = true;
}

/* Or no other Ractor runs. */
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

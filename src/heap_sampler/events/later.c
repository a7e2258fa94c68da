/* See events/later.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/events/later.h"
#include "heap_sampler/base/must.h"

static rb_postponed_job_handle_t handle = POSTPONED_JOB_HANDLE_INVALID;

bool
rb_hs_later_begin(void (*job)(void *unused))
{
    HS_CONTRACT(gvl);
    if (handle == POSTPONED_JOB_HANDLE_INVALID) handle = rb_postponed_job_preregister(0, job, NULL);
    return handle != POSTPONED_JOB_HANDLE_INVALID;
}

bool
rb_hs_later_p(void)
{
    return handle != POSTPONED_JOB_HANDLE_INVALID;
}

void
rb_hs_later(void)
{
    rb_postponed_job_handle_t now = __atomic_load_n(&handle, __ATOMIC_RELAXED);
    if (now != POSTPONED_JOB_HANDLE_INVALID) rb_postponed_job_trigger(now);
}

void
rb_hs_no_later(void)
{
    HS_CONTRACT(gvl);
    __atomic_store_n(&handle, POSTPONED_JOB_HANDLE_INVALID, __ATOMIC_RELAXED);
}

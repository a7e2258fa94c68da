/* See store/changes.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/store/changes.h"
#include "heap_sampler/base/contract.h"
#include "heap_sampler/base/table.h"

hs_session_set rb_hs_followers;

void
rb_hs_changes_add(struct hs_changes *changes, enum hs_change_kind kind, hs_session_set sessions, uint64_t id, uint64_t value)
{
    hs_session_set listeners = sessions & HS_LISTENERS;
    if (!listeners) return;
    if (changes->count >= changes->most ||
        !rb_hs_grow(changes->use, (void **)&changes->list, &changes->capacity, (uint64_t)changes->count + 1, sizeof(*changes->list))) {
        changes->missed++;
        return;
    }
    changes->list[changes->count++] = (struct hs_change){id, value, listeners, (uint16_t)kind};
}

struct hs_changes
rb_hs_changes_take(struct hs_changes *changes)
{
    struct hs_changes taken = *changes;
    *changes = (struct hs_changes){.use = taken.use, .most = taken.most};
    return taken;
}

void
rb_hs_changes_forget(struct hs_changes *changes, hs_session_set listeners)
{
    for (uint32_t i = 0; i < changes->count; i++) changes->list[i].listeners &= (hs_session_set)~listeners;
}

/* -- the job ------------------------------------------------------------------------- */

/* Atomic figure.  MRI has registered the job, with [gvl], before any thread can have a change to report. */
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

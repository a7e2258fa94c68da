/* See memory/account.h; and the account's figures, and what threads and fibers do, by name. */
#include "heap_sampler/memory/account.h"
#include "heap_sampler/memory/threads.h"

#include <string.h>

void
rb_hs_account_fields(const struct hs_account *account, struct hs_account_field fields[HS_ACCOUNT_FIELDS + HS_JEMALLOC_FIELDS])
{
    bool surveyed = account->rss != 0, malloc = account->malloc_known, jemalloc = account->jemalloc;
    const struct hs_account_field all[HS_ACCOUNT_FIELDS + HS_JEMALLOC_FIELDS] = {
        {HS_F_rss, account->rss, surveyed},
        {HS_F_slots_live, account->slots_live, true},
        {HS_F_slots_free, account->slots_free, true},
        {HS_F_malloc_live, account->malloc_live, malloc},
        {HS_F_malloc_waste, account->malloc_waste, malloc},
        {HS_F_malloc_metadata, account->malloc_metadata, malloc},
        {HS_F_stacks, account->stacks, surveyed},
        {HS_F_code_and_files, account->code_and_files, surveyed},
        {HS_F_jit, account->jit, surveyed},
        {HS_F_sampler, account->sampler, true},
        {HS_F_unattributed, account->unattributed, surveyed},
        {HS_F_pss, account->pss, account->pss != 0},
        {HS_F_threads, account->threads, true},
        {HS_F_fibers, account->fibers, true},
        {HS_F_thread_stacks, account->thread_stacks, account->stacks_known},
        {HS_F_fiber_stacks, account->fiber_stacks, account->stacks_known},
        {HS_F_allocated, account->je_allocated, jemalloc},
        {HS_F_active, account->je_active, jemalloc},
        {HS_F_resident, account->je_resident, jemalloc},
        {HS_F_dirty, account->je_dirty, jemalloc},
        {HS_F_retained, account->je_retained, jemalloc},
        {HS_F_metadata, account->je_metadata, jemalloc},
    };
    memcpy(fields, all, sizeof(all));
}

_Static_assert(HS_F_ended - HS_F_running == HS_ENDED - HS_RUNNING, "fields in the order of states");

enum hs_field
rb_hs_alive_state_field(enum hs_alive_kind kind, enum hs_alive_state state)
{
    bool possible = state == HS_ENDED || (state >= HS_CREATED) == (kind == HS_FIBERS);
    return (enum hs_field)(possible ? HS_F_running + (int)state : 0);
}

const char *
rb_hs_field_name(enum hs_field field)
{
    switch (field) {
#define HS_FIELD(name, number) \
    case HS_F_##name: return #name;
        HS_META_FIELDS(HS_FIELD)
        HS_ANSWER_FIELDS(HS_FIELD)
#undef HS_FIELD
    }
    return "";
}

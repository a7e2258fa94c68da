/* The account's figures, and what threads and fibers do, by name. */
#include "heap_sampler/account/account.h"
#include "heap_sampler/account/census.h"

#include <string.h>

void
rb_hs_account_fields(const struct hs_account *account, struct hs_account_field fields[HS_ACCOUNT_FIELDS])
{
    bool surveyed = account->rss != 0, malloc = account->malloc_known;
    const struct hs_account_field all[HS_ACCOUNT_FIELDS] = {
        {"rss", account->rss, surveyed},
        {"slots_live", account->slots_live, true},
        {"slots_free", account->slots_free, true},
        {"malloc_live", account->malloc_live, malloc},
        {"malloc_waste", account->malloc_waste, malloc},
        {"malloc_metadata", account->malloc_metadata, malloc},
        {"stacks", account->stacks, surveyed},
        {"code_and_files", account->code_and_files, surveyed},
        {"jit", account->jit, surveyed},
        {"sampler", account->sampler, true},
        {"unattributed", account->unattributed, surveyed},
        {"pss", account->pss, account->pss != 0},
        {"threads", account->threads, true},
        {"fibers", account->fibers, true},
        {"thread_stacks", account->thread_stacks, account->stacks_known},
        {"fiber_stacks", account->fiber_stacks, account->stacks_known},
    };
    memcpy(fields, all, sizeof(all));
}

void
rb_hs_jemalloc_fields(const struct hs_account *account, struct hs_account_field fields[HS_JEMALLOC_FIELDS])
{
    bool known = account->jemalloc;
    const struct hs_account_field all[HS_JEMALLOC_FIELDS] = {
        {"allocated", account->je_allocated, known},
        {"active", account->je_active, known},
        {"resident", account->je_resident, known},
        {"dirty", account->je_dirty, known},
        {"retained", account->je_retained, known},
        {"metadata", account->je_metadata, known},
    };
    memcpy(fields, all, sizeof(all));
}

const char *
rb_hs_alive_state_name(enum hs_alive_state state)
{
    static const char *const names[HS_ALIVE_STATES] = {
        [HS_RUNNING] = "running",
        [HS_RUNNABLE] = "runnable",
        [HS_SLEEPING] = "sleeping",
        [HS_WAITING] = "waiting",
        [HS_BLOCKED] = "blocked",
        [HS_CREATED] = "created",
        [HS_RESUMED] = "resumed",
        [HS_SUSPENDED] = "suspended",
        [HS_ENDED] = "ended",
    };
    return names[state];
}

int
rb_hs_alive_state_p(enum hs_alive_kind kind, enum hs_alive_state state)
{
    return state == HS_ENDED || (state >= HS_CREATED) == (kind == HS_FIBERS);
}

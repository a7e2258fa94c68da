/* See account/population.h. */
#include "heap_sampler/account/population.h"

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

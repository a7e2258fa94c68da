/* See base/contract.h. */
#include "heap_sampler/base/contract.h"

/* Read inside malloc, where a library's thread-local variables must not be allocated. */
#define MALLOC_LOCAL _Thread_local __attribute__((tls_model("initial-exec")))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static MALLOC_LOCAL bool lock_held;

void
rb_hs_lock(void)
{
    hs_lock(&lock, HS_LOCK_TABLES);
    lock_held = true;
}

void
rb_hs_unlock(void)
{
    lock_held = false;
    hs_unlock(&lock, HS_LOCK_TABLES);
}

bool
rb_hs_locked_p(void)
{
    return lock_held;
}

#if HS_CHECKING
static MALLOC_LOCAL unsigned held;      /* a bit for each rank */

void
rb_hs_lock_taken(enum hs_lock rank)
{
    unsigned before = held;
    held = 0;           /* the fault is reported by code that may take our locks */
    HS_ASSERT(before >> rank == 0, "a lock of rank %d is taken under locks of the ranks %#x (base/contract.h has the order)", rank, before);
    held = before | 1u << rank;
}

void
rb_hs_lock_left(enum hs_lock rank)
{
    held &= ~(1u << rank);
}
#endif

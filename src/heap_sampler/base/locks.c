/* See base/locks.h. */
#include "heap_sampler/base/locks.h"
#include "heap_sampler/base/must.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Read inside malloc, where a library's thread-local variables must not be allocated. */
static _Thread_local __attribute__((tls_model("initial-exec"))) bool lock_held;

void
rb_hs_lock(void)
{
    HS_MUST(!lock_held, "the sampler's lock is taken twice");
    pthread_mutex_lock(&lock);
    lock_held = true;
}

void
rb_hs_unlock(void)
{
    lock_held = false;
    pthread_mutex_unlock(&lock);
}

bool
rb_hs_locked_p(void)
{
    return lock_held;
}

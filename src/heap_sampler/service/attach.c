/* See service/service.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/account/threads.h"
#include "heap_sampler/base/must.h"
#include "heap_sampler/service/service.h"

#include <signal.h>
#include <unistd.h>

static bool asked;              /* atomic */

/* By its own user, or root. Nothing but atomic operations and a write(2): the signal comes at any moment. */
static void
on_signal(int signal, siginfo_t *info, void *context)
{
    (void)context;
    if (info->si_uid != 0 && info->si_uid != geteuid()) return;
    __atomic_store_n(&asked, true, __ATOMIC_RELEASE);
    rb_thread_wakeup_timer_thread(signal);
}

void
rb_heap_sampler_attach(void (*signals)(void *))
{
    rb_hs_threads_turn(signals);
    if (!__atomic_load_n(&asked, __ATOMIC_ACQUIRE) || !__atomic_exchange_n(&asked, false, __ATOMIC_ACQ_REL)) return;
    rb_hs_service_reopen();
}

void
rb_hs_attach_boot(void)
{
    struct sigaction before, ours = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    HS_CONTRACT(gvl);
    if (HS_ATTACH_SIGNAL < SIGRTMIN || HS_ATTACH_SIGNAL > SIGRTMAX) return;     /* a libc that keeps it for itself */
    if (sigaction(HS_ATTACH_SIGNAL, NULL, &before) != 0 || before.sa_flags & SA_SIGINFO || before.sa_handler != SIG_DFL) return;
    sigemptyset(&ours.sa_mask);
    sigaction(HS_ATTACH_SIGNAL, &ours, NULL);
}

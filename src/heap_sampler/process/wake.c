/* See process/process.h, and mri.h for what this relies on. */
#include "heap_sampler/mri.h"
#include "heap_sampler/process/process.h"
#include "heap_sampler/base/contract.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
    pid_t timer;                /* atomic figure: the timer thread's number; 0: not known */
    /* Stored before the signal, or the write(2), that wakes the timer thread, which looks at them after each of its waits. */
    bool wanted;                /* atomic flag: the main thread is to be woken */
    bool attach;                /* atomic flag: a signal came, the socket is to be opened */
} waking;

static bool
may_be_woken_p(const rb_thread_t *th, void (*signals)(void *))
{
    if (th->blocking_region_buffer) return th->unblock.func == signals;
    return th->status == THREAD_STOPPED || th->status == THREAD_STOPPED_FOREVER;
}

/* As rb_threadptr_interrupt does. What the thread waits for is looked at under the lock under which it changes that. */
static void
wake_main_thread(void (*signals)(void *))
{
    rb_thread_t *th = GET_VM()->ractor.main_thread;
    if (!th) return;
    rb_native_mutex_lock(&th->interrupt_lock);
    if (th->unblock.func && may_be_woken_p(th, signals)) {
        RUBY_VM_SET_POSTPONED_JOB_INTERRUPT(th->ec);
        RUBY_VM_SET_INTERRUPT(th->ec);
        th->unblock.func(th->unblock.arg);
    }
    rb_native_mutex_unlock(&th->interrupt_lock);
}

bool
rb_hs_timer_turn(void (*signals)(void *))
{
    __atomic_store_n(&waking.timer, (pid_t)syscall(SYS_gettid), __ATOMIC_RELAXED);
    if (__atomic_exchange_n(&waking.wanted, false, __ATOMIC_ACQ_REL)) wake_main_thread(signals);
    return __atomic_load_n(&waking.attach, __ATOMIC_ACQUIRE) && __atomic_exchange_n(&waking.attach, false, __ATOMIC_ACQ_REL);
}

/* A number and no pthread_t: the timer thread may have ended, and then the signal goes nowhere. */
void
rb_hs_wake_main_thread(void)
{
    pid_t timer = __atomic_load_n(&waking.timer, __ATOMIC_RELAXED);
    if (!timer) return;
    __atomic_store_n(&waking.wanted, true, __ATOMIC_RELEASE);
    syscall(SYS_tgkill, getpid(), timer, SIGVTALRM);
}

void
rb_hs_wake_after_fork(void)
{
    waking.timer = 0;
    waking.wanted = false;
}

/* -- the signal ----------------------------------------------------------------------- */

/* By its own user, or root. Nothing but atomic operations and a write(2): the signal comes at any moment. */
static void
on_signal(int signal, siginfo_t *info, void *context)
{
    (void)context;
    if (info->si_uid != 0 && info->si_uid != geteuid()) return;
    __atomic_store_n(&waking.attach, true, __ATOMIC_RELEASE);
    rb_thread_wakeup_timer_thread(signal);
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

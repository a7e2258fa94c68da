/* See base/signals.h. */
#include "heap_sampler/base/signals.h"

#include <errno.h>
#include <time.h>

void
rb_hs_guard_signals(struct hs_signal_guard *guard)
{
    sigemptyset(&guard->signals);
    sigaddset(&guard->signals, SIGPIPE);
    sigaddset(&guard->signals, SIGXFSZ);
    sigemptyset(&guard->pending_before);
    sigpending(&guard->pending_before);
    pthread_sigmask(SIG_BLOCK, &guard->signals, &guard->old_mask);
}

/* Take what our writes raised; a signal that was waiting before is not ours. */
void
rb_hs_unguard_signals(const struct hs_signal_guard *guard)
{
    static const int numbers[] = {SIGPIPE, SIGXFSZ};
    int saved_errno = errno;

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        sigset_t pending, one;
        int number;

        sigemptyset(&pending);
        sigpending(&pending);
        if (!sigismember(&pending, numbers[i])) continue;
        if (sigismember(&guard->pending_before, numbers[i])) continue;
        sigemptyset(&one);
        sigaddset(&one, numbers[i]);
        /* Does not wait: it is pending and blocked here.  (Sent to the whole
         * process at this very moment, another thread might take it first;
         * then we would wait, hence sigtimedwait(2) where there is one.) */
#ifdef __APPLE__
        sigwait(&one, &number);
#else
        const struct timespec at_once = {0, 0};
        while ((number = sigtimedwait(&one, NULL, &at_once)) < 0 && errno == EINTR) {}
#endif
    }
    pthread_sigmask(SIG_SETMASK, &guard->old_mask, NULL);
    errno = saved_errno;
}

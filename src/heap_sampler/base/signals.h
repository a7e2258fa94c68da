#ifndef HEAP_SAMPLER_BASE_SIGNALS_H
#define HEAP_SAMPLER_BASE_SIGNALS_H
/*
 * Writing may bring signals that kill by default: SIGPIPE, SIGXFSZ.  Between
 * these two calls they are blocked for this thread, and taken away if our
 * writes raised them.  No MRI header. [any]
 */
#include <signal.h>

struct hs_signal_guard {
    sigset_t signals, old_mask, pending_before;
};

void rb_hs_guard_signals(struct hs_signal_guard *guard);
void rb_hs_unguard_signals(const struct hs_signal_guard *guard);

#endif

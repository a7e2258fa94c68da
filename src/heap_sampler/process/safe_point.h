#ifndef HEAP_SAMPLER_PROCESS_SAFE_POINT_H
#define HEAP_SAMPLER_PROCESS_SAFE_POINT_H
/*
 * What needs the GVL, asked for by a thread that does not have it: it is done
 * at the next safe point of Ruby code, where a thread looks for interrupts, or
 * not at all.  Ruby code may be in a long call of C: whoever asks sets a
 * deadline.
 */
#include <stdbool.h>

/* From now on it can be asked for. [gvl] */
void rb_hs_safe_point_boot(void);
/* In the child nobody waits any more. [gvl] */
void rb_hs_safe_point_after_fork(void);

/* Calls `call` at a safe point, on a thread that holds the GVL, and returns when it is done. It raises nothing and takes
 * little time. false: no safe point was reached within `ms` milliseconds, and it will not be called. A thread that does not hold
 * the GVL; several may ask at once. */
bool rb_hs_at_safe_point(void (*call)(void *data), void *data, unsigned ms);

/* The same for a thread that does not wait: a call that is asked for is done later, or is taken back. It lives until it is
 * settled. */
enum hs_safe_call_state { HS_CALL_WAITING,
                          HS_CALL_RUNNING,
                          HS_CALL_DONE };
struct hs_safe_call {
    void (*function)(void *data);
    void *data;
    int wake;                   /* an eventfd that is written to when it is done; -1: none */
    enum hs_safe_call_state state;
    struct hs_safe_call *next;
};
void rb_hs_safe_point_ask(struct hs_safe_call *call);
bool rb_hs_safe_point_done_p(const struct hs_safe_call *call);
/* Where no thread of Ruby's runs, one that sleeps looks up and serves the calls; with `reading`, or one that waits in
 * a system call. [any] */
void rb_hs_safe_point_nudge(bool reading);
/* It is done, or is not done any more; one that runs is waited for. true: it is done. */
bool rb_hs_safe_point_settle(struct hs_safe_call *call);

/* Stacks of malloc that have no name yet get it, if a safe point comes within `ms` milliseconds. A thread without the GVL. */
void rb_hs_name_at_safe_point(unsigned ms);

#endif

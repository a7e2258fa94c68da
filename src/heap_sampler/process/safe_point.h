#ifndef HEAP_SAMPLER_PROCESS_SAFE_POINT_H
#define HEAP_SAMPLER_PROCESS_SAFE_POINT_H
/*
 * What needs the GVL, asked for by a thread of ours that never has it.
 *
 * A thread of the application serves it where it looks for interrupts.  The
 * thread is borrowed: the call runs with all interrupts masked, so that an
 * exception of the application (Timeout, Thread#raise, Thread#kill) waits until
 * the call has returned, and is raised in the application.  The call is a C
 * function that runs no Ruby code and does not let go of the GVL.
 *
 * Ruby code may be in a long call of C, and reach no safe point: the caller sets
 * a deadline.
 */
#include <stdbool.h>

/* From now on it can be asked for. [gvl] */
void rb_hs_safe_point_boot(void);
/* In a child of fork: the threads that waited are not there. [gvl] */
void rb_hs_safe_point_after_fork(void);
/* The process ends: no call begins from now on. [any] */
void rb_hs_safe_point_no_more(void);

/* Calls `call` at a safe point, and returns when it has returned. false: no safe point was reached within `ms` milliseconds, and
 * it will not be called. A thread that does not hold the GVL; several may ask at once. */
bool rb_hs_at_safe_point(void (*call)(void *data), void *data, unsigned ms);

/* The same for a thread that does not wait: the call runs later, or is taken back. It lives until it is settled. */
enum hs_safe_call_state { HS_CALL_WAITING,
                          HS_CALL_RUNNING,
                          HS_CALL_DONE };
struct hs_safe_call {
    void (*function)(void *data);
    void *data;
    enum hs_safe_call_state state;
    struct hs_safe_call *next;
};
void rb_hs_safe_point_ask(struct hs_safe_call *call);
bool rb_hs_safe_point_done_p(const struct hs_safe_call *call);
/* Where no thread of Ruby's runs, the main thread looks for interrupts if it sleeps; with `reading`, also if it waits in
 * a system call. [any] */
void rb_hs_safe_point_nudge(bool reading);
/* Takes the call back; one that runs is waited for. true: it has run. */
bool rb_hs_safe_point_settle(struct hs_safe_call *call);

/* Stacks of malloc that have no name yet get it, if a safe point comes within `ms` milliseconds. A thread without the GVL. */
void rb_hs_name_at_safe_point(unsigned ms);

#endif

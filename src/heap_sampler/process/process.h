#ifndef HEAP_SAMPLER_PROCESS_PROCESS_H
#define HEAP_SAMPLER_PROCESS_PROCESS_H
/* Which process this is, and how a thread of ours reaches Ruby's: safe points, MRI's timer thread. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* -- safe points: safe_point.c ---------------------------------------------------- */

/*
 * Calls that need the GVL, for a thread of ours that never has it.
 *
 * A thread of the application serves it where it looks for interrupts.  The
 * thread is borrowed: the call runs with all interrupts masked.  So an
 * exception of the application (Timeout, Thread#raise, Thread#kill) waits until
 * the call has returned, and is raised in the application.  The call is a C
 * function that runs no Ruby code and does not let go of the GVL.
 *
 * Ruby code may be in a long call of C, and reach no safe point: the caller sets
 * a deadline (5 s for a client), and takes the call back then.  What takes time is
 * done on our thread before: the account at a start, and the end of a periodic
 * profile that is being made.  Finalizers run later, where MRI runs them after
 * any GC.
 */

/* From now on calls can be made. [gvl] */
void rb_hs_safe_point_boot(void);
/* In a child of fork: the threads that waited are not there. [gvl] */
void rb_hs_safe_point_after_fork(void);
/* The process ends: no call begins from now on. [any] */
void rb_hs_safe_point_no_more(void);

/* Calls `call` at a safe point, and returns when it has returned. false: no safe point was reached within `ms` milliseconds, and
 * it will not be called. A thread that does not hold the GVL; several may do this at once. */
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
/* Where no thread of Ruby's runs, the main thread looks for interrupts if it sleeps or waits in a system call. [any] */
void rb_hs_safe_point_nudge(void);
/* Takes the call back; one that runs is waited for. true: it has run. */
bool rb_hs_safe_point_settle(struct hs_safe_call *call);

/* Stacks of malloc that have no name yet get it, if a safe point comes within `ms` milliseconds. A thread without the GVL. */
void rb_hs_name_at_safe_point(unsigned ms);

/* Name what got its name, or was met, since the last time: before a snapshot
 * that Ruby code waits for. [gvl] [free] */
void rb_hs_name_all(void);

/* -- MRI's timer thread: wake.c ------------------------------------------------------ */

/*
 * What MRI's timer thread does for the sampler (rb_heap_sampler_attach, lifecycle.c), whatever Ruby code does meanwhile.
 *
 * It wakes the main thread, as it does after a signal: waking a thread may write to
 * MRI's own descriptors, which a thread of ours does not have (base/report.h).
 * It is woken by the signal that MRI itself uses between its threads.
 *
 * It opens the control socket of a process that was started without one, after a signal.
 * The handler is there from the start.  A client checks that (SigCgt in /proc/PID/status)
 * before it sends the signal, which ends a program that has no handler.
 */

/* If the main thread sleeps, waits for another thread, or waits in a system call that a signal interrupts (EINTR), as Ruby's own
 * do, it looks for interrupts, serves postponed jobs, and sleeps on. In other waits of C code it is
 * left alone: an interrupt may end what they wait for. No other thread is interrupted: it may end meanwhile, and its lock with
 * it, while the main thread lasts as long as the process. [any] */
void rb_hs_wake_main_thread(void);
/* A turn of the timer thread; `signals` is what interrupts a system call. true: the socket is to be opened, after a signal. */
bool rb_hs_timer_turn(void (*signals)(void *));
/* In a child of fork. */
void rb_hs_wake_after_fork(void);

/* A real-time signal that neither libc nor MRI uses. A number, and not one counted from SIGRTMIN, which is another one in each libc:
 * the client may use another libc than this process. */
enum { HS_ATTACH_SIGNAL = 45 };
/* Handles the signal, unless the program does already. [gvl] */
void rb_hs_attach_boot(void);

/* -- waiting: safe_point.c ---------------------------------------------------------------- */

/* For rb_hs_wait. [any] */
void rb_hs_make_condition(pthread_cond_t *condition);
/* Waits for it until then, by rb_hs_steady_ns(). false: in vain. [any] */
bool rb_hs_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t until_ns);

/* -- which process this is: lineage.c ----------------------------------------------------- */

struct hs_process {
    uint64_t start;             /* random: differs between processes, forks too */
    bool child;                 /* it was forked from another */
    bool ended;                 /* Ruby code has ended */
    uint64_t ids_at_fork;       /* records up to this one were allocated in the process that this one was forked from */
};
/* [read] */
const struct hs_process *rb_hs_process(void);
/* A new number, and new sequences of random numbers: with a seed the same in each run of the same program, and others in
 * each child. [gvl] */
void rb_hs_process_seed(void);
/* Is this process one of so many that are sampled (only=1/N)? The answer stays the same until the next seed. [gvl] */
bool rb_hs_process_chosen_p(uint32_t one_in);
/* [write] */
void rb_hs_process_forked(bool child);
/* [gvl] */
void rb_hs_process_ends(void);

#endif

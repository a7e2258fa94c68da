#ifndef HEAP_SAMPLER_SERVER_SERVICE_H
#define HEAP_SAMPLER_SERVER_SERVICE_H
/*
 * The sampler's thread: it listens on the control socket, answers its clients (client.h), and looks when a
 * periodic profile is due.
 *
 * The thread is unknown to Ruby, has all signals blocked, and its descriptors are its own (base/report.h).  It
 * polls the socket and up to 32 connections, none of which can make it wait.  What needs no GVL it answers
 * itself.  A heap walk begins at a safe point; then the thread looks after the walking child each 10 ms, and
 * answers other clients.
 *
 * There is no such thread where the socket is off and no periodic profiles are wanted.  An idle thread does not
 * wake up by itself: a new setting, a signal that asks for the socket, and the end of the process wake it.
 * Snapshots of clients get half of the share of snapshots at most: periodic profiles have the rest.
 *
 * Each periodic profile is made on a native thread of its own, which ends with the profile: a wait for a safe
 * point, a walk or a slow disk delays no client.  That thread returns to the system what it has freed.  If no
 * thread can be made, the service's thread makes the profile, and clients wait.
 *
 * No thread of ours is joined, so no circle of waiting threads is possible.  fork leaves the thread behind: the
 * child has a socket and a thread of its own.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/un.h>

/* Begins to listen, if it does not yet, and waits until it does, 2 s at most; `socket`: false, it never listens. A thread that
 * holds none of the sampler's locks. */
void rb_hs_service_start(bool socket);
/* The same without waiting, where a client found no socket: one that is gone, or another user's, is made anew. [any] */
void rb_hs_service_reopen(void);
/* The thread looks whether a periodic profile is due; it is started if there is none. [any] */
void rb_hs_service_wake(void);
/* The process ends: nothing begins at a safe point from now on, and no socket is opened. true: rb_hs_service_end is due. [any] */
bool rb_hs_service_no_more(void);
/* Clients that wait for the end are answered, the socket goes, and the thread does not work any more; one that still works
 * after 2 s is left behind. Without the GVL: it may wait for a call at a safe point. */
void rb_hs_service_end(void);
/* In the child, after rb_hs_periodic_after_fork(). [gvl] */
void rb_hs_service_after_fork(void);

/* -- threads of our own: within.c ------------------------------------------------------- */

/* Starts a native thread without a Ruby thread, which no signal reaches; it is not joined. 0, or an errno value. [any] */
int rb_hs_start_thread(void *(*run)(void *), void *data);
/*
 * Runs the function on such a thread, and waits for its end. During the first `gvl_ms` the GVL is kept, so that no other
 * Ruby thread runs. After that it waits as a blocking call of Ruby does: without the GVL, and other threads, signals and
 * trap handlers have their turn. 0; or the function goes on, no other may be run, and this is ETIMEDOUT at `until_ns` (of
 * rb_hs_steady_ns()), or EINTR where an exception was raised here: rb_jump_tag(*raised) is the caller's. Where no thread can
 * be made it runs here, without a limit. [gvl]
 */
int rb_hs_within(void (*function)(void), uint64_t gvl_ms, uint64_t until_ns, int *raised);

/* -- profiles of every= and at-rss=, each on a thread of its own: periodic.c ---------------- */

/* `wake` makes the service's thread look what is due, and starts it if there is none. [gvl] */
void rb_hs_periodic_boot(void (*wake)(void));
/* Profiles are made from now on, if the settings want any. One that is still being made from before is left alone. [any] */
void rb_hs_periodic_start(void);
/* No profile begins, and a profile that is being made hurries. [any] */
bool rb_hs_periodic_halted_p(void);
/* From here on. false: one is being made. [any] */
bool rb_hs_periodic_halt(void);
/* The same, and waits for the profile that is being made, 10 s at most. false: it ends later. [any] */
bool rb_hs_periodic_stop(void);
/* In the child. [gvl] */
void rb_hs_periodic_after_fork(void);

/* When the service's thread is to look, by rb_hs_steady_ns(); UINT64_MAX: when it is woken. */
uint64_t rb_hs_periodic_due(void);
/* Begins the profile that is due. The service's thread. */
void rb_hs_periodic_turn(uint64_t now_ns);

/* -- the path of the socket, as doc/protocol.md has it: address.c. No MRI header. ------------ */

/* The variables are read now, and never again: later Ruby code may change the environment at any moment. [gvl] */
void rb_hs_address_boot(void);
/* The address of this process as it is now. false: /proc says no time of start. [any] */
bool rb_hs_address(struct sockaddr_un *address);
/* A socket that listens there.  The folder is made where there is none, and a file that an earlier process has left is
 * replaced.  Sockets in the folder at which no process listens are removed: a program that forks a child for each job would
 * leave one for each, for ever.  -1, with errno: EPERM where the folder is another user's or open to others. [any] */
int rb_hs_address_listen(const struct sockaddr_un *address);

#endif

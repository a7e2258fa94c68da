#ifndef HEAP_SAMPLER_SERVER_SERVICE_H
#define HEAP_SAMPLER_SERVER_SERVICE_H
/*
 * The sampler's thread: it listens on the control socket (address.h), answers its clients (client.h), and looks when a
 * periodic profile is due (periodic.h).
 *
 * The thread is unknown to Ruby, has all signals blocked, and its descriptors are
 * its own (base/report.h).  It answers what it can without the GVL, whatever
 * Ruby code does meanwhile; what needs the GVL waits for a safe point, 5 s at most,
 * and others are answered meanwhile, as they are while a child walks the heap or a
 * periodic profile is made.  fork leaves it behind: the child has a socket and a
 * thread of its own.  There is no thread where neither of both is wanted.
 */
#include <stdbool.h>

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

#endif

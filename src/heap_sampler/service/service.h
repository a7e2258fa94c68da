#ifndef HEAP_SAMPLER_SERVICE_SERVICE_H
#define HEAP_SAMPLER_SERVICE_SERVICE_H
/*
 * A running process can be asked: a thread of the sampler's own listens on a
 * socket (address.h) and answers (protocol.h).
 *
 * The thread is unknown to Ruby, has all signals blocked, and its descriptors are
 * its own (base/descriptors.h).  It answers what it can without the GVL, whatever
 * Ruby code does meanwhile; what needs the GVL waits for a safe point, 5 s at most,
 * and others are answered meanwhile, as they are while a child walks the heap.
 * fork leaves it behind: the child has a socket and a thread of its own.
 */
#include <stdbool.h>

/* Begins to listen, if it does not yet, and waits until it does, 2 s at most. A thread that holds none of the sampler's locks. */
void rb_hs_service_start(void);
/* The same without waiting, where a client found no socket: one that is gone, or another user's, is made anew. [any] */
void rb_hs_service_reopen(void);
/* The process ends: nothing begins at a safe point from now on, and no socket is opened. true: rb_hs_service_end is due. [any] */
bool rb_hs_service_no_more(void);
/* Who waits for the end is told, the socket goes, and the thread does not work any more; one that still works after 2 s is left behind. Without the GVL: it may
 * wait for a call at a safe point. */
void rb_hs_service_end(void);
/* In the child. [gvl] */
void rb_hs_service_after_fork(void);
/* Why there is no socket, or NULL. */
const char *rb_hs_service_trouble(void);

/*
 * A process that nobody prepared can be asked, too: a signal makes it open its
 * socket, on MRI's timer thread, whatever Ruby code does meanwhile.  The handler is
 * there from the start; so whoever sends the signal looks first whether it is
 * (SigCgt in /proc/PID/status): to a program without it the signal would be the end.
 */

/* A real-time signal that neither libc nor MRI uses. A number, and not one counted from SIGRTMIN, which is another one in each libc:
 * whoever asks may have another than we. */
enum { HS_ATTACH_SIGNAL = 45 };

/* Handles the signal, unless the program does already. [gvl] */
void rb_hs_attach_boot(void);

#endif

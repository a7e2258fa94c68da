#ifndef HEAP_SAMPLER_SERVICE_SERVICE_H
#define HEAP_SAMPLER_SERVICE_SERVICE_H
/*
 * A running process can be asked: a thread of the sampler's own listens on a
 * socket (address.h) and answers (protocol.h).
 *
 * The thread is unknown to Ruby, and has all signals blocked.  It answers what
 * it can without the GVL, whatever Ruby code does meanwhile; what needs the GVL
 * waits for a safe point, 5 s at most, and others are answered meanwhile, as they
 * are while a child walks the heap for one who asks who keeps what.
 * fork leaves it behind: the child has a socket and a thread of its own.
 */
#include <stdbool.h>

/* Opens the socket, if it is not open. false: it cannot be; rb_hs_service_trouble says why. A thread that holds none of the
 * sampler's locks. */
bool rb_hs_service_start(void);
/* The same where somebody found no socket: one that is gone, or is another user's, is made anew. */
bool rb_hs_service_reopen(void);
/* HTTP is answered at this address from now on, "": nowhere (http_door.h). [gvl] */
void rb_hs_service_http(const char *address, const char *token_file);
/* Who asks is cut off, the socket is gone, and there will be none any more. */
void rb_hs_service_end(void);
/* In the child. [gvl] */
void rb_hs_service_after_fork(void);
/* Path of the socket, or NULL; and why there is none, or NULL. */
const char *rb_hs_service_path(void);
const char *rb_hs_service_trouble(void);

#endif

#ifndef HEAP_SAMPLER_SERVER_PERIODIC_H
#define HEAP_SAMPLER_SERVER_PERIODIC_H
/*
 * Profiles of every= and at-rss=.
 *
 * The service's thread looks what is due (server/service.h).  Each profile is made on a thread of its own, which ends
 * with it: the profile may wait for a safe point, a heap walk or a slow disk, and clients are answered meanwhile.  It
 * needs no GVL, so an idle or a busy server writes its profiles all the same.
 */
#include <stdbool.h>
#include <stdint.h>

/* `wake` makes the service's thread look what is due, and starts it if there is none. [gvl] */
void rb_hs_periodic_boot(void (*wake)(void));
/* Profiles are made from now on, if the settings want any. One that is still being made from before is left alone. [any] */
void rb_hs_periodic_start(void);
/* No profile begins, and the one that is being made hurries. [any] */
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

#endif

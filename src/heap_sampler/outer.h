#ifndef HEAP_SAMPLER_OUTER_H
#define HEAP_SAMPLER_OUTER_H
/*
 * All that the kernel (base/, store/, sampling/, process/) calls of what works on copied tables: profiles, the account of
 * memory, heap walks, the control socket, the Ruby methods.  ruby/outer.c.
 */
#include <stdbool.h>

/* Ruby begins, with this script or NULL; the settings have been read, and sampling has not begun. `usdt`: tracers start it. [gvl] */
void rb_hs_outer_boot(const char *script, bool usdt);
/* Before the session of the settings starts, and when it has started; `socket`: clients may connect. [gvl] */
void rb_hs_outer_before_start(void);
void rb_hs_outer_started(bool socket);
/* Nothing reads the settings until the next start. Waits for a profile that is being written, 10 s at most. [gvl] */
void rb_hs_outer_pause(void);
/* Clients may connect, although nothing is sampled. [gvl] */
void rb_hs_outer_serve(bool socket);
/* The same, on MRI's timer thread: a client found no socket. [any] */
void rb_hs_outer_attach(void);
/* Ruby code has ended: the last profile is written. `booted`: rb_hs_outer_boot was called. [gvl] */
void rb_hs_outer_end(bool booted);

/* Around fork(2), with the sampler's lock held; `parent` is the id of the process that forked. */
void rb_hs_outer_before_fork(void);
void rb_hs_outer_after_fork(bool child, int parent);
/* In the child, when Ruby code may run. [gvl] [free] */
void rb_hs_outer_in_child(void);

#endif

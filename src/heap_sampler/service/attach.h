#ifndef HEAP_SAMPLER_SERVICE_ATTACH_H
#define HEAP_SAMPLER_SERVICE_ATTACH_H
/*
 * A process that nobody prepared can be asked, too: a signal makes it open its
 * socket, on MRI's timer thread, whatever Ruby code does meanwhile.  The handler is
 * there from the start; so whoever sends the signal looks first whether it is
 * (SigCgt in /proc/PID/status): to a program without it the signal would be the end.
 */

/* SIGRTMIN + this: one that neither glibc nor MRI uses. */
enum { HS_ATTACH_SIGNAL = 11 };

/* Handles the signal, unless the program does already. [gvl] */
void rb_hs_attach_boot(void);

#endif

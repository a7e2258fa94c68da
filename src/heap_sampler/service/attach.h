#ifndef HEAP_SAMPLER_SERVICE_ATTACH_H
#define HEAP_SAMPLER_SERVICE_ATTACH_H
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

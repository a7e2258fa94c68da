#ifndef HEAP_SAMPLER_PROCESS_PERIODIC_H
#define HEAP_SAMPLER_PROCESS_PERIODIC_H
/* The thread behind every= and at-rss=, and the file at exit. */
#include <stdbool.h>

void rb_hs_periodic_start(void);
/* Is it to go on? */
bool rb_hs_periodic_running_p(void);
bool rb_hs_periodic_ended_p(void);
/* Waits for the profile that is being written, 10 s at most. False: it is not written yet, and the thread ends later. */
bool rb_hs_periodic_stop(void);
void rb_hs_periodic_after_fork(void);

#endif

#ifndef HEAP_SAMPLER_PROCESS_PERIODIC_H
#define HEAP_SAMPLER_PROCESS_PERIODIC_H
/* The thread behind every= and at-rss=, and the file at exit. */
#include <stdbool.h>

void rb_hs_periodic_start(void);
bool rb_hs_periodic_running_p(void);
void rb_hs_periodic_stop(void);
void rb_hs_periodic_after_fork(void);

#endif

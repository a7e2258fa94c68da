#ifndef HEAP_SAMPLER_LIFE_LIFE_H
#define HEAP_SAMPLER_LIFE_LIFE_H
/* From the settings of the command line to the profile at exit. */
#include <stdbool.h>

/* Ruby code has ended in this process. [any] */
bool rb_hs_ended_p(void);
/* Name what got its name, or was met, since the last time: before a snapshot
 * that Ruby code waits for. [gvl] [free] */
void rb_hs_name_all(void);

#endif

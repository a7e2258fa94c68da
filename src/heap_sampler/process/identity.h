#ifndef HEAP_SAMPLER_PROCESS_IDENTITY_H
#define HEAP_SAMPLER_PROCESS_IDENTITY_H
/* What tells this process from others: its sequence of chance, and whether only=1/N chose it. [gvl] */
#include <stdbool.h>

/* The process begins; also a child, and when a seed was set since. */
void rb_hs_seed_process(void);
/* This is a new child of the process that it was. */
void rb_hs_become_child(void);
/* Does only=1/N choose it? The answer stays the same until the next seed. */
bool rb_hs_process_chosen_p(void);

#endif

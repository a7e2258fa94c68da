#ifndef HEAP_SAMPLER_EVENTS_LATER_H
#define HEAP_SAMPLER_EVENTS_LATER_H
/* What cannot be done in GC or in malloc(3) is done at the next safe point, by a postponed job. */
#include <stdbool.h>

/* From now on `job` can be asked for; one for the life of the process. false: Ruby has no room for another job. [gvl] */
bool rb_hs_later_begin(void (*job)(void *unused));
bool rb_hs_later_p(void);
/* Ask for it. [malloc] */
void rb_hs_later(void);
/* The process ends: the VM goes, and what it frees then would ask for it. [gvl] */
void rb_hs_no_later(void);

#endif

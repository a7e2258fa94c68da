#ifndef HEAP_SAMPLER_PROCESS_PERIODIC_H
#define HEAP_SAMPLER_PROCESS_PERIODIC_H
/* The thread behind every= and at-rss=, and the file at exit. */
#include <stdbool.h>

void rb_hs_periodic_start(void);
bool rb_hs_periodic_running_p(void);
void rb_hs_periodic_stop(void);
void rb_hs_periodic_after_fork(void);
/* Tells what is wrong with the settings of files, before the first is written. GVL. */
void rb_hs_periodic_check(void);
/* The profile at exit: takes, names, writes, and says so in one line on stderr. */
int rb_hs_save_at_exit(void);
/* The folder of now is that of relative outputs; the first call counts. */
void rb_hs_note_start_folder(void);

#endif

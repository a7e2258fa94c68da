#ifndef HEAP_SAMPLER_BASE_DESCRIPTORS_H
#define HEAP_SAMPLER_BASE_DESCRIPTORS_H
/*
 * Descriptors of our own threads.
 *
 * A program may close any descriptor, and does: a daemon closes all of them.
 * Their numbers are then used again, and a thread of ours that still had one
 * would read from a connection of the program.  So each of our threads leaves
 * the table that all threads of a process share, and works with an empty table
 * of its own.  The program cannot close what is in there, cannot inherit it by
 * fork or exec, and does not see it in /proc/self/fd.  The kernel closes it when
 * the thread ends.
 *
 * No MRI header.
 */
#include <stdbool.h>

/* Closes all descriptors of this thread's table. false: neither close_range(2) nor /proc is there, and some may be open. */
bool rb_hs_descriptors_close_all(void);
/* From here on this thread has a table of its own, which is empty. false: this kernel, or a filter of system calls (an old
 * seccomp profile), does not allow that. A thread of ours, before it opens anything; after false it ends. */
bool rb_hs_descriptors_own(void);
/* Whether this thread has one. [any] */
bool rb_hs_descriptors_own_p(void);
/* The program's stderr, for a thread with its own table: a copy that the caller closes, or -1. */
int rb_hs_descriptors_stderr(void);

#endif

#ifndef HEAP_SAMPLER_BASE_REPORT_H
#define HEAP_SAMPLER_BASE_REPORT_H
/*
 * What the sampler prints on stderr: by write(2), in whole lines, and without a
 * SIGPIPE for the process.  [any]
 */
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

void rb_hs_print(const char *text, size_t len);
/* One line, "heap-sample: …". */
void rb_hs_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* From this place only the first time. */
#define rb_hs_warn_once(...) \
    do { \
        static bool warned; \
        if (!__atomic_test_and_set(&warned, __ATOMIC_RELAXED)) rb_hs_warn(__VA_ARGS__); \
    } while (0)
/* One line about settings, once in this process and all that come from it, also by exec. [gvl] */
void rb_hs_warn_of_settings(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* No warning is written: a forked child under `quiet`. An atomic flag. */
extern bool rb_hs_warnings_off;

/*
 * Writing may bring signals that kill by default: SIGPIPE, SIGXFSZ.  Between
 * these two calls they are blocked for this thread, and taken away if our
 * writes raised them.  No MRI header. [any]
 */

struct hs_signal_guard {
    sigset_t old_mask, ours;
};

void rb_hs_guard_signals(struct hs_signal_guard *guard);
void rb_hs_unguard_signals(const struct hs_signal_guard *guard);

/* -- descriptors ------------------------------------------------------------------ */

/*
 * Each thread of ours has a descriptor table of its own, by close_range(CLOSE_RANGE_UNSHARE) or unshare(2): a
 * program may close all descriptors, as daemons do, and use their numbers again.  With a table of its own the
 * thread cannot touch a descriptor of the program, nor the program one of ours.  fork copies none of them.
 * The kernel closes the table when the thread ends.  The other design was to check the inode before each
 * use.  That leaves a moment between the check and the use, and the program still hands our descriptors to
 * its children.
 *
 * Where the kernel or a seccomp filter allows neither call there is no socket.  A client that asks for one makes
 * the process print that on stderr.
 *
 * A thread of ours calls no function of MRI that may write to MRI's own descriptors, such as those that wake a
 * thread.  A message goes to the program's stderr by pidfd_getfd(2), or by opening /proc/self/fd/2.  Descriptors
 * 0 to 2 of the thread are /dev/null, so the report of a crash on this thread is lost.
 */

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

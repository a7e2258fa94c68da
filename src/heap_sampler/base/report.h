#ifndef HEAP_SAMPLER_BASE_REPORT_H
#define HEAP_SAMPLER_BASE_REPORT_H
/*
 * What the sampler says on stderr: by write(2), in whole lines, and without a
 * SIGPIPE for the process.  [any]
 */
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

void rb_hs_say(const char *text, size_t len);
/* One line, "heap-sample: …". */
void rb_hs_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Once per process for each trouble. */
enum hs_trouble { HS_TROUBLE_MEMORY,
                  HS_TROUBLE_THREAD };
bool rb_hs_first_p(enum hs_trouble trouble);
#define rb_hs_warn_once(trouble, ...) (rb_hs_first_p(trouble) ? rb_hs_warn(__VA_ARGS__) : (void)0)
/* One line about settings, once in this process and all that come from it, also by exec. [gvl] */
void rb_hs_warn_of_settings(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* From now on no line is written: a forked child under `quiet`. */
void rb_hs_be_quiet(bool wanted);

/*
 * Writing may bring signals that kill by default: SIGPIPE, SIGXFSZ.  Between
 * these two calls they are blocked for this thread, and taken away if our
 * writes raised them.  No MRI header. [any]
 */

struct hs_signal_guard {
    sigset_t signals, old_mask, pending_before;
};

void rb_hs_guard_signals(struct hs_signal_guard *guard);
void rb_hs_unguard_signals(const struct hs_signal_guard *guard);

#endif

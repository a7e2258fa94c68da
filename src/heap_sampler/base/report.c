/* See base/report.h. */
#include "heap_sampler/base/report.h"
#include "heap_sampler/base/contract.h"
#include "heap_sampler/base/table.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

bool rb_hs_warnings_off;

/* A pipe that nothing reads must not hold the program up: the line is left out, and later ones are not waited for. */
void
rb_hs_print(const char *text, size_t len)
{
    enum { WAIT_MS = 500,
           LINE_MAX_BYTES = 4096 };     /* that a pipe which is ready takes without waiting */
    static bool stalled;        /* atomic flag */
    bool own = rb_hs_descriptors_own_p();
    struct pollfd errors = {.fd = own ? rb_hs_descriptors_stderr() : STDERR_FILENO, .events = POLLOUT};
    struct hs_signal_guard guard;
    bool ready = errors.fd >= 0 && poll(&errors, 1, __atomic_load_n(&stalled, __ATOMIC_RELAXED) ? 0 : WAIT_MS) == 1;
    __atomic_store_n(&stalled, !ready, __ATOMIC_RELAXED);
    rb_hs_guard_signals(&guard);
    ssize_t written = ready ? write(errors.fd, text, len < LINE_MAX_BYTES ? len : LINE_MAX_BYTES) : 0;
    (void)written;
    rb_hs_unguard_signals(&guard);
    if (own && errors.fd >= 0) close(errors.fd);
}

void
rb_hs_warn(const char *format, ...)
{
    if (rb_hs_warnings_off) return;
    char line[1024];
    va_list args;
    int len = snprintf(line, sizeof(line), "heap-sample: ");
    va_start(args, format);
    int more = vsnprintf(line + len, sizeof(line) - (size_t)len - 1, format, args);
    va_end(args);
    if (more < 0) return;
    len += more;
    if (len > (int)sizeof(line) - 2) len = (int)sizeof(line) - 2;
    line[len++] = '\n';
    rb_hs_print(line, (size_t)len);
}

/* The first Ruby prints the line. Those that it starts inherit the settings, and a variable with the lines that were printed. */
void
rb_hs_warn_of_settings(const char *format, ...)
{
    HS_CONTRACT(gvl);
    static const char variable[] = "RUBY_HEAP_SAMPLE_TOLD";
    char line[1024], key[24], keys[512];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);

    snprintf(key, sizeof(key), "%016" PRIx64, rb_hs_hash(line, strlen(line)));
    const char *before = getenv(variable);
    if (before && strstr(before, key)) return;
    int len = snprintf(keys, sizeof(keys), "%s%s%s", key, before ? "," : "", before ? before : "");
    if (len > 0 && (size_t)len < sizeof(keys)) setenv(variable, keys, 1);
    rb_hs_warn("%s", line);
}

/* -- signals that writing brings ----------------------------------------------------- */

/* A signal that is pending already is not ours. */
void
rb_hs_guard_signals(struct hs_signal_guard *guard)
{
    static const int numbers[] = {SIGPIPE, SIGXFSZ};
    sigset_t both, pending;
    sigemptyset(&both);
    sigemptyset(&guard->ours);
    sigpending(&pending);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        sigaddset(&both, numbers[i]);
        if (!sigismember(&pending, numbers[i])) sigaddset(&guard->ours, numbers[i]);
    }
    pthread_sigmask(SIG_BLOCK, &both, &guard->old_mask);
}

/* Takes what our writes raised, without waiting: they raise it in this thread. */
void
rb_hs_unguard_signals(const struct hs_signal_guard *guard)
{
    const struct timespec at_once = {0, 0};
    int saved_errno = errno;
    while (sigtimedwait(&guard->ours, NULL, &at_once) > 0 || errno == EINTR) {}
    pthread_sigmask(SIG_SETMASK, &guard->old_mask, NULL);
    errno = saved_errno;
}

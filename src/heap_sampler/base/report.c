/* See base/report.h. */
#include "heap_sampler/base/report.h"
#include "heap_sampler/base/must.h"
#include "heap_sampler/base/signals.h"
#include "heap_sampler/base/table.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool quiet;

void
rb_hs_be_quiet(bool wanted)
{
    quiet = wanted;
}

void
rb_hs_say(const char *text, size_t len)
{
    struct hs_signal_guard guard;
    rb_hs_guard_signals(&guard);
    ssize_t written = write(STDERR_FILENO, text, len);
    (void)written;
    rb_hs_unguard_signals(&guard);
}

static void warn_line(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

static void
warn_line(const char *format, va_list args)
{
    if (quiet) return;
    char line[1024];
    int len = snprintf(line, sizeof(line), "heap-sample: ");
    int more = vsnprintf(line + len, sizeof(line) - (size_t)len - 1, format, args);
    if (more < 0) return;
    len += more;
    if (len > (int)sizeof(line) - 2) len = (int)sizeof(line) - 2;
    line[len++] = '\n';
    rb_hs_say(line, (size_t)len);
}

void
rb_hs_warn(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    warn_line(format, args);
    va_end(args);
}

void
rb_hs_warn_once(enum hs_trouble trouble, const char *format, ...)
{
    static unsigned said;
    if (__atomic_fetch_or(&said, 1u << trouble, __ATOMIC_RELAXED) & (1u << trouble)) return;
    va_list args;
    va_start(args, format);
    warn_line(format, args);
    va_end(args);
}

/* One line about settings, from the first Ruby that finds fault with them. Those that it starts inherit the settings, and in
 * a variable which lines were told: a line from each of them would be too many. */
void
rb_hs_warn_of_settings(const char *format, ...)
{
    HS_CONTRACT(gvl);
    static const char variable[] = "RUBY_HEAP_SAMPLE_TOLD";
    char line[1024], key[24], told[512];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);

    uint64_t number = 0;
    for (const char *c = line; *c; c++) number = hs_mix(number + (unsigned char)*c);
    snprintf(key, sizeof(key), "%016" PRIx64, number);
    const char *before = getenv(variable);
    if (before && strstr(before, key)) return;
    int len = snprintf(told, sizeof(told), "%s%s%s", key, before ? "," : "", before ? before : "");
    if (len > 0 && (size_t)len < sizeof(told)) setenv(variable, told, 1);
    rb_hs_warn("%s", line);
}

/*
 * Makes jemalloc look as if it could do less, when preloaded: LESSER is
 *   no-profiler   as configured without --enable-prof
 *   no-hook       before 5.3.0
 *   no-dump       its profile cannot be written
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool
starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

int
mallctl(const char *name, void *old, size_t *old_size, void *new, size_t new_size)
{
    static int (*real)(const char *, void *, size_t *, void *, size_t);
    const char *lesser = getenv("LESSER");
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "mallctl");
    if (!lesser) lesser = "";

    if (strcmp(lesser, "no-profiler") == 0) {
        if (strcmp(name, "config.prof") == 0 && old) {
            *(bool *)old = false;
            return 0;
        }
        if (starts_with(name, "prof.") || strcmp(name, "opt.prof") == 0) return ENOENT;
    }
    if (*lesser && strcmp(lesser, "no-dump") != 0 && starts_with(name, "experimental.")) return ENOENT;
    if (strcmp(lesser, "no-dump") == 0 && strcmp(name, "prof.dump") == 0) return EFAULT;
    return real(name, old, old_size, new, new_size);
}

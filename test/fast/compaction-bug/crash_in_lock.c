/*
 * Preloaded: when the environment says so, the next reading of the time of day
 * is a segmentation fault.  The sampler reads it at the end of each mark, while
 * it holds its lock.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

int
clock_gettime(clockid_t id, struct timespec *now)
{
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    if (id == CLOCK_REALTIME && getenv("CRASH_NOW")) {
        unsetenv("CRASH_NOW");
        raise(SIGSEGV);
    }
    return real(id, now);
}

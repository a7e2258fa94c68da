/*
 * The order of locks in a check build (base/contract.h): order RANK... takes locks of these ranks, one under the other, and leaves
 * them. Exit status 0, or 3 with the fault on stdout.
 */
#include "heap_sampler/base/contract.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void
rb_hs_fault(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    exit(3);
}

int
main(int argc, char **argv)
{
    static pthread_mutex_t mutexes[16];
    for (int round = 0; round < 2; round++) {
        for (int i = 1; i < argc; i++) {
            if (atoi(argv[i]) == HS_LOCK_TABLES) rb_hs_lock();
            else hs_lock(&mutexes[i], (enum hs_lock)atoi(argv[i]));
        }
        for (int i = argc; --i > 0;) {
            if (atoi(argv[i]) == HS_LOCK_TABLES) rb_hs_unlock();
            else hs_unlock(&mutexes[i], (enum hs_lock)atoi(argv[i]));
        }
    }
    return rb_hs_locked_p();
}

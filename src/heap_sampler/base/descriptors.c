/* See base/report.h. */
#define _GNU_SOURCE 1           /* unshare */
#include "heap_sampler/base/report.h"
#include "heap_sampler/base/proc.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* The same numbers on every architecture. */
enum { CLOSE_RANGE = 436,       /* Linux 5.9 */
       PIDFD_OPEN = 434,        /* 5.3 */
       PIDFD_GETFD = 438,       /* 5.6 */
       UNSHARE = 2 };           /* CLOSE_RANGE_UNSHARE */

static _Thread_local bool own;

bool
rb_hs_descriptors_own_p(void)
{
    return own;
}

static void
close_one(const char *name, int folder, void *unused)
{
    int fd = *name == '.' ? folder : atoi(name);
    (void)unused;
    if (fd != folder) close(fd);
}

/* Only what is open: the limit of numbers may be a billion. */
bool
rb_hs_descriptors_close_all(void)
{
    return syscall(CLOSE_RANGE, 0u, ~0u, 0u) == 0 || rb_hs_each_name("/proc/thread-self/fd", close_one, NULL);
}

/* What a library prints in such a thread goes nowhere, and into no connection. */
static void
fill_standard(void)
{
    for (int fd = 0; fd >= 0 && fd < STDERR_FILENO;) fd = open("/dev/null", O_RDWR | O_CLOEXEC);
}

/* A sanitizer reports to descriptor 2 of the thread that it runs on, and ThreadSanitizer assumes one table only: there it is shared.
 * Where the kernel can leave the descriptors out they are not copied first. */
bool
rb_hs_descriptors_own(void)
{
    if (SANITIZED) return true;
    own = syscall(CLOSE_RANGE, 0u, ~0u, (unsigned)UNSHARE) == 0 || (unshare(CLONE_FILES) == 0 && rb_hs_descriptors_close_all());
    if (own) fill_standard();
    return own;
}

/* The same open file, so that what both write is in order. Else it is opened anew, which works for files, pipes and terminals. */
int
rb_hs_descriptors_stderr(void)
{
    int process = (int)syscall(PIDFD_OPEN, getpid(), 0u), fd = -1;
    if (process >= 0) {
        fd = (int)syscall(PIDFD_GETFD, process, STDERR_FILENO, 0u);
        close(process);
    }
    return fd >= 0 ? fd : open("/proc/self/fd/2", O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
}

/*
 * A disk that hangs: preloaded, the call that SLOW names (open, write, fsync
 * or rename) takes two minutes on the files of the sampler.  Each hang adds a
 * byte to the file SLOW_SEEN first.  SLOW=listen: listen(2) takes a second.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static _Thread_local int temporary = -1;        /* the descriptor of the file; threads of the sampler have their own table */

typedef long syscall_function(long number, ...);

static long
kernel(long number, long a, long b, long c, long d, long e)
{
    static syscall_function *real;
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "syscall");
    return real(number, a, b, c, d, e);
}

static void
hang(const char *call)
{
    const char *slow = getenv("SLOW"), *seen = getenv("SLOW_SEEN");
    if (!slow || strcmp(slow, call) != 0) return;
    if (seen) {
        int fd = (int)kernel(SYS_openat, AT_FDCWD, (long)seen, O_WRONLY | O_APPEND | O_CREAT, 0600, 0);
        kernel(SYS_write, fd, (long)"x", 1, 0, 0);
        kernel(SYS_close, fd, 0, 0, 0, 0);
    }
    sleep(120);
}

static int
open_slowly(int folder, const char *path, int flags, mode_t mode)
{
    bool ours = strstr(path, ".heapsample-") != NULL;
    if (ours) hang("open");
    int fd = (int)kernel(SYS_openat, folder, (long)path, flags, (long)mode, 0);
    if (ours) temporary = fd;
    return fd;
}

#define OPEN(name) \
    int name(int folder, const char *path, int flags, ...) \
    { \
        va_list list; \
        va_start(list, flags); \
        mode_t mode = (mode_t)va_arg(list, int); \
        va_end(list); \
        return open_slowly(folder, path, flags, mode); \
    }

OPEN(openat)
OPEN(openat64)

ssize_t
write(int fd, const void *data, size_t size)
{
    if (fd == temporary && fd >= 0) hang("write");
    return kernel(SYS_write, fd, (long)data, (long)size, 0, 0);
}

int
fsync(int fd)
{
    if (fd == temporary) hang("fsync");
    return (int)kernel(SYS_fsync, fd, 0, 0, 0, 0);
}

int
close(int fd)
{
    if (fd == temporary) temporary = -1;
    return (int)kernel(SYS_close, fd, 0, 0, 0, 0);
}

int
renameat(int folder, const char *from, int other, const char *to)
{
    if (strstr(from, ".heapsample-")) hang("rename");
    return (int)kernel(SYS_renameat2, folder, (long)from, other, (long)to, 0);
}

int
listen(int fd, int backlog)
{
    const char *slow = getenv("SLOW");
    if (slow && strcmp(slow, "listen") == 0) sleep(1);
    return (int)kernel(SYS_listen, fd, backlog, 0, 0, 0);
}

/* renameat2 has no function of its own in older C libraries. */
long
syscall(long number, ...)
{
    long given[5];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 5; i++) given[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_renameat2 && strstr((const char *)given[1], ".heapsample-")) hang("rename");
    return kernel(number, given[0], given[1], given[2], given[3], given[4]);
}

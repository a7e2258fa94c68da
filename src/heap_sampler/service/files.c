/* See service/files.h. */
#define _GNU_SOURCE 1           /* accept4 */
#include "heap_sampler/service/files.h"
#include "heap_sampler/base/locks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int files[HS_FILES_MAX]; /* the descriptor + 1; 0: a free place. The sampler's lock */

/* With the lock. */
static bool
replace(int from, int to)
{
    for (size_t i = 0; i < HS_FILES_MAX; i++) {
        if (files[i] != from) continue;
        files[i] = to;
        return true;
    }
    return false;
}

/* With the lock, which is released: errno stays. */
static int
list(int fd)
{
    int error = errno;
    if (fd >= 0 && !replace(0, fd + 1)) {
        close(fd);
        error = EMFILE;
        fd = -1;
    }
    rb_hs_unlock();
    errno = error;
    return fd;
}

int
rb_hs_file_socket(int domain)
{
    rb_hs_lock();
    return list(socket(domain, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

int
rb_hs_file_accept(int listener)
{
    rb_hs_lock();
    return list(accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

int
rb_hs_file_folder(const char *path)
{
    rb_hs_lock();
    return list(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

int
rb_hs_file_epoll(void)
{
    rb_hs_lock();
    return list(epoll_create1(EPOLL_CLOEXEC));
}

int
rb_hs_file_event(void)
{
    rb_hs_lock();
    return list(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

void
rb_hs_file_close(int fd)
{
    if (fd < 0) return;
    rb_hs_lock();
    replace(fd + 1, 0);
    close(fd);
    rb_hs_unlock();
}

void
rb_hs_files_after_fork(void)
{
    for (size_t i = 0; i < HS_FILES_MAX; i++) {
        if (files[i]) close(files[i] - 1);
        files[i] = 0;
    }
}

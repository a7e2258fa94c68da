/*
 * From bytes to a file that is either whole or not there.
 *
 * A reader (a person, a shipper that watches the folder) must never meet half
 * a profile, and a full disk must not cost the profile written before.  So the
 * bytes go to a temporary file in the same folder, to the disk, and then take
 * the name.  A profile tells what an application does: mode 0600, no link that
 * someone planted is followed.
 *
 * Threads: any thread without the GVL.  Signals that writing may bring to the
 * thread (SIGPIPE, SIGXFSZ: both kill by default) are blocked meanwhile.
 */
#include "heap_sampler/profile/writer.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Longer than what temporary_path() puts behind the folder. */
enum { TEMPORARY_NAME_MAX = 80,
       TEMPORARY_TRIES = 100,
       FOLDER_SIZE = 4096 };

static int
open_retrying(const char *path, int flags, mode_t mode)
{
    int fd;

    do {
        fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, mode);
    } while (fd < 0 && errno == EINTR);
    return fd;
}

static int
write_all(int fd, const char *ptr, size_t len)
{
    while (len > 0) {
        /* Linux writes at most this much at once; macOS fails above INT_MAX */
        size_t step = len < 0x7ffff000 ? len : 0x7ffff000;
        ssize_t done = write(fd, ptr, step);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return errno;
        if (done == 0) return EIO;
        ptr += done;
        len -= (size_t)done;
    }
    return 0;
}

/* EINTR leaves the descriptor closed on Linux: trying again could close another
 * thread's new file. */
static int
close_once(int fd)
{
    return close(fd) < 0 && errno != EINTR ? errno : 0;
}

static int
sync_file(int fd)
{
    int status;

    do {
        status = fsync(fd);
    } while (status < 0 && errno == EINTR);
    /* some file systems have no fsync, which is no fault of the file's */
    if (status < 0 && errno != EINVAL && errno != ENOSYS && errno != ENOTSUP) return errno;
    return 0;
}

/* So that the new name survives a crash of the machine: best effort. */
static void
sync_folder(const char *folder)
{
    int fd;

    do {
        fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    } while (fd < 0 && errno == EINTR);
    if (fd < 0) return;
    (void)sync_file(fd);
    (void)close_once(fd);
}

/* A FIFO without a reader would hold up open(2) for good: O_NONBLOCK makes that
 * ENXIO, and goes once it is open, as write_all() wants to wait. */
static int
write_straight(const char *path, const char *ptr, size_t len)
{
    struct stat now;
    int fd = open_retrying(path, O_WRONLY | O_NONBLOCK, 0);
    if (fd < 0) return errno;

    int error = 0, flags = fcntl(fd, F_GETFL);
    if (fstat(fd, &now) < 0) {
        error = errno;
    }
    else if (!S_ISFIFO(now.st_mode) && !S_ISCHR(now.st_mode)) {
        error = EINVAL;         /* replaced between lstat and open: not ours to overwrite */
    }
    else if (flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) < 0) {
        error = errno;
    }
    if (!error) error = write_all(fd, ptr, len);
    int close_error = close_once(fd);
    return error ? error : close_error;
}

/* A name that no one guesses in time; should one do, O_EXCL fails and the next
 * is tried.  Its length does not depend on the final name, which may be as long
 * as the file system allows. */
static void
temporary_path(char *path, size_t size, const char *folder, int try)
{
    static uint64_t serial;
    struct timespec now = {0, 0};

    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t mix = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    mix += __atomic_add_fetch(&serial, 1, __ATOMIC_RELAXED) * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)try;
    mix = (mix ^ mix >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mix = (mix ^ mix >> 27) * UINT64_C(0x94d049bb133111eb);
    mix ^= mix >> 31;
    snprintf(path, size, "%s/.heap_sample-%ld-%016" PRIx64 ".tmp", folder, (long)getpid(), mix);
}

static int
fill_temporary(int fd, const char *ptr, size_t len)
{
    int error;

    /* the umask may have taken the owner's bits; a file system without modes is fine */
    (void)fchmod(fd, 0600);
    error = write_all(fd, ptr, len);
    if (!error) error = sync_file(fd);
    int close_error = close_once(fd);   /* where network file systems say that they are full */
    return error ? error : close_error;
}

static int
write_renaming(const char *path, const char *folder, const char *ptr, size_t len)
{
    size_t size = strlen(folder) + TEMPORARY_NAME_MAX;
    char *temporary = rb_hs_malloc(HS_MEM_SNAPSHOTS, size);
    int fd = -1, error = 0;

    if (!temporary) return ENOMEM;
    for (int try = 0; fd < 0 && try < TEMPORARY_TRIES; try++) {
        temporary_path(temporary, size, folder, try);
        fd = open_retrying(temporary, O_WRONLY | O_CREAT | O_EXCL, 0600);
        if (fd < 0 && errno != EEXIST) break;
    }
    if (fd < 0) {
        error = errno;
    }
    else {
        error = fill_temporary(fd, ptr, len);
        if (!error && rename(temporary, path) < 0) error = errno;
        if (error) {
            unlink(temporary);
        }
        else {
            sync_folder(folder);
        }
    }
    rb_hs_free(HS_MEM_SNAPSHOTS, temporary);
    return error;
}

/* `path` up to its last slash, without that: "." and "/" where needed. */
static char *
folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t len = !slash ? 1 : slash == path ? 1
                                            : (size_t)(slash - path);
    char *folder = rb_hs_malloc(HS_MEM_SNAPSHOTS, len + 1);

    if (!folder) return NULL;
    memcpy(folder, slash ? path : ".", len);
    folder[len] = '\0';
    return folder;
}

/* What stands in the way of a file at `path`, as far as its looks tell. */
static int
refuse_path(const char *path, const struct stat *existing)
{
    size_t len = strlen(path);

    if (!len) return ENOENT;
    /* "x/" is a folder even before rename(2) finds out */
    if (path[len - 1] == '/' || (existing && S_ISDIR(existing->st_mode))) return EISDIR;
    /* a socket takes no write, and no one wants a profile over a disk */
    if (existing && (S_ISSOCK(existing->st_mode) || S_ISBLK(existing->st_mode))) return EINVAL;
    return 0;
}

/* As folder_of(), without memory: that there is none now does not mean that there will be none. */
static bool
put_folder(const char *path, char folder[FOLDER_SIZE])
{
    const char *slash = strrchr(path, '/');
    size_t len = slash ? (size_t)(slash - path) : 0;
    if (len > FOLDER_SIZE - 2) return false;
    memcpy(folder, path, len);
    strcpy(folder + len, !slash ? "." : len ? ""
                                            : "/");
    return true;
}

void
rb_hs_make_folder_of(const char *path)
{
    char folder[FOLDER_SIZE];
    if (put_folder(path, folder)) (void)mkdir(folder, 0700);
}

int
rb_hs_check_writable(const char *path)
{
    struct stat existing, folder_now;
    bool exists = lstat(path, &existing) == 0;

    if (!exists && errno != ENOENT) return errno;
    int error = refuse_path(path, exists ? &existing : NULL);
    if (error) return error;
    if (exists && (S_ISFIFO(existing.st_mode) || S_ISCHR(existing.st_mode))) {
        return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) < 0 ? errno : 0;
    }
    char folder[FOLDER_SIZE];
    if (!put_folder(path, folder)) return ENAMETOOLONG;
    if (stat(folder, &folder_now) < 0) return errno;
    if (!S_ISDIR(folder_now.st_mode)) return ENOTDIR;
    return faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) < 0 ? errno : 0;
}

int
rb_hs_write_file(const char *path, const char *ptr, size_t len)
{
    struct stat existing;
    struct hs_signal_guard guard;
    bool exists = lstat(path, &existing) == 0;
    int error = 0;

    if (!exists && errno != ENOENT) return errno;
    error = refuse_path(path, exists ? &existing : NULL);
    if (error) return error;

    rb_hs_guard_signals(&guard);
    if (exists && (S_ISFIFO(existing.st_mode) || S_ISCHR(existing.st_mode))) {
        error = write_straight(path, ptr, len);
    }
    else {
        char *folder = folder_of(path);
        error = folder ? write_renaming(path, folder, ptr, len) : ENOMEM;
        rb_hs_free(HS_MEM_SNAPSHOTS, folder);
    }
    rb_hs_unguard_signals(&guard);
    return error;
}

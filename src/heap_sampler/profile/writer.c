/*
 * From bytes to a file that is either whole or not there.
 *
 * A reader (a person, a shipper that watches the folder) must never find half a
 * profile.  A full disk must not cost the profile written before.  So the bytes
 * go to a temporary file in the same folder, to the disk, and then take the
 * name.  A profile shows what an application does: mode 0600.  Nothing is
 * written into a file, a FIFO or a link of another user.  A profile that the
 * process writes by itself also needs a folder where no other user could put
 * one.
 *
 * Threads: any thread without the GVL.  Signals that writing may bring to the
 * thread (SIGPIPE, SIGXFSZ: both kill by default) are blocked meanwhile.
 */
#define _GNU_SOURCE 1           /* syscall, O_PATH */
#include "heap_sampler/profile/formats.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/report.h"
#include "heap_sampler/base/table.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TEMPORARY_NAME_MAX = 80,
       TEMPORARY_TRIES = 100,
       FOLDER_SIZE = 4096,
       STEP = 1 << 20,          /* bytes of one write(2): so often a cancel is noticed */
       SLICE_MS = 50,
       READER_MS = 10000 };     /* of a FIFO: it has so long to take all */

static int
open_retrying(int folder, const char *path, int flags, mode_t mode)
{
    int fd;
    while ((fd = openat(folder, path, flags | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, mode)) < 0 && errno == EINTR) continue;
    return fd;
}

static bool
cancelled_p(const struct hs_writing *writing)
{
    return writing && writing->cancelled && *writing->cancelled;
}

/* Only what was opened with O_NONBLOCK, a FIFO or a device, is waited for. */
static int
write_all(int fd, const char *ptr, size_t len, const struct hs_writing *writing)
{
    uint64_t until = rb_hs_steady_ns() + READER_MS * UINT64_C(1000000);

    while (len > 0) {
        if (cancelled_p(writing)) return ECANCELED;
        ssize_t done = write(fd, ptr, len < STEP ? len : STEP);
        if (done == 0) return EIO;
        if (done > 0) {
            ptr += done;
            len -= (size_t)done;
        }
        else if (errno == EAGAIN) {
            struct pollfd reader = {.fd = fd, .events = POLLOUT};
            if (rb_hs_steady_ns() >= until) return ETIMEDOUT;
            (void)poll(&reader, 1, SLICE_MS);
        }
        else if (errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

/* Returns `error`, or else the error of close(2), by which a network file system reports that it is full. After EINTR the
 * descriptor is closed on Linux: a second try could close another thread's new file. */
static int
close_once(int fd, int error)
{
    int failed = close(fd) < 0 && errno != EINTR ? errno : 0;
    return error ? error : failed;
}

static int
sync_file(int fd)
{
    while (fsync(fd) < 0) {
        /* some file systems have no fsync, which is no fault of the file's */
        if (errno == EINVAL || errno == ENOSYS || errno == ENOTSUP) return 0;
        if (errno != EINTR) return errno;
    }
    return 0;
}

/* So that the new name survives a crash of the machine: best effort. */
static void
sync_folder(int folder)
{
    int fd = open_retrying(folder, ".", O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0) return;
    (void)sync_file(fd);
    (void)close(fd);
}

static bool
straight_p(const struct stat *file)
{
    return S_ISFIFO(file->st_mode) || S_ISCHR(file->st_mode);
}

/* A FIFO of another user, root too, is a trap: that user reads the profile, or does not and holds us up. */
static bool
trusted_p(const struct stat *file)
{
    return file->st_uid == geteuid() || (file->st_uid == 0 && !S_ISFIFO(file->st_mode));
}

static int
write_straight(const char *path, const char *ptr, size_t len, const struct hs_writing *writing)
{
    struct stat now;
    int fd = open_retrying(AT_FDCWD, path, O_WRONLY | O_NONBLOCK, 0);
    if (fd < 0) return errno;

    int error = 0;
    if (fstat(fd, &now) < 0) error = errno;
    else if (!straight_p(&now) || !trusted_p(&now)) error = EEXIST;
    if (!error) error = write_all(fd, ptr, len, writing);
    return close_once(fd, error);
}

/* A name that no one guesses in time; should one do, O_EXCL fails and the next is tried. It is short where the final name
 * is as long as the file system allows. */
static void
temporary_name(char name[TEMPORARY_NAME_MAX], int try)
{
    static uint64_t serial;
    uint64_t mix = hs_mix(rb_hs_now_ns() + hs_mix(__atomic_add_fetch(&serial, 1, __ATOMIC_RELAXED) + ((uint64_t)try << 32)));
    snprintf(name, TEMPORARY_NAME_MAX, ".heapsample-%ld-%016" PRIx64 ".tmp", (long)getpid(), mix);
}

static int
fill_temporary(int fd, const char *ptr, size_t len, const struct hs_writing *writing, struct stat *file)
{
    /* the umask may have taken the owner's bits; a file system without modes is fine */
    (void)fchmod(fd, 0600);
    int error = write_all(fd, ptr, len, writing);
    if (!error) error = sync_file(fd);
    if (!error && fstat(fd, file) < 0) error = errno;
    return close_once(fd, error);
}

static bool
same_p(const struct hs_file_id *id, const struct stat *file)
{
    return id->inode && id->inode == file->st_ino && id->device == file->st_dev &&
        id->modified_s == file->st_mtim.tv_sec && id->modified_ns == file->st_mtim.tv_nsec;
}

/* Gives the file its name, unless the name is taken: EEXIST. Not every file system knows RENAME_NOREPLACE, or links. */
static int
rename_to_new(int folder, const char *temporary, const char *name)
{
#ifdef SYS_renameat2
    enum { NO_REPLACE = 1 };
    if (syscall(SYS_renameat2, folder, temporary, folder, name, NO_REPLACE) == 0) return 0;
    if (errno == EEXIST) return EEXIST;
#endif
    if (linkat(folder, temporary, folder, name, 0) == 0) {
        unlinkat(folder, temporary, 0);
        return 0;
    }
    if (errno == EEXIST) return EEXIST;
    int fd = open_retrying(folder, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd < 0) return errno;
    (void)close(fd);
    if (renameat(folder, temporary, folder, name) == 0) return 0;
    int error = errno;
    unlinkat(folder, name, 0);
    return error;
}

/* It belongs to the owner of the new file: some network file systems give all files to one user. */
static int
take_name(int folder, const char *temporary, const char *name, const struct stat *file, const struct hs_writing *writing)
{
    struct stat there;
    bool generated = writing && writing->generated;
    if (cancelled_p(writing)) return ECANCELED;
    if (fstatat(folder, name, &there, AT_SYMLINK_NOFOLLOW) != 0) {
        int error = rename_to_new(folder, temporary, name);
        if (error != EEXIST || generated) return error;
        if (fstatat(folder, name, &there, AT_SYMLINK_NOFOLLOW) != 0) return errno;      /* another thread has just written it */
    }
    bool ours = there.st_uid == file->st_uid && (S_ISREG(there.st_mode) || S_ISLNK(there.st_mode));
    if (generated ? !same_p(&writing->id, &there) : !ours) return EEXIST;
    return renameat(folder, temporary, folder, name) < 0 ? errno : 0;
}

/* `path` up to its last slash, without it: "." and "/" where needed. */
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

/* The folder of `path`: what is checked is what is written into. By itself (`writing`) the sampler takes none that another
 * user could empty, or lead elsewhere. The folder's owner has decided about its group. */
static int
open_folder(const char *path, const struct hs_writing *writing, int *fd)
{
    char name[FOLDER_SIZE + sizeof("/.")];
    struct stat link, folder;
    if (!put_folder(path, name)) return ENAMETOOLONG;
    bool safe = lstat(name, &link) != 0 || !S_ISLNK(link.st_mode) || trusted_p(&link);
    *fd = open_retrying(AT_FDCWD, strcat(name, "/."), O_PATH | O_DIRECTORY, 0);
    if (*fd < 0) return errno;
    int error = fstat(*fd, &folder) < 0 ? errno : 0;
    safe = safe && !error && trusted_p(&folder) && (folder.st_mode & (S_IWOTH | S_ISVTX)) != S_IWOTH;
    if (safe || !writing) return 0;
    (void)close(*fd);
    return error ? error : EPERM;
}

static int
write_renaming(const char *path, const char *ptr, size_t len, struct hs_writing *writing)
{
    const char *slash = strrchr(path, '/');
    char temporary[TEMPORARY_NAME_MAX];
    struct stat file;
    int folder, fd = -1, error = open_folder(path, writing, &folder);

    if (error) return error;
    for (int try = 0; fd < 0 && try < TEMPORARY_TRIES && (!try || errno == EEXIST); try++) {
        temporary_name(temporary, try);
        fd = open_retrying(folder, temporary, O_WRONLY | O_CREAT | O_EXCL, 0600);
    }
    if (fd < 0) error = errno == EEXIST ? EAGAIN : errno;
    else error = fill_temporary(fd, ptr, len, writing, &file);
    if (!error) error = take_name(folder, temporary, slash ? slash + 1 : path, &file, writing);
    if (!error) sync_folder(folder);
    else if (fd >= 0) unlinkat(folder, temporary, 0);
    if (!error && writing) writing->id = (struct hs_file_id){file.st_dev, file.st_ino, file.st_mtim.tv_sec, file.st_mtim.tv_nsec};
    (void)close(folder);
    return error;
}

/* What is at `path` now, and what stands in the way of a file there, as far as can be seen without opening it. */
static int
look_at_path(const char *path, struct stat *existing, bool *exists)
{
    size_t len = strlen(path);
    *exists = lstat(path, existing) == 0;
    if (!*exists && errno != ENOENT) return errno;
    if (!len) return ENOENT;
    /* "x/" is a folder even before rename(2) finds out */
    if (path[len - 1] == '/' || (*exists && S_ISDIR(existing->st_mode))) return EISDIR;
    /* a socket takes no write, and no one wants a profile over a disk */
    return *exists && (S_ISSOCK(existing->st_mode) || S_ISBLK(existing->st_mode)) ? EINVAL : 0;
}

int
rb_hs_make_folder_of(const char *path)
{
    char folder[FOLDER_SIZE], *slash = folder;
    int error = put_folder(path, folder) ? 0 : ENAMETOOLONG;
    while (!error && slash) {
        slash = strchr(slash + 1, '/');
        if (slash) *slash = '\0';
        if (mkdir(folder, 0700) < 0 && errno != EEXIST) error = errno;
        if (slash) *slash = '/';
    }
    return error;
}

int
rb_hs_check_writable(const char *path)
{
    struct stat existing;
    bool exists;
    int folder, error = look_at_path(path, &existing, &exists);
    if (error) return error;
    if (exists && straight_p(&existing)) {
        if (!trusted_p(&existing)) return EEXIST;
        return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) < 0 ? errno : 0;
    }
    error = open_folder(path, &(struct hs_writing){0}, &folder);
    if (error) return error;
    error = faccessat(folder, ".", W_OK | X_OK, AT_EACCESS) < 0 ? errno : 0;
    (void)close(folder);
    return error;
}

int
rb_hs_write_file(const char *path, const char *ptr, size_t len, struct hs_writing *writing)
{
    struct stat existing;
    struct hs_signal_guard guard;
    bool exists, generated = writing && writing->generated;
    int error = look_at_path(path, &existing, &exists);
    if (exists && (generated ? !same_p(&writing->id, &existing) : straight_p(&existing) && !trusted_p(&existing))) error = EEXIST;
    if (error) return error;
    rb_hs_guard_signals(&guard);
    error = exists && straight_p(&existing) ? write_straight(path, ptr, len, writing) : write_renaming(path, ptr, len, writing);
    rb_hs_unguard_signals(&guard);
    return error;
}

void
rb_hs_remove_file(const char *path, const struct hs_file_id *id)
{
    struct stat file;
    if (lstat(path, &file) == 0 && same_p(id, &file)) unlink(path);
}

/* See server/service.h. */
#define _GNU_SOURCE 1           /* secure_getenv: a setuid program's environment is another user's */
#include "heap_sampler/server/service.h"
#include "heap_sampler/base/proc.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BACKLOG = 64 };

/* Field 22 of /proc/self/stat: clock ticks from the start of the machine to the start of the process. "comm" may hold
 * blanks and parentheses: fields are counted after its last one. */
static bool
start_ticks(unsigned long long *ticks)
{
    char text[1024];
    rb_hs_proc_read("/proc/self/stat", text, sizeof(text));
    char *at = strrchr(text, ')');
    for (int field = 2; at && field < 22; field++) at = strchr(at + 1, ' ');
    return at && sscanf(at, " %llu", ticks) == 1;
}

static char bases[2][sizeof(((struct sockaddr_un *)0)->sun_path)];

void
rb_hs_address_boot(void)
{
    static const char *const names[] = {"XDG_RUNTIME_DIR", "TMPDIR"};
    for (size_t i = 0; i < 2; i++) {
        const char *path = secure_getenv(names[i]);
        if (path && *path == '/') snprintf(bases[i], sizeof(bases[i]), "%s", path);
    }
}

static const char *
folder_of_folders(void)
{
    struct stat folder;
    for (size_t i = 0; i < 2; i++) {
        if (*bases[i] && stat(bases[i], &folder) == 0 && S_ISDIR(folder.st_mode)) return bases[i];
    }
    return "/tmp";
}

static bool
fill_in(struct sockaddr_un *address, const char *base, unsigned long long ticks)
{
    size_t size = sizeof(address->sun_path);
    return snprintf(address->sun_path, size, "%s/ruby-heap-%u/%d-%llu.sock", base, (unsigned)geteuid(), (int)getpid(), ticks) < (int)size;
}

bool
rb_hs_address(struct sockaddr_un *address)
{
    unsigned long long ticks;
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (!start_ticks(&ticks)) return false;
    return fill_in(address, folder_of_folders(), ticks) || fill_in(address, "/tmp", ticks);
}

/* Ours alone, and no link to somewhere else: /tmp is everybody's. */
static bool
own_folder(const char *path)
{
    struct stat folder;
    if (mkdir(path, 0700) != 0 && errno != EEXIST) return false;
    if (lstat(path, &folder) != 0) return false;
    if (S_ISDIR(folder.st_mode) && folder.st_uid == geteuid() && !(folder.st_mode & 077)) return true;
    errno = EPERM;
    return false;
}

/* -- the sockets of the user's processes --------------------------------------------- */

/* The process id of "PID-STARTTIME.sock". A process that was killed, or called exit! or exec, leaves its socket. */
static bool
pid_of(const char *name, long *pid)
{
    unsigned long long start;
    int end = 0;
    return sscanf(name, "%9ld-%20llu.sock%n", pid, &start, &end) == 2 && end && !name[end] && *pid > 0;
}

/* The kernel knows whether a process listens, in whatever namespace. */
static bool
refused_p(const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool refused = fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof(*address)) != 0 && errno == ECONNREFUSED;
    if (fd >= 0) close(fd);
    return refused;
}

/* One whose process is there, in this namespace, stays. */
static void
sweep(const char *name, int folder_fd, void *folder)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat file;
    long pid;
    (void)folder_fd;
    if (!pid_of(name, &pid) || kill((pid_t)pid, 0) == 0) return;
    int len = snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", (const char *)folder, name);
    if (len >= (int)sizeof(address.sun_path) || lstat(address.sun_path, &file) != 0 || !S_ISSOCK(file.st_mode)) return;
    if (refused_p(&address)) unlink(address.sun_path);
}

/* -- listening ----------------------------------------------------------------------- */

/* The socket gets its name when it listens: a client that finds it can connect. */
int
rb_hs_address_listen(const struct sockaddr_un *address)
{
    const char *path = address->sun_path;
    struct sockaddr_un unnamed = *address;
    char folder[sizeof(address->sun_path)];
    snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(path, '/') - path), path);
    if (!own_folder(folder)) return -1;
    memcpy(strrchr(unnamed.sun_path, '.'), ".bind", sizeof(".bind"));       /* as long as ".sock" */
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -1;
    unlink(unnamed.sun_path);   /* process id and start time are ours */
    if (bind(fd, (const struct sockaddr *)&unnamed, sizeof(unnamed)) == 0 && chmod(unnamed.sun_path, 0600) == 0 &&
        listen(fd, BACKLOG) == 0 && rename(unnamed.sun_path, path) == 0) {
        rb_hs_each_name(folder, sweep, folder);
        return fd;
    }
    int error = errno;
    unlink(unnamed.sun_path);
    close(fd);
    errno = error;
    return -1;
}

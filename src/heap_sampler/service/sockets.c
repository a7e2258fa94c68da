/* See service/sockets.h. */
#define _GNU_SOURCE 1
#include "heap_sampler/service/sockets.h"
#include "heap_sampler/service/files.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Seconds: between bind(2) and listen(2) nobody listens yet. */
enum { OLD = 5 };

static bool
parse(const char *name, struct hs_socket *socket)
{
    int end = 0;
    return sscanf(name, "%9ld-%20llu.sock%n", &socket->pid, &socket->start, &end) == 2 && end && !name[end] && socket->pid > 0;
}

/* As getdents64(2) gives it; readdir(3) would call malloc. */
struct entry {
    uint64_t inode;
    int64_t offset;
    uint16_t length;
    unsigned char type;
    char name[];
};

void
rb_hs_sockets_each(const char *folder, void (*each)(const struct hs_socket *socket, void *data), void *data)
{
    _Alignas(struct entry) char entries[4096];
    struct hs_socket socket;
    int fd = rb_hs_file_folder(folder);
    long len;
    if (fd < 0) return;
    while ((len = syscall(SYS_getdents64, fd, entries, sizeof(entries))) > 0) {
        for (long at = 0; at < len; at += ((struct entry *)(void *)(entries + at))->length) {
            if (parse(((struct entry *)(void *)(entries + at))->name, &socket)) each(&socket, data);
        }
    }
    rb_hs_file_close(fd);
}

bool
rb_hs_socket_alive_p(const struct hs_socket *socket)
{
    return kill((pid_t)socket->pid, 0) == 0;
}

bool
rb_hs_socket_address(struct sockaddr_un *address, const char *folder, const struct hs_socket *socket)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    int len = snprintf(address->sun_path, sizeof(address->sun_path), "%s/%ld-%llu.sock", folder, socket->pid, socket->start);
    return len < (int)sizeof(address->sun_path);
}

/* The kernel knows, whatever the namespace of who listened is. */
static bool
refused_p(const struct sockaddr_un *address)
{
    int fd = rb_hs_file_socket(AF_UNIX);
    bool refused = fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof(*address)) != 0 && errno == ECONNREFUSED;
    rb_hs_file_close(fd);
    return refused;
}

static void
sweep(const struct hs_socket *socket, void *data)
{
    struct sockaddr_un address;
    struct stat file;
    const char *folder = data;
    if (rb_hs_socket_alive_p(socket) || !rb_hs_socket_address(&address, folder, socket)) return;
    if (lstat(address.sun_path, &file) != 0 || !S_ISSOCK(file.st_mode) || file.st_mtime + OLD > time(NULL)) return;
    if (refused_p(&address)) unlink(address.sun_path);
}

void
rb_hs_sockets_sweep(const char *folder)
{
    if (*folder) rb_hs_sockets_each(folder, sweep, (void *)folder);
}

/* See service/address.h. */
#include "heap_sampler/service/address.h"
#include "heap_sampler/service/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BACKLOG = 16 };

/* "comm" may hold blanks and parentheses: fields are counted after its last one. */
bool
rb_hs_start_ticks(unsigned long long *ticks)
{
    char text[1024];
    int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t len = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (len <= 0) return false;
    text[len] = '\0';
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
        const char *path = getenv(names[i]);
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
fill_in(struct hs_address *address, const char *base, unsigned long long ticks)
{
    char *path = address->socket.sun_path;
    int folder = snprintf(address->folder, sizeof(address->folder), "%s/ruby-heap-%u", base, (unsigned)geteuid());
    int len = snprintf(path, sizeof(address->socket.sun_path), "%s/%d-%llu.sock", address->folder, (int)getpid(), ticks);
    return folder < (int)sizeof(address->folder) && len < (int)sizeof(address->socket.sun_path);
}

bool
rb_hs_address(struct hs_address *address)
{
    unsigned long long ticks;
    *address = (struct hs_address){.socket.sun_family = AF_UNIX};
    if (!rb_hs_start_ticks(&ticks)) return false;
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

int
rb_hs_address_listen(const struct hs_address *address)
{
    const char *path = address->socket.sun_path;
    if (!own_folder(address->folder)) return -1;
    int fd = rb_hs_file_socket(AF_UNIX);
    if (fd < 0) return -1;
    unlink(path);               /* id and time are ours: whoever had it is gone */
    if (bind(fd, (const struct sockaddr *)&address->socket, sizeof(address->socket)) == 0 && chmod(path, 0600) == 0 &&
        listen(fd, BACKLOG) == 0) {
        return fd;
    }
    int error = errno;
    rb_hs_file_close(fd);
    errno = error;
    return -1;
}

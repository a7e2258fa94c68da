/* See base/proc.h. */
#define _GNU_SOURCE 1           /* syscall */
#include "heap_sampler/base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static ssize_t
read_some(int fd, char *text, size_t size)
{
    ssize_t got;
    do {
        got = read(fd, text, size);
    } while (got < 0 && errno == EINTR);
    return got;
}

size_t
rb_hs_proc_read(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read_some(fd, text, size - 1);
    if (fd >= 0) close(fd);
    text[got > 0 ? got : 0] = '\0';
    return got > 0 ? (size_t)got : 0;
}

double
rb_hs_demand_for_processors(void)
{
    char text[64];
    unsigned running;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (!rb_hs_proc_read("/proc/loadavg", text, sizeof(text)) || sscanf(text, "%*s %*s %*s %u/", &running) != 1) return 1;
    return running > processors && processors > 0 ? (double)running / (double)processors : 1;
}

bool
rb_hs_lines_open(struct hs_lines *lines, const char *path, char *text, size_t size)
{
    *lines = (struct hs_lines){.fd = open(path, O_RDONLY | O_CLOEXEC), .separator = '\n', .text = text, .size = size};
    return lines->fd >= 0;
}

/* false: the end, or no room. */
static bool
read_more(struct hs_lines *lines)
{
    lines->end -= lines->next;
    memmove(lines->text, lines->text + lines->next, lines->end);
    lines->next = 0;
    if (lines->end == lines->size - 1) return false;
    ssize_t got = read_some(lines->fd, lines->text + lines->end, lines->size - 1 - lines->end);
    if (got > 0) lines->end += (size_t)got;
    return got > 0;
}

char *
rb_hs_next_line(struct hs_lines *lines)
{
    for (;;) {
        bool rest = lines->cut;
        char *found = memchr(lines->text + lines->next, lines->separator, lines->end - lines->next);
        if (!found && read_more(lines)) continue;
        char *line = lines->text + lines->next, *end = found ? found : lines->text + lines->end;
        if (!found && line == end) return NULL;
        lines->cut = !found && lines->end == lines->size - 1;
        lines->next = (size_t)(end - lines->text) + (found != NULL);
        *end = '\0';
        if (!rest) return line;
    }
}

struct entry {                  /* of a folder, as the kernel gives it */
    uint64_t inode, next;
    uint16_t size;
    uint8_t type;
    char name[];
};

bool
rb_hs_each_name(const char *folder, void (*each)(const char *name, int folder, void *data), void *data)
{
    uint64_t entries[512];
    long got = -1;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (fd >= 0 && (got = syscall(SYS_getdents64, fd, entries, sizeof(entries))) > 0) {
        for (long at = 0; at < got;) {
            const struct entry *entry = (const void *)((const char *)entries + at);
            each(entry->name, fd, data);
            at += entry->size;
        }
    }
    if (fd >= 0) close(fd);
    return got == 0;
}

/* "start-end perms offset major:minor inode   path" */
bool
rb_hs_mapping_read(char *line, struct hs_mapping *mapping)
{
    char access[5];
    unsigned major_number, minor_number;
    int path = 0;
    int fields = sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 "%n", &mapping->start, &mapping->end, access,
                        &mapping->offset, &major_number, &minor_number, &mapping->inode, &path);
    if (fields != 7 || mapping->end <= mapping->start) return false;
    mapping->device = makedev(major_number, minor_number);
    mapping->readable = access[0] == 'r';
    mapping->writable = access[1] == 'w';
    mapping->executable = access[2] == 'x';
    mapping->path = line + path + strspn(line + path, " ");
    return true;
}

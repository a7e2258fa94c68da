/*
 * The memory limits of cgroups; see account/cgroup.h.
 */
#include "heap_sampler/account/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Small, for it all stands on the stack of whoever asks (doc/design.md, "The locks"). A longer line is passed
 * over; a group's path has some 250 bytes in Kubernetes. */
enum { LINE_SIZE = 1024,
       PATH_SIZE = LINE_SIZE + 256 };

static const struct version {
    const char *folder, *limit, *used, *inactive;
} version_1 = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"},
  version_2 = {"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"};

/* A file's lines, one after the other. */
struct lines {
    int fd;
    bool over;                  /* a line's rest comes, which had no room */
    size_t next, end;           /* what was read and not given yet */
    char text[LINE_SIZE];
};

static bool
read_more(struct lines *lines)
{
    ssize_t got;

    memmove(lines->text, lines->text + lines->next, lines->end - lines->next);
    lines->end -= lines->next;
    lines->next = 0;
    if (lines->end == sizeof(lines->text) - 1) {
        lines->over = true;
        lines->end = 0;
    }
    do {
        got = read(lines->fd, lines->text + lines->end, sizeof(lines->text) - 1 - lines->end);
    } while (got < 0 && errno == EINTR);
    if (got > 0) lines->end += (size_t)got;
    return got > 0;
}

/* The next line, without its newline; NULL: there is none. */
static char *
next_line(struct lines *lines)
{
    for (;;) {
        char *newline = memchr(lines->text + lines->next, '\n', lines->end - lines->next);
        if (!newline && read_more(lines)) continue;
        if (!newline && lines->next == lines->end) return NULL;
        if (!newline) newline = lines->text + lines->end++;
        *newline = '\0';
        char *line = lines->text + lines->next;
        lines->next = (size_t)(newline + 1 - lines->text);
        if (!lines->over) return line;
        lines->over = false;
    }
}

static bool
open_lines(struct lines *lines, const char *path)
{
    lines->fd = open(path, O_RDONLY | O_CLOEXEC);
    lines->over = false;
    lines->next = lines->end = 0;
    return lines->fd >= 0;
}

static bool
read_number(const char *text, uint64_t *number)
{
    char *end;

    while (*text == ' ') text++;
    if (*text < '0' || *text > '9') return false;       /* "max" is no limit */
    *number = strtoull(text, &end, 10);
    return end != text;
}

/* The number behind a name at the beginning of a line; without a name, of a line that begins with one. */
static bool
number_in_line(const char *line, const char *name, uint64_t *number)
{
    size_t len = strlen(name);

    if (strncmp(line, name, len) != 0) return false;
    if (len && line[len] != ' ' && line[len] != ':') return false;
    return read_number(line + len + (len != 0), number);
}

static bool
find_number(const char *path, const char *name, uint64_t *number)
{
    struct lines lines;
    bool found = false;
    char *line;

    if (!open_lines(&lines, path)) return false;
    while (!found && (line = next_line(&lines))) found = number_in_line(line, name, number);
    close(lines.fd);
    return found;
}

struct reader {
    const char *root;
    uint32_t percent;
    uint64_t machine;           /* all of its memory */
    struct hs_memory_limit *nearest;
};

static bool
find_number_of_group(const struct reader *reader, const char *folder, const char *group, const char *file, const char *name, uint64_t *number)
{
    char path[PATH_SIZE];
    int len = snprintf(path, sizeof(path), "%s%s%s/%s", reader->root, folder, group, file);

    return len > 0 && (size_t)len < sizeof(path) && find_number(path, name, number);
}

static double
share(const struct hs_memory_limit *limit)
{
    return (double)limit->used / (double)limit->bytes;
}

/* v1 says that there is no limit by one of 2^63 bytes, less a page. */
static void
look_at_group(struct reader *reader, const struct version *version, const char *group)
{
    struct hs_memory_limit found = {.machine = false};
    uint64_t inactive;

    if (!find_number_of_group(reader, version->folder, group, version->limit, "", &found.bytes)) return;
    if (!found.bytes || (reader->machine && found.bytes >= reader->machine)) return;
    if (!find_number_of_group(reader, version->folder, group, version->used, "", &found.used)) return;
    if (share(&found) * 100 >= reader->percent &&
        find_number_of_group(reader, version->folder, group, "memory.stat", version->inactive, &inactive)) {
        found.used = found.used > inactive ? found.used - inactive : 0;
    }
    if (!reader->nearest->bytes || share(&found) > share(reader->nearest)) *reader->nearest = found;
}

/* In a container the path may be the host's, which is not there: its own groups begin at the root. */
static void
look_from_group_up(struct reader *reader, const struct version *version, char *group)
{
    for (;;) {
        look_at_group(reader, version, group);
        char *slash = strrchr(group, '/');
        if (!slash) return;
        *slash = '\0';
    }
}

/* A line is `0::/group` (v2) or `4:memory:/group`. */
static void
look_at_line(struct reader *reader, char *line)
{
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;

    if (!group) return;
    *group++ = '\0';
    controllers++;
    if (strcmp(group, "/") == 0) *group = '\0';
    if (!*controllers) {
        look_from_group_up(reader, &version_2, group);
        return;
    }
    for (char *name = strtok_r(controllers, ",", &controllers); name; name = strtok_r(NULL, ",", &controllers)) {
        if (strcmp(name, "memory") == 0) look_from_group_up(reader, &version_1, group);
    }
}

static void
look_at_groups(struct reader *reader)
{
    struct lines lines;
    char path[PATH_SIZE], *line;

    snprintf(path, sizeof(path), "%s/proc/self/cgroup", reader->root);
    if (!open_lines(&lines, path)) return;
    while ((line = next_line(&lines))) look_at_line(reader, line);
    close(lines.fd);
}

static void
look_at_machine(const char *root, struct hs_memory_limit *machine)
{
    char path[PATH_SIZE];
    uint64_t total, available;

    snprintf(path, sizeof(path), "%s/proc/meminfo", root);
    if (!find_number(path, "MemTotal", &total) || !find_number(path, "MemAvailable", &available)) return;
    machine->bytes = total * 1024;
    machine->used = available < total ? (total - available) * 1024 : 0;
}

bool
rb_hs_memory_limit_read(const char *root, uint32_t percent, struct hs_memory_limit *limit)
{
    struct hs_memory_limit machine = {.machine = true};

    look_at_machine(root, &machine);
    struct reader reader = {root, percent, machine.bytes, limit};
    *limit = (struct hs_memory_limit){0};
    look_at_groups(&reader);
    if (!limit->bytes) *limit = machine;
    return limit->bytes != 0;
}

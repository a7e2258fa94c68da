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

enum { PATH_SIZE = 4096,
       TEXT_SIZE = 16 * 1024 };

static const struct version {
    const char *folder, *limit, *used, *inactive;
} version_1 = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"},
  version_2 = {"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"};

static bool
read_text(const char *path, char *text, size_t size)
{
    size_t len = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0) return false;
    while (len < size - 1) {
        ssize_t got = read(fd, text + len, size - 1 - len);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        len += (size_t)got;
    }
    close(fd);
    text[len] = '\0';
    return len > 0;
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

/* The number behind a name, at the beginning of one of the text's lines. */
static bool
find_number(const char *text, const char *name, uint64_t *number)
{
    size_t len = strlen(name);

    for (;;) {
        if (strncmp(text, name, len) == 0 && (text[len] == ' ' || text[len] == ':')) return read_number(text + len + 1, number);
        text = strchr(text, '\n');
        if (!text) return false;
        text++;
    }
}

struct reader {
    const char *root;
    uint32_t percent;
    uint64_t machine;           /* all of its memory */
    struct hs_memory_limit *nearest;
    char text[TEXT_SIZE];
};

static bool
read_of_group(struct reader *reader, const struct version *version, const char *group, const char *file)
{
    char path[PATH_SIZE];
    int len = snprintf(path, sizeof(path), "%s%s%s/%s", reader->root, version->folder, group, file);

    return len > 0 && (size_t)len < sizeof(path) && read_text(path, reader->text, sizeof(reader->text));
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

    if (!read_of_group(reader, version, group, version->limit) || !read_number(reader->text, &found.bytes)) return;
    if (!found.bytes || (reader->machine && found.bytes >= reader->machine)) return;
    if (!read_of_group(reader, version, group, version->used) || !read_number(reader->text, &found.used)) return;
    if (share(&found) * 100 >= reader->percent && read_of_group(reader, version, group, "memory.stat") &&
        find_number(reader->text, version->inactive, &inactive)) {
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

bool
rb_hs_memory_limit_read(const char *root, uint32_t percent, struct hs_memory_limit *limit)
{
    struct reader reader = {.root = root, .percent = percent, .nearest = limit};
    struct hs_memory_limit machine = {.machine = true};
    char path[PATH_SIZE], groups[TEXT_SIZE], *rest = groups;
    uint64_t total, available;

    *limit = (struct hs_memory_limit){0};
    snprintf(path, sizeof(path), "%s/proc/meminfo", root);
    if (read_text(path, reader.text, sizeof(reader.text)) && find_number(reader.text, "MemTotal", &total) &&
        find_number(reader.text, "MemAvailable", &available)) {
        machine.bytes = reader.machine = total * 1024;
        machine.used = available < total ? (total - available) * 1024 : 0;
    }
    snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
    if (read_text(path, groups, sizeof(groups))) {
        for (char *line = strtok_r(rest, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) look_at_line(&reader, line);
    }
    if (!limit->bytes) *limit = machine;
    return limit->bytes != 0;
}

/*
 * The memory limits of cgroups; see memory/smaps.h.
 */
#include "heap_sampler/memory/smaps.h"
#include "heap_sampler/base/proc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Small, since all of it is on the caller's stack (rb_hs_stack_short_p of mri.h). A longer line is skipped; a group's
 * path has some 250 bytes in Kubernetes. */
enum { LINE_SIZE = 1024,
       PATH_SIZE = LINE_SIZE + 256 };

/* A limit, what counts against it, and a limit of a group above that may not be to be seen, in the statistics. */
struct limit_names {
    const char *limit, *used, *above;
};

/* The first limit is the one at which the kernel kills. */
enum { LIMITS = 2 };
static const struct version {
    const char *folder, *inactive;
    struct limit_names limits[LIMITS];
} version_1 = {"/sys/fs/cgroup/memory", "total_inactive_file", {{"memory.limit_in_bytes", "memory.usage_in_bytes", "hierarchical_memory_limit"}, {"memory.memsw.limit_in_bytes", "memory.memsw.usage_in_bytes", "hierarchical_memsw_limit"}}},
  version_2 = {"/sys/fs/cgroup", "inactive_file", {{"memory.max", "memory.current", NULL}, {"memory.high", "memory.current", NULL}}};

static bool
read_number(const char *text, uint64_t *number)
{
    char *end;

    while (*text == ' ' || *text == '\t') text++;
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
    struct hs_lines lines;
    bool found = false;
    char text[LINE_SIZE], *line;

    if (!rb_hs_lines_open(&lines, path, text, sizeof(text))) return false;
    while (!found && (line = rb_hs_next_line(&lines))) found = !lines.cut && number_in_line(line, name, number);
    close(lines.fd);
    return found;
}

/* It looks for the `nearest` limit, or for a `room` that is too small. */
struct reader {
    const char *root;
    uint64_t machine;           /* all of its memory */
    struct hs_memory_limit *nearest;
    uint32_t percent;
    uint64_t some, all;
    struct hs_memory_room *room;
    const struct version *version;
    const char *group;          /* which is read now */
    bool kills_group;           /* in a group that was read so far */
};

static bool
find_number_of_group(const struct reader *reader, const char *file, const char *name, uint64_t *number)
{
    char path[PATH_SIZE];
    int len = snprintf(path, sizeof(path), "%s%s%s/%s", reader->root, reader->version->folder, reader->group, file);

    return len > 0 && (size_t)len < sizeof(path) && find_number(path, name, number);
}

static double
share(const struct hs_memory_limit *limit)
{
    return (double)limit->used / (double)limit->bytes;
}

static uint64_t
left(const struct hs_memory_limit *limit)
{
    return limit->used < limit->bytes ? limit->bytes - limit->used : 0;
}

/* Near enough that it matters how much of it is page cache. */
static bool
near_p(const struct reader *reader, const struct hs_memory_limit *found)
{
    if (!reader->room) return share(found) * 100 >= reader->percent;
    return left(found) < (reader->kills_group ? reader->all : reader->some);
}

static void
note(struct reader *reader, const struct hs_memory_limit *found, const char *group)
{
    struct hs_memory_room *room = reader->room;

    if (!room) {
        if (!reader->nearest->bytes || share(found) > share(reader->nearest)) *reader->nearest = *found;
    }
    else if (near_p(reader, found) && (!room->limit || left(found) < room->left)) {
        *room = (struct hs_memory_room){left(found), found->bytes, reader->kills_group, ""};
        snprintf(room->group, sizeof(room->group), "%s", group);
    }
}

/* v1 says that there is no limit by one of 2^63 bytes, less a page. */
static void
look_at_limit(struct reader *reader, const struct limit_names *names)
{
    struct hs_memory_limit found = {.machine = false};
    uint64_t above, inactive;

    if (!find_number_of_group(reader, names->limit, "", &found.bytes)) return;
    if (reader->room && names->above && find_number_of_group(reader, "memory.stat", names->above, &above) && above < found.bytes) {
        found.bytes = above;
    }
    if (!found.bytes || (reader->machine && found.bytes >= reader->machine)) return;
    if (!find_number_of_group(reader, names->used, "", &found.used)) return;
    if (near_p(reader, &found) && find_number_of_group(reader, "memory.stat", reader->version->inactive, &inactive)) {
        found.used = found.used > inactive ? found.used - inactive : 0;
    }
    note(reader, &found, *reader->group ? reader->group : "/");
}

/* In a container the path may be the host's, which is not there: its own groups begin at the root. */
static void
look_from_group_up(struct reader *reader, const struct version *version, char *group)
{
    uint64_t whole;
    char *slash;

    reader->version = version;
    reader->group = group;
    do {
        if (reader->room && find_number_of_group(reader, "memory.oom.group", "", &whole) && whole) reader->kills_group = true;
        for (int i = 0; i < (reader->room ? LIMITS : 1); i++) look_at_limit(reader, &version->limits[i]);
        slash = strrchr(group, '/');
        if (slash) *slash = '\0';
    } while (slash);
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
    struct hs_lines lines;
    char path[PATH_SIZE], text[LINE_SIZE], *line;

    snprintf(path, sizeof(path), "%s/proc/self/cgroup", reader->root);
    if (!rb_hs_lines_open(&lines, path, text, sizeof(text))) return;
    while ((line = rb_hs_next_line(&lines))) {
        if (!lines.cut) look_at_line(reader, line);
    }
    close(lines.fd);
}

static bool
look_at_machine(const char *root, struct hs_memory_limit *machine)
{
    char path[PATH_SIZE];
    uint64_t total, available;

    snprintf(path, sizeof(path), "%s/proc/meminfo", root);
    if (!find_number(path, "MemTotal", &total) || !find_number(path, "MemAvailable", &available)) return false;
    *machine = (struct hs_memory_limit){available < total ? (total - available) * 1024 : 0, total * 1024, true};
    return total != 0;
}

bool
rb_hs_memory_limit_read(const char *root, uint32_t percent, struct hs_memory_limit *limit)
{
    struct hs_memory_limit machine = {0};

    look_at_machine(root, &machine);
    *limit = (struct hs_memory_limit){0};
    look_at_groups(&(struct reader){.root = root, .machine = machine.bytes, .nearest = limit, .percent = percent});
    if (!limit->bytes) *limit = machine;
    return limit->bytes != 0;
}

/* The machine comes last: when it is out of memory, the kernel looks at the victim's groups, too. */
bool
rb_hs_memory_short_p(const char *root, uint64_t some, uint64_t all, struct hs_memory_room *room)
{
    struct hs_memory_limit machine = {0};
    bool known = look_at_machine(root, &machine);
    struct reader reader = {.root = root, .machine = machine.bytes, .some = some, .all = all, .room = room};

    *room = (struct hs_memory_room){0};
    look_at_groups(&reader);
    if (known) note(&reader, &machine, "");
    return room->limit != 0;
}

uint64_t
rb_hs_memory_status(const char *root, const char *name)
{
    char path[PATH_SIZE];
    uint64_t kilobytes = 0;

    snprintf(path, sizeof(path), "%s/proc/self/status", root);
    find_number(path, name, &kilobytes);
    return kilobytes * 1024;
}

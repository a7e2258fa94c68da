/*
 * The limit that a process shares with others of its cgroup, read from
 * folders of files that stand for /proc and /sys.
 */
#define _GNU_SOURCE
#include "tap.h"
#include "heap_sampler/memory/smaps.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB (1024LL * 1024)

static char root[2048];
static int worlds;

/* A file of the machine that is being made up, with its folders. */
static void
put(const char *path, const char *text)
{
    char full[4096];
    snprintf(full, sizeof(full), "%s%s", root, path);
    for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(full, 0700);
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    if (!file || fputs(text, file) < 0) abort();
    fclose(file);
}

static void
put_mib(const char *folder, const char *name, long long mib)
{
    char path[1024], text[64];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    snprintf(text, sizeof(text), "%lld\n", mib * MIB);
    put(path, text);
}

/* Another machine, of 8 GiB, 2 of which are used. */
static void
new_world(const char *top, const char *groups)
{
    snprintf(root, sizeof(root), "%s/limits-%d", top, worlds++);
    mkdir(top, 0700);
    mkdir(root, 0700);
    put("/proc/meminfo", "MemTotal:        8388608 kB\nMemFree:          100000 kB\nMemAvailable:    6291456 kB\nCached: 1 kB\n");
    if (groups) put("/proc/self/cgroup", groups);
}

static void
put_stat(const char *folder, const char *name, long long mib)
{
    char path[1024], text[256];
    snprintf(path, sizeof(path), "%s/memory.stat", folder);
    snprintf(text, sizeof(text), "anon 1\nfile 2\nx_%s 5\n%s %lld\nactive_file 3\n", name, name, mib * MIB);
    put(path, text);
}

static void
group_v2(const char *folder, const char *limit, long long used_mib, long long inactive_mib)
{
    char path[1024];
    snprintf(path, sizeof(path), "%s/memory.max", folder);
    put(path, limit);
    put_mib(folder, "memory.current", used_mib);
    put_stat(folder, "inactive_file", inactive_mib);
}

static void
is_limit(long long used_mib, long long limit_mib, bool machine, const char *name)
{
    struct hs_memory_limit limit;
    bool found = rb_hs_memory_limit_read(root, 50, &limit);
    if (!ok(found && (long long)limit.used == used_mib * MIB && (long long)limit.bytes == limit_mib * MIB &&
                limit.machine == machine,
            "%s", name)) {
        note("%s: %llu of %llu%s", found ? "found" : "nothing", (unsigned long long)limit.used,
             (unsigned long long)limit.bytes, limit.machine ? ", machine" : "");
    }
}

#define CGROUP "/sys/fs/cgroup"
#define GIB "1073741824\n"

static void
test_v2(const char *top)
{
    new_world(top, "0::/app\n");
    group_v2(CGROUP "/app", GIB, 900, 200);
    is_limit(700, 1024, false, "v2: what a group uses, less the page cache that nobody used of late");

    new_world(top, "0::/app\n");
    group_v2(CGROUP "/app", GIB, 500, 200);
    is_limit(500, 1024, false, "v2: below the share the statistics are not read");

    new_world(top, "0::/\n");
    group_v2(CGROUP, GIB, 900, 100);
    is_limit(800, 1024, false, "v2: a container's own group is the root");

    new_world(top, "0::/system.slice/docker-1.scope\n");
    group_v2(CGROUP, GIB, 900, 100);
    is_limit(800, 1024, false, "v2: also where the path is the host's");

    new_world(top, "0::/pod/app\n");
    group_v2(CGROUP "/pod/app", GIB, 600, 0);
    group_v2(CGROUP "/pod", "2147483648\n", 1900, 0);
    is_limit(1900, 2048, false, "v2: the group that is nearest its limit counts, here the one above");

    new_world(top, "0::/pod/app\n");
    group_v2(CGROUP "/pod/app", "max\n", 600, 0);
    group_v2(CGROUP "/pod", GIB, 800, 0);
    is_limit(800, 1024, false, "v2: a limit above holds for the groups below");

    new_world(top, "0::/app\n");
    group_v2(CGROUP "/app", "max\n", 600, 0);
    is_limit(2048, 8192, true, "v2: without a limit it is the machine's memory");

    new_world(top, "0::/app\n");
    group_v2(CGROUP "/app", "17179869184\n", 600, 0);
    is_limit(2048, 8192, true, "v2: also with one that is larger than the machine");

    new_world(top, "0::/app\n");
    put(CGROUP "/app/memory.max", GIB);
    put_mib(CGROUP "/app", "memory.current", 900);
    is_limit(900, 1024, false, "v2: without statistics all of the page cache counts");
}

static void
test_v1(const char *top)
{
    static const char groups[] = "12:cpu,cpuacct:/other\n4:memory:/docker/a\n1:name=systemd:/memory\n0::/\n";
    const char *folder = CGROUP "/memory/docker/a";

    new_world(top, groups);
    put(CGROUP "/memory/docker/a/memory.limit_in_bytes", GIB);
    put_mib(folder, "memory.usage_in_bytes", 1000);
    put_stat(folder, "total_inactive_file", 100);
    put(CGROUP "/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put_mib(CGROUP "/memory", "memory.usage_in_bytes", 7000);
    is_limit(900, 1024, false, "v1: the same");

    new_world(top, groups);
    put(CGROUP "/memory/memory.limit_in_bytes", GIB);
    put_mib(CGROUP "/memory", "memory.usage_in_bytes", 1000);
    put_stat(CGROUP "/memory", "total_inactive_file", 100);
    is_limit(900, 1024, false, "v1: in a container the path may be the host's");

    new_world(top, groups);
    put(CGROUP "/memory/docker/a/memory.limit_in_bytes", "9223372036854771712\n");
    put_mib(folder, "memory.usage_in_bytes", 1000);
    is_limit(2048, 8192, true, "v1: no limit is the machine's memory");

    new_world(top, "5:cpu,memory:/docker/a\n");
    put(CGROUP "/memory/docker/a/memory.limit_in_bytes", GIB);
    put_mib(folder, "memory.usage_in_bytes", 1000);
    is_limit(1000, 1024, false, "v1: a hierarchy of several controllers");
}

/* -- the room for a heap walk ----------------------------------------------------------------------- */

static void
oom_group(const char *folder, const char *text)
{
    char path[1024];
    snprintf(path, sizeof(path), "%s/memory.oom.group", folder);
    put(path, text);
}

/* NULL: every group has it. "": the machine is short. */
static void
is_short(long long some_mib, long long all_mib, const char *group, long long left_mib, bool kills_group, const char *name)
{
    struct hs_memory_room room;
    bool is = rb_hs_memory_short_p(root, (uint64_t)(some_mib * MIB), (uint64_t)(all_mib * MIB), &room);
    bool right = is == (group != NULL) && (!is || (strcmp(room.group, group) == 0 && room.left == (uint64_t)(left_mib * MIB) && room.kills_group == kills_group));
    if (!ok(right, "%s", name)) note("%s: %llu left in \"%s\"%s", is ? "short" : "enough", (unsigned long long)room.left, room.group, room.kills_group ? ", kills the group" : "");
}

static void
test_room_v2(const char *top)
{
    new_world(top, "0::/pod/app\n");
    group_v2(CGROUP "/pod/app", GIB, 900, 100);
    group_v2(CGROUP "/pod", "2147483648\n", 1900, 0);
    is_short(140, 140, NULL, 0, false, "room, v2: enough in each group");
    is_short(149, 149, "/pod", 148, false, "room, v2: too little in the group above");
    is_short(300, 300, "/pod", 148, false, "room, v2: the group with the least is reported, also where the statistics of all are read");
    is_short(7000, 7000, "/pod", 148, false, "room, v2: and not the machine, which has more");

    new_world(top, "0::/app\n");
    group_v2(CGROUP "/app", GIB, 1000, 400);
    is_short(424, 424, NULL, 0, false, "room, v2: inactive page cache is room");
    is_short(425, 425, "/app", 424, false, "room, v2: but no more than that");

    new_world(top, "0::/app\n");
    group_v2(CGROUP "/app", "max\n", 1000, 0);
    put(CGROUP "/app/memory.high", GIB);
    is_short(24, 24, NULL, 0, false, "room, v2: as much as is left below memory.high");
    is_short(25, 25, "/app", 24, false, "room, v2: above memory.high there is none, since the kernel delays the program there");
    is_limit(2048, 8192, true, "v2: at-rss= does not count memory.high, where nothing is killed");

    new_world(top, "0::/app\n");
    group_v2(CGROUP "/app", GIB, 1100, 0);
    is_short(1, 1, "/app", 0, false, "room, v2: none in a group that is above its limit");

    new_world(top, "0::/app\n");
    group_v2(CGROUP "/app", "max\n", 100, 0);
    is_short(6144, 6144, NULL, 0, false, "room: the machine's, where no group has a limit");
    is_short(6145, 6145, "", 6144, false, "room: the machine is short");
}

static void
test_oom_group(const char *top)
{
    new_world(top, "0::/pod/app\n");
    group_v2(CGROUP "/pod/app", GIB, 800, 0);
    group_v2(CGROUP "/pod", "2147483648\n", 1000, 0);
    oom_group(CGROUP "/pod/app", "0\n");
    is_short(200, 500, NULL, 0, false, "memory.oom.group is 0: some room will do");
    oom_group(CGROUP "/pod/app", "1\n");
    is_short(200, 500, "/pod/app", 224, true, "memory.oom.group is 1: all must fit");
    is_short(200, 224, NULL, 0, false, "memory.oom.group is 1, and all fits");

    oom_group(CGROUP "/pod/app", "0\n");
    oom_group(CGROUP "/pod", "1\n");
    is_short(200, 1000, NULL, 0, false, "memory.oom.group of a group above does not matter at a limit below it");
    is_short(200, 1049, "/pod", 1048, true, "memory.oom.group of a group above matters at its own limit");

    new_world(top, "0::/pod/app\n");
    group_v2(CGROUP "/pod/app", "max\n", 800, 0);
    oom_group(CGROUP "/pod/app", "1\n");
    group_v2(CGROUP "/pod", GIB, 900, 0);
    is_short(100, 500, "/pod", 124, true, "memory.oom.group below the group that has the limit: the kernel ends all of the group below");

    new_world(top, "0::/app\n");
    group_v2(CGROUP "/app", "max\n", 800, 0);
    oom_group(CGROUP "/app", "1\n");
    is_short(100, 7000, "", 6144, true, "memory.oom.group where the machine has too little");
}

static void
test_room_v1(const char *top)
{
    const char *folder = CGROUP "/memory/docker/a";

    new_world(top, "4:memory:/docker/a\n");
    put(CGROUP "/memory/docker/a/memory.limit_in_bytes", GIB);
    put_mib(folder, "memory.usage_in_bytes", 1000);
    put_stat(folder, "total_inactive_file", 200);
    put_mib(CGROUP "/memory/docker", "memory.limit_in_bytes", 2048);
    put_mib(CGROUP "/memory/docker", "memory.usage_in_bytes", 2000);
    put_stat(CGROUP "/memory/docker", "total_inactive_file", 10);
    is_short(58, 58, NULL, 0, false, "room, v1: enough in each group");
    is_short(59, 59, "/docker", 58, false, "room, v1: too little in the group above");

    put_mib(folder, "memory.memsw.limit_in_bytes", 1100);
    put_mib(folder, "memory.memsw.usage_in_bytes", 1290);
    is_short(11, 11, "/docker/a", 10, false, "room, v1: the limit of memory and swap together");

    new_world(top, "4:memory:/kubepods/pod/a\n");
    put(CGROUP "/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put_mib(CGROUP "/memory", "memory.usage_in_bytes", 900);
    put(CGROUP "/memory/memory.stat", "cache 5\nhierarchical_memory_limit " GIB "hierarchical_memsw_limit 9223372036854771712\ntotal_inactive_file 0\n");
    is_short(124, 124, NULL, 0, false, "room, v1: below the limit of a group that is not to be seen in a container");
    is_short(125, 125, "/", 124, false, "room, v1: the limit of a group that is not to be seen in a container");
}

static void
test_anonymous(const char *top)
{
    new_world(top, NULL);
    put("/proc/self/status", "Name:\truby\nVmRSS:\t  500 kB\nRssAnon:\t    300 kB\nRssFile:\t 200 kB\nVmSwap:\t     44 kB\n");
    is_number((long long)rb_hs_memory_status(root, "RssAnon"), 300 * 1024, "anonymous memory");
    is_number((long long)rb_hs_memory_status(root, "VmSwap"), 44 * 1024, "anonymous memory that is swapped out");
    is_number((long long)rb_hs_memory_status("/nowhere", "RssAnon"), 0, "anonymous memory: not known");
    ok(rb_hs_memory_status("", "RssAnon") > 4096 && rb_hs_memory_status("", "VmPTE") >= 4096, "anonymous memory and page tables of this process");
}

static void
test_odd(const char *top)
{
    struct hs_memory_limit limit;

    new_world(top, NULL);
    is_limit(2048, 8192, true, "no cgroups at all: the machine");
    new_world(top, "nonsense\n::\n0::\n\n7:memory\n");
    group_v2(CGROUP, "0\n", 900, 0);
    is_limit(2048, 8192, true, "lines that are no groups, and a limit of nothing");
    /* All ways in which lines meet the end of what is read at once. */
    for (int len = 0; len < 2100; len++) {
        char groups[2200];
        struct hs_memory_limit limit;
        snprintf(groups, sizeof(groups), "7:cpu:/%0*d\n0::/app", len, 1);
        if (len) {
            put("/proc/self/cgroup", groups);
        }
        else {
            new_world(top, groups);
            group_v2(CGROUP "/app", GIB, 900, 200);
        }
        if (!rb_hs_memory_limit_read(root, 50, &limit) || limit.machine || limit.used != 700 * MIB) {
            ok(false, "a line of %d bytes before the group's, which ends with the file", len);
            break;
        }
        if (len == 2099) ok(true, "lines of up to %d bytes before the group's, which ends with the file", len);
    }
    new_world(top, "0::/app\n");
    group_v2(CGROUP "/app", "-5\n", 900, 0);
    is_limit(2048, 8192, true, "a limit that is no number");
    new_world(top, "0::/app\n");
    group_v2(CGROUP "/app", GIB, 900, 2000);
    is_limit(0, 1024, false, "statistics that are ahead of the use");

    snprintf(root, sizeof(root), "%s/limits-none", top);
    ok(!rb_hs_memory_limit_read(root, 50, &limit), "nothing can be read: no limit");

    int before = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(before);
    new_world(top, "0::/pod/app\n");
    group_v2(CGROUP "/pod/app", GIB, 900, 0);
    rb_hs_memory_limit_read(root, 50, &limit);
    int after = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(after);
    is_number(after, before, "no file stays open");
}

void
test_memory_limit(const char *top)
{
    struct hs_memory_limit limit;

    test_v2(top);
    test_v1(top);
    test_room_v2(top);
    test_oom_group(top);
    test_room_v1(top);
    test_anonymous(top);
    test_odd(top);
    ok(rb_hs_memory_limit_read("", 50, &limit) && limit.used > 0 && limit.used < 2 * limit.bytes, "this machine has a limit");
}

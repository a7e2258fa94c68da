/* See account/inherited.h. */
#include "heap_sampler/account/inherited.h"
#include "heap_sampler/account/bodies.h"

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#define ADDRESSES (UINT64_C(1) << 48)
#define PRESENT (UINT64_C(1) << 63)
#define MAPPED_ONCE (UINT64_C(1) << 56)

enum { BODIES_AT_ONCE = 32,
       BODIES_MOST = 1 << 18 }; /* 16 GiB of heap pages, some 100 ms */

/* 0: not forked. */
static int parent;
static const char *unknown;

void
rb_hs_inherited_after_fork(int parent_pid, bool sampled)
{
    parent = parent_pid;
    unknown = !sampled ? "sampling was off when the process was forked" : rb_hs_bodies_inherit() ? NULL
                                                                                                 : "there was no memory at the fork";
}

/* How many entries were read. */
static uint64_t
read_entries(const struct hs_sharing *sharing, uint64_t start, uint64_t end, uint64_t *entries)
{
    uint64_t first = start / sharing->page_size, count = end / sharing->page_size - first;
    ssize_t got = pread(sharing->pagemap, entries, count * sizeof(*entries), (off_t)(first * sizeof(*entries)));
    return got < 0 ? 0 : (uint64_t)got / sizeof(*entries);
}

static bool
unshared_p(uint64_t entry)
{
    return (entry & PRESENT) && (entry & MAPPED_ONCE);
}

static void
add_bodies(struct hs_sharing *sharing, uint64_t start, uint64_t end)
{
    uint64_t entries[BODIES_AT_ONCE * sizeof(sharing->entries) / sizeof(*sharing->entries)];
    uint64_t count = read_entries(sharing, start, end, entries);
    for (uint64_t i = 0; i < count; i++) {
        if (entries[i] & PRESENT) sharing->sum.bytes += sharing->page_size;
        if (unshared_p(entries[i])) sharing->sum.unshared += sharing->page_size;
    }
}

static void
add_all(struct hs_sharing *sharing)
{
    uint64_t end, left = BODIES_MOST, start = 0;
    while (left && (start = rb_hs_next_inherited(start, ADDRESSES, true)) < ADDRESSES) {
        end = rb_hs_next_inherited(start, start + BODIES_AT_ONCE * HS_BODY_BYTES, false);
        add_bodies(sharing, start, end);
        uint64_t bodies = (end - start) / HS_BODY_BYTES;
        left -= bodies < left ? bodies : left;
        start = end;
    }
}

static const char *
missing(const struct hs_sharing *sharing)
{
    if (unknown) return unknown;
    if (getppid() != parent) return "the process that it was forked from has ended";
    if (sharing->page_size > HS_BODY_BYTES) return "the kernel's pages are larger than heap pages";
    return sharing->pagemap < 0 ? "/proc/self/pagemap cannot be read" : NULL;
}

void
rb_hs_sharing_begin(struct hs_sharing *sharing)
{
    *sharing = (struct hs_sharing){.pagemap = -1, .page_size = (uint64_t)sysconf(_SC_PAGESIZE)};
    if (!parent) return;
    sharing->pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    sharing->sum.missing = missing(sharing);
    sharing->sum.known = !sharing->sum.missing;
    if (sharing->sum.known) add_all(sharing);
    else rb_hs_sharing_end(sharing);
}

/* What was not read is not known to be unshared. */
static void
look_at(struct hs_sharing *sharing, uint64_t body)
{
    uint64_t count = 0;
    sharing->body = body;
    if (rb_hs_next_inherited(body, body + HS_BODY_BYTES, true) == body) {
        count = read_entries(sharing, body, body + HS_BODY_BYTES, sharing->entries);
    }
    for (; count < sizeof(sharing->entries) / sizeof(*sharing->entries); count++) sharing->entries[count] = 0;
}

bool
rb_hs_unshared_p(struct hs_sharing *sharing, uint64_t body, uint64_t address)
{
    if (sharing->pagemap < 0) return false;
    if (sharing->body != body) look_at(sharing, body);
    return unshared_p(sharing->entries[(address - body) / sharing->page_size]);
}

void
rb_hs_sharing_end(struct hs_sharing *sharing)
{
    if (sharing->pagemap >= 0) close(sharing->pagemap);
    sharing->pagemap = -1;
}

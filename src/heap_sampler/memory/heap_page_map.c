/*
 * See memory/smaps.h.  Two bits for each body, found by the upper bits of a 48-bit address: what 4 GiB of
 * addresses have is made when a heap page there first comes (16 KiB).  Written under the VM lock, read by any
 * thread; nothing is freed.  A part is published when it is zero; its words are atomic figures.
 */
#include "internal/heap_sampler.h"
#include "heap_sampler/memory/smaps.h"
#include "heap_sampler/base/memory.h"

#include <fcntl.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum { BODY_BITS = 16,
       WORDS = 1 << (32 - BODY_BITS - 6) };
#define TOP (UINT64_C(1) << (48 - 32))

static struct part {
    uint64_t exist[WORDS], inherited[WORDS];
} *parts[TOP];

static struct part *
part_at(uint64_t address)
{
    return address >> 32 < TOP ? __atomic_load_n(&parts[address >> 32], __ATOMIC_ACQUIRE) : NULL;
}

static struct part *
make_part_at(uint64_t address)
{
    struct part *part = part_at(address);
    if (part || address >> 32 >= TOP) return part;
    part = rb_hs_calloc(HS_MEM_RECORDS, 1, sizeof(*part));
    if (part) __atomic_store_n(&parts[address >> 32], part, __ATOMIC_RELEASE);
    return part;
}

static unsigned
word_at(uint64_t address)
{
    return (address >> (BODY_BITS + 6)) % WORDS;
}

void
rb_heap_sampler_on_page_body(uintptr_t body, size_t size, bool exists)
{
    for (uint64_t address = body; address < (uint64_t)body + size; address += HS_BODY_BYTES) {
        struct part *part = exists ? make_part_at(address) : part_at(address);
        uint64_t bit = UINT64_C(1) << ((address >> BODY_BITS) % 64);
        if (!part) continue;
        if (exists) __atomic_fetch_or(&part->exist[word_at(address)], bit, __ATOMIC_RELAXED);
        else __atomic_fetch_and(&part->exist[word_at(address)], ~bit, __ATOMIC_RELAXED);
        __atomic_fetch_and(&part->inherited[word_at(address)], ~bit, __ATOMIC_RELAXED);
    }
}

static uint64_t
next(bool inherited, uint64_t from, uint64_t to, bool wanted)
{
    while (from < to) {
        struct part *part = part_at(from);
        const uint64_t *words = !part ? NULL : inherited ? part->inherited
                                                         : part->exist;
        uint64_t word = words ? __atomic_load_n(&words[word_at(from)], __ATOMIC_RELAXED) : 0;
        word = (wanted ? word : ~word) >> (from >> BODY_BITS) % 64;
        if (word) {
            from += (uint64_t)__builtin_ctzll(word) << BODY_BITS;
            break;
        }
        from = (from | ((UINT64_C(1) << (words ? BODY_BITS + 6 : 32)) - 1)) + 1;
    }
    return from < to ? from : to;
}

uint64_t
rb_hs_next_body(uint64_t from, uint64_t to, bool wanted)
{
    return next(false, from, to, wanted);
}

/* -- /proc/self/pagemap ------------------------------------------------------------- */

int
rb_hs_survey_open_pagemap(void)
{
    return open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
}

/* The entries of the pages of [start, end), as many as have room; how many were read. */
static size_t
read_pagemap(int pagemap, uint64_t start, uint64_t end, uint64_t *entries, size_t room)
{
    uint64_t page_size = (uint64_t)sysconf(_SC_PAGESIZE), first = start / page_size, pages = end / page_size - first;
    size_t want = (pages < room ? pages : room) * sizeof(*entries);
    ssize_t got = pagemap < 0 ? -1 : pread(pagemap, entries, want, (off_t)(first * sizeof(*entries)));
    return got < 0 ? 0 : (size_t)got / sizeof(*entries);
}

/* Unknown counts as resident: the caller knows how much it is at most. */
uint64_t
rb_hs_survey_resident(int pagemap, uint64_t start, uint64_t end)
{
    uint64_t page_size = (uint64_t)sysconf(_SC_PAGESIZE), entries[512], bytes = 0;
    size_t count;
    start -= start % page_size;
    end -= end % page_size;
    for (; start < end; start += count * page_size) {
        count = read_pagemap(pagemap, start, end, entries, sizeof(entries) / sizeof(*entries));
        if (!count) return bytes + (end - start);
        for (size_t i = 0; i < count; i++) bytes += entries[i] >> 63 ? page_size : 0;
    }
    return bytes;
}

/* A small block shares its pages with others or is on one that it was written to.  Of large ones the kernel knows, page by
 * page: with pages of 4 KiB, 16 GiB of them take it 40 ms. */
enum { LARGE_BLOCK = 1 << 14,
       PAGES_MOST = 4 << 20 };

struct hs_residency
rb_hs_residency_open(void)
{
    return (struct hs_residency){rb_hs_survey_open_pagemap(), PAGES_MOST};
}

double
rb_hs_resident_part(struct hs_residency *residency, uint64_t address, uint64_t size)
{
    uint64_t page_size = (uint64_t)sysconf(_SC_PAGESIZE), start = address - address % page_size;
    uint64_t pages = (address + size - start + page_size - 1) / page_size;      /* all that it has a byte in */
    if (size < LARGE_BLOCK || residency->pagemap < 0 || pages > residency->pages_left) return 1;
    residency->pages_left -= pages;
    uint64_t bytes = pages * page_size;
    return (double)rb_hs_survey_resident(residency->pagemap, start, start + bytes) / (double)bytes;
}

void
rb_hs_residency_close(struct hs_residency *residency)
{
    if (residency->pagemap >= 0) close(residency->pagemap);
}

/* -- what a fork shares ------------------------------------------------------------- */

#define ADDRESSES (UINT64_C(1) << 48)
#define PRESENT (UINT64_C(1) << 63)
#define MAPPED_ONCE (UINT64_C(1) << 56)

enum { BODIES_AT_ONCE = 32,
       BODIES_MOST = 1 << 18 }; /* 16 GiB of heap pages, some 100 ms */

static int parent;              /* 0: not forked */
static bool sampled_at_fork;

/* Each heap page that this process has is its parent's too. */
void
rb_hs_inherited_after_fork(int parent_pid, bool sampled)
{
    parent = parent_pid;
    sampled_at_fork = sampled;
    for (uint64_t i = 0; sampled && i < TOP; i++) {
        if (parts[i]) memcpy(parts[i]->inherited, parts[i]->exist, sizeof(parts[i]->exist));
    }
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
    uint64_t count = read_pagemap(sharing->pagemap, start, end, entries, sizeof(entries) / sizeof(*entries));
    for (uint64_t i = 0; i < count; i++) {
        if (entries[i] & PRESENT) sharing->sum.bytes += sharing->page_size;
        if (unshared_p(entries[i])) sharing->sum.unshared += sharing->page_size;
    }
}

static void
add_all(struct hs_sharing *sharing)
{
    uint64_t end, left = BODIES_MOST, start = 0;
    while (left && (start = next(true, start, ADDRESSES, true)) < ADDRESSES) {
        end = next(true, start, start + BODIES_AT_ONCE * HS_BODY_BYTES, false);
        add_bodies(sharing, start, end);
        uint64_t bodies = (end - start) / HS_BODY_BYTES;
        left -= bodies < left ? bodies : left;
        start = end;
    }
}

static const char *
missing(const struct hs_sharing *sharing)
{
    if (!sampled_at_fork) return "sampling was off when the process was forked";
    if (getppid() != parent) return "the parent process has ended";
    if (sharing->page_size > HS_BODY_BYTES) return "the kernel's pages are larger than heap pages";
    return sharing->pagemap < 0 ? "/proc/self/pagemap cannot be read" : NULL;
}

void
rb_hs_sharing_begin(struct hs_sharing *sharing)
{
    *sharing = (struct hs_sharing){.pagemap = -1, .page_size = (uint64_t)sysconf(_SC_PAGESIZE)};
    if (!parent) return;
    sharing->pagemap = rb_hs_survey_open_pagemap();
    sharing->sum.missing = missing(sharing);
    sharing->sum.known = !sharing->sum.missing;
    if (sharing->sum.known) add_all(sharing);
    else rb_hs_sharing_end(sharing);
}

/* What was not read is not known to be unshared. */
static void
look_at(struct hs_sharing *sharing, uint64_t body)
{
    enum { entries = sizeof(sharing->entries) / sizeof(*sharing->entries) };
    uint64_t count = 0;
    sharing->body = body;
    if (next(true, body, body + HS_BODY_BYTES, true) == body) {
        count = read_pagemap(sharing->pagemap, body, body + HS_BODY_BYTES, sharing->entries, entries);
    }
    for (; count < entries; count++) sharing->entries[count] = 0;
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

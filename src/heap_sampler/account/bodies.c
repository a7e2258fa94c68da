/*
 * See account/bodies.h.  One bit for each body, in two levels: a table by the
 * upper bits of a 48-bit address, whose entries are made when a page there first
 * comes (8 KiB for each 4 GiB that heap pages are in).  Written under the VM
 * lock, read by anyone; entries stay.
 */
#include "internal/heap_sampler.h"
#include "heap_sampler/account/bodies.h"
#include "heap_sampler/base/memory.h"

#include <fcntl.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum { BODY_BITS = 16,
       WORDS = 1 << (32 - BODY_BITS - 6) };
#define TOP (UINT64_C(1) << (48 - 32))

struct bodies {
    uint64_t *words[TOP];
};

static struct bodies all, inherited;

static uint64_t *
words_at(const struct bodies *bodies, uint64_t address)
{
    return address >> 32 < TOP ? __atomic_load_n(&bodies->words[address >> 32], __ATOMIC_ACQUIRE) : NULL;
}

static uint64_t *
make_words_at(struct bodies *bodies, uint64_t address)
{
    uint64_t *words = words_at(bodies, address);
    if (words || address >> 32 >= TOP) return words;
    words = rb_hs_calloc(HS_MEM_RECORDS, WORDS, sizeof(*words));
    uint64_t *expected = NULL;
    if (!words || __atomic_compare_exchange_n(&bodies->words[address >> 32], &expected, words, false, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE)) {
        return words;
    }
    rb_hs_free(HS_MEM_RECORDS, words);
    return expected;
}

static uint64_t *
word_of(uint64_t *words, uint64_t address)
{
    return &words[(address >> (BODY_BITS + 6)) % WORDS];
}

static void
set(uint64_t *words, uint64_t address, bool exists)
{
    uint64_t bit = UINT64_C(1) << ((address >> BODY_BITS) % 64);
    if (!words) return;
    if (exists) __atomic_fetch_or(word_of(words, address), bit, __ATOMIC_RELAXED);
    else __atomic_fetch_and(word_of(words, address), ~bit, __ATOMIC_RELAXED);
}

void
rb_heap_sampler_on_page_body(uintptr_t body, size_t size, bool exists)
{
    for (uint64_t address = body; address < (uint64_t)body + size; address += HS_BODY_BYTES) {
        set(exists ? make_words_at(&all, address) : words_at(&all, address), address, exists);
        if (!exists) set(words_at(&inherited, address), address, false);
    }
}

static uint64_t
next(const struct bodies *bodies, uint64_t from, uint64_t to, bool wanted)
{
    while (from < to) {
        uint64_t *words = words_at(bodies, from);
        uint64_t word = words ? __atomic_load_n(word_of(words, from), __ATOMIC_RELAXED) : 0;
        unsigned in_word = (from >> BODY_BITS) % 64;
        word = (wanted ? word : ~word) >> in_word;
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
    return next(&all, from, to, wanted);
}

/* -- what a fork shares ------------------------------------------------------------- */

/* Each heap page that this process has is its parent's too. false: no memory, and none is known to be. */
static bool
inherit(void)
{
    for (uint64_t i = 0; i < TOP; i++) {
        const uint64_t *from = all.words[i];
        uint64_t *words = from ? make_words_at(&inherited, i << 32) : NULL;
        if (from && !words) return false;
        if (words) memcpy(words, from, WORDS * sizeof(*words));
    }
    return true;
}

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
    unknown = !sampled ? "sampling was off when the process was forked" : inherit() ? NULL
                                                                                    : "there was not enough memory at the fork";
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
    while (left && (start = next(&inherited, start, ADDRESSES, true)) < ADDRESSES) {
        end = next(&inherited, start, start + BODIES_AT_ONCE * HS_BODY_BYTES, false);
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
    if (getppid() != parent) return "the parent process has ended";
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
    if (next(&inherited, body, body + HS_BODY_BYTES, true) == body) {
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

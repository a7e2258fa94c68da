/*
 * See account/bodies.h.  One bit for each body, in two levels: a table by the
 * upper bits of a 48-bit address, whose entries are made when a page there first
 * comes (8 KiB for each 4 GiB that heap pages are in).  Written under the VM
 * lock, read by anyone; entries stay.
 */
#include "internal/heap_sampler.h"
#include "heap_sampler/account/bodies.h"
#include "heap_sampler/base/memory.h"

#include <string.h>

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

uint64_t
rb_hs_next_inherited(uint64_t from, uint64_t to, bool wanted)
{
    return next(&inherited, from, to, wanted);
}

bool
rb_hs_bodies_inherit(void)
{
    for (uint64_t i = 0; i < TOP; i++) {
        const uint64_t *from = all.words[i];
        uint64_t *words = from ? make_words_at(&inherited, i << 32) : NULL;
        if (from && !words) return false;
        if (words) memcpy(words, from, WORDS * sizeof(*words));
    }
    return true;
}

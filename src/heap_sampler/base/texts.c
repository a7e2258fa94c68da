/*
 * The table of texts.  A text is found by a 64-bit hash of its bytes, compared,
 * and probed linearly over the key when two texts share a hash.
 *
 * The bytes live in blocks that do not move.  rb_hs_texts_keep copies what stays
 * to new blocks; the last rb_hs_texts_release of the old ones frees them.  So a
 * profile that is held for long costs the names of its time, 4 MiB at most.
 */
#include "heap_sampler/base/table.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/contract.h"

#include <string.h>

enum { BLOCK_SIZE = 64 * 1024,
       EVICTED = 1,
       FIRST = 2 };             /* number of other texts */

/* While own memory is bounded. */
enum { TEXTS_MAX = 1 << 16,
       TEXT_BYTES_MAX = 4 << 20 };

struct hs_text *rb_hs_texts;
uint32_t rb_hs_text_count;
uint64_t rb_hs_texts_dropped;
static uint32_t text_capacity;
static struct hs_map texts_by_hash = {.use = HS_MEM_NAMES};
static uint32_t next_free;      /* no number below it is free */
static size_t text_bytes;

struct block {
    struct block *next;
    char bytes[];
};

struct hs_text_bytes {
    uint32_t holders;           /* atomic; one of them is the table.  A thread adds one where there is one, under a lock or as a
                                 * holder; the last to leave has seen all that the others did (acquire and release) */
    struct block *blocks;       /* the first is being filled */
    size_t left;                /* bytes of the first */
};
static struct hs_text_bytes *stored;    /* of all texts in the table */

/* Room for so many bytes. A long text has a block of its own. */
static char *
room_in(struct hs_text_bytes *bytes, size_t len)
{
    bool alone = len > BLOCK_SIZE / 4;
    if (alone || len > bytes->left) {
        struct block *fresh = rb_hs_malloc(HS_MEM_NAMES, sizeof(*fresh) + (alone ? len : BLOCK_SIZE));
        if (!fresh) return NULL;
        struct block **place = alone && bytes->blocks ? &bytes->blocks->next : &bytes->blocks;
        fresh->next = *place;
        *place = fresh;
        if (alone) return fresh->bytes;
        bytes->left = BLOCK_SIZE;
    }
    bytes->left -= len;
    return bytes->blocks->bytes + BLOCK_SIZE - bytes->left - len;
}

const char *
rb_hs_text_store(struct hs_text_bytes *bytes, const char *ptr, size_t len)
{
    char *place = room_in(bytes, len);
    return place ? memcpy(place, ptr, len) : NULL;
}

struct hs_text_bytes *
rb_hs_text_bytes_new(void)
{
    struct hs_text_bytes *bytes = rb_hs_calloc(HS_MEM_NAMES, 1, sizeof(*bytes));
    if (bytes) bytes->holders = 1;
    return bytes;
}

struct hs_text_bytes *
rb_hs_text_bytes_hold(struct hs_text_bytes *bytes)
{
    if (bytes) __atomic_add_fetch(&bytes->holders, 1, __ATOMIC_RELAXED);
    return bytes;
}

struct hs_text_bytes *
rb_hs_texts_hold(void)
{
    HS_CONTRACT(read);
    return rb_hs_text_bytes_hold(stored);
}

void
rb_hs_texts_release(struct hs_text_bytes *bytes)
{
    if (!bytes || __atomic_sub_fetch(&bytes->holders, 1, __ATOMIC_ACQ_REL)) return;
    while (bytes->blocks) {
        struct block *block = bytes->blocks;
        bytes->blocks = block->next;
        rb_hs_free(HS_MEM_NAMES, block);
    }
    rb_hs_free(HS_MEM_NAMES, bytes);
}

static bool
ensure_first_texts(void)
{
    if (rb_hs_text_count) return true;
    if (!stored && !(stored = rb_hs_text_bytes_new())) return false;
    if (!rb_hs_grow(HS_MEM_NAMES, (void **)&rb_hs_texts, &text_capacity, 2, sizeof(*rb_hs_texts)) ||
        !rb_hs_map_put(&texts_by_hash, rb_hs_hash(HS_EVICTED, strlen(HS_EVICTED)), EVICTED)) {
        return false;
    }
    rb_hs_texts[0] = (struct hs_text){"", 0};
    rb_hs_texts[EVICTED] = (struct hs_text){HS_EVICTED, strlen(HS_EVICTED)};
    rb_hs_text_count = next_free = FIRST;
    return true;
}

/* What is held of earlier texts may leave the share without room for more. */
static bool
too_many(size_t len)
{
    if (!rb_hs_memory_bound_p()) return false;
    size_t held = rb_hs_memory_bytes(HS_MEM_NAMES) + rb_hs_memory_bytes(HS_MEM_STACKS);
    return texts_by_hash.count >= TEXTS_MAX - 1 || text_bytes + len > TEXT_BYTES_MAX ||
        held + len + BLOCK_SIZE * 2 > rb_hs_memory_share(HS_MEM_NAMES);
}

uint32_t
rb_hs_texts_used(void)
{
    return texts_by_hash.count;
}

bool
rb_hs_texts_crowded(unsigned sixteenths)
{
    return rb_hs_memory_bound_p() &&
        (texts_by_hash.count > TEXTS_MAX / 16 * sixteenths || text_bytes > TEXT_BYTES_MAX / 16 * sixteenths);
}

uint32_t
rb_hs_text_find(const struct hs_map *by_hash, const struct hs_text *texts, struct hs_text text, uint64_t *hash)
{
    const uint32_t *found;
    for (*hash = rb_hs_hash(text.ptr, text.len); (found = rb_hs_map_find(by_hash, *hash)); *hash += *hash == UINT64_MAX ? 2 : 1) {
        if (texts[*found].len == text.len && memcmp(texts[*found].ptr, text.ptr, text.len) == 0) return *found;
    }
    return 0;
}

uint32_t
rb_hs_text(const char *ptr, size_t len)
{
    HS_CONTRACT(write);
    if (!ensure_first_texts() || !len || len > UINT32_MAX) return 0;

    uint64_t hash;
    uint32_t known = rb_hs_text_find(&texts_by_hash, rb_hs_texts, (struct hs_text){ptr, (uint32_t)len}, &hash);
    if (known) return known;
    if (too_many(len)) {
        rb_hs_texts_dropped++;
        return EVICTED;
    }
    while (next_free < rb_hs_text_count && rb_hs_texts[next_free].len) next_free++;
    uint32_t number = next_free;
    if (!rb_hs_grow(HS_MEM_NAMES, (void **)&rb_hs_texts, &text_capacity, (uint64_t)number + 1, sizeof(*rb_hs_texts))) return 0;
    const char *copy = rb_hs_text_store(stored, ptr, len);
    if (!copy || !rb_hs_map_put(&texts_by_hash, hash, number)) return 0;
    rb_hs_texts[number] = (struct hs_text){copy, (uint32_t)len};
    if (number == rb_hs_text_count) rb_hs_text_count++;
    text_bytes += len;
    return number;
}

uint32_t
rb_hs_text_cstr(const char *text)
{
    return rb_hs_text(text, strlen(text));
}

/* -- texts that nothing refers to go ---------------------------------------------- */

/* The map holds no more than before, so putting back cannot fail. */
static void
use_only(const struct hs_text *left)
{
    uint32_t count = rb_hs_text_count;
    rb_hs_map_clear(&texts_by_hash);
    text_bytes = 0;
    rb_hs_text_count = next_free = FIRST;
    for (uint32_t i = EVICTED; i < count; i++) {
        uint64_t hash;
        rb_hs_texts[i] = left[i];
        if (!left[i].len) continue;
        rb_hs_text_find(&texts_by_hash, rb_hs_texts, left[i], &hash);
        rb_hs_map_put(&texts_by_hash, hash, i);
        rb_hs_text_count = i + 1;
        if (i != EVICTED) text_bytes += left[i].len;
    }
}

bool
rb_hs_texts_keep(const bool *used)
{
    HS_CONTRACT(write);
    if (!stored) return true;
    struct hs_text *left = rb_hs_calloc(HS_MEM_TOTALS, rb_hs_text_count, sizeof(*left));
    struct hs_text_bytes *bytes = rb_hs_text_bytes_new(), *old = stored;
    bool ok = left && bytes;
    for (uint32_t i = EVICTED; ok && i < rb_hs_text_count; i++) {
        const struct hs_text *text = &rb_hs_texts[i];
        if (i != EVICTED && !used[i]) text = &rb_hs_texts[0];
        left[i] = *text;
        if (i != EVICTED && text->len) ok = (left[i].ptr = rb_hs_text_store(bytes, text->ptr, text->len)) != NULL;
    }
    if (ok) {
        stored = bytes;
        use_only(left);
    }
    rb_hs_texts_release(ok ? old : bytes);
    rb_hs_free(HS_MEM_TOTALS, left);
    return ok;
}

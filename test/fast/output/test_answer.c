/* The answer of the child that walks the heap: holders/holders.c. Who reads it trusts nothing of it. */
#include "heap_sampler/base/memory.h"
#include "heap_sampler/holders/holders.h"
#include "tap.h"
#include "tests.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { OBJECTS = 3,
       BLOCKS = 2,
       NODES = HS_TOP_COUNT + 2,
       ANSWER_MOST = 4096 };

/* -- an answer as a child writes it --------------------------------------------------------------- */

static const char bytes[] = "constantPlant::LISTArray";
static const struct hs_holder_text texts[] = {{0, 0}, {0, 8}, {8, 11}, {19, 5}};
static const uint32_t object_nodes[OBJECTS] = {HS_TOP_COUNT, HS_TOP_COUNT + 1, HS_TOP_NOT_REACHED};
static const uint32_t block_nodes[BLOCKS] = {HS_TOP_COUNT + 1, HS_TOP_NOT_REACHED};

static const struct hs_pin_nodes object_pins[OBJECTS] = {{HS_TOP_COUNT + 1, HS_TOP_COUNT}, {HS_TOP_NO_PIN, HS_TOP_NO_PIN}, {HS_TOP_NO_PIN, HS_TOP_NO_PIN}};

static struct hs_holder
node(const void *unused, uint32_t number)
{
    (void)unused;
    if (number < HS_TOP_COUNT) return (struct hs_holder){.parent = number};
    return (struct hs_holder){.parent = number == HS_TOP_COUNT ? HS_TOP_CONSTANTS : HS_TOP_COUNT, .kind = 1, .name = 2, .klass = 3, .line = 7, .objects = 1};
}

static const struct hs_child_answer answer = {
    .node = node,
    .texts = texts,
    .bytes = bytes,
    .node_count = NODES,
    .text_count = 4,
    .byte_count = sizeof(bytes) - 1,
    .object_nodes = object_nodes,
    .object_pins = object_pins,
    .block_nodes = block_nodes,
    .object_count = OBJECTS,
    .block_count = BLOCKS,
    .figures = {.objects = 10, .edges = 20},
    .freed = {{HS_TOP_COUNT, 2, 80, 3000}},
    .freed_count = 1,
};

/* -- reading -------------------------------------------------------------------------------------- */

static struct hs_holders holders;

static enum hs_refusal
read_answer(const char *from, size_t len, uint32_t objects, uint32_t blocks)
{
    struct hs_answer_room room = {.start = (char *)from, .size = len};
    holders = (struct hs_holders){0};
    rb_hs_answer_read(&room, objects, blocks, &holders);
    return holders.refusal;
}

static bool
text_p(uint32_t number)
{
    if (number >= holders.text_count) return false;
    const struct hs_holder_text *text = &holders.texts[number];
    uint32_t sum = 0;
    for (uint32_t i = 0; i < text->len; i++) sum += (unsigned char)holders.bytes[text->at + i];     /* ASan looks */
    return sum < UINT32_MAX;
}

static bool
finite_p(const struct hs_freed *freed)
{
    return isfinite(freed->objects) && isfinite(freed->space) && isfinite(freed->variance) && freed->objects >= 0 && freed->space >= 0 && freed->variance >= 0;
}

/* All that is read later lies where it should, and each way up ends at a root. */
static bool
sound_p(void)
{
    for (uint32_t i = 0; i < holders.node_count; i++) {
        const struct hs_holder *one = &holders.nodes[i];
        if (i < HS_TOP_COUNT ? one->parent != i : one->parent >= i) return false;
        if (!text_p(one->kind) || !text_p(one->name) || !text_p(one->klass) || !text_p(one->path)) return false;
    }
    for (uint32_t i = 0; i < holders.object_count; i++) {
        if (holders.object_nodes[i] >= holders.node_count) return false;
    }
    for (uint32_t i = 0; i < holders.object_count; i++) {
        if (holders.object_pins[i].pin >= holders.node_count || holders.object_pins[i].holder >= holders.node_count) return false;
    }
    for (uint32_t i = 0; i < holders.block_count; i++) {
        if (holders.block_nodes[i] >= holders.node_count) return false;
    }
    for (uint32_t i = 0; i < holders.freed_count; i++) {
        if (holders.freed[i].node >= holders.node_count || !finite_p(&holders.freed[i])) return false;
    }
    return holders.object_count == OBJECTS && holders.block_count == BLOCKS && holders.freed_count <= HS_FREED_MOST;
}

static bool
sound_or_refused_p(const char *from, size_t len)
{
    enum hs_refusal refusal = read_answer(from, len, OBJECTS, BLOCKS);
    bool good = refusal == HS_REFUSED_BROKEN || (refusal == HS_REFUSED_NONE && sound_p());
    rb_hs_holders_free(&holders);
    return good;
}

/* -- what goes wrong -------------------------------------------------------------------------------- */

static void
test_cut(const char *whole, size_t len)
{
    unsigned unsound = 0, taken = 0;
    for (size_t cut = 0; cut < len; cut++) {
        if (!sound_or_refused_p(whole, cut)) unsound++;
        if (cut + sizeof(struct hs_freed) < len && read_answer(whole, cut, OBJECTS, BLOCKS) == HS_REFUSED_NONE) taken++;
        rb_hs_holders_free(&holders);
    }
    is_number(unsound, 0, "answer: cut at any byte it is refused, or sound");
    is_number(taken, 0, "answer: without its nodes, texts or samples it is refused");
}

static void
test_overwritten(const char *whole, size_t len)
{
    static const unsigned char values[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
    char damaged[ANSWER_MOST];
    unsigned unsound = 0;
    for (size_t at = 0; at < len; at++) {
        for (size_t width = 1; width <= 8 && at + width <= len; width *= 2) {
            for (size_t i = 0; i < sizeof(values); i++) {
                memcpy(damaged, whole, len);
                memset(damaged + at, values[i], width);
                if (!sound_or_refused_p(damaged, len)) unsound++;
            }
        }
    }
    is_number(unsound, 0, "answer: written over at any place it is refused, or sound");
}

static void
test_noise(const char *whole, size_t len)
{
    char damaged[ANSWER_MOST];
    unsigned unsound = 0;
    uint64_t state = 20261123;
    for (int round = 0; round < 20000; round++) {
        memcpy(damaged, whole, len);
        for (int i = 0; i < 1 + round % 16; i++) {
            state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            damaged[(state >> 33) % len] = (char)(state >> 56);
        }
        if (!sound_or_refused_p(damaged, len)) unsound++;
    }
    is_number(unsound, 0, "answer: 20,000 times with noise in it, it is refused, or sound");
}

void
test_answer(void)
{
    char whole[ANSWER_MOST] = {0};
    struct hs_answer_room room = {.start = whole, .size = sizeof(whole)}, small = {.start = whole, .size = 64};
    ok(!rb_hs_answer_write(&small, &answer), "answer: without room it is not written");
    ok(rb_hs_answer_write(&room, &answer), "answer: is written");
    size_t len = room.at;
    if (!ok(len > 0 && len < ANSWER_MOST && len <= rb_hs_answer_size_most(OBJECTS, BLOCKS), "answer: has a size")) return;
    is_number(read_answer(whole, (size_t)len, OBJECTS, BLOCKS), HS_REFUSED_NONE, "answer: is read");
    ok(sound_p() && holders.freed_count == 1 && holders.freed[0].space == 80, "answer: is what was written");
    is_number((long long)holders.figures.edges, 20, "answer: has its figures");
    rb_hs_holders_free(&holders);
    is_number(read_answer(whole, (size_t)len, OBJECTS + 1, BLOCKS), HS_REFUSED_BROKEN, "answer: of other samples it is refused");
    rb_hs_holders_free(&holders);
    test_cut(whole, (size_t)len);
    test_overwritten(whole, (size_t)len);
    test_noise(whole, (size_t)len);
    is_number((long long)rb_hs_memory_bytes(HS_MEM_SNAPSHOTS), 0, "answer: nothing of it is left");
}

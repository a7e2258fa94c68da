/* What the child that walks the heap has found: heap_walk/retainers.c. The reader trusts nothing of it. */
#include "heap_sampler/heap_walk/retainers.h"
#include "tap.h"
#include "tests.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { SAMPLES = 5,
       NODES = HS_TOP_COUNT + 2 };

/* -- what a child writes ------------------------------------------------------------------------------ */

static const char bytes[] = "constantPlant::LISTArray";
static const struct piece_of_bytes {
    uint32_t at, len;
} texts[] = {{0, 0}, {0, 8}, {8, 11}, {19, 5}};
enum { TEXTS = sizeof(texts) / sizeof(*texts) };
static const struct hs_pin_nodes no_pin = {HS_TOP_NO_PIN, HS_TOP_NO_PIN};

static struct hs_retainer
node(uint32_t number)
{
    if (number < HS_TOP_COUNT) return (struct hs_retainer){.parent = number};
    return (struct hs_retainer){.parent = number == HS_TOP_COUNT ? HS_TOP_CONSTANTS : HS_TOP_COUNT, .kind = 1, .name = 2, .klass = 3, .line = 7, .objects = 1};
}

static void
write_found(struct hs_found *found)
{
    const struct hs_found_sample samples[SAMPLES] = {
        {HS_TOP_COUNT, {HS_TOP_COUNT + 1, HS_TOP_COUNT}},
        {HS_TOP_COUNT + 1, no_pin},
        {HS_TOP_NOT_REACHED, no_pin},
        {HS_TOP_COUNT + 1, no_pin},
        {HS_TOP_NOT_REACHED, no_pin},
    };
    found->figures = (struct hs_walk_figures){.objects = 10, .edges = 20};
    for (uint32_t i = 0; i < NODES; i++) found->nodes[i] = node(i);
    for (uint32_t i = 0; i < TEXTS; i++) found->texts[i] = (struct hs_text){found->bytes + texts[i].at, texts[i].len};
    memcpy(found->bytes, bytes, sizeof(bytes) - 1);
    memcpy(found->samples, samples, sizeof(samples));
    found->freed[0] = (struct hs_freed){HS_TOP_COUNT, 2, 80, 3000};
    found->node_count = NODES;
    found->text_count = TEXTS;
    found->byte_count = sizeof(bytes) - 1;
    found->freed_count = 1;
}

/* The bytes that it writes, in six pieces. */
static const struct piece {
    size_t at, len;
} pieces[] = {
    {offsetof(struct hs_found, figures), offsetof(struct hs_found, freed) - offsetof(struct hs_found, figures)},
    {offsetof(struct hs_found, freed), sizeof(struct hs_freed)},
    {offsetof(struct hs_found, nodes), NODES * sizeof(struct hs_retainer)},
    {offsetof(struct hs_found, texts), TEXTS * sizeof(struct hs_text)},
    {offsetof(struct hs_found, bytes), sizeof(bytes) - 1},
    {offsetof(struct hs_found, samples), SAMPLES * sizeof(struct hs_found_sample)},
};
enum { PIECES = sizeof(pieces) / sizeof(*pieces) };

/* -- reading -------------------------------------------------------------------------------------- */

static struct hs_retainers retainers;

static enum hs_refusal
check_found(struct hs_found *found)
{
    retainers = (struct hs_retainers){0};
    rb_hs_found_check(found, SAMPLES, &retainers);
    return retainers.refusal;
}

static bool
text_p(uint32_t number)
{
    const struct hs_found *found = retainers.found;
    if (number >= found->text_count) return false;
    const struct hs_text *text = &found->texts[number];
    uintptr_t at = (uintptr_t)text->ptr - (uintptr_t)found->bytes;
    return !text->len || (at <= found->byte_count && text->len <= found->byte_count - at && found->byte_count <= sizeof(found->bytes));
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
    const struct hs_found *found = retainers.found;
    if (retainers.node_count > HS_NODES_MOST || found->text_count > HS_TEXTS_MOST || found->freed_count > HS_FREED_MOST) return false;
    for (uint32_t i = 0; i < retainers.node_count; i++) {
        const struct hs_retainer *one = &retainers.nodes[i];
        if (i < HS_TOP_COUNT ? one->parent != i : one->parent >= i) return false;
        if (!text_p(one->kind) || !text_p(one->name) || !text_p(one->klass) || !text_p(one->path)) return false;
    }
    for (uint32_t i = 0; i < SAMPLES; i++) {
        const struct hs_found_sample *one = &found->samples[i];
        if (one->node >= retainers.node_count || one->pins.pin >= retainers.node_count || one->pins.holder >= retainers.node_count) return false;
    }
    for (uint32_t i = 0; i < found->freed_count; i++) {
        if (found->freed[i].node >= retainers.node_count || !finite_p(&found->freed[i])) return false;
    }
    return true;
}

static bool
sound_or_refused_p(struct hs_found *found)
{
    enum hs_refusal refusal = check_found(found);
    return refusal == HS_REFUSED_BROKEN ? !retainers.found : refusal == HS_REFUSED_NONE && sound_p();
}

/* -- what goes wrong -------------------------------------------------------------------------------- */

/* The child says that it is done, and has not written one piece. */
static void
test_missing(struct hs_found *found)
{
    static const bool needed[PIECES] = {[0] = true, [2] = true};        /* without the others it is as if they were empty */
    for (int i = 0; i < PIECES; i++) {
        char saved[2048];
        char *piece = (char *)found + pieces[i].at;
        memcpy(saved, piece, pieces[i].len);
        memset(piece, 0, pieces[i].len);
        ok(sound_or_refused_p(found), "found: without piece %d it is refused, or sound", i);
        if (needed[i]) ok(retainers.refusal == HS_REFUSED_BROKEN, "found: without piece %d it is refused", i);
        memcpy(piece, saved, pieces[i].len);
    }
}

static void
test_overwritten(struct hs_found *found, const struct piece *piece)
{
    static const unsigned char values[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
    unsigned unsound = 0;
    for (size_t at = 0; at < piece->len; at++) {
        for (size_t width = 1; width <= 8 && at + width <= piece->len; width *= 2) {
            char *place = (char *)found + piece->at + at, saved[8];
            memcpy(saved, place, width);
            for (size_t i = 0; i < sizeof(values); i++) {
                memset(place, values[i], width);
                if (!sound_or_refused_p(found)) unsound++;
            }
            memcpy(place, saved, width);
        }
    }
    ok(unsound == 0, "found: written over at any place of %zu bytes it is refused, or sound", piece->len);
}

static void
test_noise(struct hs_found *found)
{
    unsigned unsound = 0;
    uint64_t state = 20261123;
    for (int round = 0; round < 20000; round++) {
        write_found(found);
        for (int i = 0; i < 1 + round % 16; i++) {
            state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            const struct piece *piece = &pieces[(state >> 20) % PIECES];
            ((char *)found)[piece->at + (state >> 33) % piece->len] = (char)(state >> 56);
        }
        if (!sound_or_refused_p(found)) unsound++;
    }
    is_number(unsound, 0, "found: 20,000 times with noise in it, it is refused, or sound");
}

void
test_answer(void)
{
    struct hs_found *found = rb_hs_found_map(SAMPLES);
    if (!ok(found != NULL, "found: there is memory for it")) return;
    is_number(check_found(found), HS_REFUSED_BROKEN, "found: before it is written it is refused");
    write_found(found);
    is_number(check_found(found), HS_REFUSED_NONE, "found: is read");
    ok(sound_p() && found->freed_count == 1 && found->freed[0].space == 80, "found: is what was written");
    is_number((long long)retainers.figures.edges, 20, "found: has its figures");
    test_missing(found);
    for (int i = 0; i < PIECES; i++) test_overwritten(found, &pieces[i]);
    test_noise(found);
    write_found(found);
    is_number(check_found(found), HS_REFUSED_NONE, "found: is read again");
    rb_hs_retainers_free(&retainers);
    ok(!retainers.found && !retainers.nodes, "found: nothing of it is left");
}

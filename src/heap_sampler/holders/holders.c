/* See holders/holders.h. */
#include "heap_sampler/holders/holders.h"
#include "heap_sampler/base/memory.h"

#include <math.h>
#include <string.h>

const char *
rb_hs_refusal_text(enum hs_refusal refusal)
{
    static const char *const texts[HS_REFUSAL_COUNT] = {
#define HS_REFUSAL(refusal, text) [HS_REFUSED_##refusal] = text,
        HS_REFUSALS(HS_REFUSAL)
#undef HS_REFUSAL
    };
    return texts[refusal];
}

void
rb_hs_holders_free(struct hs_holders *holders)
{
    rb_hs_free(HS_MEM_SNAPSHOTS, holders->nodes);
    rb_hs_free(HS_MEM_SNAPSHOTS, holders->texts);
    rb_hs_free(HS_MEM_SNAPSHOTS, holders->bytes);
    rb_hs_free(HS_MEM_SNAPSHOTS, holders->object_nodes);
    rb_hs_free(HS_MEM_SNAPSHOTS, holders->block_nodes);
    rb_hs_free(HS_MEM_SNAPSHOTS, holders->object_pins);
    holders->nodes = NULL;
    holders->texts = NULL;
    holders->bytes = NULL;
    holders->object_nodes = holders->block_nodes = NULL;
    holders->object_pins = NULL;
    holders->node_count = holders->text_count = holders->object_count = holders->block_count = holders->freed_count = 0;
}

struct head {
    char magic[8];
    struct hs_holder_figures figures;
    uint32_t nodes, texts, bytes, objects, blocks, freed;
};
static const char magic[8] = "HSwhy1\n";

size_t
rb_hs_answer_size_most(uint32_t objects, uint32_t blocks)
{
    return sizeof(struct head) + HS_NODES_MOST * sizeof(struct hs_holder) + HS_TEXTS_MOST * sizeof(struct hs_holder_text) + HS_TEXT_BYTES_MOST +
        (size_t)objects * (sizeof(uint32_t) + sizeof(struct hs_pin_nodes)) + (size_t)blocks * sizeof(uint32_t) + HS_FREED_MOST * sizeof(struct hs_freed);
}

/* -- writing -------------------------------------------------------------------------------- */

static void
put(struct hs_answer_room *room, const void *from, size_t len)
{
    room->full = room->full || len > room->size - room->at;
    if (room->full) return;
    if (len) memcpy(room->start + room->at, from, len);
    room->at += len;
}

/* The head comes last: without it there is no answer. */
bool
rb_hs_answer_write(struct hs_answer_room *room, const struct hs_child_answer *answer)
{
    struct head head = {
        .figures = answer->figures,
        .nodes = answer->node_count,
        .texts = answer->text_count,
        .bytes = answer->byte_count,
        .objects = answer->object_count,
        .blocks = answer->block_count,
        .freed = answer->freed_count,
    };
    memcpy(head.magic, magic, sizeof(magic));
    room->full = room->size < sizeof(head);
    room->at = sizeof(head);
    for (uint32_t i = 0; i < answer->node_count; i++) {
        struct hs_holder out = answer->node(answer->tree, i);
        put(room, &out, sizeof(out));
    }
    put(room, answer->texts, answer->text_count * sizeof(*answer->texts));
    put(room, answer->bytes, answer->byte_count);
    put(room, answer->object_nodes, answer->object_count * sizeof(uint32_t));
    put(room, answer->object_pins, answer->object_count * sizeof(*answer->object_pins));
    put(room, answer->block_nodes, answer->block_count * sizeof(uint32_t));
    put(room, answer->freed, answer->freed_count * sizeof(*answer->freed));
    if (!room->full) memcpy(room->start, &head, sizeof(head));
    return !room->full;
}

/* -- reading --------------------------------------------------------------------------------- */

static bool
get(struct hs_answer_room *room, void *into, size_t len)
{
    if (len > room->size - room->at) return false;
    if (len) memcpy(into, room->start + room->at, len);
    room->at += len;
    return true;
}

static void *
get_array(struct hs_answer_room *room, size_t count, size_t size)
{
    void *array = rb_hs_malloc(HS_MEM_SNAPSHOTS, count * size + 1);
    if (!array) room->full = true;
    else if (!get(room, array, count * size)) memset(array, 0xff, count * size);   /* no valid number */
    return array;
}

static bool
head_good_p(const struct head *head, uint32_t objects, uint32_t blocks)
{
    return memcmp(head->magic, magic, sizeof(magic)) == 0 && head->nodes >= HS_TOP_COUNT && head->nodes <= HS_NODES_MOST &&
        head->texts && head->texts <= HS_TEXTS_MOST && head->bytes <= HS_TEXT_BYTES_MOST && head->objects == objects &&
        head->blocks == blocks && head->freed <= HS_FREED_MOST;
}

static bool
texts_good_p(const struct hs_holders *holders)
{
    for (uint32_t i = 0; i < holders->text_count; i++) {
        const struct hs_holder_text *text = &holders->texts[i];
        if (text->at > holders->byte_count || text->len > holders->byte_count - text->at) return false;
    }
    return holders->texts[0].len == 0;
}

static bool
nodes_good_p(const struct hs_holders *holders)
{
    for (uint32_t i = 0; i < holders->node_count; i++) {
        const struct hs_holder *node = &holders->nodes[i];
        bool root = i < HS_TOP_COUNT;
        if (root ? node->parent != i : node->parent >= i) return false;
        if (node->kind >= holders->text_count || node->name >= holders->text_count || node->klass >= holders->text_count ||
            node->path >= holders->text_count) {
            return false;
        }
    }
    return true;
}

static bool
numbers_good_p(const uint32_t *numbers, uint32_t count, uint32_t limit)
{
    for (uint32_t i = 0; i < count; i++) {
        if (numbers[i] >= limit) return false;
    }
    return true;
}

static bool
amount_p(double number)
{
    return isfinite(number) && number >= 0;
}

static bool
freed_good_p(const struct hs_holders *holders)
{
    for (uint32_t i = 0; i < holders->freed_count; i++) {
        const struct hs_freed *freed = &holders->freed[i];
        if (freed->node >= holders->node_count) return false;
        if (!amount_p(freed->objects) || !amount_p(freed->space) || !amount_p(freed->variance)) return false;
    }
    return true;
}

static bool
good_p(const struct hs_holders *holders)
{
    return texts_good_p(holders) && nodes_good_p(holders) && freed_good_p(holders) &&
        numbers_good_p(holders->object_nodes, holders->object_count, holders->node_count) &&
        numbers_good_p(&holders->object_pins->pin, holders->object_count * 2, holders->node_count) &&
        numbers_good_p(holders->block_nodes, holders->block_count, holders->node_count);
}

void
rb_hs_answer_read(struct hs_answer_room *room, uint32_t objects, uint32_t blocks, struct hs_holders *into)
{
    struct head head;
    into->refusal = HS_REFUSED_BROKEN;
    room->at = 0;
    if (!get(room, &head, sizeof(head)) || !head_good_p(&head, objects, blocks)) return;
    into->figures = head.figures;
    into->nodes = get_array(room, into->node_count = head.nodes, sizeof(*into->nodes));
    into->texts = get_array(room, into->text_count = head.texts, sizeof(*into->texts));
    into->bytes = get_array(room, into->byte_count = head.bytes, 1);
    into->object_nodes = get_array(room, into->object_count = objects, sizeof(uint32_t));
    into->object_pins = get_array(room, objects, sizeof(*into->object_pins));
    into->block_nodes = get_array(room, into->block_count = blocks, sizeof(uint32_t));
    into->freed_count = get(room, into->freed, head.freed * sizeof(*into->freed)) ? head.freed : 0;
    if (room->full) into->refusal = HS_REFUSED_NO_ANSWER_ROOM;
    else if (good_p(into)) into->refusal = HS_REFUSED_NONE;
}

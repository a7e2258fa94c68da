/* See holders/answer.h. */
#include "heap_sampler/holders/answer.h"
#include "heap_sampler/base/memory.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

struct head {
    char magic[8];
    struct hs_holder_figures figures;
    uint32_t nodes, texts, bytes, objects, blocks, freed;
};
static const char magic[8] = "HSwhy1\n";

/* -- writing -------------------------------------------------------------------------------- */

static bool
write_all(int fd, const void *from, size_t len)
{
    for (const char *ptr = from; len;) {
        ssize_t done = write(fd, ptr, len);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return false;
        ptr += done;
        len -= (size_t)done;
    }
    return true;
}

static bool
write_nodes(int fd, const struct hs_answer *answer)
{
    for (uint32_t i = 0; i < answer->node_count; i++) {
        struct hs_holder out = answer->node(answer->tree, i);
        if (!write_all(fd, &out, sizeof(out))) return false;
    }
    return true;
}

/* The head comes last: without it there is no answer. */
bool
rb_hs_answer_write(int fd, const struct hs_answer *answer)
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
    return lseek(fd, sizeof(head), SEEK_SET) >= 0 && write_nodes(fd, answer) &&
        write_all(fd, answer->texts, answer->text_count * sizeof(*answer->texts)) &&
        write_all(fd, answer->bytes, answer->byte_count) &&
        write_all(fd, answer->object_nodes, answer->object_count * sizeof(uint32_t)) &&
        write_all(fd, answer->object_pins, answer->object_count * sizeof(*answer->object_pins)) &&
        write_all(fd, answer->block_nodes, answer->block_count * sizeof(uint32_t)) &&
        write_all(fd, answer->freed, answer->freed_count * sizeof(*answer->freed)) &&
        pwrite(fd, &head, sizeof(head), 0) == (ssize_t)sizeof(head);
}

/* -- reading --------------------------------------------------------------------------------- */

static bool
read_all(int fd, void *into, size_t len, off_t *at)
{
    for (char *ptr = into; len;) {
        ssize_t got = pread(fd, ptr, len, *at);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        ptr += got;
        *at += got;
        len -= (size_t)got;
    }
    return true;
}

struct reader {
    int fd;
    off_t at;
    bool no_room;
};

static void *
read_array(struct reader *reader, size_t count, size_t size)
{
    void *array = rb_hs_malloc(HS_MEM_SNAPSHOTS, count * size + 1);
    if (!array) reader->no_room = true;
    else if (!read_all(reader->fd, array, count * size, &reader->at)) memset(array, 0xff, count * size);   /* no valid number */
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
rb_hs_answer_read(int fd, uint32_t objects, uint32_t blocks, struct hs_holders *into)
{
    struct reader reader = {.fd = fd};
    struct head head;
    into->refusal = HS_REFUSED_BROKEN;
    if (!read_all(fd, &head, sizeof(head), &reader.at) || !head_good_p(&head, objects, blocks)) return;
    into->figures = head.figures;
    into->nodes = read_array(&reader, into->node_count = head.nodes, sizeof(*into->nodes));
    into->texts = read_array(&reader, into->text_count = head.texts, sizeof(*into->texts));
    into->bytes = read_array(&reader, into->byte_count = head.bytes, 1);
    into->object_nodes = read_array(&reader, into->object_count = objects, sizeof(uint32_t));
    into->object_pins = read_array(&reader, objects, sizeof(*into->object_pins));
    into->block_nodes = read_array(&reader, into->block_count = blocks, sizeof(uint32_t));
    bool whole = read_all(fd, into->freed, head.freed * sizeof(*into->freed), &reader.at);
    into->freed_count = whole ? head.freed : 0;
    if (reader.no_room) into->refusal = HS_REFUSED_NO_ANSWER_ROOM;
    else if (good_p(into)) into->refusal = HS_REFUSED_NONE;
}

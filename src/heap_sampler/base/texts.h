#ifndef HEAP_SAMPLER_BASE_TEXTS_H
#define HEAP_SAMPLER_BASE_TEXTS_H
/*
 * Texts, each stored once, by number.  A number and its text stay as they are
 * until rb_hs_texts_keep leaves the text out.  The bytes of a text that has
 * been left out stay for as long as someone holds them: a profile points to
 * them without the lock.
 *
 * [write]; what a number stands for may be read as [read].
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct hs_text {
    const char *ptr;            /* not NUL-terminated; any bytes */
    uint32_t len;
};

/* The beginning of *rest up to `end`, or all of it; *rest is what comes behind. [any] */
static inline struct hs_text
hs_text_cut(struct hs_text *rest, char end)
{
    const char *found = memchr(rest->ptr, end, rest->len);
    struct hs_text head = {rest->ptr, found ? (uint32_t)(found - rest->ptr) : rest->len};
    uint32_t used = head.len + (found != NULL);
    *rest = (struct hs_text){rest->ptr + used, rest->len - used};
    return head;
}

/* In any table of texts, text 0 of which is empty: the number of the text; 0: it is not there, and *hash is a free key. The owner's. */
struct hs_map;
uint32_t rb_hs_text_find(const struct hs_map *by_hash, const struct hs_text *texts, struct hs_text text, uint64_t *hash);

/* The text's number; 0 for the empty text, and when there is no memory. Where
 * there are too many texts, a new one becomes HS_EVICTED. */
uint32_t rb_hs_text(const char *ptr, size_t len);
uint32_t rb_hs_text_cstr(const char *text);

#define HS_EVICTED "(evicted)"

extern struct hs_text *rb_hs_texts;     /* a number that is free has the empty text */
extern uint32_t rb_hs_text_count;
extern uint64_t rb_hs_texts_dropped;

/* How many there are. [read] */
uint32_t rb_hs_texts_used(void);
/* Are there more than so many sixteenths of what there may be? [read] */
bool rb_hs_texts_crowded(unsigned sixteenths);
/* The numbers of all others become free. false: no memory, and all stay. */
bool rb_hs_texts_keep(const bool *used);

/* The bytes of all texts that have a number now stay until they are released. */
struct hs_text_bytes;
struct hs_text_bytes *rb_hs_texts_hold(void);   /* [read] NULL: there are none */
void rb_hs_texts_release(struct hs_text_bytes *bytes);  /* [any] */

#endif

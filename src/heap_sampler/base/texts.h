#ifndef HEAP_SAMPLER_BASE_TEXTS_H
#define HEAP_SAMPLER_BASE_TEXTS_H
/*
 * Texts, each stored once and for as long as the process lives, so that a
 * profile may point to them without the lock.
 *
 * [write]; what a number stands for may be read as [read].
 */
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

/* The text's number; 0 for the empty text, and when there is no memory. Texts
 * are never forgotten: where there are too many, a new one becomes HS_EVICTED. */
uint32_t rb_hs_text(const char *ptr, size_t len);
uint32_t rb_hs_text_cstr(const char *text);

#define HS_EVICTED "(evicted)"

extern struct hs_text *rb_hs_texts;
extern uint32_t rb_hs_text_count;
extern uint64_t rb_hs_texts_dropped;

#endif

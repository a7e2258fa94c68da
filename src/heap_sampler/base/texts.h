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

struct hs_text {
    const char *ptr;            /* not NUL-terminated; any bytes */
    uint32_t len;
};

/* The text's number; 0 for the empty text, and when there is no memory. Texts
 * are never forgotten: where there are too many, a new one becomes HS_EVICTED. */
uint32_t rb_hs_text(const char *ptr, size_t len);
uint32_t rb_hs_text_cstr(const char *text);

#define HS_EVICTED "(evicted)"

extern struct hs_text *rb_hs_texts;
extern uint32_t rb_hs_text_count;
extern uint64_t rb_hs_texts_dropped;

#endif

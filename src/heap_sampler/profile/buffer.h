#ifndef HEAP_SAMPLER_PROFILE_BUFFER_H
#define HEAP_SAMPLER_PROFILE_BUFFER_H
/* A growing run of bytes: what the encoders write into. [any] */
#include <stdbool.h>
#include <stddef.h>

struct hs_buffer {
    char *ptr;
    size_t len, capacity;
    bool failed;                /* an allocation failed; appends do nothing */
};

void rb_hs_buffer_append(struct hs_buffer *buffer, const void *ptr, size_t len);
void rb_hs_buffer_puts(struct hs_buffer *buffer, const char *text);
/* A short text. */
void rb_hs_buffer_printf(struct hs_buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void rb_hs_buffer_free(struct hs_buffer *buffer);

/* Compression. Each returns 0, or an errno value. [any] */

/* gzip, piece by piece: an encoder's output may be fifty times what it is
 * compressed.  NULL: no memory.  `last`: the stream ends with these bytes. */
struct hs_gzip *rb_hs_gzip_open(struct hs_buffer *out);
int rb_hs_gzip_append(struct hs_gzip *gzip, const char *ptr, size_t len, bool last);
void rb_hs_gzip_close(struct hs_gzip *gzip);

#endif

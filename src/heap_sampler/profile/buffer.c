/*
 * A growing run of bytes: what the encoders write into.
 *
 * An append never reports failure.  The first one that finds no memory marks
 * the buffer as failed, and the rest do nothing.  So an encoder checks once, at
 * its end, and not after every byte.  What a failed buffer holds is cut
 * somewhere and good for rb_hs_buffer_free() only.
 */
#include "heap_sampler/profile/formats.h"
#include "heap_sampler/base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { FIRST_CAPACITY = 256 };

static bool
reserve(struct hs_buffer *buffer, size_t more)
{
    if (more <= buffer->capacity - buffer->len) return true;
    size_t capacity = buffer->capacity ? buffer->capacity : FIRST_CAPACITY;
    while (capacity - buffer->len < more) {
        if (capacity > SIZE_MAX / 2) return false;
        capacity *= 2;
    }
    char *ptr = rb_hs_realloc(HS_MEM_SNAPSHOTS, buffer->ptr, capacity);
    if (!ptr) return false;
    buffer->ptr = ptr;
    buffer->capacity = capacity;
    return true;
}

void
rb_hs_buffer_append(struct hs_buffer *buffer, const void *ptr, size_t len)
{
    buffer->failed = buffer->failed || !reserve(buffer, len);
    if (buffer->failed || !len) return;
    memcpy(buffer->ptr + buffer->len, ptr, len);
    buffer->len += len;
}

void
rb_hs_buffer_puts(struct hs_buffer *buffer, const char *text)
{
    rb_hs_buffer_append(buffer, text, strlen(text));
}

void
rb_hs_buffer_printf(struct hs_buffer *buffer, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (len < 0 || (size_t)len >= sizeof(text)) buffer->failed = true;
    else rb_hs_buffer_append(buffer, text, (size_t)len);
}

void
rb_hs_buffer_free(struct hs_buffer *buffer)
{
    rb_hs_free(HS_MEM_SNAPSHOTS, buffer->ptr);
    memset(buffer, 0, sizeof(*buffer));
}

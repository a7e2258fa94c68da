/*
 * gzip (RFC 1952): through zlib where the VM is linked with it, else as stored
 * blocks, which every gunzip reads and which save nothing.
 *
 * zlib's state comes from the sampler's own memory: counted like the rest.
 * The header carries no time and no name, so equal profiles give equal files.
 */
#ifndef HEAP_SAMPLER_STANDALONE
# ifdef __has_include
#  if __has_include("ruby/config.h")
#   include "ruby/config.h"     /* HAVE_LIBZ */
#  endif
# endif
#endif

#include "memory.h"
#include "output.h"

#include <errno.h>
#include <string.h>

#ifdef HAVE_LIBZ
#include <limits.h>
#include <zlib.h>

/* zlib's highest window (32 KiB), asked for with a gzip header. */
enum { GZIP_WINDOW_BITS = 15 + 16, MEMORY_LEVEL = 8, OUTPUT_STEP = 65536 };

static voidpf
zlib_allocate(voidpf opaque, uInt count, uInt size)
{
    (void)opaque;
    return rb_hs_calloc(HS_MEM_SNAPSHOTS, count, size);
}

static void
zlib_free(voidpf opaque, voidpf ptr)
{
    (void)opaque;
    rb_hs_free(HS_MEM_SNAPSHOTS, ptr);
}

int
rb_hs_gzip(const struct hs_buffer *in, struct hs_buffer *out)
{
    z_stream stream = {.zalloc = zlib_allocate, .zfree = zlib_free};
    size_t left = in->len;
    int status;

    if (in->failed || out->failed) return ENOMEM;
    unsigned char *chunk = rb_hs_malloc(HS_MEM_SNAPSHOTS, OUTPUT_STEP);
    if (!chunk) return ENOMEM;
    if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW_BITS, MEMORY_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        rb_hs_free(HS_MEM_SNAPSHOTS, chunk);
        return ENOMEM;
    }

    stream.next_in = (Bytef *)in->ptr;
    do {
        if (!stream.avail_in) {         /* an uInt: less than a size_t may hold */
            stream.avail_in = left > UINT_MAX ? UINT_MAX : (uInt)left;
            left -= stream.avail_in;
        }
        stream.next_out = chunk;
        stream.avail_out = OUTPUT_STEP;
        status = deflate(&stream, left ? Z_NO_FLUSH : Z_FINISH);
        rb_hs_buffer_append(out, chunk, OUTPUT_STEP - stream.avail_out);
    } while (status == Z_OK && !out->failed);

    deflateEnd(&stream);
    rb_hs_free(HS_MEM_SNAPSHOTS, chunk);
    if (out->failed) return ENOMEM;
    return status == Z_STREAM_END ? 0 : EIO;
}

#else /* !HAVE_LIBZ */

enum { STORED_MAX = 65535 };

static uint32_t
crc32_of(const unsigned char *ptr, size_t len)
{
    const uint32_t polynomial = 0xedb88320;     /* reflected, as gzip uses it */
    uint32_t table[256], crc = 0xffffffff;

    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int bit = 0; bit < 8; bit++) c = c & 1 ? polynomial ^ c >> 1 : c >> 1;
        table[i] = c;
    }
    for (size_t i = 0; i < len; i++) crc = table[(crc ^ ptr[i]) & 0xff] ^ crc >> 8;
    return ~crc;
}

static void
put_little_endian(struct hs_buffer *out, uint32_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        unsigned char byte = (unsigned char)(value >> 8 * i);
        rb_hs_buffer_append(out, &byte, 1);
    }
}

int
rb_hs_gzip(const struct hs_buffer *in, struct hs_buffer *out)
{
    /* magic, deflate, no flags, no time, nothing about the effort, OS unknown */
    static const unsigned char header[10] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff};
    size_t done = 0;

    if (in->failed || out->failed) return ENOMEM;
    rb_hs_buffer_append(out, header, sizeof(header));
    do {        /* once for empty input too: a stream needs its last block */
        size_t len = in->len - done < STORED_MAX ? in->len - done : STORED_MAX;
        unsigned char last = done + len == in->len;

        rb_hs_buffer_append(out, &last, 1);        /* type 0 in the two bits above */
        put_little_endian(out, (uint32_t)len, 2);
        put_little_endian(out, ~(uint32_t)len, 2);
        rb_hs_buffer_append(out, in->ptr ? in->ptr + done : NULL, len);
        done += len;
    } while (done < in->len);
    put_little_endian(out, crc32_of((const unsigned char *)in->ptr, in->len), 4);
    put_little_endian(out, (uint32_t)in->len, 4);
    return out->failed ? ENOMEM : 0;
}

#endif

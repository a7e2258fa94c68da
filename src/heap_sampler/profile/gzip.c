/*
 * gzip (RFC 1952): through zlib where the VM is linked with it, else as stored
 * blocks, which every gunzip reads and which save nothing.
 *
 * zlib's state comes from the sampler's own memory: counted like the rest.
 * The header carries no time and no name, so equal profiles give equal files.
 */
#ifndef HEAP_SAMPLER_STANDALONE
#ifdef __has_include
#if __has_include("ruby/config.h")
#include "ruby/config.h"     /* HAVE_LIBZ */
#endif
#endif
#endif

#include "heap_sampler/base/memory.h"
#include "heap_sampler/profile/formats.h"

#include <errno.h>

#ifdef HAVE_LIBZ
#include <limits.h>
#include <zlib.h>

/* zlib's highest window (32 KiB), asked for with a gzip header. */
enum { LEVEL = 6,               /* zlib's own: twice the time of 3, and a twelfth less bytes (174 KB of a profile: 6 ms and 61 KB) */
       GZIP_WINDOW_BITS = 15 + 16,
       MEMORY_LEVEL = 8,
       OUTPUT_STEP = 65536 };

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

struct hs_gzip {
    struct hs_buffer *out;
    z_stream stream;
    unsigned char chunk[OUTPUT_STEP];
};

struct hs_gzip *
rb_hs_gzip_open(struct hs_buffer *out)
{
    struct hs_gzip *gzip = rb_hs_malloc(HS_MEM_SNAPSHOTS, sizeof(*gzip));
    if (!gzip) return NULL;
    gzip->out = out;
    gzip->stream = (z_stream){.zalloc = zlib_allocate, .zfree = zlib_free};
    if (deflateInit2(&gzip->stream, LEVEL, Z_DEFLATED, GZIP_WINDOW_BITS, MEMORY_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        rb_hs_free(HS_MEM_SNAPSHOTS, gzip);
        return NULL;
    }
    return gzip;
}

int
rb_hs_gzip_append(struct hs_gzip *gzip, const char *ptr, size_t len, bool last)
{
    z_stream *stream = &gzip->stream;
    int status;

    stream->next_in = (Bytef *)ptr;
    do {
        if (!stream->avail_in) {        /* an uInt: less than a size_t may hold */
            stream->avail_in = len > UINT_MAX ? UINT_MAX : (uInt)len;
            len -= stream->avail_in;
        }
        stream->next_out = gzip->chunk;
        stream->avail_out = OUTPUT_STEP;
        status = deflate(stream, last && !len ? Z_FINISH : Z_NO_FLUSH);
        rb_hs_buffer_append(gzip->out, gzip->chunk, OUTPUT_STEP - stream->avail_out);
        if (gzip->out->failed) return ENOMEM;
        /* Z_BUF_ERROR: all that was given has been taken */
    } while (status == Z_OK && (last || stream->avail_in || len || !stream->avail_out));

    return status == (last ? Z_STREAM_END : Z_OK) || (!last && status == Z_BUF_ERROR) ? 0 : EIO;
}

void
rb_hs_gzip_close(struct hs_gzip *gzip)
{
    if (!gzip) return;
    deflateEnd(&gzip->stream);
    rb_hs_free(HS_MEM_SNAPSHOTS, gzip);
}

#else /* !HAVE_LIBZ */

enum { STORED_MAX = 65535 };

struct hs_gzip {
    struct hs_buffer *out;
    uint32_t crc, len;          /* of all that came in; len modulo 2^32 */
};

struct hs_gzip *
rb_hs_gzip_open(struct hs_buffer *out)
{
    /* magic, deflate, no flags, no time, nothing about the effort, OS unknown */
    static const unsigned char header[10] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff};
    struct hs_gzip *gzip = rb_hs_malloc(HS_MEM_SNAPSHOTS, sizeof(*gzip));
    if (!gzip) return NULL;
    *gzip = (struct hs_gzip){out, UINT32_MAX, 0};
    rb_hs_buffer_append(out, header, sizeof(header));
    return gzip;
}

static void
put_little_endian(struct hs_buffer *out, uint32_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) rb_hs_buffer_append(out, &(unsigned char){(unsigned char)(value >> 8 * i)}, 1);
}

int
rb_hs_gzip_append(struct hs_gzip *gzip, const char *ptr, size_t len, bool last)
{
    const uint32_t polynomial = 0xedb88320;     /* reflected, as gzip uses it */
    for (size_t i = 0; i < len * 8; i++) {
        if (i % 8 == 0) gzip->crc ^= (unsigned char)ptr[i / 8];
        gzip->crc = gzip->crc & 1 ? polynomial ^ gzip->crc >> 1 : gzip->crc >> 1;
    }
    gzip->len += (uint32_t)len;
    do {        /* once for no bytes too: a stream needs its last block */
        uint32_t part = len < STORED_MAX ? (uint32_t)len : STORED_MAX;
        put_little_endian(gzip->out, last && part == len, 1);   /* type 0 in the two bits above */
        put_little_endian(gzip->out, part, 2);
        put_little_endian(gzip->out, ~part, 2);
        rb_hs_buffer_append(gzip->out, ptr, part);
        if (part) ptr += part;
        len -= part;
    } while (len);
    if (last) {
        put_little_endian(gzip->out, ~gzip->crc, 4);
        put_little_endian(gzip->out, gzip->len, 4);
    }
    return gzip->out->failed ? ENOMEM : 0;
}

void
rb_hs_gzip_close(struct hs_gzip *gzip)
{
    rb_hs_free(HS_MEM_SNAPSHOTS, gzip);
}

#endif

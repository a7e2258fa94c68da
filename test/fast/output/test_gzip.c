/*
 * gzip, with zlib or without as it was compiled: gzip(1) must agree.
 */
#include "heap_sampler/profile/formats.h"
#include "tap.h"
#include "heap_sampler/base/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_LIBZ
#define WITH "with zlib"
#else
#define WITH "without zlib"
#endif

static void
put_file(const char *path, const struct hs_buffer *buffer)
{
    FILE *file = fopen(path, "w");
    if (!file || fwrite(buffer->ptr ? buffer->ptr : "", 1, buffer->len, file) != buffer->len) abort();
    fclose(file);
}

/* In two pieces, as an encoder hands them over. */
static int
pack(const struct hs_buffer *in, struct hs_buffer *out)
{
    size_t half = in->len / 2;
    struct hs_gzip *gzip = rb_hs_gzip_open(out);
    int error = gzip ? rb_hs_gzip_append(gzip, in->ptr, half, false) : ENOMEM;
    if (!error) error = rb_hs_gzip_append(gzip, in->ptr + half, in->len - half, true);
    rb_hs_gzip_close(gzip);
    return error;
}

static void
test_size(const char *folder, size_t size, bool random)
{
    struct hs_buffer plain = {0}, packed = {0};
    char plain_path[4096], packed_path[4096], command[16384];
    uint32_t state = 1;

    for (size_t i = 0; i < size; i++) {
        state = state * 1664525 + 1013904223;
        char byte = random ? (char)(state >> 24) : "heap"[i % 4];
        rb_hs_buffer_append(&plain, &byte, 1);
    }
    int error = pack(&plain, &packed);
    snprintf(plain_path, sizeof(plain_path), "%s/plain", folder);
    snprintf(packed_path, sizeof(packed_path), "%s/plain.gz", folder);
    put_file(plain_path, &plain);
    put_file(packed_path, &packed);
    snprintf(command, sizeof(command), "gzip -t '%s' && gzip -dc '%s' | cmp -s - '%s'",
             packed_path, packed_path, plain_path);
    bool same = system(command) == 0;
    ok(!error && same, "gzip " WITH ": %zu %s bytes come back", size, random ? "random" : "repeating");
    remove(plain_path);
    remove(packed_path);
    rb_hs_buffer_free(&plain);
    rb_hs_buffer_free(&packed);
}

void
test_gzip(const char *folder)
{
    static const size_t sizes[] = {0, 1, 65534, 65535, 65536, 131070, 500000};
    struct hs_buffer data = {.ptr = "heap", .len = 4}, failed = {.failed = true};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        test_size(folder, sizes[i], true);
        test_size(folder, sizes[i], false);
    }
    ok(pack(&data, &failed) == ENOMEM && !failed.len, "gzip " WITH ": a failed buffer takes nothing");
    is_number((long long)rb_hs_memory_total(), 0, "gzip " WITH ": keeps no memory");
}

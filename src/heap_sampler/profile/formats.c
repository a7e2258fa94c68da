/* See profile/formats.h. */
#include "heap_sampler/profile/encode.h"

#include <errno.h>
#include <string.h>

static const char *const endings[] = {[HS_PB_GZ] = ".pb.gz", [HS_PB] = ".pb"};

bool
rb_hs_format_of(const char *path, enum hs_format *format)
{
    size_t len = strlen(path);
    for (int i = HS_PB_GZ; i <= HS_PB; i++) {
        size_t ending = strlen(endings[i]);
        *format = (enum hs_format)i;
        if (len >= ending && strcmp(path + len - ending, endings[i]) == 0) return true;
    }
    return false;
}

const char *
rb_hs_format_ending(enum hs_format format)
{
    return endings[format];
}

static int
encode_packed(const struct hs_profile *profile, enum hs_shown_first first, struct hs_buffer *out)
{
    struct hs_gzip *gzip = rb_hs_gzip_open(out);
    struct hs_buffer plain = {.gzip = gzip};
    int error = gzip ? rb_hs_encode_pprof(profile, first, &plain) : ENOMEM;

    if (!error) error = rb_hs_gzip_append(gzip, plain.ptr, plain.len, true);
    rb_hs_gzip_close(gzip);
    rb_hs_buffer_free(&plain);
    return error;
}

int
rb_hs_encode(const struct hs_profile *profile, enum hs_format format, enum hs_shown_first first, struct hs_buffer *out)
{
    return format == HS_PB ? rb_hs_encode_pprof(profile, first, out) : encode_packed(profile, first, out);
}

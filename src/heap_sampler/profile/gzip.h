#ifndef HEAP_SAMPLER_PROFILE_GZIP_H
#define HEAP_SAMPLER_PROFILE_GZIP_H
/* Compression. Each returns 0, or an errno value. [any] */
#include <stdbool.h>
#include <stddef.h>
#include "heap_sampler/profile/buffer.h"

/* gzip, piece by piece: an encoder's output may be fifty times what it is
 * compressed.  NULL: no memory.  `last`: the stream ends with these bytes. */
struct hs_gzip *rb_hs_gzip_open(struct hs_buffer *out);
int rb_hs_gzip_append(struct hs_gzip *gzip, const char *ptr, size_t len, bool last);
/* For a buffer's pass_on, with the gzip as `to`. */
int rb_hs_gzip_pass_on(void *gzip, const char *ptr, size_t len);
void rb_hs_gzip_close(struct hs_gzip *gzip);

#endif

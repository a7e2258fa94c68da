#ifndef HEAP_SAMPLER_PROFILE_OUTPUT_H
#define HEAP_SAMPLER_PROFILE_OUTPUT_H
/*
 * From a profile to bytes, and from bytes to a file.  No MRI header, no GVL.
 * Every function returns 0, or an errno value; none prints or raises.
 */
#include <stdbool.h>
#include <stddef.h>
#include "heap_sampler/profile/profile.h"

struct hs_buffer {
    char *ptr;
    size_t len, capacity;
    bool failed;                /* an allocation failed; appends do nothing */
    /* Where a run of bytes goes that has become long: 0, or an errno value. NULL: it stays here. */
    int (*pass_on)(void *to, const char *ptr, size_t len);
    void *to;
};

void rb_hs_buffer_append(struct hs_buffer *buffer, const void *ptr, size_t len);
void rb_hs_buffer_puts(struct hs_buffer *buffer, const char *text);
void rb_hs_buffer_printf(struct hs_buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void rb_hs_buffer_free(struct hs_buffer *buffer);

/* Which estimate of a row a one-valued format shows. */
enum hs_value {
    HS_INUSE_SPACE, HS_INUSE_OBJECTS, HS_ALLOC_SPACE, HS_ALLOC_OBJECTS,        /* of slots and malloc */
    HS_SLOTS_INUSE_SPACE, HS_MALLOC_INUSE_SPACE
};

/* They append to `out`, which has bytes left for its gzip, if it has one, when
 * they return.  ENOMEM; EINVAL: an index of the profile leads nowhere.
 * After an error what `out` holds is good for rb_hs_buffer_free() only. */
int rb_hs_encode_pprof(const struct hs_profile *profile, struct hs_buffer *out);       /* not compressed */
int rb_hs_encode_folded(const struct hs_profile *profile, enum hs_value value, struct hs_buffer *out);
int rb_hs_encode_speedscope(const struct hs_profile *profile, struct hs_buffer *out);
/* The settings, GC counts, drops and heap account as one JSON object. */
int rb_hs_encode_meta_json(const struct hs_profile_meta *meta, struct hs_buffer *out);

/* gzip, piece by piece: an encoder's output may be fifty times what it is
 * compressed.  NULL: no memory.  `last`: the stream ends with these bytes. */
struct hs_gzip *rb_hs_gzip_open(struct hs_buffer *out);
int rb_hs_gzip_append(struct hs_gzip *gzip, const char *ptr, size_t len, bool last);
/* For a buffer's pass_on, with the gzip as `to`. */
int rb_hs_gzip_pass_on(void *gzip, const char *ptr, size_t len);
void rb_hs_gzip_close(struct hs_gzip *gzip);

/* Write all of it or nothing: temporary file beside it (O_EXCL, mode 0600),
 * fsync, rename.  A FIFO or a character device is opened and written straight:
 * ENXIO if no one reads the FIFO; may wait for its reader.  A symlink at `path`
 * is replaced, not followed.  No signal results (SIGPIPE, SIGXFSZ). */
int rb_hs_write_file(const char *path, const char *ptr, size_t len);

/* Would rb_hs_write_file() find a folder to write in, or a file that takes it?
 * It looks only, and leaves nothing behind. */
int rb_hs_check_writable(const char *path);

/* Does it end as rb_hs_save_profile() wants it? */
bool rb_hs_profile_path_p(const char *path);

/* Encode by the path's ending: .pb.gz, .pb, .folded (inuse_space), .json; else
 * EINVAL.  `written`, if not NULL: the bytes of the file. */
int rb_hs_save_profile(const struct hs_profile *profile, const char *path, size_t *written);

#endif

#ifndef HEAP_SAMPLER_PROFILE_FORMATS_H
#define HEAP_SAMPLER_PROFILE_FORMATS_H
/*
 * From a profile to bytes: pprof, compressed or not.  Other formats are made in
 * Ruby, from pprof or from a snapshot (lib/heapsample/files).  No MRI header.
 * [any]
 *
 * Each function returns 0, ENOMEM, or EINVAL if an index of the profile leads
 * nowhere.  After an error what the buffer holds is good for
 * rb_hs_buffer_free() only.
 */
#include <stdbool.h>
#include <stdint.h>
#include "heap_sampler/profile/profile.h"

/* A growing run of bytes: what the encoders write into. [any] */

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

enum hs_format { HS_PB_GZ,
                 HS_PB };

/* Which format the path's ending asks for. Returns that ending, with the dot; NULL: it is none of them. */
const char *rb_hs_format_of(const char *path, enum hs_format *format);

/* pprof's sample type that a reader shows first: alloc_space, or inuse_space. */
enum hs_shown_first { HS_INUSE_FIRST,
                      HS_ALLOC_FIRST };
int rb_hs_encode(const struct hs_profile *profile, enum hs_format format, enum hs_shown_first first, struct hs_buffer *out);

/* What a profile says about itself: the message Meta of a file. */
int rb_hs_encode_meta(const struct hs_profile *profile, struct hs_buffer *out);

/* What a process says about itself without a profile, as JSON objects with the fields of doc/heap_sampler.proto. [any] */

/* The sampler, now. */
struct hs_sampler_now {
    uint64_t live_samples, samples, malloc_live_samples, malloc_samples, dropped_samples;
    uint64_t bytes, bytes_max;  /* its own; max 0: no bound */
    uint64_t thread_ns;         /* CPU time of the thread that answers */
    struct hs_compaction compaction;    /* without an estimate there is none */
};

/* 0, or ENOMEM. What is known of the main session is left out unless it samples; every 0: no periodic profiles. */
int rb_hs_encode_about(const struct hs_profile_meta *meta, bool sampling, uint64_t every, struct hs_buffer *out);
/* What its memory is now: `account`, `census`, `heap` and what is known of GC of `meta`. */
int rb_hs_encode_memory(const struct hs_profile_meta *meta, const struct hs_sampler_now *sampler, struct hs_buffer *out);

/* Files, whole or not at all. Each returns 0, or an errno value; none prints. [any] */

/* A file that this process wrote; all 0: none. By its time it differs from a later file with the same inode. */
struct hs_file_id {
    uint64_t device, inode;
    int64_t modified_s, modified_ns;
};

struct hs_writing {
    bool generated;             /* the sampler made up the name: only the file `id` is replaced */
    struct hs_file_id id;       /* then: the file that was written */
    const volatile bool *cancelled;     /* ends it with ECANCELED; may be NULL */
};

/* Writes all of it or nothing: temporary file in the same folder (O_EXCL, mode
 * 0600), fsync, rename.  A file, or a symlink, that exists at `path` is replaced
 * if it belongs to this user, else EEXIST; a symlink is not followed.  A FIFO or
 * a character device of this user is opened and written: ENXIO if nothing reads
 * the FIFO, ETIMEDOUT if its reader takes too long.  A generated name replaces
 * nothing but `id`: EEXIST.  Without `writing` the name is the user's.  No
 * signal results (SIGPIPE, SIGXFSZ). */
int rb_hs_write_file(const char *path, const char *ptr, size_t len, struct hs_writing *writing);

/* Removes that file, and no other that has its path now. */
void rb_hs_remove_file(const char *path, const struct hs_file_id *id);

/* Makes the folder of `path`, and those above it, of mode 0700, where they are missing. */
int rb_hs_make_folder_of(const char *path);

/* Would rb_hs_write_file() find a folder to write in, or a file that takes it?
 * It looks only, and leaves nothing behind. */
int rb_hs_check_writable(const char *path);

/* Compression. Each returns 0, or an errno value. [any] */

/* gzip, piece by piece: an encoder's output may be fifty times what it is
 * compressed.  NULL: no memory.  `last`: the stream ends with these bytes. */
struct hs_gzip *rb_hs_gzip_open(struct hs_buffer *out);
int rb_hs_gzip_append(struct hs_gzip *gzip, const char *ptr, size_t len, bool last);
void rb_hs_gzip_close(struct hs_gzip *gzip);

#endif

#ifndef HEAP_SAMPLER_PROFILE_WRITER_H
#define HEAP_SAMPLER_PROFILE_WRITER_H
/* Files, whole or not at all. Each returns 0, or an errno value; none prints. [any] */
#include <stddef.h>

/* Write all of it or nothing: temporary file beside it (O_EXCL, mode 0600),
 * fsync, rename.  A FIFO or a character device is opened and written straight:
 * ENXIO if no one reads the FIFO; may wait for its reader.  A symlink at `path`
 * is replaced, not followed.  No signal results (SIGPIPE, SIGXFSZ). */
int rb_hs_write_file(const char *path, const char *ptr, size_t len);

/* Makes the folder of `path`, of mode 0700, in one that is there. Whether that went well, rb_hs_check_writable() tells. */
void rb_hs_make_folder_of(const char *path);

/* Would rb_hs_write_file() find a folder to write in, or a file that takes it?
 * It looks only, and leaves nothing behind. */
int rb_hs_check_writable(const char *path);

#endif

#ifndef HEAP_SAMPLER_PROFILE_WRITER_H
#define HEAP_SAMPLER_PROFILE_WRITER_H
/* Files, whole or not at all. Each returns 0, or an errno value; none prints. [any] */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif

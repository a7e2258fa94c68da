#ifndef HEAP_SAMPLER_SERVER_OUTPUT_H
#define HEAP_SAMPLER_SERVER_OUTPUT_H
/*
 * Profiles of the main session: taken, encoded, and written to the output of the options, with what is reported about
 * them.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "heap_sampler/base/memory.h"
#include "heap_sampler/profile/formats.h"
#include "heap_sampler/profile/snapshot.h"

enum { HS_PATH_SIZE = 4096,
       HS_MARK_SIZE = 17 };     /* of a file name that another process has: "-" and the start of this one in hex */

/* A file that was written: what its generated name has, and which one it is. */
struct hs_written {
    int64_t time;
    unsigned mark;              /* 0: the name has none */
    struct hs_file_id id;
};

struct hs_output {
    char path[HS_PATH_SIZE];    /* as it was chosen, which is what messages say */
    char full[HS_PATH_SIZE];
    const char *suffix;         /* of the file's name */
    struct hs_written file;
    size_t bytes;
    uint64_t samples;
};

/* Relative outputs belong to the working directory of now; the first call counts. [gvl] */
void rb_hs_note_start_folder(void);
/* Warns of what is wrong with the settings of files, before the first is written. [gvl] */
void rb_hs_output_check(void);
/* The part of a profile with a heap walk that needs a safe point. Its memory is counted in `part` (base/memory.h). NULL: no
 * memory. [gvl] */
struct hs_snapshot *rb_hs_walk_begin(unsigned flags, struct hs_memory_part *part);
/* Ends a snapshot that has been worked on (NULL: there was no memory for one) and encodes it; `samples`: how many live ones it
 * has, may be NULL. 0, or an errno value and `out` is empty: ENOMEM, ESRCH where nothing is sampled. [any] */
int rb_hs_encode_snapshot(struct hs_snapshot *snapshot, enum hs_format format, enum hs_shown_first first, struct hs_buffer *out, uint64_t *samples);

/* Takes a profile now and writes it; `suffix` is added to the file's name; NULL: over the file that was saved before. An error is
 * reported, the same one once. 0, or an errno value. One thread at a time. */
int rb_hs_output_save(struct hs_output *output, const char *suffix, unsigned flags, const volatile bool *stopping);
/* Removes the file, unless another one has taken its name. */
void rb_hs_output_remove(const struct hs_written *file);
/* "wrote …", with the reason; nothing under `quiet`. [any] */
void rb_hs_output_announce(const struct hs_output *output, const char *why);
/* Takes the last profile, and writes and announces it until then; see rb_hs_within for `raised`. `error` is not 0: something
 * before has taken that long, or was interrupted, and it is only reported that there is no profile. [gvl] */
void rb_hs_output_at_exit(int error, uint64_t until_ns, int *raised);

#endif

#ifndef HEAP_SAMPLER_PROCESS_OUTPUT_H
#define HEAP_SAMPLER_PROCESS_OUTPUT_H
/*
 * The output of the options: where profiles of the main session are written,
 * and what is said about them.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include "heap_sampler/profile/writer.h"

enum { HS_PATH_SIZE = 4096,
       HS_MARK_SIZE = 17 };     /* of a file name that another process has: "-" and the start of this one in hex */

struct hs_output {
    char path[HS_PATH_SIZE];    /* as it was chosen, which is what messages say */
    char full[HS_PATH_SIZE];
    const char *suffix;         /* of the file's name */
    int64_t time;               /* in the file's name */
    unsigned mark;              /* 0: the name has none */
    struct hs_file_id id;       /* of the file that was written */
    size_t bytes;
    uint64_t samples;
};

/* The folder of now is that of relative outputs; the first call counts. [gvl] */
void rb_hs_note_start_folder(void);
/* Warns of what is wrong with the settings of files, before the first is written. [gvl] */
void rb_hs_output_check(void);
/* Takes a profile now and writes it; `suffix` is added to the file's name. An error is reported, the same one once. 0, or an
 * errno value. One thread at a time. */
int rb_hs_output_save(struct hs_output *output, const char *suffix, unsigned flags, const volatile bool *stopping);
/* The same, over the file that was saved before. */
int rb_hs_output_save_again(struct hs_output *output, unsigned flags, const volatile bool *stopping);
/* "wrote …", with the reason; nothing under `quiet`. [any] */
void rb_hs_output_announce(const struct hs_output *output, const char *why);
/* Takes a profile, and writes and announces it until then; see rb_hs_within for `raised` and what is returned. [gvl] */
int rb_hs_output_at_exit(const struct timespec *until, int *raised);
/* Reports that it was not written, for what rb_hs_within returned. */
void rb_hs_output_unfinished(int error);

#endif

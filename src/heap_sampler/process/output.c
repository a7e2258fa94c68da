/* See process/output.h. */
#include "heap_sampler/process/output.h"
#include "heap_sampler/base/must.h"
#include "heap_sampler/base/report.h"
#include "heap_sampler/process/request.h"
#include "heap_sampler/process/walks.h"
#include "heap_sampler/profile/formats.h"
#include "heap_sampler/profile/snapshot.h"
#include "heap_sampler/profile/writer.h"
#include "heap_sampler/settings/options.h"
#include "heap_sampler/sites/sampler.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A relative output is of the folder that the process was started in, wherever
 * the program has gone since. Empty: it is not known. */
static char start_folder[HS_PATH_SIZE];

void
rb_hs_note_start_folder(void)
{
    if (!*start_folder && !getcwd(start_folder, sizeof(start_folder))) *start_folder = '\0';
}

static bool
full_path(const char *path, char *full, size_t size)
{
    bool relative = *path != '/' && *start_folder;
    int len = snprintf(full, size, "%s%s%s", relative ? start_folder : "", relative ? "/" : "", path);
    return len >= 0 && (size_t)len < size;
}

static bool
fixed_path_p(const char *pattern)
{
    for (; *pattern; pattern++) {
        if (*pattern != '%') continue;
        if (pattern[1] == 'p') return false;
        pattern++;
    }
    return true;
}

/* Put `text` before the path's ending, so that the format stays. */
static void
add_to_name(char *path, size_t size, const char *text)
{
    enum hs_format format;
    if (!rb_hs_format_of(path, &format)) return;
    const char *ending = rb_hs_format_ending(format);
    size_t stem = strlen(path) - strlen(ending);
    snprintf(path + stem, size - stem, "%s%s", text, ending);
}

/* Where a profile goes that is written now. */
static int
choose_path(struct hs_output *output)
{
    const struct hs_options *options = &rb_hs_options;
    char pid[32];
    if (!rb_hs_options_expand_output(options, (uint64_t)getpid(), (int64_t)time(NULL), output->path, sizeof(output->path))) {
        *output->path = '\0';
        return ENAMETOOLONG;
    }
    /* A fixed path belongs to the process that began: its children append their number. */
    snprintf(pid, sizeof(pid), ".%ld", (long)getpid());
    if (rb_hs_sampler.child && fixed_path_p(options->output)) add_to_name(output->path, sizeof(output->path), pid);
    return full_path(output->path, output->full, sizeof(output->full)) ? 0 : ENAMETOOLONG;
}

/* The same trouble with each profile is told once. Each save has the mutex, or comes after the thread's end. */
static int told_error;

static void
tell_of_error(const struct hs_output *output, int error)
{
    if (error == told_error) return;
    told_error = error;
    rb_hs_warn("cannot write %s: %s", output->path, strerror(error));
}

int
rb_hs_output_save(struct hs_output *output, const char *suffix, unsigned flags, const volatile bool *stopping)
{
    int error = choose_path(output);
    if (!error && *suffix) {
        add_to_name(output->path, sizeof(output->path), suffix);
        add_to_name(output->full, sizeof(output->full), suffix);
    }
    if (!error) return rb_hs_output_save_again(output, flags, stopping);
    tell_of_error(output, error);
    return error;
}

int
rb_hs_output_save_again(struct hs_output *output, unsigned flags, const volatile bool *stopping)
{
    struct hs_request request = {.session = HS_MAIN, .flags = flags, .stopping = stopping, .path = output->full};
    int error = rb_hs_request_serve(&request);
    output->bytes = request.bytes;
    output->samples = request.samples;
    if (flags & HS_WITH_HOLDERS) rb_hs_walk_took(request.walk_ns, request.hold_up_ns);
    if (error) tell_of_error(output, error);
    return error;
}

void
rb_hs_output_announce(const struct hs_output *output, const char *why)
{
    if (rb_hs_options.quiet) return;
    char line[HS_PATH_SIZE + 256];
    int len = snprintf(line, sizeof(line), "heap-sample: wrote %s (%zu bytes, %llu live samples)%s\n", output->path,
                       output->bytes, (unsigned long long)output->samples, why);
    rb_hs_say(line, (size_t)len);
}

int
rb_hs_output_at_exit(void)
{
    struct hs_output output;
    int error = rb_hs_output_save(&output, "", HS_MAY_HOLD_UP, NULL);
    if (!error) rb_hs_output_announce(&output, "");
    return error;
}

/* Whoever reads of it only when the first profile is due may have lost what it would have shown. */
void
rb_hs_output_check(void)
{
    HS_CONTRACT(gvl);
    const struct hs_options *options = &rb_hs_options;
    struct hs_output output;
    if (options->output_none || rb_hs_sampler.child) return;
    if (options->keep && !options->every) {
        rb_hs_warn_of_settings("keep=%u does nothing without every=: it keeps the newest of the profiles that every=SECONDS writes",
                               options->keep);
    }
    int error = choose_path(&output);
    if (!error && options->output_in_folder) rb_hs_make_folder_of(output.full);
    if (!error) error = rb_hs_check_writable(output.full);
    if (!error) return;
    told_error = error;
    rb_hs_warn_of_settings("cannot write %s: %s; sampling goes on, but mend the folder or set another output=", output.path,
                           strerror(error));
}

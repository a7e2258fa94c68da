/* See server/output.h. */
#include "heap_sampler/server/output.h"
#include "heap_sampler/server/service.h"
#include "heap_sampler/kernel.h"
#include "heap_sampler/base/contract.h"
#include "heap_sampler/base/report.h"
#include "heap_sampler/profile/formats.h"
#include "heap_sampler/settings/options.h"

#include <errno.h>
#include <inttypes.h>
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

/* Does the pattern have this letter after a %? */
static bool
pattern_has(char letter)
{
    for (const char *at = rb_hs_files.output; *at; at++) {
        if (*at == '%' && *++at == letter) return true;
    }
    return false;
}

/* Put `text` before the path's ending, so that the format stays. */
static void
add_to_name(char *path, size_t size, const char *text)
{
    enum hs_format format;
    const char *ending = rb_hs_format_of(path, &format);
    if (!ending) return;
    size_t stem = strlen(path) - strlen(ending);
    snprintf(path + stem, size - stem, "%s%s", text, ending);
}

/* The name of a profile. Where the user's pattern has no process id, a child adds its own. */
static int
choose_path(struct hs_output *output)
{
    enum { PID_SIZE = 21 };
    char text[PID_SIZE + HS_MARK_SIZE + 8] = "";
    int len = 0;
    if (!rb_hs_options_expand_output(&rb_hs_files, (uint64_t)getpid(), output->file.time, output->path, sizeof(output->path))) {
        *output->path = '\0';
        return ENAMETOOLONG;
    }
    if (rb_hs_process()->child && !pattern_has('p')) len = snprintf(text, sizeof(text), ".%ld", (long)getpid());
    if (output->file.mark) len += snprintf(text + len, sizeof(text) - (size_t)len, "-%016" PRIx64, rb_hs_process()->start + output->file.mark - 1);
    snprintf(text + len, sizeof(text) - (size_t)len, "%s", output->suffix);
    if (*text) add_to_name(output->path, sizeof(output->path), text);
    return full_path(output->path, output->full, sizeof(output->full)) ? 0 : ENAMETOOLONG;
}

/* The same error of each profile is reported once. One profile is written at a time. */
static int reported_error;

static const char *
error_text(int error)
{
    if (error == EEXIST) return "the file belongs to another user";
    if (error == EPERM) return "its folder belongs to another user, or other users can write to it";
    if (error == ETIMEDOUT) return "the program that reads it is too slow";
    return strerror(error);
}

/* What to do. */
static const char *
advice(int error)
{
    switch (error) {
    case EFBIG:
    case ENOMEM:
    case EPIPE:
    case ETIMEDOUT: return "";
    case EDQUOT:
    case ENOSPC: return "; free some space, or set another output=";
    default: return "; fix the folder, or set another output=";
    }
}

static void
report_error(const struct hs_output *output, int error)
{
    if (error == reported_error || error == ECANCELED) return;
    reported_error = error;
    rb_hs_warn("cannot write %s: %s%s", output->path, error_text(error), advice(error));
}

/* What this process wrote: only that is replaced where the name is generated. */
static struct {
    uint64_t process;           /* its start: a forked child has written nothing yet */
    unsigned mark;              /* 1: another process has such names, so all have the mark */
    struct hs_file_id last[2];  /* without and with a suffix */
} own;

/* Is it the user's name, as it was given? */
static bool
fixed_p(const struct hs_output *output)
{
    return !pattern_has('p') && !pattern_has('t') && !rb_hs_process()->child && !*output->suffix;
}

static void
begin(struct hs_output *output, const char *suffix)
{
    if (own.process != rb_hs_process()->start) memset(&own, 0, sizeof(own));
    own.process = rb_hs_process()->start;
    *output = (struct hs_output){.suffix = suffix, .file = {.time = (int64_t)time(NULL), .id = own.last[*suffix != '\0']}};
    if (!fixed_p(output)) output->file.mark = own.mark;
}

/* A folder that is missing, also later, is made. */
static int
write_file(struct hs_output *output, const struct hs_buffer *out, struct hs_writing *writing)
{
    int error = choose_path(output);
    if (error) return error;
    error = rb_hs_write_file(output->full, out->ptr, out->len, writing);
    if (error != ENOENT) return error;
    error = rb_hs_make_folder_of(output->full);
    return error ? error : rb_hs_write_file(output->full, out->ptr, out->len, writing);
}

/* Containers have the same process ids: a name that another process has taken gets a mark, and no other name. So
 * existing folders look as before, and one process in many pays for the second try. */
static int
write_out(struct hs_output *output, const struct hs_buffer *out, const volatile bool *cancelled)
{
    enum { MARKS = 100 };
    struct hs_writing writing = {.generated = !fixed_p(output), .id = output->file.id, .cancelled = cancelled};
    int error;
    while ((error = write_file(output, out, &writing)) == EEXIST && writing.generated && output->file.mark < MARKS) output->file.mark++;
    if (error) return error;
    output->file.id = own.last[*output->suffix != '\0'] = writing.id;
    if (output->file.mark) own.mark = 1;
    return 0;
}

void
rb_hs_output_remove(const struct hs_written *file)
{
    struct hs_output output = {.suffix = "", .file = *file};
    if (choose_path(&output) == 0) rb_hs_remove_file(output.full, &file->id);
}

/* -- taking a profile --------------------------------------------------------------------- */

struct hs_snapshot *
rb_hs_walk_begin(unsigned flags, struct hs_memory_part *part)
{
    HS_CONTRACT(gvl);
    struct hs_memory_part *before = rb_hs_memory_part;
    rb_hs_memory_part = part;
    struct hs_snapshot *snapshot = rb_hs_snapshot_begin(HS_MAIN, flags | HS_WITH_RETAINERS | HS_FORCED, 0);
    rb_hs_memory_part = before;
    return snapshot;
}

static bool
sampling_p(void)
{
    rb_hs_lock();
    bool on = rb_hs_session(HS_MAIN)->on;
    rb_hs_unlock();
    return on;
}

int
rb_hs_encode_snapshot(struct hs_snapshot *snapshot, enum hs_format format, enum hs_shown_first first, struct hs_buffer *out, uint64_t *samples)
{
    struct hs_profile *profile = snapshot ? rb_hs_snapshot_end(snapshot) : NULL;
    if (!profile) return sampling_p() ? ENOMEM : ESRCH;
    int error = rb_hs_encode(profile, format, first, out);
    if (!error && out->failed) error = ENOMEM;
    if (samples) *samples = profile->meta.live_samples;
    rb_hs_snapshot_free(profile);
    if (error) rb_hs_buffer_free(out);
    return error;
}

struct walk {
    unsigned flags;
    struct hs_memory_part *part;
    struct hs_snapshot *begun;
};

static void
begin_walk(void *data)
{
    struct walk *walk = data;
    walk->begun = rb_hs_walk_begin(walk->flags, walk->part);
}

/* Where no safe point comes there is a profile all the same. Code that runs gets there at once; code that waits is not woken. */
static struct hs_snapshot *
begin_snapshot(unsigned flags)
{
    enum { SAFE_POINT_MS = 250 };
    struct walk walk = {flags, rb_hs_memory_part, NULL};
    bool wanted = flags & HS_WITH_RETAINERS;
    if (wanted && rb_hs_at_safe_point(begin_walk, &walk, SAFE_POINT_MS)) return walk.begun;
    struct hs_snapshot *snapshot = rb_hs_snapshot_begin(HS_MAIN, flags & ~(unsigned)HS_WITH_RETAINERS, 0);
    if (snapshot && wanted) rb_hs_snapshot_refuse(snapshot, HS_REFUSED_NO_SAFE_POINT);
    return snapshot;
}

/* Ends the snapshot. */
static int
save(struct hs_output *output, struct hs_snapshot *snapshot, const volatile bool *cancelled)
{
    struct hs_buffer out = {0};
    enum hs_format format = HS_PB_GZ;
    rb_hs_format_of(rb_hs_files.output, &format);
    int error = rb_hs_encode_snapshot(snapshot, format, HS_INUSE_FIRST, &out, &output->samples);
    output->bytes = out.len;
    if (!error) error = write_out(output, &out, cancelled);
    else (void)choose_path(output);     /* for the message */
    rb_hs_buffer_free(&out);
    if (error) report_error(output, error);
    return error;
}

int
rb_hs_output_save(struct hs_output *output, const char *suffix, unsigned flags, const volatile bool *stopping)
{
    if (suffix) begin(output, suffix);
    struct hs_snapshot *snapshot = begin_snapshot(flags | HS_BY_ITSELF);
    if (snapshot) rb_hs_snapshot_work(snapshot, stopping);
    return save(output, snapshot, NULL);
}

void
rb_hs_output_announce(const struct hs_output *output, const char *why)
{
    if (rb_hs_files.quiet) return;
    char line[HS_PATH_SIZE + 256];
    int len = snprintf(line, sizeof(line), "heap-sample: wrote %s (%zu bytes, %llu live samples)%s\n", output->path,
                       output->bytes, (unsigned long long)output->samples, why);
    rb_hs_print(line, (size_t)len);
}

/* The last profile, which a thread of ours may still write when the VM is gone: all that it reads is here, or a copy. */
static struct {
    struct hs_output output;
    struct hs_snapshot *snapshot;
    volatile bool cancelled, done;      /* atomic flags */
} last;

static void
finish(void)
{
    if (save(&last.output, last.snapshot, &last.cancelled) == 0 && !last.cancelled) rb_hs_output_announce(&last.output, "");
    last.done = true;
}

static int
save_last(uint64_t until_ns, int *raised)
{
    const struct timespec nap = {0, 20000000};
    begin(&last.output, "");
    last.snapshot = rb_hs_snapshot_begin(HS_MAIN, HS_AT_EXIT | HS_MAY_HOLD_UP, 0);
    if (!last.snapshot) return ENOMEM;
    rb_hs_snapshot_work(last.snapshot, NULL);
    int error = rb_hs_within(finish, 0, until_ns, raised);
    if (!error) return 0;
    last.cancelled = true;
    for (int i = 0; i < 10 && !last.done; i++) nanosleep(&nap, NULL);   /* it removes its temporary file */
    return error;
}

void
rb_hs_output_at_exit(int error, uint64_t until_ns, int *raised)
{
    HS_CONTRACT(gvl);
    struct hs_output *output = &last.output;
    if (!error) error = save_last(until_ns, raised);
    if (!error) return;
    if (!*output->path) {
        begin(output, "");
        (void)choose_path(output);
    }
    if (error == ETIMEDOUT) rb_hs_warn("the profile at exit is lost: writing %s took longer than 10 s; check its disk", output->path);
    else rb_hs_warn("the profile at exit is lost: %s: %s", output->path, error == EINTR ? "a signal ended the process first" : strerror(error));
}

/* A warning when the first profile is due would come too late: its data are lost then. */
void
rb_hs_output_check(void)
{
    HS_CONTRACT(gvl);
    const struct hs_files *files = &rb_hs_files;
    struct hs_output output;
    if (files->output_none || rb_hs_process()->child) return;
    if (files->keep && !files->every) {
        rb_hs_warn_of_settings("keep=%u has no effect without every=; set every=SECONDS too, or remove keep=",
                               files->keep);
    }
    begin(&output, "");
    int error = choose_path(&output);
    if (!error) error = rb_hs_make_folder_of(output.full);
    if (!error) error = rb_hs_check_writable(output.full);
    if (!error) return;
    reported_error = error;
    rb_hs_warn_of_settings("cannot write %s: %s; sampling continues%s", output.path, error_text(error), advice(error));
}

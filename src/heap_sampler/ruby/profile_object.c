/* The object GC::SampleProfile: taken, held, written to a file. */
#include "heap_sampler/base/memory.h"
#include "heap_sampler/kernel.h"
#include "heap_sampler/profile/formats.h"
#include "heap_sampler/profile/profile.h"
#include "heap_sampler/profile/snapshot.h"
#include "heap_sampler/ruby/ruby_api.h"

static VALUE class_of_profiles;

static void
sample_profile_free(void *ptr)
{
    struct sample_profile *self = ptr;
    rb_hs_snapshot_free(self->profile);
    rb_hs_free(HS_MEM_SNAPSHOTS, self->memsizes);
    ruby_xfree(self);
}

static size_t
sample_profile_memsize(const void *ptr)
{
    const struct sample_profile *self = ptr;
    const struct hs_profile *profile = self->profile;
    if (!profile) return sizeof(*self);
    return sizeof(*self) + (self->memsizes ? profile->samples.count * sizeof(*self->memsizes) : 0) + sizeof(*profile) +
        profile->samples.count * sizeof(*profile->samples.list) + profile->row_count * sizeof(*profile->rows) +
        profile->node_count * sizeof(*profile->nodes) + profile->frame_count * sizeof(*profile->frames) +
        profile->text_count * sizeof(*profile->texts);
}

static const rb_data_type_t sample_profile_type = {
    "GC::SampleProfile",
    {NULL, sample_profile_free, sample_profile_memsize},
    NULL,
    NULL,
    RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

struct sample_profile *
rb_hs_profile_data(VALUE self)
{
    struct sample_profile *data;
    TypedData_Get_Struct(self, struct sample_profile, &sample_profile_type, data);
    if (!data->profile) rb_raise(rb_eArgError, "uninitialized GC::SampleProfile");
    return data;
}

/* -- snapshots ------------------------------------------------------------------ */

struct snapshot_args {
    struct hs_snapshot *snapshot;
    struct sample_profile *into;
    volatile bool interrupted;  /* atomic flag: the function that unblocks the thread sets it */
    bool complete, ended;
};

static void *
work_without_gvl(void *ptr)
{
    struct snapshot_args *args = ptr;
    args->complete = rb_hs_snapshot_work(args->snapshot, &args->interrupted);
    return NULL;
}

static void *
end_without_gvl(void *ptr)
{
    struct snapshot_args *args = ptr;
    args->into->profile = rb_hs_snapshot_end(args->snapshot);
    args->ended = true;
    return NULL;
}

static void
interrupt(void *ptr)
{
    struct snapshot_args *args = ptr;
    args->interrupted = true;
}

static VALUE
check_ints(VALUE unused)
{
    rb_thread_check_ints();
    return unused;
}

/* A heap walk may take seconds: signals, Timeout and Thread#raise come through meanwhile, and what they raise is raised when the
 * child is gone. */
static int
work(struct snapshot_args *args)
{
    int state = 0;
    while (!state && !args->complete) {
        args->interrupted = false;
        rb_nogvl(work_without_gvl, args, interrupt, args, RB_NOGVL_INTR_FAIL);
        rb_protect(check_ints, Qnil, &state);
    }
    return state;
}

static void
take(struct sample_profile *into, int session, const struct snapshot_wish *wish)
{
    struct snapshot_args args = {.into = into};
    args.snapshot = rb_hs_snapshot_begin(session, HS_WITH_SAMPLES | (wish->why ? HS_WITH_RETAINERS : 0), wish->why_seconds);
    if (!args.snapshot) return;
    int state = work(&args);
    rb_nogvl(end_without_gvl, &args, NULL, NULL, RB_NOGVL_INTR_FAIL);
    if (!args.ended) end_without_gvl(&args);    /* it was interrupted before it began: nothing may be raised here */
    if (state) rb_jump_tag(state);
}

/* What a live sample stands for. One that was freed since the snapshot, or whose
 * object cannot be asked, counts with its slot: the row's bytes hold it too. */
static void
add_memsize(struct sample_profile *data, size_t i)
{
    const struct hs_live_sample *sample = &data->profile->samples.list[i];
    struct hs_row *row = &data->profile->rows[sample->row];
    size_t memsize = data->memsizes[i];
    if (sample->young) return;
    if (memsize == SIZE_MAX || memsize < row->slot_size) memsize = row->slot_size;
    row->memsize += sample->weight * (double)memsize;
}

static void
measure_samples(struct sample_profile *data)
{
    size_t count = data->profile->samples.count;
    data->memsizes = rb_hs_malloc(HS_MEM_SNAPSHOTS, count * sizeof(*data->memsizes) + 1);
    if (!data->memsizes) rb_memerror();
    for (size_t i = 0; i < count; i++) data->memsizes[i] = SIZE_MAX;
    rb_hs_objects_measure(&data->profile->samples, data->memsizes);
    for (size_t i = 0; i < count; i++) add_memsize(data, i);
    data->profile->meta.memsize = true;
}

bool
rb_hs_session_goes_on(int session, uint64_t serial)
{
    return rb_hs_session(session)->on && rb_hs_session_started(session)->serial == serial;
}

VALUE
rb_hs_take_snapshot(int session, const struct snapshot_wish *wish)
{
    rb_hs_objects_forget_places();
    if (wish->full_gc) rb_gc_start();
    rb_hs_name_all();

    struct sample_profile *data;
    VALUE self = TypedData_Make_Struct(class_of_profiles, struct sample_profile, &sample_profile_type, data);
    uint64_t serial = rb_hs_session_started(session)->serial;
    take(data, session, wish);
    rb_hs_check_now();
    if (!data->profile && rb_hs_session_goes_on(session, serial)) {
        /* Profiles that are garbage may take its room. */
        rb_gc_start();
        take(data, session, wish);
    }
    if (!data->profile) {
        if (!rb_hs_session_goes_on(session, serial)) rb_raise(rb_eRuntimeError, "nothing is being sampled; sampling was stopped while the profile was taken");
        rb_raise(rb_eNoMemError, "not enough memory for a heap profile; drop older profiles (they use %" PRIuSIZE " of %" PRIuSIZE " bytes)",
                 rb_hs_memory_bytes(HS_MEM_SNAPSHOTS), rb_hs_memory_share(HS_MEM_SNAPSHOTS));
    }
    if (wish->memsize) measure_samples(data);
    return self;
}

/* -- files ------------------------------------------------------------------------ */

struct save_args {
    const struct hs_profile *profile;
    const char *path;
    size_t written;
    int error;
};

static void *
save_without_gvl(void *ptr)
{
    struct save_args *args = ptr;
    struct hs_buffer file = {0};
    enum hs_format format;
    args->error = rb_hs_format_of(args->path, &format) ? rb_hs_encode(args->profile, format, HS_INUSE_FIRST, &file) : EINVAL;
    if (!args->error) args->error = rb_hs_write_file(args->path, file.ptr, file.len, NULL);
    args->written = file.len;
    rb_hs_buffer_free(&file);
    return NULL;
}

/*
 * Write the profile as pprof to a path that ends with .pb.gz or .pb, without the
 * GVL; lib/heapsample has GC::SampleProfile#save, and the other formats. Returns
 * the number of bytes. Raises SystemCallError: Errno::ENOMEM also if it does not
 * fit into the sampler's own memory while it is made.
 */
static VALUE
profile_raw_save(VALUE self, VALUE path)
{
    struct sample_profile *data = rb_hs_profile_data(self);
    VALUE held;
    rb_hs_need_stack();
    path = rb_str_new_frozen(rb_str_encode_ospath(rb_get_path(path)));
    const char *text = StringValueCStr(path);
    size_t size = strlen(text) + 1;
    /* Not the text in its slot: compaction on another thread protects heap pages for a while, and a system call on
     * one is EFAULT. */
    char *copy = ALLOCV_N(char, held, size);
    memcpy(copy, text, size);
    struct save_args args = {.profile = data->profile, .path = copy};
    rb_thread_call_without_gvl(save_without_gvl, &args, NULL, NULL);
    ALLOCV_END(held);
    if (args.error) rb_syserr_fail_str(args.error, path);
    RB_GC_GUARD(self);
    RB_GC_GUARD(path);
    return SIZET2NUM(args.written);
}

void
rb_hs_init_profile_object(VALUE rb_cSampleProfile)
{
    class_of_profiles = rb_cSampleProfile;
    rb_gc_register_mark_object(class_of_profiles);
    rb_define_private_method(rb_cSampleProfile, "raw_save", profile_raw_save, 1);
}

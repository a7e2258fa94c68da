/*
 * GC.sample_profile and GC::SampleProfile.
 *
 * C takes the snapshot and hands out plain arrays; what people read is made
 * in Ruby, by lib/heap_sample, which is loaded when it is first asked for.
 */
#include "ruby/internal/config.h"
#include "internal.h"
#include "internal/class.h"
#include "internal/gc.h"
#include "internal/heap_sampler.h"
#include "internal/string.h"
#include "ruby/encoding.h"
#include "ruby/ractor.h"
#include "ruby/ruby.h"
#include "ruby/thread.h"
#include "ractor_core.h"
#include "vm_core.h"
#include "vm_sync.h"
#include "capture.h"
#include "check.h"
#include "class_table.h"
#include "malloc_rows.h"
#include "malloc_sampler.h"
#include "malloc_table.h"
#include "names.h"
#include "objects.h"
#include "output.h"
#include "page_table.h"
#include "sampler.h"
#include "stack_table.h"

static VALUE rb_cSampleProfile;

enum { BLOCK_INTERVAL = 64 * 1024 };

/* -- the object ------------------------------------------------------------- */

struct sample_profile {
    struct hs_profile *profile;
    struct hs_live_samples samples;
    size_t *memsizes;           /* by sample, SIZE_MAX: not known; NULL: not asked for */
};

static void
sample_profile_free(void *ptr)
{
    struct sample_profile *self = ptr;
    rb_hs_snapshot_free(self->profile);
    rb_hs_live_samples_free(&self->samples);
    rb_hs_free(HS_MEM_SNAPSHOTS, self->memsizes);
    ruby_xfree(self);
}

static size_t
sample_profile_memsize(const void *ptr)
{
    const struct sample_profile *self = ptr;
    size_t size = sizeof(*self) + self->samples.count * sizeof(*self->samples.list);
    if (self->memsizes) size += self->samples.count * sizeof(*self->memsizes);
    if (self->profile) {
        const struct hs_profile *profile = self->profile;
        size += sizeof(*profile) + profile->row_count * sizeof(*profile->rows) +
            profile->node_count * sizeof(*profile->nodes) + profile->frame_count * sizeof(*profile->frames) +
            profile->text_count * sizeof(*profile->texts);
    }
    return size;
}

static const rb_data_type_t sample_profile_type = {
    "GC::SampleProfile",
    { NULL, sample_profile_free, sample_profile_memsize },
    NULL, NULL, RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

static struct sample_profile *
get_profile(VALUE self)
{
    struct sample_profile *data;
    TypedData_Get_Struct(self, struct sample_profile, &sample_profile_type, data);
    if (!data->profile) rb_raise(rb_eArgError, "uninitialized GC::SampleProfile");
    return data;
}

/* -- the object behind a sample ------------------------------------------------ */

/* What Ruby code may hold: no internal nor hidden object, nothing that
 * another Ractor may be writing to. */
static bool
presentable_p(VALUE object)
{
    switch (BUILTIN_TYPE(object)) {
      case T_NONE: case T_MOVED: case T_ZOMBIE: case T_IMEMO: case T_NODE: case T_ICLASS:
        return false;
      case T_CLASS:
        if (!RBASIC(object)->klass || RCLASS_SINGLETON_P(object)) return false;
        break;
      default:
        if (!RBASIC(object)->klass) return false;
        break;
    }
    return !rb_multi_ractor_p() || rb_ractor_shareable_p(object);
}

/*
 * call-seq:
 *   GC::SampleProfile.object_of(id) -> object or nil
 *
 * Returns the object behind a live sample; GC::SampleProfile::Sample#object calls this with
 * the +id+ of the sample. Returns +nil+ if the object has died, if it is internal to Ruby, or
 * if another Ractor may be writing to it.
 */
static VALUE
s_object_of(VALUE klass, VALUE id)
{
    VALUE object = rb_hs_object_of_id(NUM2ULL(id));
    return object && presentable_p(object) ? object : Qnil;
}

static VALUE
text_value(const struct hs_text *text)
{
    VALUE string = rb_utf8_str_new(text->ptr, text->len);
    if (rb_enc_str_coderange(string) == ENC_CODERANGE_BROKEN) string = rb_str_scrub(string, Qnil);
    return rb_fstring(string);
}

struct stack_frame {
    struct hs_text label, path, absolute_path;
    uint32_t line;
};

enum { STACK_MOST = HS_DEPTH_MAX + 1 };         /* and (truncated) */

/* Copies the stack of an object's sample; its depth, UINT32_MAX: it has none.
 * Making Ruby objects of it may take a sample, and give nodes other numbers. */
static uint32_t
copy_stack_of(VALUE object, struct stack_frame *frames)
{
    uint32_t depth = UINT32_MAX;
    RB_VM_LOCK_ENTER();
    {
        unsigned int slot;
        const struct rb_heap_sampler_page *page = rb_heap_sampler_gc_table_of(object, &slot);
        const struct hs_record *record = rb_hs_page_find(page, slot);
        uint32_t node = record ? rb_hs_sampler.sites[record->site].node : HS_NODE_EMPTY;
        if (record) depth = 0;
        for (; node != HS_NODE_EMPTY && depth < STACK_MOST; node = rb_hs_nodes[node].parent) {
            const struct hs_frame *frame = &rb_hs_frames[rb_hs_nodes[node].frame];
            frames[depth++] = (struct stack_frame){
                rb_hs_texts[frame->label], rb_hs_texts[frame->path], rb_hs_texts[frame->absolute_path], frame->line,
            };
        }
    }
    RB_VM_LOCK_LEAVE();
    return depth;
}

/*
 * call-seq:
 *   GC::SampleProfile.raw_stack_of(object) -> array or nil
 *
 * Returns the stack that allocated +object+, innermost frame first. Each frame is an array of
 * label, path, absolute path and line. Returns +nil+ if the object was not sampled.
 * GC::SampleProfile.stack_of returns the same stack as locations.
 *
 *   GC::SampleProfile.raw_stack_of(ticket)
 *   # => [["Ticket::Cache.store", "app/models/ticket/cache.rb", "/srv/app/models/ticket/cache.rb", 16], ...]
 */
static VALUE
s_raw_stack_of(VALUE klass, VALUE object)
{
    if (RB_SPECIAL_CONST_P(object)) return Qnil;
    VALUE buffer, stack = Qnil;
    struct stack_frame *frames = ALLOCV_N(struct stack_frame, buffer, STACK_MOST);
    uint32_t depth = copy_stack_of(object, frames);
    if (depth != UINT32_MAX) stack = rb_ary_new_capa((long)depth);
    for (uint32_t i = 0; depth != UINT32_MAX && i < depth; i++) {
        rb_ary_push(stack, rb_ary_new_from_args(4, text_value(&frames[i].label), text_value(&frames[i].path),
                                                text_value(&frames[i].absolute_path), UINT2NUM(frames[i].line)));
    }
    ALLOCV_END(buffer);
    RB_GC_GUARD(object);
    return stack;
}

/* -- snapshots ------------------------------------------------------------------ */

struct snapshot_args {
    int session;
    struct sample_profile *into;
};

static void *
snapshot_without_gvl(void *ptr)
{
    struct snapshot_args *args = ptr;
    args->into->profile = rb_hs_snapshot(args->session, &args->into->samples, false);
    return NULL;
}

/* What a sample in use stands for. One that died since the snapshot, or whose
 * object cannot be asked, counts with its slot: the row's bytes hold it too. */
static void
add_memsize(struct sample_profile *data, size_t i)
{
    const struct hs_live_sample *sample = &data->samples.list[i];
    size_t memsize = data->memsizes[i];
    if (sample->young) return;
    if (memsize == SIZE_MAX || memsize < sample->slot_size) memsize = sample->slot_size;
    data->profile->rows[sample->row].memsize += sample->weight * (double)memsize;
}

static void
measure_samples(struct sample_profile *data)
{
    size_t count = data->samples.count;
    data->memsizes = rb_hs_malloc(HS_MEM_SNAPSHOTS, count * sizeof(*data->memsizes) + 1);
    if (!data->memsizes) rb_memerror();
    for (size_t i = 0; i < count; i++) data->memsizes[i] = SIZE_MAX;
    rb_hs_objects_measure(&data->samples, data->memsizes);
    for (size_t i = 0; i < count; i++) add_memsize(data, i);
    data->profile->meta.memsize = true;
}

/* Other threads run during a snapshot, and may stop what it is of. */
static bool
session_goes_on(int session, uint64_t serial)
{
    const struct hs_session *now = &rb_hs_sampler.session[session];
    return now->on && now->serial == serial;
}

static VALUE
take_snapshot(int session, bool full_gc, bool memsize)
{
    if (full_gc) rb_gc_start();
    rb_hs_name_all();

    struct sample_profile *data;
    VALUE self = TypedData_Make_Struct(rb_cSampleProfile, struct sample_profile, &sample_profile_type, data);
    struct snapshot_args args = { session, data };
    uint64_t serial = rb_hs_sampler.session[session].serial;
    rb_thread_call_without_gvl(snapshot_without_gvl, &args, NULL, NULL);
    rb_hs_check_now();
    if (!data->profile && session_goes_on(session, serial)) {
        /* Profiles that nobody holds any more may have its room. */
        rb_gc_start();
        rb_thread_call_without_gvl(snapshot_without_gvl, &args, NULL, NULL);
    }
    if (!data->profile) {
        if (!session_goes_on(session, serial)) rb_raise(rb_eRuntimeError, "nothing is being sampled: it was stopped meanwhile");
        rb_raise(rb_eNoMemError, "no memory for a heap profile (profiles that are held take %"PRIuSIZE" of %"PRIuSIZE" bytes)",
                 rb_hs_memory_bytes(HS_MEM_SNAPSHOTS), rb_hs_memory_share(HS_MEM_SNAPSHOTS));
    }
    if (memsize) measure_samples(data);
    return self;
}

/* -- the account of the process --------------------------------------------------- */

static void *
account_without_gvl(void *account)
{
    struct hs_account_excess excess;
    rb_hs_malloc_look(&excess);
    rb_hs_account_take(account, &excess, true);
    return NULL;
}

static VALUE
hash_of_fields(const struct hs_account_field *fields, size_t count)
{
    VALUE hash = rb_hash_new();
    for (size_t i = 0; i < count; i++) {
        rb_hash_aset(hash, ID2SYM(rb_intern(fields[i].name)), fields[i].known ? ULL2NUM(fields[i].bytes) : Qnil);
    }
    return hash;
}

/*
 * call-seq:
 *   GC::SampleProfile.memory -> hash
 *
 * Returns where the resident memory of this process is, in bytes. It works whether sampling is
 * on or off. Ruby code runs on meanwhile. These fields add up to +:rss+:
 *
 * [:slots_live]      heap slots that are allocated and not yet swept
 * [:slots_free]      the rest of the heap pages: free slots and page headers
 * [:malloc_live]     memory that callers of malloc(3) use: buffers of strings, arrays and hashes, C libraries
 * [:malloc_waste]    memory that malloc(3) holds and nobody uses: fragmentation and caches
 * [:malloc_metadata] jemalloc's own memory; 0 with another malloc
 * [:stacks]          stacks of threads and fibers
 * [:code_and_files]  the program, its libraries, and other mapped files
 * [:jit]             executable memory that belongs to no file: YJIT's code
 * [:sampler]         the sampler's own memory
 * [:unattributed]    what is left
 *
 * Memory that was allocated and never touched is not resident, so no field counts it. A thread
 * that maps memory meanwhile may wait, some 10 ms for each resident gigabyte.
 *
 * Four more fields stand beside the sum:
 *
 * [:pss]       like +:rss+, but a page that several processes share counts in parts
 * [:allocator] the name and version of malloc(3), a String
 * [:jemalloc]  what jemalloc says about itself, which is virtual memory: a Hash of +:allocated+,
 *              +:active+, +:resident+, +:dirty+, +:retained+ and +:metadata+; +nil+ with another malloc
 * [:cost_ns]   how long this call took, in nanoseconds
 *
 * A field is +nil+ where it cannot be known. +:malloc_live+, +:malloc_waste+ and
 * +:malloc_metadata+ are +nil+ with a malloc(3) that says nothing about itself; its memory is
 * unattributed then. +:rss+, +:pss+, +:stacks+, +:code_and_files+, +:jit+ and +:unattributed+ are
 * +nil+ where /proc cannot be read.
 *
 *   GC::SampleProfile.memory.values_at(:rss, :slots_free, :malloc_waste)
 *   # => [84213760, 1064960, 20905984]
 */
static VALUE
s_memory(VALUE klass)
{
    struct hs_account account;
    struct hs_account_field fields[HS_ACCOUNT_FIELDS], jemalloc[HS_JEMALLOC_FIELDS];
    rb_thread_call_without_gvl(account_without_gvl, &account, NULL, NULL);
    rb_hs_account_fields(&account, fields);
    rb_hs_jemalloc_fields(&account, jemalloc);

    VALUE hash = hash_of_fields(fields, HS_ACCOUNT_FIELDS);
    rb_hash_aset(hash, ID2SYM(rb_intern("allocator")), rb_utf8_str_new_cstr(account.allocator));
    rb_hash_aset(hash, ID2SYM(rb_intern("jemalloc")),
                 account.jemalloc ? hash_of_fields(jemalloc, HS_JEMALLOC_FIELDS) : Qnil);
    rb_hash_aset(hash, ID2SYM(rb_intern("cost_ns")), ULL2NUM(account.cost_ns));
    return hash;
}

/* -- settings ----------------------------------------------------------------------- */

static uint64_t
interval_value(VALUE value)
{
    VALUE integer = rb_check_to_integer(value, "to_int");
    if (NIL_P(integer)) {
        rb_raise(rb_eArgError, "interval must be an Integer of bytes, not %"PRIsVALUE, rb_inspect(value));
    }
    if (!FIXNUM_P(integer) || FIX2LONG(integer) < 1 || (uint64_t)FIX2LONG(integer) > HS_INTERVAL_MAX) {
        rb_raise(rb_eArgError, "interval must be 1 to 1099511627776 bytes, not %"PRIsVALUE, integer);
    }
    return (uint64_t)FIX2LONG(integer);
}

static uint64_t
count_value(VALUE value, const char *name, uint64_t min, uint64_t max)
{
    VALUE integer = rb_check_to_integer(value, "to_int");
    if (NIL_P(integer) || !FIXNUM_P(integer) || FIX2LONG(integer) < (long)min || (uint64_t)FIX2LONG(integer) > max) {
        rb_raise(rb_eArgError, "%s must be an Integer of %"PRIu64" to %"PRIu64", not %"PRIsVALUE, name, min, max,
                 rb_inspect(value));
    }
    return (uint64_t)FIX2LONG(integer);
}

/* A block may never come to its end: that of a Fiber which nobody resumes any
 * more. Its session ends with an object that only the machine stack of
 * gc_sample_profile refers to. */
struct session_guard {
    int session;
    uint64_t serial;            /* 0: there is nothing to end */
};

static bool session_goes_on(int session, uint64_t serial);

static void
session_guard_free(void *ptr)
{
    struct session_guard *guard = ptr;
    if (guard->serial && !rb_hs_ended_p() && session_goes_on(guard->session, guard->serial)) {
        rb_hs_session_stop(guard->session);
    }
    ruby_xfree(guard);
}

static const rb_data_type_t session_guard_type = {
    "GC.sample_profile's session",
    { NULL, session_guard_free, NULL },
    NULL, NULL, RUBY_TYPED_WB_PROTECTED,        /* not freed in GC: ending a session cuts free lists anew */
};

struct block_profile {
    int session;
    bool full_gc, memsize;
    struct session_guard *guard;
};

/* Returns what rb_hs_session_start does; a guard that is not reachable any more gives its session back in a GC. */
static int
start_block_session(const struct hs_session_settings *settings, struct session_guard *guard)
{
    int session = rb_hs_session_start(settings, false);
    if (session == -1) {
        rb_gc_start();
        session = rb_hs_session_start(settings, false);
    }
    if (session < 0) return session;
    guard->session = session;
    guard->serial = rb_hs_sampler.session[session].serial;
    return session;
}

static VALUE
profile_block(VALUE ptr)
{
    struct block_profile *block = (struct block_profile *)ptr;
    rb_yield(Qundef);
    return take_snapshot(block->session, block->full_gc, block->memsize);
}

static VALUE
end_block(VALUE ptr)
{
    const struct block_profile *block = (struct block_profile *)ptr;
    block->guard->serial = 0;
    rb_hs_session_stop(block->session);
    return Qnil;
}

/*
 * call-seq:
 *   GC.sample_profile(full_gc: false, memsize: false) -> GC::SampleProfile
 *   GC.sample_profile(interval: 65536, threads: nil, full_gc: false, memsize: false) { ... } -> GC::SampleProfile
 *
 * Returns a profile of the memory of this process.
 *
 * Without a block, the profile has what the running sampler knows now: heap slots, and malloc if
 * it is sampled. Sampling has to be on: see <tt>ruby --heap-sample</tt> and
 * GC::SampleProfile.start. Ruby code runs on meanwhile.
 *
 * With a block, the profile has what the block allocates, whether sampling is on or off. It
 * covers heap slots and, if malloc can be sampled, malloc. Each is sampled once in +interval+ bytes on
 * average. What the block raises is raised, and there is no profile. A block in a
 * Fiber that nobody resumes any more is profiled until that Fiber is collected.
 *
 * [interval] mean bytes between two samples, 1 to 2**40; only with a block
 * [threads]  +nil+ for the current thread alone, <tt>:all</tt> for every thread; only with a block
 * [full_gc]  +true+ runs GC.start before the snapshot, so that everything dead is known to be
 *            dead; otherwise the last completed mark decides
 * [memsize]  +true+ asks each live sampled object for its size with its buffers
 *            (ObjectSpace.memsize_of), in steps that let other threads run
 *
 *   puts GC.sample_profile.report
 *   GC.sample_profile(interval: 4096) { work }.save("work.pb.gz")
 *
 * Raises RuntimeError if there is no block and sampling is off, or if seven blocks are being
 * profiled already. Raises ArgumentError for a setting out of its range.
 */
static VALUE
gc_sample_profile(int argc, VALUE *argv, VALUE mod)
{
    static ID keywords[4];
    VALUE options, values[4];
    if (!keywords[0]) {
        keywords[0] = rb_intern("interval");
        keywords[1] = rb_intern("threads");
        keywords[2] = rb_intern("full_gc");
        keywords[3] = rb_intern("memsize");
    }
    rb_scan_args(argc, argv, "0:", &options);
    rb_get_kwargs(options, keywords, 0, 4, values);
    bool full_gc = !UNDEF_P(values[2]) && RTEST(values[2]), memsize = !UNDEF_P(values[3]) && RTEST(values[3]);

    if (!rb_block_given_p()) {
        if (!UNDEF_P(values[0]) || !UNDEF_P(values[1])) {
            rb_raise(rb_eArgError, "interval and threads are for the form with a block");
        }
        if (!rb_hs_sampler.session[HS_MAIN].on) {
            rb_raise(rb_eRuntimeError, "nothing is being sampled: start Ruby with --heap-sample, "
                     "call GC::SampleProfile.start, or give a block");
        }
        return take_snapshot(HS_MAIN, full_gc, memsize);
    }

    struct hs_session_settings settings = { .interval = BLOCK_INTERVAL };
    if (!UNDEF_P(values[0])) settings.interval = interval_value(values[0]);
    if (UNDEF_P(values[1]) || NIL_P(values[1])) {
        settings.thread = rb_hs_capture_thread();
    }
    else if (values[1] != ID2SYM(rb_intern("all"))) {
        rb_raise(rb_eArgError, "threads must be nil or :all, not %"PRIsVALUE, rb_inspect(values[1]));
    }
    settings.malloc_interval = settings.interval;
    struct session_guard *guard;
    VALUE guard_object = TypedData_Make_Struct(0, struct session_guard, &session_guard_type, guard);
    struct block_profile block = { start_block_session(&settings, guard), full_gc, memsize, guard };
    if (block.session == -1) rb_raise(rb_eRuntimeError, "seven blocks are being profiled already");
    if (block.session < 0) rb_raise(rb_eNoMemError, "no memory for a heap profile");
    VALUE profile = rb_ensure(profile_block, (VALUE)&block, end_block, (VALUE)&block);
    RB_GC_GUARD(guard_object);
    return profile;
}

static void
require_malloc(void)
{
    struct hs_malloc_meta meta;
    rb_hs_malloc_describe(&meta, HS_MAIN);
    if (meta.state == HS_MALLOC_OFF) rb_raise(rb_eRuntimeError, "malloc is not sampled: malloc=off was said at start");
    if (meta.state == HS_MALLOC_MISSING) rb_raise(rb_eRuntimeError, "malloc cannot be sampled: %s", meta.missing);
}

/* Of start(malloc:); 0: it is not to be sampled. */
static uint64_t
malloc_interval_value(VALUE value)
{
    if (UNDEF_P(value) || NIL_P(value)) return rb_hs_sampler.options.malloc_interval;
    if (value == Qfalse) return 0;
    uint64_t interval = value == Qtrue ? rb_hs_sampler.options.malloc_interval : interval_value(value);
    require_malloc();
    return interval;
}

/* max_samples, max_depth and seed over what is in force; is any of them given? */
static bool
given_limits(const VALUE *values, struct hs_limits *limits)
{
    bool given = false;
    *limits = rb_hs_limits();
    if (!UNDEF_P(values[0])) {
        limits->max_samples = NIL_P(values[0]) ? 0 : count_value(values[0], "max_samples", 1, UINT32_MAX);
        given = true;
    }
    if (!UNDEF_P(values[1])) {
        limits->max_depth = (uint32_t)count_value(values[1], "max_depth", 1, 4096);
        given = true;
    }
    if (!UNDEF_P(values[2]) && !NIL_P(values[2])) {
        limits->seed = count_value(values[2], "seed", 0, FIXNUM_MAX);
        limits->seeded = limits->sow = given = true;
    }
    return given;
}

/* The thread behind every= and at-rss= is of the settings that the process was started with. */
static void
resume_periodic(void)
{
    if (rb_hs_sampler.options.on && rb_hs_sampler.session[HS_MAIN].on) rb_hs_periodic_start();
}

/*
 * call-seq:
 *   GC::SampleProfile.start(interval: 524288, max_samples: 200_000, max_depth: 512, seed: nil, malloc: nil) -> true or false
 *
 * Starts to sample this process: every thread and Ractor, and every child that it forks.
 *
 * A setting that is not given is as <tt>--heap-sample</tt>, RUBYOPT and RUBY_HEAP_SAMPLE say, or as
 * in the line above. What an earlier start was given is forgotten. If Ruby was started with
 * sampling on, <tt>every=</tt> and <tt>at-rss=</tt> go on as well.
 *
 * Returns +false+ if sampling was on already. It goes on then, and each setting that is given
 * holds from here on. The samples that are held stay, except those that are too many for a
 * lower +max_samples+. malloc is sampled as well if it stood by.
 *
 * [interval]    mean bytes of heap slots between two samples, 1 to 2**40
 * [max_samples] the most live samples of slots to hold, together with those of profiled blocks of Ruby.
 *               Where there would be more, the interval of whatever holds the most, this or a block,
 *               doubles. +nil+: no cap
 * [max_depth]   frames of a stack to keep, from the innermost; 1 to 4096
 * [seed]        an Integer: take the same samples in each run of a deterministic program
 * [malloc]      +nil+: sample malloc too if that is possible; +false+: do not. +true+, or an Integer of
 *               mean bytes between two samples, 1 to 2**40: sample malloc, or raise RuntimeError, which
 *               says what is missing. It is possible if Ruby was started with
 *               <tt>--heap-sample</tt> or <tt>--heap-sample=off,malloc=standby</tt>
 *
 *   GC::SampleProfile.start(interval: 65536)   # => true
 */
static VALUE
s_start(int argc, VALUE *argv, VALUE klass)
{
    static ID keywords[5];
    VALUE options, values[5];
    if (!keywords[0]) {
        keywords[0] = rb_intern("interval");
        keywords[1] = rb_intern("max_samples");
        keywords[2] = rb_intern("max_depth");
        keywords[3] = rb_intern("seed");
        keywords[4] = rb_intern("malloc");
    }
    rb_scan_args(argc, argv, "0:", &options);
    rb_get_kwargs(options, keywords, 0, 5, values);

    uint64_t interval = UNDEF_P(values[0]) ? rb_hs_sampler.options.interval : interval_value(values[0]);
    struct hs_limits limits;
    given_limits(values + 1, &limits);          /* raises where one is bad */

    uint64_t malloc_interval = malloc_interval_value(values[4]);

    struct hs_account account;
    if (!rb_hs_sampler.session[HS_MAIN].on) rb_thread_call_without_gvl(account_without_gvl, &account, NULL, NULL);
    /* Another thread may have started it meanwhile. */
    bool limited = given_limits(values + 1, &limits);
    if (rb_hs_sampler.session[HS_MAIN].on) {
        /* One that is sampled already keeps its interval, unless another one is given. */
        bool given = !UNDEF_P(values[4]) && FIXNUM_P(values[4]);
        if (malloc_interval && (given || !rb_hs_malloc_session(HS_MAIN).on) &&
            !rb_hs_malloc_start(HS_MAIN, malloc_interval, 0)) {
            rb_raise(rb_eNoMemError, "no memory to sample malloc");
        }
        if (!UNDEF_P(values[0]) && !rb_hs_session_retune(HS_MAIN, interval)) {
            rb_raise(rb_eNoMemError, "no memory to change the interval: it is as it was");
        }
        if (limited) rb_hs_session_limit(&limits);
        return Qfalse;
    }
    struct hs_session_settings session = { .interval = interval, .malloc_interval = malloc_interval, .account = &account, .limits = limited ? &limits : NULL };
    if (rb_hs_session_start(&session, true) < 0) rb_raise(rb_eNoMemError, "no memory to sample the heap");
    resume_periodic();
    return Qtrue;
}

static void *
stop_periodic(void *unused)
{
    rb_hs_periodic_stop();
    return NULL;
}

/*
 * call-seq:
 *   GC::SampleProfile.stop -> true or false
 *
 * Stops sampling this process, and forgets the samples. Blocks that are being profiled go on.
 * Returns +false+ if sampling was off. If a periodic profile is being written, +stop+ waits for
 * it, and other threads run meanwhile.
 */
static VALUE
s_stop(VALUE klass)
{
    const struct hs_session *session = &rb_hs_sampler.session[HS_MAIN];
    uint64_t serial = session->serial;
    if (!session->on) return Qfalse;
    if (rb_hs_periodic_running_p()) rb_thread_call_without_gvl(stop_periodic, NULL, NULL, NULL);
    /* Another thread may have been faster, and have started anew. */
    if (!session->on || session->serial != serial) {
        resume_periodic();
        return Qfalse;
    }
    rb_hs_session_stop(HS_MAIN);
    return Qtrue;
}

/*
 * call-seq:
 *   GC::SampleProfile.running? -> true or false
 *
 * Returns whether sampling is on. Profiles of blocks do not count.
 */
static VALUE
s_running_p(VALUE klass)
{
    return RBOOL(rb_hs_sampler.session[HS_MAIN].on);
}

/*
 * call-seq:
 *   GC::SampleProfile.stat -> hash
 *
 * Returns the state of the sampler. It works at any time, whether sampling is on or off.
 *
 *   GC::SampleProfile.stat.slice(:running, :interval, :live_samples, :bytes)
 *   # => {running: true, interval: 524288, live_samples: 131, bytes: 140288}
 *
 * [:running, :sessions] whether sampling is on; how many samplings there are, with profiled blocks
 * [:interval, :first_interval] mean bytes between two samples of slots, now and at the start; or +nil+
 * [:max_samples, :max_depth] as in GC::SampleProfile.start
 * [:live_samples, :samples_taken] samples of slots that are held; samples of slots ever taken
 * [:pages, :stacks, :frames, :sites, :texts] sizes of the sampler's tables
 * [:marks] marks of the GC that the sampler has seen
 * [:malloc]
 *   <tt>:on</tt>; <tt>:standby</tt>, GC::SampleProfile.start would begin; <tt>:off</tt>, nobody asked for
 *   it; or <tt>:missing</tt>
 * [:malloc_missing] a String: what is missing and which setting gives it; or +nil+
 * [:malloc_allocator] the name and version of malloc(3)
 * [:malloc_interval] mean bytes between two samples of malloc; or +nil+
 * [:malloc_samples_taken, :malloc_samples_in_gc, :malloc_samples_without_gvl]
 *   samples of malloc ever taken; those of them during GC; those of them on a thread without the GVL
 * [:malloc_live_samples, :malloc_stacks, :malloc_stacks_pending]
 *   blocks that are held; their stacks; the stacks that have no names yet
 * [:dropped_samples, :dropped_stacks, :dropped_frames, :dropped_texts, :dropped_classes, :dropped_moves]
 *   what was lost for want of room
 * [:malloc_samples_dropped] likewise, of malloc
 * [:failed_allocations] how often the sampler found no memory
 * [:bytes, :bytes_peak, :bytes_max]
 *   the sampler's own memory, its peak, and its bound; +nil+: no bound
 * [:bytes_records, :bytes_stacks, :bytes_totals, :bytes_names, :bytes_malloc, :bytes_snapshots]
 *   the parts of +:bytes+
 */
static VALUE
s_stat(VALUE klass)
{
    VALUE hash = rb_hash_new();
    const struct hs_session *main = &rb_hs_sampler.session[HS_MAIN];
    int sessions = 0;
    for (int s = 0; s < HS_SESSIONS; s++) sessions += rb_hs_sampler.session[s].on;
#define SET(name, value) rb_hash_aset(hash, ID2SYM(rb_intern(name)), value)
    SET("running", RBOOL(main->on));
    SET("sessions", INT2FIX(sessions));
    SET("interval", main->on ? ULL2NUM(main->interval) : Qnil);
    SET("first_interval", main->on ? ULL2NUM(main->first_interval) : Qnil);
    SET("max_samples", rb_hs_sampler.options.max_samples ? ULL2NUM(rb_hs_sampler.options.max_samples) : Qnil);
    SET("max_depth", UINT2NUM(rb_hs_sampler.options.max_depth));
    SET("live_samples", ULL2NUM(rb_hs_pages.records));
    SET("samples_taken", ULL2NUM(rb_hs_sampler.taken));
    SET("pages", UINT2NUM(rb_hs_pages.count));
    SET("stacks", UINT2NUM(rb_hs_node_count));
    SET("frames", UINT2NUM(rb_hs_frame_count));
    SET("sites", UINT2NUM(rb_hs_sampler.site_count));
    SET("texts", UINT2NUM(rb_hs_text_count));
    SET("marks", UINT2NUM(rb_hs_sampler.marks));
    struct hs_malloc_meta malloc_meta;
    struct hs_malloc_counts malloc_counts;
    struct hs_malloc_table_stat malloc_table;
    static const char *const malloc_states[] = { "missing", "off", "standby", "on" };
    rb_hs_malloc_describe(&malloc_meta, HS_MAIN);
    rb_hs_malloc_counts(&malloc_counts);
    rb_hs_malloc_table_stat(&malloc_table);
    SET("malloc", ID2SYM(rb_intern(malloc_states[malloc_meta.state])));
    SET("malloc_allocator", rb_utf8_str_new_cstr(malloc_meta.allocator));
    SET("malloc_missing", *malloc_meta.missing ? rb_utf8_str_new_cstr(malloc_meta.missing) : Qnil);
    SET("malloc_interval", malloc_meta.interval ? ULL2NUM(malloc_meta.interval) : Qnil);
    SET("malloc_samples_taken", ULL2NUM(malloc_counts.samples));
    SET("malloc_samples_in_gc", ULL2NUM(malloc_counts.gc));
    SET("malloc_samples_without_gvl", ULL2NUM(malloc_counts.no_gvl));
    SET("malloc_samples_dropped", ULL2NUM(malloc_table.dropped));
    SET("malloc_live_samples", UINT2NUM(malloc_table.blocks));
    SET("malloc_stacks", UINT2NUM(malloc_table.stacks));
    SET("malloc_stacks_pending", UINT2NUM(malloc_table.raw));
    SET("dropped_samples", ULL2NUM(rb_hs_sampler.dropped_samples));
    SET("dropped_stacks", ULL2NUM(rb_hs_stack_drops.stacks));
    SET("dropped_frames", ULL2NUM(rb_hs_stack_drops.frames));
    SET("dropped_texts", ULL2NUM(rb_hs_texts_dropped));
    SET("dropped_classes", ULL2NUM(rb_hs_classes_dropped));
    SET("dropped_moves", ULL2NUM(rb_hs_sampler.dropped_moves));
    uint64_t failures = 0;
    for (int use = 0; use < HS_MEM_USES; use++) failures += rb_hs_memory_failures((enum hs_memory_use)use);
    SET("failed_allocations", ULL2NUM(failures));
    SET("bytes_records", SIZET2NUM(rb_hs_memory_bytes(HS_MEM_RECORDS)));
    SET("bytes_stacks", SIZET2NUM(rb_hs_memory_bytes(HS_MEM_STACKS)));
    SET("bytes_totals", SIZET2NUM(rb_hs_memory_bytes(HS_MEM_TOTALS)));
    SET("bytes_names", SIZET2NUM(rb_hs_memory_bytes(HS_MEM_NAMES)));
    SET("bytes_malloc", SIZET2NUM(rb_hs_memory_bytes(HS_MEM_MALLOC)));
    SET("bytes_snapshots", SIZET2NUM(rb_hs_memory_bytes(HS_MEM_SNAPSHOTS)));
    SET("bytes", SIZET2NUM(rb_hs_memory_total()));
    SET("bytes_peak", SIZET2NUM(rb_hs_memory_peak()));
    SET("bytes_max", rb_hs_memory_bound_p() ? UINT2NUM(HS_MEMORY_MAX) : Qnil);
#undef SET
    return hash;
}

/* -- reading a profile ------------------------------------------------------------------ */

struct save_args {
    const struct hs_profile *profile;
    const char *path;
    const char *page;           /* in place of the profile; NULL: none */
    size_t written;             /* a page's size */
    int error;
};

static void *
save_without_gvl(void *ptr)
{
    struct save_args *args = ptr;
    if (args->page) args->error = rb_hs_write_file(args->path, args->page, args->written);
    else args->error = rb_hs_save_profile(args->profile, args->path, &args->written);
    return NULL;
}

/* Is it one whose bytes Ruby code makes? */
static bool
page_path_p(VALUE path)
{
    static const char ending[] = ".html";
    long len = RSTRING_LEN(path), ending_len = sizeof(ending) - 1;
    return len >= ending_len && memcmp(RSTRING_PTR(path) + len - ending_len, ending, ending_len) == 0;
}

/*
 * call-seq:
 *   profile.save(path) -> integer
 *
 * Writes the profile to a file, and returns the number of bytes written. The ending of +path+
 * names the format:
 *
 * [.pb.gz]  pprof: <tt>go tool pprof</tt>, <tt>heapsample</tt> and GC::SampleProfile.load read it
 * [.pb]     the same, not compressed
 * [.folded] folded stacks of the bytes in use
 * [.json]   speedscope
 * [.html]   a page for a browser
 *
 * The file is complete or it is not there. Its mode is 0600.
 *
 *   GC.sample_profile.save("/var/tmp/now.pb.gz")   # => 10949
 *
 * Raises ArgumentError for another ending, SystemCallError if the file cannot be written, and
 * HeapSample::View::Missing if this Ruby was built without the page. Errno::ENOMEM may also mean
 * that the file does not fit into the sampler's own memory while it is made: formats that
 * write out each stack may not fit if stacks have thousands of frames. <tt>.pb.gz</tt> is made in pieces.
 */
static VALUE
profile_save(VALUE self, VALUE path)
{
    struct sample_profile *data = get_profile(self);
    VALUE page = Qnil, held;
    path = rb_str_new_frozen(rb_str_encode_ospath(rb_get_path(path)));
    const char *text = StringValueCStr(path);
    size_t size = strlen(text) + 1;
    /* Not the text in its slot: compaction on another thread protects heap pages for a while, and a system call on
     * one is EFAULT. */
    char *copy = ALLOCV_N(char, held, size);
    memcpy(copy, text, size);
    struct save_args args = { .profile = data->profile, .path = copy };
    if (page_path_p(path)) {
        page = rb_str_new_frozen(rb_funcall(self, rb_intern("to_html"), 0));
        args.page = RSTRING_PTR(page);
        args.written = RSTRING_LEN(page);
    }
    rb_thread_call_without_gvl(save_without_gvl, &args, NULL, NULL);
    bool known_ending = args.page || rb_hs_profile_path_p(copy);
    ALLOCV_END(held);
    if (args.error && !known_ending) {
        rb_raise(rb_eArgError, "a profile's path must end with .pb.gz, .pb, .folded, .json or .html: %"PRIsVALUE, path);
    }
    if (args.error) rb_syserr_fail_str(args.error, path);
    RB_GC_GUARD(self);
    RB_GC_GUARD(page);
    RB_GC_GUARD(path);
    return SIZET2NUM(args.written);
}

static void
push_estimate(VALUE row, const struct hs_estimate *estimate)
{
    rb_ary_push(row, ULL2NUM(estimate->samples));
    rb_ary_push(row, DBL2NUM(estimate->objects));
    rb_ary_push(row, DBL2NUM(estimate->space));
    rb_ary_push(row, DBL2NUM(estimate->variance));
}

/*
 * Each of what may be hundreds of thousands is a chance for other threads, signals and
 * Timeout.
 */
static VALUE
raw_rows(const struct hs_profile *profile)
{
    VALUE rows = rb_ary_new_capa((long)profile->row_count);
    for (size_t i = 0; i < profile->row_count; i++) {
        rb_thread_check_ints();
        const struct hs_row *row = &profile->rows[i];
        VALUE array = rb_ary_new_capa(27);
        rb_ary_push(array, UINT2NUM(row->node));
        rb_ary_push(array, UINT2NUM(row->class_name));
        rb_ary_push(array, UINT2NUM(row->type));
        rb_ary_push(array, UINT2NUM(row->slot_size));
        rb_ary_push(array, UINT2NUM(row->thread));
        rb_ary_push(array, row->has_birth ? ULL2NUM(row->birth_gc) : Qnil);
        push_estimate(array, &row->inuse);
        push_estimate(array, &row->young);
        push_estimate(array, &row->alloc);
        push_estimate(array, &row->dead);
        rb_ary_push(array, DBL2NUM(row->dead_gcs));
        rb_ary_push(array, UINT2NUM(row->library));
        rb_ary_push(array, RBOOL(row->malloced));
        rb_ary_push(array, DBL2NUM(row->memsize));
        rb_ary_push(array, DBL2NUM(rb_hs_row_resident(row)));
        rb_ary_push(rows, array);
    }
    return rows;
}

static VALUE
raw_texts(const struct hs_profile *profile)
{
    VALUE texts = rb_ary_new_capa(profile->text_count);
    for (uint32_t i = 0; i < profile->text_count; i++) {
        rb_thread_check_ints();
        rb_ary_push(texts, text_value(&profile->texts[i]));
    }
    return texts;
}

/*
 * call-seq:
 *   profile.raw -> hash
 *
 * Returns the profile as arrays of numbers, for HeapSample::Profile.from_raw. It is internal: the
 * arrays may change. #rows and #to_profile return the same as objects.
 *
 * [:meta_json] the comment of a saved profile, a String
 * [:texts]     every String that is named by its index
 * [:frames]    five numbers for each: texts of label, path and absolute path, line, address
 * [:nodes]     two numbers for each: parent and frame
 * [:rows]      an Array for each
 * [:mappings]  three numbers for each mapping of native code: start, end, offset in the file
 */
static VALUE
profile_raw(VALUE self)
{
    const struct hs_profile *profile = get_profile(self)->profile;
    VALUE hash = rb_hash_new();

    struct hs_buffer json = { 0 };
    int error = rb_hs_encode_meta_json(&profile->meta, &json);
    VALUE meta = error ? Qnil : rb_utf8_str_new(json.ptr, (long)json.len);
    rb_hs_buffer_free(&json);
    if (error) rb_memerror();
    rb_hash_aset(hash, ID2SYM(rb_intern("meta_json")), meta);

    VALUE frames = rb_ary_new_capa((long)profile->frame_count * 5);
    for (uint32_t i = 0; i < profile->frame_count; i++) {
        const struct hs_frame *frame = &profile->frames[i];
        rb_ary_push(frames, UINT2NUM(frame->label));
        rb_ary_push(frames, UINT2NUM(frame->path));
        rb_ary_push(frames, UINT2NUM(frame->absolute_path));
        rb_ary_push(frames, UINT2NUM(frame->line));
        rb_ary_push(frames, ULL2NUM(frame->address));
    }
    VALUE nodes = rb_ary_new_capa((long)profile->node_count * 2);
    for (uint32_t i = 0; i < profile->node_count; i++) {
        rb_ary_push(nodes, UINT2NUM(profile->nodes[i].parent));
        rb_ary_push(nodes, UINT2NUM(profile->nodes[i].frame));
    }
    VALUE mappings = rb_ary_new_capa((long)profile->mapping_count * 3);
    for (uint32_t i = 0; i < profile->mapping_count; i++) {
        rb_ary_push(mappings, ULL2NUM(profile->mappings[i].start));
        rb_ary_push(mappings, ULL2NUM(profile->mappings[i].end));
        rb_ary_push(mappings, ULL2NUM(profile->mappings[i].offset));
    }
    rb_hash_aset(hash, ID2SYM(rb_intern("texts")), raw_texts(profile));
    rb_hash_aset(hash, ID2SYM(rb_intern("frames")), frames);
    rb_hash_aset(hash, ID2SYM(rb_intern("nodes")), nodes);
    rb_hash_aset(hash, ID2SYM(rb_intern("rows")), raw_rows(profile));
    rb_hash_aset(hash, ID2SYM(rb_intern("mappings")), mappings);
    RB_GC_GUARD(self);
    return hash;
}

/*
 * call-seq:
 *   profile.raw_samples -> array
 *
 * Returns the live samples as arrays: id, node, texts of class and type, slot size, weight, GC
 * count at birth, age in GCs, memsize or +nil+, young or not, thread. It is internal: the arrays
 * may change. #samples returns the same as objects.
 */
static VALUE
profile_raw_samples(VALUE self)
{
    const struct sample_profile *data = get_profile(self);
    VALUE list = rb_ary_new_capa((long)data->samples.count);
    for (size_t i = 0; i < data->samples.count; i++) {
        rb_thread_check_ints();
        const struct hs_live_sample *sample = &data->samples.list[i];
        size_t memsize = data->memsizes ? data->memsizes[i] : SIZE_MAX;
        rb_ary_push(list, rb_ary_new_from_args(11, ULL2NUM(sample->id), UINT2NUM(sample->node),
            UINT2NUM(sample->class_text), UINT2NUM(sample->type_text), UINT2NUM(sample->slot_size),
            DBL2NUM(sample->weight), ULL2NUM(sample->birth_gc), ULL2NUM(sample->age),
            memsize == SIZE_MAX ? Qnil : SIZET2NUM(memsize), RBOOL(sample->young), UINT2NUM(sample->thread)));
    }
    RB_GC_GUARD(self);
    return list;
}

/* -- what Ruby code adds ------------------------------------------------------------------- */

/* Stands in for a method until the library that defines it is loaded. */
static VALUE
load_and_call_again(int argc, VALUE *argv, VALUE self)
{
    static bool loaded;
    ID name = rb_frame_this_func();
    if (loaded) rb_raise(rb_eNotImpError, "heap_sample does not define %"PRIsVALUE, rb_id2str(name));
    rb_require("heap_sample/sample_profile");
    loaded = true;
    return rb_funcall_passing_block_kw(self, name, argc, argv, rb_keyword_given_p());
}

void
rb_hs_init_ruby_api(void)
{
    rb_define_singleton_method(rb_mGC, "sample_profile", gc_sample_profile, -1);

    /*
     * Document-class: GC::SampleProfile
     *
     * A profile of the memory of a Ruby process: which lines allocated what is alive, how much
     * it is with a 95% interval, of which class, how old, and what comes and goes. It is made
     * from samples, so it is cheap enough for production.
     *
     * Switch sampling on with <tt>ruby --heap-sample</tt>, with the variable RUBY_HEAP_SAMPLE, or with
     * GC::SampleProfile.start. Then take profiles, compare them and save them:
     *
     *   before = GC.sample_profile
     *   # ... later
     *   now = GC.sample_profile
     *   puts now.report                 # what is in use, by line
     *   puts now.report(by: :class)
     *   puts (now - before).report      # what grew
     *   now.save("now.pb.gz")           # for heapsample, go tool pprof, GC::SampleProfile.load
     *   now.save("now.html")            # a page for a browser
     *
     * A block can be profiled by itself, whether sampling is on or off:
     *
     *   puts GC.sample_profile(interval: 4096) { work }.report
     *
     * A saved profile is loaded with GC::SampleProfile.load, which returns a HeapSample::Profile.
     */
    rb_cSampleProfile = rb_define_class_under(rb_mGC, "SampleProfile", rb_cObject);
    rb_gc_register_mark_object(rb_cSampleProfile);
    rb_undef_alloc_func(rb_cSampleProfile);
    rb_undef_method(CLASS_OF(rb_cSampleProfile), "new");
    rb_define_singleton_method(rb_cSampleProfile, "start", s_start, -1);
    rb_define_singleton_method(rb_cSampleProfile, "stop", s_stop, 0);
    rb_define_singleton_method(rb_cSampleProfile, "running?", s_running_p, 0);
    rb_define_singleton_method(rb_cSampleProfile, "stat", s_stat, 0);
    rb_define_singleton_method(rb_cSampleProfile, "memory", s_memory, 0);
    rb_define_singleton_method(rb_cSampleProfile, "object_of", s_object_of, 1);
    rb_define_singleton_method(rb_cSampleProfile, "raw_stack_of", s_raw_stack_of, 1);
    rb_define_method(rb_cSampleProfile, "save", profile_save, 1);
    rb_define_method(rb_cSampleProfile, "raw", profile_raw, 0);
    rb_define_method(rb_cSampleProfile, "raw_samples", profile_raw_samples, 0);

    static const char *const ruby_methods[] = {
        "report", "top", "tree", "generations", "churn", "filter", "rows", "samples", "-", "leaks", "inspect", "pretty_print",
        "to_profile", "to_html",
    };
    for (size_t i = 0; i < sizeof(ruby_methods) / sizeof(*ruby_methods); i++) {
        rb_define_method(rb_cSampleProfile, ruby_methods[i], load_and_call_again, -1);
    }
    rb_define_singleton_method(rb_cSampleProfile, "load", load_and_call_again, -1);
    rb_define_singleton_method(rb_cSampleProfile, "leaks", load_and_call_again, -1);
    rb_define_singleton_method(rb_cSampleProfile, "stack_of", load_and_call_again, -1);
    rb_hs_init_check();
}

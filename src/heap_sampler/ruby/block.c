/* GC.sample_profile: a snapshot of now, or a profile of a block. */
#include "heap_sampler/kernel.h"
#include "heap_sampler/ruby/ruby_api.h"

enum { BLOCK_INTERVAL = 64 * 1024 };

/* A block in a Fiber that is not resumed any more never ends. Its session ends with an object that only the machine stack of
 * gc_sample_profile refers to. */
struct session_guard {
    int session;
    uint64_t serial;            /* 0: there is nothing to end */
};

static void
session_guard_free(void *ptr)
{
    struct session_guard *guard = ptr;
    if (guard->serial && !rb_hs_process()->ended && rb_hs_session_goes_on(guard->session, guard->serial)) {
        rb_hs_session_stop(guard->session);
    }
    ruby_xfree(guard);
}

static const rb_data_type_t session_guard_type = {
    "GC.sample_profile's session",
    {NULL, session_guard_free, NULL},
    NULL,
    NULL,
    RUBY_TYPED_WB_PROTECTED,        /* not freed in GC: ending a session cuts free lists anew */
};

struct block_profile {
    struct snapshot_wish wish;
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
    guard->serial = rb_hs_session_started(session)->serial;
    return session;
}

static VALUE
profile_block(VALUE ptr)
{
    struct block_profile *block = (struct block_profile *)ptr;
    rb_yield(Qundef);
    return rb_hs_take_snapshot(block->guard->session, &block->wish);
}

static VALUE
end_block(VALUE ptr)
{
    const struct block_profile *block = (struct block_profile *)ptr;
    block->guard->serial = 0;
    rb_hs_session_stop(block->guard->session);
    return Qnil;
}

static bool
given(VALUE value)
{
    return !UNDEF_P(value) && RTEST(value);
}

/* Bytes between two samples. */
static uint64_t
interval_value(VALUE value)
{
    VALUE integer = rb_check_to_integer(value, "to_int");
    if (NIL_P(integer)) {
        rb_raise(rb_eArgError, "interval must be an Integer of bytes, not %" PRIsVALUE, rb_inspect(value));
    }
    if (!FIXNUM_P(integer) || FIX2LONG(integer) < 1 || (uint64_t)FIX2LONG(integer) > HS_INTERVAL_MAX) {
        rb_raise(rb_eArgError, "interval must be 1 to 1099511627776 bytes, not %" PRIsVALUE, integer);
    }
    return (uint64_t)FIX2LONG(integer);
}

static unsigned
why_seconds(VALUE value)
{
    enum { SECONDS_MOST = 3600 };
    if (!given(value) || value == Qtrue) return 0;
    if (!FIXNUM_P(value) || FIX2LONG(value) < 1 || FIX2LONG(value) > SECONDS_MOST) {
        rb_raise(rb_eArgError, "why must be true, false, or 1 to 3600 seconds, not %" PRIsVALUE, rb_inspect(value));
    }
    return (unsigned)FIX2LONG(value);
}

/*
 * call-seq:
 *   GC.sample_profile(full_gc: false, memsize: false, why: false) -> GC::SampleProfile
 *   GC.sample_profile(interval: 65536, threads: nil, full_gc: true, memsize: false, why: false) { ... } -> GC::SampleProfile
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
 * Fiber that is not resumed any more is profiled until that Fiber is collected.
 *
 * [interval] mean bytes between two samples, 1 to 2**40; only with a block
 * [threads]  +nil+ for the current thread alone, <tt>:all</tt> for every thread; only with a block
 * [full_gc]  +true+ runs GC.start before the snapshot, so that no garbage counts as
 *            live; otherwise the last completed mark decides, and objects allocated since are young. With a block
 *            the default is +true+
 * [memsize]  +true+ asks each live sampled object for its size with its buffers
 *            (ObjectSpace.memsize_of), in steps that let other threads run
 * [why]      +true+, or the seconds that it may take (30), finds what retains each live sample: a child process, which
 *            has a copy of this one's memory, walks the heap. Ruby code stands still while the kernel makes the
 *            child, and runs on meanwhile. Where there is no answer, the profile has the reason
 *
 *   puts GC.sample_profile.report
 *   GC.sample_profile(interval: 4096) { work }.save("work.pb.gz")
 *
 * Raises RuntimeError if there is no block and sampling is off, or if seven blocks are being
 * profiled already. Raises ArgumentError for a setting out of its range. Raises SystemStackError where
 * less than 40 KiB of the thread's machine stack are left, as start, stop, memory and #save do.
 */
static VALUE
gc_sample_profile(int argc, VALUE *argv, VALUE mod)
{
    const ID keywords[] = {rb_intern("interval"), rb_intern("threads"), rb_intern("full_gc"), rb_intern("memsize"), rb_intern("why")};
    VALUE options, values[5];
    rb_hs_need_stack();
    rb_scan_args(argc, argv, "0:", &options);
    rb_get_kwargs(options, keywords, 0, 5, values);
    bool full_gc = UNDEF_P(values[2]) ? rb_block_given_p() : RTEST(values[2]);
    struct snapshot_wish wish = {full_gc, given(values[3]), given(values[4]), why_seconds(values[4])};

    if (!rb_block_given_p()) {
        if (!UNDEF_P(values[0]) || !UNDEF_P(values[1])) {
            rb_raise(rb_eArgError, "interval and threads need a block");
        }
        if (!rb_hs_session(HS_MAIN)->on) {
            rb_raise(rb_eRuntimeError, "nothing is being sampled; start Ruby with --heap-sample, "
                                       "call GC::SampleProfile.start, or give a block");
        }
        return rb_hs_take_snapshot(HS_MAIN, &wish);
    }

    struct hs_session_settings settings = {.interval = BLOCK_INTERVAL};
    if (!UNDEF_P(values[0])) settings.interval = interval_value(values[0]);
    if (UNDEF_P(values[1]) || NIL_P(values[1])) {
        settings.thread = rb_hs_capture_thread();
    }
    else if (values[1] != ID2SYM(rb_intern("all"))) {
        rb_raise(rb_eArgError, "threads must be nil or :all, not %" PRIsVALUE, rb_inspect(values[1]));
    }
    settings.malloc_interval = settings.interval;
    struct session_guard *guard;
    VALUE guard_object = TypedData_Make_Struct(0, struct session_guard, &session_guard_type, guard);
    struct block_profile block = {wish, guard};
    int session = start_block_session(&settings, guard);
    if (session == -1) rb_raise(rb_eRuntimeError, "seven blocks are already being profiled; try again when one has ended");
    if (session < 0) rb_raise(rb_eNoMemError, "not enough memory for a heap profile");
    VALUE profile = rb_ensure(profile_block, (VALUE)&block, end_block, (VALUE)&block);
    RB_GC_GUARD(guard_object);
    return profile;
}

void
rb_hs_init_block(VALUE rb_cSampleProfile)
{
    rb_define_singleton_method(rb_mGC, "sample_profile", gc_sample_profile, -1);
}

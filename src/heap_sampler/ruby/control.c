/* GC::SampleProfile.start, stop, running? and stat. */
#include "heap_sampler/memory/account.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/table.h"
#include "heap_sampler/kernel.h"
#include "heap_sampler/server/control.h"
#include "heap_sampler/server/output.h"
#include "heap_sampler/server/service.h"
#include "heap_sampler/ruby/ruby_api.h"
#include "heap_sampler/settings/options.h"

/* -- start ------------------------------------------------------------------------ */

/* The value as RUBY_HEAP_SAMPLE has it. */
static int
add_text(VALUE name, VALUE value, VALUE texts)
{
    enum hs_setting_of of = SYMBOL_P(name) ? rb_hs_setting_of(rb_id2name(SYM2ID(name))) : HS_OF_BOOT;
    VALUE text;
    if (of == HS_OF_BOOT) rb_raise(rb_eArgError, "unknown keyword: %+" PRIsVALUE, name);
    if (NIL_P(value) && (of == HS_OF_MALLOC || of == HS_OF_SEED)) return ST_CONTINUE;
    if (value == Qtrue) text = rb_str_new_cstr("on");
    else if (value == Qfalse) text = rb_str_new_cstr("off");
    else text = NIL_P(value) ? rb_str_new_cstr("none") : rb_obj_as_string(value);
    StringValueCStr(text);
    rb_hash_aset(texts, rb_sym2str(name), text);
    return ST_CONTINUE;
}

static int
read_text(VALUE name, VALUE text, VALUE data)
{
    struct hs_start *start = (struct hs_start *)data;
    if (rb_hs_start_read(start, RSTRING_PTR(name), RSTRING_PTR(text))) return ST_CONTINUE;
    rb_hs_start_resume();
    rb_raise(rb_eArgError, "%s", start->error);
}

/* Raises for the first one that is bad, with the sentence that the environment would get. No Ruby code runs. */
static void
read_settings(struct hs_start *start, VALUE texts)
{
    rb_hs_start_begin(start);
    rb_hash_foreach(texts, read_text, (VALUE)start);
}

static void *
stop_periodic(void *unused)
{
    rb_hs_periodic_stop();
    return NULL;
}

static void
stop_periodic_without_gvl(void)
{
    if (!rb_hs_periodic_halted_p()) rb_thread_call_without_gvl(stop_periodic, NULL, NULL, NULL);
}

/*
 * call-seq:
 *   GC::SampleProfile.start(interval: "auto", max_samples: 200_000, seed: nil, malloc: nil) -> true or false
 *   GC::SampleProfile.start(**settings) -> true or false
 *
 * Starts to sample this process: every thread and Ractor, and every child that it forks.
 *
 * The settings have the names of <tt>--heap-sample</tt> and RUBY_HEAP_SAMPLE, with an underscore for a
 * hyphen. A value may be written as there: <tt>interval: "64k"</tt>. A setting that is not given is
 * as <tt>--heap-sample</tt>, RUBYOPT and RUBY_HEAP_SAMPLE say, or as in the line above. What an
 * earlier start was given is forgotten. If Ruby was started with sampling on, <tt>every=</tt> and
 * <tt>at-rss=</tt> go on as well.
 *
 * Returns +false+ if sampling was on already. It goes on then, and each setting that is given
 * holds from here on. The samples that are held stay, except those that are too many for a
 * lower +max_samples+. malloc is sampled as well if it stood by.
 *
 * Raises ArgumentError for a value that a setting does not take.
 *
 * [interval]    mean bytes of heap slots between two samples, 1 to 2**40; <tt>"auto"</tt>, the default: as many as
 *               0.2% of the CPU time pays for
 * [max_samples] the most live samples of slots to hold, together with the samples of profiled blocks of Ruby.
 *               Where there would be more, the interval of whatever holds the most, this or a block,
 *               doubles. +nil+: no cap
 * [seed]        an Integer: take the same samples in each run of a deterministic program
 * [malloc]      +nil+: sample malloc too if that is possible; +false+: do not. +true+, or an Integer of
 *               mean bytes between two samples, 1 to 2**40: sample malloc, or raise RuntimeError, which
 *               says what is missing. It is possible if Ruby was started with
 *               <tt>--heap-sample</tt> or <tt>--heap-sample=off,malloc=standby</tt>
 * [others]      +output+, +every+ and all that <tt>ruby --help</tt> lists: files, until GC::SampleProfile.stop. With any of them a
 *               profile is written at exit too, unless <tt>output: "none"</tt>. What counts only when Ruby starts is an error
 *
 *   GC::SampleProfile.start(interval: "64k")                                  # => true
 *   GC::SampleProfile.start(every: 60, output: "/var/tmp/heap-%p-%t.pb.gz")   # => false
 */
static VALUE
s_start(int argc, VALUE *argv, VALUE klass)
{
    VALUE settings, texts = rb_hash_new();
    struct hs_start start;
    struct hs_account account;
    enum hs_started how;
    rb_hs_need_stack();
    rb_scan_args(argc, argv, "0:", &settings);
    if (!NIL_P(settings)) rb_hash_foreach(settings, add_text, texts);
    read_settings(&start, texts);       /* raises before anything is changed */
    if (!rb_hs_session(HS_MAIN)->on) rb_hs_account_now(&account);
    do {
        if (start.given[HS_OF_FILES]) stop_periodic_without_gvl();
        read_settings(&start, texts);   /* another thread may have changed what holds meanwhile */
        start.account = rb_hs_session(HS_MAIN)->on ? NULL : &account;
        how = rb_hs_start_apply(&start);
    } while (how == HS_START_BUSY);
    if (how == HS_START_NO_MALLOC) rb_raise(rb_eRuntimeError, "%s", start.error);
    if (how == HS_START_NO_MEMORY) rb_raise(rb_eNoMemError, "%s", start.error);
    if (start.given[HS_OF_FILES]) rb_hs_output_check();
    return RBOOL(how == HS_STARTED);
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
    const struct hs_session *session = rb_hs_session(HS_MAIN);
    uint64_t serial = rb_hs_session_started(HS_MAIN)->serial;
    if (!session->on) return Qfalse;
    rb_hs_need_stack();
    stop_periodic_without_gvl();
    /* Another thread may have been faster, and have started anew. */
    if (rb_hs_session_started(HS_MAIN)->serial != serial) {
        rb_hs_start_resume();
        return Qfalse;
    }
    return RBOOL(rb_hs_stop_apply());
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
    return RBOOL(rb_hs_session(HS_MAIN)->on);
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
 * [:listeners] how many profilers listen, by the C API (ruby/heap_sampler.h)
 * [:listener_errors, :listener_missed] exceptions that left their functions; events for which there was no room
 * [:interval, :first_interval] mean bytes between two samples of slots, now and at the start; or +nil+
 * [:interval_auto] whether it is what the budget pays for
 * [:max_samples] as in GC::SampleProfile.start; or +nil+
 * [:live_samples, :samples_taken] samples of slots that are held; samples of slots ever taken
 * [:pages, :stacks, :frames, :sites, :texts] sizes of the sampler's tables
 * [:label_sets, :label_sets_refused] label sets that there are; how often there was no room for one more
 * [:marks] marks of the GC that the sampler has seen
 * [:malloc]
 *   <tt>:on</tt>; <tt>:standby</tt>, GC::SampleProfile.start would begin; <tt>:off</tt>, no setting asks
 *   for it; or <tt>:missing</tt>
 * [:malloc_missing] a String: what is missing and which setting gives it; or +nil+
 * [:malloc_allocator] the name and version of malloc(3)
 * [:malloc_interval] mean bytes between two samples of malloc; or +nil+
 * [:malloc_interval_auto] whether it is what the budget pays for
 * [:malloc_samples_taken, :malloc_samples_in_gc, :malloc_samples_without_gvl]
 *   samples of malloc ever taken; how many of them during GC; how many on a thread without the GVL
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
    const struct hs_session *main = rb_hs_session(HS_MAIN);
    int sessions = 0;
    for (int s = 0; s < HS_PROFILES; s++) sessions += rb_hs_session(s)->on;
#define SET(name, value) rb_hash_aset(hash, ID2SYM(rb_intern(name)), value)
    SET("running", RBOOL(main->on));
    SET("sessions", INT2FIX(sessions));
    SET("listeners", UINT2NUM(rb_hs_listener_count()));
    SET("listener_errors", ULL2NUM(rb_hs_listener_errors()));
    SET("listener_missed", ULL2NUM(rb_heap_sampler_missed()));
    SET("interval", main->on ? ULL2NUM(main->interval) : Qnil);
    SET("interval_auto", RBOOL(main->on && rb_hs_automatic_p()));
    SET("first_interval", main->on ? ULL2NUM(main->first_interval) : Qnil);
    SET("max_samples", rb_hs_slot_store.limits.max_samples ? ULL2NUM(rb_hs_slot_store.limits.max_samples) : Qnil);
    SET("live_samples", ULL2NUM(rb_hs_pages.records));
    SET("samples_taken", ULL2NUM(rb_hs_pages.taken));
    SET("pages", UINT2NUM(rb_hs_pages.count));
    SET("stacks", UINT2NUM(rb_hs_node_count));
    SET("frames", UINT2NUM(rb_hs_frames_used()));
    SET("sites", UINT2NUM(rb_hs_slot_store.site_count));
    SET("texts", UINT2NUM(rb_hs_texts_used()));
    SET("label_sets", UINT2NUM(rb_hs_label_set_count));
    SET("label_sets_refused", ULL2NUM(rb_hs_label_sets_refused));
    SET("marks", UINT2NUM(rb_hs_marks()->count));
    struct hs_malloc_meta malloc_meta;
    struct hs_malloc_counts malloc_counts;
    struct hs_malloc_table_stat malloc_table;
    static const char *const malloc_states[] = {"missing", "off", "standby", "on"};
    rb_hs_malloc_describe(&malloc_meta, HS_MAIN);
    rb_hs_malloc_counts(&malloc_counts);
    rb_hs_malloc_table_stat(&malloc_table);
    SET("malloc", ID2SYM(rb_intern(malloc_states[malloc_meta.state])));
    SET("malloc_allocator", rb_utf8_str_new_cstr(malloc_meta.allocator));
    SET("malloc_missing", *malloc_meta.missing ? rb_utf8_str_new_cstr(malloc_meta.missing) : Qnil);
    SET("malloc_interval", malloc_meta.interval ? ULL2NUM(malloc_meta.interval) : Qnil);
    SET("malloc_interval_auto", RBOOL(malloc_meta.interval && rb_hs_malloc_automatic_p()));
    SET("malloc_samples_taken", ULL2NUM(malloc_counts.samples));
    SET("malloc_samples_in_gc", ULL2NUM(malloc_counts.gc));
    SET("malloc_samples_without_gvl", ULL2NUM(malloc_counts.no_gvl));
    SET("malloc_samples_dropped", ULL2NUM(malloc_table.dropped));
    SET("malloc_live_samples", UINT2NUM(malloc_table.blocks));
    SET("malloc_stacks", UINT2NUM(malloc_table.stacks));
    SET("malloc_stacks_pending", UINT2NUM(malloc_table.raw));
    SET("dropped_samples", ULL2NUM(rb_hs_slot_store.dropped));
    SET("dropped_stacks", ULL2NUM(rb_hs_stack_drops.stacks));
    SET("dropped_frames", ULL2NUM(rb_hs_stack_drops.frames));
    SET("dropped_texts", ULL2NUM(rb_hs_texts_dropped));
    SET("dropped_classes", ULL2NUM(rb_hs_classes_dropped));
    SET("dropped_moves", ULL2NUM(rb_hs_pages.dropped_moves));
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

void
rb_hs_init_control(VALUE rb_cSampleProfile)
{
    rb_define_singleton_method(rb_cSampleProfile, "start", s_start, -1);
    rb_define_singleton_method(rb_cSampleProfile, "stop", s_stop, 0);
    rb_define_singleton_method(rb_cSampleProfile, "running?", s_running_p, 0);
    rb_define_singleton_method(rb_cSampleProfile, "stat", s_stat, 0);
}

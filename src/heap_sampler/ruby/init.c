/* The class GC::SampleProfile, and the methods that Ruby code has for it. */
#include "heap_sampler/base/contract.h"
#include "heap_sampler/ruby/ruby_api.h"

/*
 * Loads the library that defines the methods in Ruby, and calls again. As method_missing it serves the methods of a
 * snapshot, so that no list of them is here. The library removes it and respond_to?, and redefines the others.
 *
 * This may raise Errno::EFAULT while another thread compacts, as any `require` or File.realpath of MRI may, with or
 * without the sampler: they give stat(2) a text in its slot, without the GVL (rb_check_realpath_internal), and
 * compaction protects heap pages for a while.
 */
static VALUE
load_and_call_again(int argc, VALUE *argv, VALUE self)
{
    static bool loaded;
    ID name = rb_frame_this_func();
    if (name == rb_intern("method_missing") && argc > 0) name = rb_sym2id(*argv++), argc--;
    if (loaded) rb_raise(rb_eNotImpError, "heapsample does not define %" PRIsVALUE, rb_id2str(name));
    rb_require("heapsample/sample_profile");
    loaded = true;
    return rb_funcall_passing_block_kw(self, name, argc, argv, rb_keyword_given_p());
}

void
Init_heap_sampler(void)
{

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
     *   puts now.report                 # live memory, by line
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
    VALUE rb_cSampleProfile = rb_define_class_under(rb_mGC, "SampleProfile", rb_cObject);
    rb_undef_alloc_func(rb_cSampleProfile);
    rb_undef_method(CLASS_OF(rb_cSampleProfile), "new");
    rb_hs_init_block(rb_cSampleProfile);
    rb_hs_init_control(rb_cSampleProfile);
    rb_hs_init_labels(rb_cSampleProfile);
    rb_hs_init_memory(rb_cSampleProfile);
    rb_hs_init_objects(rb_cSampleProfile);
    rb_hs_init_profile_object(rb_cSampleProfile);
    rb_hs_init_raw(rb_cSampleProfile);

    rb_define_private_method(rb_cSampleProfile, "method_missing", load_and_call_again, -1);
    /* What is defined while Ruby boots counts as BasicObject's own, which `send` does not call. */
    METHOD_ENTRY_BASIC_SET((rb_method_entry_t *)rb_method_entry(rb_cSampleProfile, rb_intern("method_missing")), FALSE);
    rb_define_method(rb_cSampleProfile, "respond_to?", load_and_call_again, -1);
    rb_define_method(rb_cSampleProfile, "inspect", load_and_call_again, -1);
    rb_define_method(rb_cSampleProfile, "pretty_print", load_and_call_again, -1);
    rb_define_singleton_method(rb_cSampleProfile, "load", load_and_call_again, -1);
    rb_define_singleton_method(rb_cSampleProfile, "diagnose", load_and_call_again, -1);
    rb_define_singleton_method(rb_cSampleProfile, "label_book", load_and_call_again, -1);
    rb_define_singleton_method(rb_cSampleProfile, "stack_of", load_and_call_again, -1);
#if HS_CHECKING
    rb_hs_init_check(rb_cSampleProfile);
#endif
}

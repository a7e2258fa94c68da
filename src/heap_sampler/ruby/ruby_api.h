#ifndef HEAP_SAMPLER_RUBY_RUBY_API_H
#define HEAP_SAMPLER_RUBY_RUBY_API_H
/*
 * GC.sample_profile and GC::SampleProfile, the part in C; src/lib/heapsample has the part in Ruby.
 * [gvl] [free]
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "heap_sampler/mri.h"
#include "heap_sampler/memory/account.h"
#include "heap_sampler/base/table.h"
#include "heap_sampler/profile/profile.h"
#include "ruby/ruby.h"

/* What a GC::SampleProfile holds. */
struct sample_profile {
    struct hs_profile *profile;
    size_t *memsizes;           /* by sample, SIZE_MAX: not known; NULL: not asked for */
};
struct sample_profile *rb_hs_profile_data(VALUE self);

/* Is that still the same session? Other threads run during a snapshot, and may stop what it is of. */
bool rb_hs_session_goes_on(int session, uint64_t serial);
/* A new GC::SampleProfile. Raises RuntimeError, NoMemoryError. */
struct snapshot_wish {
    bool full_gc, memsize, why;
    unsigned why_seconds;       /* 0: the usual deadline */
};
VALUE rb_hs_take_snapshot(int session, const struct snapshot_wish *wish);

/* The account of the process; other threads run meanwhile. */
void rb_hs_account_now(struct hs_account *account);

/* As UTF-8, interned. */
VALUE rb_hs_text_value(const struct hs_text *text);

/* Each defines the methods that its file has. (rdoc knows the class by the parameter's name.) */
void rb_hs_init_profile_object(VALUE rb_cSampleProfile);
void rb_hs_init_raw(VALUE rb_cSampleProfile);
void rb_hs_init_objects(VALUE rb_cSampleProfile);
void rb_hs_init_memory(VALUE rb_cSampleProfile);
void rb_hs_init_block(VALUE rb_cSampleProfile);
void rb_hs_init_control(VALUE rb_cSampleProfile);
void rb_hs_init_labels(VALUE rb_cSampleProfile);
void rb_hs_init_check(VALUE rb_cSampleProfile);

/* Listeners, and USDT probes: listen.c. Options are read; in a child of fork; for stat. [gvl] [free] */
void rb_hs_extending_boot(bool usdt);
void rb_hs_extending_after_fork(void);
unsigned rb_hs_listener_count(void);
uint64_t rb_hs_listener_errors(void);   /* exceptions that were not raised, ever */

/*
 * The objects behind samples.  They are found, never held: a sample keeps
 * nothing alive, and its object may be freed or move at any time.
 *
 * [gvl] [free]; the VM lock is taken inside.
 */

/* What a list of all objects' places takes is given back; it is made again when it is needed. */
void rb_hs_objects_forget_places(void);

/* What ObjectSpace.memsize_of says of each sample's object, bytes; `sizes` has room for them all, and keeps what it holds where
 * the object was freed, or where there is no memory to find it. Other threads run between batches of them, and other Ractors
 * stand still in each. */
void rb_hs_objects_measure(const struct hs_live_samples *samples, size_t *sizes);

#endif

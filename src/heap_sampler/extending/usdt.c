/*
 * USDT probes follow the process's own session.  With usdt=on that session
 * begins when a tracer attaches, and ends when it leaves: the semaphores are
 * looked at when a mark ends, since a process that never marks allocates next
 * to nothing.  What a setting or GC::SampleProfile.start has begun stays.
 *
 * The job for safe points is here: it does that, and tells listeners.
 */
#include "heap_sampler/mri.h"
#include "heap_sampler/base/must.h"
#include "heap_sampler/base/report.h"
#include "heap_sampler/events/changes.h"
#include "heap_sampler/events/probes.h"
#include "heap_sampler/extending/extending.h"
#include "heap_sampler/malloc/automatic.h"
#include "heap_sampler/settings/options.h"
#include "heap_sampler/sites/sampler.h"
#include "heap_sampler/slots/sessions.h"

static uint64_t begun;          /* the serial of the session that a tracer has begun */

static void
start(void)
{
    rb_hs_probes_started(true);
    begun = 0;
    if (rb_hs_sampler.session[HS_MAIN].on) return;
    struct hs_session_settings settings = {.interval = rb_hs_options.interval, .automatic = rb_hs_options.interval_auto};
    if (rb_hs_options.malloc_mode != HS_MALLOC_SAY_OFF) settings.malloc_interval = rb_hs_options.malloc_interval;
    if (rb_hs_session_start(&settings, true) < 0) return;
    rb_hs_malloc_automatic(rb_hs_options.malloc_auto);
    begun = rb_hs_sampler.session[HS_MAIN].serial;
}

static void
end(void)
{
    rb_hs_probes_started(false);
    const struct hs_session *session = &rb_hs_sampler.session[HS_MAIN];
    if (begun && session->on && session->serial == begun) rb_hs_session_stop(HS_MAIN);
    begun = 0;
}

static void
follow(void)
{
    if (rb_hs_probes_start_p()) start();
    else if (rb_hs_probes_end_p()) end();
}

static void
job(void *unused)
{
    (void)unused;
    if (!rb_hs_stack_short_p()) follow();       /* else a later one does: each mark asks again */
    rb_hs_tell_listeners();
}

void
rb_hs_extending_boot(void)
{
    bool later = rb_hs_later_begin(job);
    if (!rb_hs_options.usdt) return;
    if (!rb_hs_probes_p()) rb_hs_warn("usdt=on: this Ruby has no probes; build it on a system that has sys/sdt.h (systemtap-sdt-dev)");
    else if (later) rb_hs_probes_start_sampling(true);
}

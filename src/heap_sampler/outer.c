/* What the kernel calls at the turns of a process's life: see outer.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/kernel.h"
#include "heap_sampler/outer.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/report.h"
#include "heap_sampler/heap_walk/launch.h"
#include "heap_sampler/memory/account.h"
#include "heap_sampler/memory/smaps.h"
#include "heap_sampler/memory/process_info.h"
#include "heap_sampler/memory/threads.h"
#include "heap_sampler/ruby/ruby_api.h"
#include "heap_sampler/server/address.h"
#include "heap_sampler/server/output.h"
#include "heap_sampler/server/periodic.h"
#include "heap_sampler/server/service.h"

#include <errno.h>

enum { LAST_PROFILE_MS = 10000,
       STOP_MS = 2000,          /* where no profile is written */
       QUIET_MS = 200 };        /* of STOP_MS: no other Ruby thread runs while the service ends, unless it takes longer */

void
rb_hs_outer_boot(const char *script, bool usdt)
{
    rb_hs_who_boot(script);
    rb_hs_address_boot();
    rb_hs_periodic_boot(rb_hs_service_wake);
    rb_hs_extending_boot(usdt);
    if (rb_hs_files.on) rb_hs_note_start_folder();    /* for a child that may be chosen, too */
}

void
rb_hs_outer_before_start(void)
{
    rb_hs_note_start_folder();
    rb_hs_account_begin(NULL);
}

void
rb_hs_outer_started(bool socket)
{
    rb_hs_output_check();
    rb_hs_outer_serve(socket);
    rb_hs_periodic_start();
}

void
rb_hs_outer_pause(void)
{
    rb_hs_periodic_stop();
}

void
rb_hs_outer_serve(bool socket)
{
    rb_hs_service_start(socket);
}

void
rb_hs_outer_attach(void)
{
    rb_hs_service_reopen();
}

/* -- the end ----------------------------------------------------------------------------------- */

static void
end_service(void)
{
    rb_hs_service_end();
    rb_hs_periodic_stop();
}

/*
 * A signal meanwhile ends the process as it would have ended an at_exit block.
 *
 * An idle service ends within a millisecond, and nothing of Ruby's runs meanwhile: the program ends as in stock Ruby.
 * What takes longer is waited for without the GVL, since the service may wait for a call on another Ruby thread.
 */
static void
end_all(void)
{
    bool wanted = rb_hs_session(HS_MAIN)->on && rb_hs_files.on && !rb_hs_files.output_none;
    uint64_t until_ns = rb_hs_steady_ns() + (wanted ? LAST_PROFILE_MS : STOP_MS) * HS_MS_NS;
    int raised = 0, error = 0;
    bool running = rb_hs_service_no_more(), idle = rb_hs_periodic_halt();
    if (running || !idle) error = rb_hs_within(end_service, QUIET_MS, until_ns, &raised);
    if (!error && raised) error = EINTR;
    if (!error && wanted) {
        rb_hs_name_all();
        rb_hs_warn_of_gaps();
    }
    if (wanted) rb_hs_output_at_exit(error, until_ns, &raised);
    if (raised) rb_jump_tag(raised);
}

void
rb_hs_outer_end(bool booted)
{
    rb_hs_retainers_no_more();
    if (booted) end_all();
}

/* -- forks ------------------------------------------------------------------------------------- */

void
rb_hs_outer_before_fork(void)
{
    rb_hs_thread_list_before_fork();
}

void
rb_hs_outer_after_fork(bool child, int parent)
{
    rb_hs_thread_list_after_fork(child);
    if (child) rb_hs_inherited_after_fork(parent, rb_heap_sampler_drawing);
}

void
rb_hs_outer_in_child(void)
{
    rb_hs_retainers_after_fork();
    rb_hs_extending_after_fork();
    rb_hs_periodic_after_fork();
    rb_hs_service_after_fork();
}

/*
 * The life of a process, from the settings of the command line to the profile at exit: what MRI calls at its turns, and
 * what each room does there.  It stands above all rooms.
 */
#include "heap_sampler/mri.h"
#include "heap_sampler/kernel.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/libraries.h"
#include "heap_sampler/base/report.h"
#include "heap_sampler/heap_walk/launch.h"
#include "heap_sampler/memory/account.h"
#include "heap_sampler/memory/smaps.h"
#include "heap_sampler/memory/threads.h"
#include "heap_sampler/ruby/ruby_api.h"
#include "heap_sampler/server/service.h"
#include "heap_sampler/server/output.h"
#include "heap_sampler/settings/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool booted;

/* -- the beginning ----------------------------------------------------------------------------- */

static bool
chosen_p(void)
{
    return rb_hs_files.on && rb_hs_process_chosen_p(rb_hs_files.only_n);
}

static void
start_main_session(void)
{
    rb_hs_note_start_folder();
    rb_hs_account_begin(NULL);
    if (!rb_hs_start_by_settings(false)) {
        rb_hs_warn_once("not enough memory; sampling is off");
        return;
    }
    rb_hs_output_check();
    rb_hs_service_start(rb_hs_options.socket);
    rb_hs_periodic_start();
}

struct rb_heap_sampler_text {
    struct rb_heap_sampler_text *next;
    char text[];
};

void
rb_heap_sampler_add_text(struct rb_heap_sampler_text **list, const char *text)
{
    size_t size = strlen(text) + 1;
    struct rb_heap_sampler_text *added = malloc(sizeof(*added) + size);
    if (!added) rb_raise(rb_eArgError, "--heap-sample: not enough memory");
    added->next = NULL;
    memcpy(added->text, text, size);
    while (*list) list = &(*list)->next;
    *list = added;
}

/* A script's #! line is read when all else has begun: what was begun begins anew. */
static void
follow_script_line(void)
{
    bool on = rb_hs_session(HS_MAIN)->on;
    if (on) rb_hs_session_stop(HS_MAIN);
    rb_hs_settings_use();
    if (!on && rb_hs_options.limits.seeded) rb_hs_process_seed();
    if (chosen_p()) start_main_session();
}

void
rb_heap_sampler_option(struct rb_heap_sampler_text *list, const char *from, bool environment)
{
    rb_hs_settings_prepare();
    if (booted) rb_hs_periodic_stop();  /* it reads the settings */
    while (list) {
        struct rb_heap_sampler_text *next = list->next;
        rb_hs_settings_read(*list->text ? list->text : "on", from, environment);
        free(list);
        list = next;
    }
    if (booted) follow_script_line();
}

void
rb_heap_sampler_boot(const char *script)
{
    rb_hs_libraries_refresh();
    rb_hs_settings_prepare();
    booted = true;
    rb_hs_settings_use();
    rb_hs_forced_begin();
    rb_hs_safe_point_boot();
    rb_hs_identity_boot(script);
    rb_hs_address_boot();
    rb_hs_periodic_boot(rb_hs_service_wake);
    rb_hs_extending_boot(rb_hs_options.usdt);
    if (rb_hs_files.on) rb_hs_note_start_folder();      /* for a child that may be chosen, too */
    if (rb_hs_options.socket) rb_hs_attach_boot();
    rb_hs_process_seed();
    bool chosen = chosen_p();
    rb_hs_malloc_boot(chosen && rb_hs_options.malloc_mode == HS_MALLOC_MODE_ON);
    if (chosen) start_main_session();
    else if (rb_hs_options.standby) rb_hs_service_start(rb_hs_options.socket);
}

void
rb_heap_sampler_attach(void (*signals)(void *))
{
    if (rb_hs_timer_turn(signals)) rb_hs_service_reopen();
}

/* -- the end ----------------------------------------------------------------------------------- */

enum { LAST_PROFILE_MS = 10000,
       STOP_MS = 2000,          /* where no profile is written */
       QUIET_MS = 200 };        /* of STOP_MS: no other Ruby thread runs while the service ends, unless it takes longer */

static void
end_service(void)
{
    rb_hs_service_end();
    rb_hs_periodic_stop();
}

/*
 * The profile at exit is written after at_exit blocks and before finalizers; exit! and exec write none.  The snapshot
 * is taken with the GVL.  A thread of ours encodes and writes it (server/service.h, within), and reads copies only: the
 * VM may end before it does.  All waits of the end together take LAST_PROFILE_MS at most, or STOP_MS where no profile
 * is due.
 *
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
rb_heap_sampler_at_exit(void)
{
    rb_hs_process_ends();
    rb_hs_no_later();
    rb_hs_retainers_no_more();
    if (booted) end_all();
}

/* -- forks ------------------------------------------------------------------------------------- */

static int forking;             /* this process's id, before its fork: the child may be the only one that is left */

void
rb_heap_sampler_before_fork(void)
{
    forking = (int)getpid();
    rb_hs_lock();
    rb_hs_thread_list_before_fork();
}

void
rb_heap_sampler_after_fork(int pid)
{
    bool child = pid == 0;
    if (pid >= 0) rb_hs_process_forked(child);
    if (child) {
        rb_hs_wake_after_fork();
        rb_hs_warnings_off = rb_hs_files.quiet;
    }
    rb_hs_thread_list_after_fork(child);
    if (child) rb_hs_inherited_after_fork(forking, rb_heap_sampler_drawing);
    rb_hs_unlock();
}

/* only=1/N is decided anew for each process. */
void
rb_heap_sampler_in_child(void)
{
    if (!booted) return;
    rb_hs_check_tables();
    rb_hs_safe_point_after_fork();
    rb_hs_forced_begin();
    rb_hs_retainers_after_fork();
    rb_hs_extending_after_fork();
    rb_hs_periodic_after_fork();
    rb_hs_service_after_fork();
    if (!rb_hs_files.on || rb_hs_files.only_n <= 1 || chosen_p() == rb_hs_session(HS_MAIN)->on) return;
    if (chosen_p()) {
        start_main_session();
    }
    else {
        rb_hs_periodic_stop();
        rb_hs_session_stop(HS_MAIN);
    }
}

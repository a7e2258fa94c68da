/*
 * The life of a process: settings are read, sampling begins, children are
 * forked, Ruby code ends.
 */
#include "heap_sampler/mri.h"
#include "heap_sampler/process/process.h"
#include "heap_sampler/outer.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/contract.h"
#include "heap_sampler/base/report.h"
#include "heap_sampler/base/table.h"
#include "heap_sampler/store/draw.h"
#include "heap_sampler/store/changes.h"
#include "heap_sampler/sampling/gcs.h"
#include "heap_sampler/sampling/malloc_hooks.h"
#include "heap_sampler/store/malloc_table.h"
#include "heap_sampler/base/options.h"
#include "heap_sampler/store/store.h"
#include "heap_sampler/store/check.h"
#include "heap_sampler/sampling/sessions.h"
#include "heap_sampler/store/class_table.h"
#include "heap_sampler/store/page_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

static bool options_ready, booted;


/* -- settings, the first session --------------------------------------------------------------- */

/* Bad settings end a Ruby that was given them on its command line. Those of the environment may be meant for every program
 * of a machine: there the program is worth more than its profile. */
static void
read_option(const char *text, const char *from, bool environment)
{
    char error[512];
    if (rb_hs_options_parse(&rb_hs_options, text, error, sizeof(error))) return;
    if (!environment) rb_raise(rb_eArgError, "%s: %s", from, error);
    rb_hs_options.on = false;
    rb_hs_warn_of_settings("%s: %s; sampling is off until you fix this setting", from, error);
}

static void
prepare_options(void)
{
    if (options_ready) return;
    options_ready = true;
    rb_hs_options_default(&rb_hs_options);
    const char *text = secure_getenv("RUBY_HEAP_SAMPLE");       /* a setuid program's environment is another user's */
    if (text && *text) read_option(text, "RUBY_HEAP_SAMPLE", true);
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

static void
start_main_session(void)
{
    rb_hs_outer_before_start();
    struct hs_session_settings settings = {.interval = rb_hs_options.interval, .automatic = rb_hs_options.interval_auto};
    rb_hs_malloc_automatic(rb_hs_options.malloc_auto);
    if (rb_hs_options.malloc_mode == HS_MALLOC_SAY_ON) settings.malloc_interval = rb_hs_options.malloc_interval;
    if (rb_hs_session_start(&settings, true) < 0) {
        rb_hs_warn_once(HS_TROUBLE_MEMORY, "not enough memory; sampling is off");
        return;
    }
    rb_hs_outer_started();
}

/* A script's #! line is read when all else has begun: what was begun begins anew. */
static void
follow_script_line(void)
{
    bool on = rb_hs_session(HS_MAIN)->on;
    if (on) rb_hs_session_stop(HS_MAIN);
    else if (rb_hs_options.seeded) rb_hs_seed_process();
    if (rb_hs_options.on && rb_hs_process_chosen_p()) start_main_session();
}

void
rb_heap_sampler_option(struct rb_heap_sampler_text *list, const char *from, bool environment)
{
    prepare_options();
    if (booted) rb_hs_outer_pause();    /* it reads the settings */
    while (list) {
        struct rb_heap_sampler_text *next = list->next;
        read_option(*list->text ? list->text : "on", from, environment);
        free(list);
        list = next;
    }
    if (booted) follow_script_line();
}

void
rb_heap_sampler_boot(const char *script)
{
    prepare_options();
    booted = true;
    rb_hs_forced_begin();
    rb_hs_safe_point_boot();
    rb_hs_outer_boot(script);
    if (!rb_hs_options.no_socket) rb_hs_attach_boot();
    rb_hs_seed_process();
    bool chosen = rb_hs_options.on && rb_hs_process_chosen_p();
    rb_hs_malloc_boot(chosen && rb_hs_options.malloc_mode == HS_MALLOC_SAY_ON);
    if (chosen) start_main_session();
    else if (rb_hs_options.standby) rb_hs_outer_serve();
    rb_hs_outer_ready();
}

void
rb_heap_sampler_attach(void (*signals)(void *))
{
    if (rb_hs_timer_turn(signals)) rb_hs_outer_attach();
}

static bool ended;

bool
rb_hs_ended_p(void)
{
    return ended;
}

void
rb_heap_sampler_at_exit(void)
{
    ended = true;
    rb_hs_no_later();
    rb_hs_outer_end(booted);
}

static int forking;             /* this process's id, before its fork: the child may be the only one that is left */

void
rb_heap_sampler_before_fork(void)
{
    forking = (int)getpid();
    rb_hs_lock();
    rb_hs_outer_before_fork();
}

void
rb_heap_sampler_after_fork(int pid)
{
    if (pid >= 0) rb_hs_process_forked();
    if (pid == 0) {
        rb_hs_process_becomes_child();
        rb_hs_wake_after_fork();
        rb_hs_be_quiet(rb_hs_options.quiet);
    }
    rb_hs_outer_after_fork(pid == 0, forking);
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
    rb_hs_outer_in_child();
    if (!rb_hs_options.on || rb_hs_options.only_n <= 1) return;
    bool chosen = rb_hs_process_chosen_p();
    if (chosen && !rb_hs_session(HS_MAIN)->on) {
        start_main_session();
    }
    else if (!chosen && rb_hs_session(HS_MAIN)->on) {
        rb_hs_outer_pause();
        rb_hs_session_stop(HS_MAIN);
    }
}

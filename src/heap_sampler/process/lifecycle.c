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

/* -- which process this is --------------------------------------------------------------------- */

static uint64_t
entropy(void)
{
    uint64_t number = 0;
    if (getrandom(&number, sizeof(number), GRND_NONBLOCK) == sizeof(number)) return number;
    return hs_mix(rb_hs_steady_ns() ^ ((uint64_t)getpid() << 32) ^ rb_hs_now_ns());
}

static struct hs_process process;
/* Which process this is among those that began as one: 0 for the first; a child's follows from its parent's and from how
 * many children came before it, so that it is the same in each run of the same program. */
static uint64_t lineage;
static uint64_t forks;          /* by this process and those that it comes from */
static uint64_t first_pid;
/* only=1/N compares this number, which is drawn once in each process: a process that 1/10 chooses would be chosen by 1/5. */
static uint64_t only_number;
static bool only_drawn;

const struct hs_process *
rb_hs_process(void)
{
    return &process;
}

/* A seeded process's children have sequences of their own, the same in each run. */
static void
seed_process(void)
{
    const struct hs_limits *limits = &rb_hs_slot_store.limits;
    if (!first_pid) first_pid = (uint64_t)getpid();
    process.start = entropy() >> 1;
    rb_hs_random_seed(&rb_hs_slot_store.random, limits->seeded ? hs_mix(limits->seed + 1) + lineage : entropy());
    rb_hs_malloc_seed(rb_hs_random_next(&rb_hs_slot_store.random));
    only_drawn = false;
}

/* Processes that start in the same way must not all make the same choice: the host's name and the process id differ. A container that is
 * started again under its name has both again, and makes the same choice. */
static uint64_t
seeded_number(uint64_t seed)
{
    char host[256] = "";
    uint64_t number = hs_mix(seed + 1);
    gethostname(host, sizeof(host) - 1);
    for (const char *c = host; *c; c++) number = hs_mix(number + (unsigned char)*c);
    return hs_mix(hs_mix(number + first_pid) + lineage);
}

/* Does only=1/N choose this process? The answer stays the same until the next seed. */
static bool
chosen_p(void)
{
    const struct hs_limits *limits = &rb_hs_slot_store.limits;
    if (rb_hs_files.only_n <= 1) return true;
    if (!only_drawn) only_number = limits->seeded ? seeded_number(limits->seed) : entropy();
    only_drawn = true;
    return only_number <= UINT64_MAX / rb_hs_files.only_n;
}

/* -- settings, the first session --------------------------------------------------------------- */

struct hs_files rb_hs_files;

/* A thread without the GVL that reads a text of the settings holds the sampler's lock. */
void
rb_hs_use_files(const struct hs_files *files)
{
    rb_hs_lock();
    rb_hs_files = *files;
    rb_hs_unlock();
}

/* Bad settings end a Ruby that was given them on its command line. Those of the environment may be meant for every program
 * of a machine: there the program is worth more than its profile. */
static void
read_option(const char *text, const char *from, bool environment)
{
    char error[512];
    if (rb_hs_options_parse(&rb_hs_options, text, error, sizeof(error))) return;
    if (!environment) rb_raise(rb_eArgError, "%s: %s", from, error);
    rb_hs_options.files.on = false;
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
use_settings(void)
{
    rb_hs_use_files(&rb_hs_options.files);
    rb_hs_session_limits(&rb_hs_options.limits);
    rb_hs_malloc_settings(rb_hs_options.malloc_mode == HS_MALLOC_MODE_OFF, rb_hs_options.malloc_interval);
}

bool
rb_hs_start_by_settings(bool tracer)
{
    const struct hs_options *options = &rb_hs_options;
    struct hs_session_settings settings = {
        .interval = options->interval,
        .automatic = options->interval_auto,
        .malloc_automatic = options->malloc_auto,
    };
    bool malloc = options->malloc_mode == HS_MALLOC_MODE_ON || (tracer && options->malloc_mode == HS_MALLOC_MODE_STANDBY);
    if (malloc) settings.malloc_interval = options->malloc_interval;
    return rb_hs_session_start(&settings, true) >= 0;
}

static void
start_main_session(void)
{
    rb_hs_outer_before_start();
    if (rb_hs_start_by_settings(false)) rb_hs_outer_started(rb_hs_options.socket);
    else rb_hs_warn_once("not enough memory; sampling is off");
}

/* A script's #! line is read when all else has begun: what was begun begins anew. */
static void
follow_script_line(void)
{
    bool on = rb_hs_session(HS_MAIN)->on;
    if (on) rb_hs_session_stop(HS_MAIN);
    use_settings();
    if (!on && rb_hs_options.limits.seeded) seed_process();
    if (rb_hs_files.on && chosen_p()) start_main_session();
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
    use_settings();
    rb_hs_forced_begin();
    rb_hs_safe_point_boot();
    rb_hs_outer_boot(script, rb_hs_options.usdt);
    if (rb_hs_options.socket) rb_hs_attach_boot();
    seed_process();
    bool chosen = rb_hs_files.on && chosen_p();
    rb_hs_malloc_boot(chosen && rb_hs_options.malloc_mode == HS_MALLOC_MODE_ON);
    if (chosen) start_main_session();
    else if (rb_hs_options.standby) rb_hs_outer_serve(rb_hs_options.socket);
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

static void
become_child(void)
{
    process.child = true;
    process.ids_at_fork = rb_hs_slot_store.next_id;
    lineage = hs_mix(lineage + forks);
    seed_process();
}

void
rb_heap_sampler_after_fork(int pid)
{
    if (pid >= 0) forks++;
    if (pid == 0) {
        become_child();
        rb_hs_wake_after_fork();
        rb_hs_warnings_off = rb_hs_files.quiet;
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
    if (!rb_hs_files.on || rb_hs_files.only_n <= 1 || chosen_p() == rb_hs_session(HS_MAIN)->on) return;
    if (chosen_p()) {
        start_main_session();
    }
    else {
        rb_hs_outer_pause();
        rb_hs_session_stop(HS_MAIN);
    }
}

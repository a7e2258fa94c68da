/*
 * The life of a process: settings are read, sampling begins, children are
 * forked, Ruby code ends.
 */
#include "heap_sampler/mri.h"
#include "heap_sampler/life/life.h"
#include "heap_sampler/account/account.h"
#include "heap_sampler/account/alive.h"
#include "heap_sampler/account/bodies.h"
#include "heap_sampler/account/threads.h"
#include "heap_sampler/account/who.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/locks.h"
#include "heap_sampler/base/must.h"
#include "heap_sampler/base/report.h"
#include "heap_sampler/base/table.h"
#include "heap_sampler/estimate/draw.h"
#include "heap_sampler/events/changes.h"
#include "heap_sampler/extending/extending.h"
#include "heap_sampler/holders/ask.h"
#include "heap_sampler/malloc/automatic.h"
#include "heap_sampler/malloc/hooks.h"
#include "heap_sampler/malloc/table.h"
#include "heap_sampler/native/names.h"
#include "heap_sampler/process/output.h"
#include "heap_sampler/process/periodic.h"
#include "heap_sampler/process/safe_point.h"
#include "heap_sampler/process/within.h"
#include "heap_sampler/service/address.h"
#include "heap_sampler/service/service.h"
#include "heap_sampler/settings/options.h"
#include "heap_sampler/sites/sampler.h"
#include "heap_sampler/slots/check.h"
#include "heap_sampler/slots/sessions.h"
#include "heap_sampler/stacks/class_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum { LAST_PROFILE_MS = 10000,
       STOP_MS = 2000 };        /* where no profile is written */

static bool options_ready, booted;

static void start_main_session(void);
static void begin_service(void);

/* -- which process this is: its sequence of chance, and whether only=1/N chose it ------------- */

static uint64_t
entropy(void)
{
    uint64_t number = 0;
    if (getrandom(&number, sizeof(number), GRND_NONBLOCK) == sizeof(number)) return number;
    return hs_mix(rb_hs_steady_ns() ^ ((uint64_t)getpid() << 32) ^ rb_hs_now_ns());
}

/* Which process this is among those that began as one: 0 for the first; a child's follows from its parent's and from how
 * many children came before it, so that it is the same in each run of the same program. */
static uint64_t lineage;
static uint64_t first_pid;
/* What only=1/N decides by, one number for each process, drawn when it is first asked for: whoever is chosen at 1/10 would
 * have been at 1/5, and nobody is asked twice. */
static uint64_t luck;
static bool luck_drawn;

/* Processes that start alike must not decide alike: the host's name and the process id tell them apart. A container that is
 * started again under its name has both again, and decides as it did. */
static uint64_t
seeded_luck(uint64_t seed)
{
    char host[256] = "";
    uint64_t number = hs_mix(seed + 1);
    gethostname(host, sizeof(host) - 1);
    for (const char *c = host; *c; c++) number = hs_mix(number + (unsigned char)*c);
    return hs_mix(hs_mix(number + first_pid) + lineage);
}

/* A seeded process's children have sequences of their own, the same in each run. */
static void
seed_process(void)
{
    const struct hs_options *options = &rb_hs_options;
    if (!first_pid) first_pid = (uint64_t)getpid();
    rb_hs_sampler.process_start = entropy() >> 1;
    rb_hs_random_seed(&rb_hs_sampler.random, options->seeded ? hs_mix(options->seed + 1) + lineage : entropy());
    rb_hs_malloc_seed(rb_hs_random_next(&rb_hs_sampler.random));
    luck_drawn = false;
}

/* Does only=1/N choose this process? The answer stays the same until the next seed. */
static bool
chosen_p(void)
{
    const struct hs_options *options = &rb_hs_options;
    if (options->only_n <= 1) return true;
    if (!luck_drawn) luck = options->seeded ? seeded_luck(options->seed) : entropy();
    luck_drawn = true;
    return luck <= UINT64_MAX / options->only_n;
}

static void
become_child(void)
{
    rb_hs_sampler.child = true;
    rb_hs_sampler.ids_at_fork = rb_hs_sampler.next_id;
    lineage = hs_mix(lineage + rb_hs_sampler.forks);
    seed_process();
}

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

/* A script's #! line is read when all else has begun. */
static void
follow_script_line(const struct hs_options *before)
{
    const struct hs_options *options = &rb_hs_options;
    bool on = rb_hs_sampler.session[HS_MAIN].on;
    if (options->seeded && !on) seed_process();
    bool wanted = options->on && chosen_p();
    if (on && wanted) {
        if (options->interval != before->interval || options->interval_auto != before->interval_auto) {
            rb_hs_session_retune(HS_MAIN, options->interval, options->interval_auto);
        }
        rb_hs_malloc_automatic(options->malloc_auto);
        if (options->malloc_mode != HS_MALLOC_SAY_ON) rb_hs_malloc_stop(HS_MAIN);
        else if (rb_hs_malloc_session(HS_MAIN).on) rb_hs_malloc_retune(HS_MAIN, options->malloc_interval);
        rb_hs_periodic_start();
        begin_service();
    }
    else if (on) {
        rb_hs_session_stop(HS_MAIN);
    }
    else if (wanted) {
        start_main_session();
    }
}

void
rb_heap_sampler_option(struct rb_heap_sampler_text *list, const char *from, bool environment)
{
    prepare_options();
    struct hs_options before = rb_hs_options;
    if (booted) rb_hs_periodic_stop();  /* it reads the settings */
    while (list) {
        struct rb_heap_sampler_text *next = list->next;
        read_option(*list->text ? list->text : "on", from, environment);
        free(list);
        list = next;
    }
    if (booted) follow_script_line(&before);
}

/* What it could not do, stat says. */
static void
begin_service(void)
{
    if (!rb_hs_options.no_socket) rb_hs_service_start();
}

static void
start_main_session(void)
{
    struct hs_account account;
    rb_hs_note_start_folder();
    rb_hs_account_take(&account, NULL, NULL, true);
    struct hs_session_settings settings = {.interval = rb_hs_options.interval, .automatic = rb_hs_options.interval_auto, .account = &account};
    rb_hs_malloc_automatic(rb_hs_options.malloc_auto);
    if (rb_hs_options.malloc_mode == HS_MALLOC_SAY_ON) settings.malloc_interval = rb_hs_options.malloc_interval;
    if (rb_hs_session_start(&settings, true) < 0) {
        rb_hs_warn_once(HS_TROUBLE_MEMORY, "not enough memory; sampling is off");
        return;
    }
    rb_hs_output_check();
    rb_hs_periodic_start();
    begin_service();
}

/* Who has said off means it; a Ruby that nobody said anything to can be asked. */
static void
boot_service(void)
{
    rb_hs_address_boot();
    if (!rb_hs_options.no_socket) rb_hs_attach_boot();
}

void
rb_heap_sampler_boot(const char *script)
{
    rb_hs_who_boot(script);
    prepare_options();
    booted = true;
    rb_hs_forced_begin();
    rb_hs_safe_point_boot();
    boot_service();
    seed_process();
    if (rb_hs_options.on) rb_hs_note_start_folder();    /* for a child that may be chosen, too */
    bool chosen = rb_hs_options.on && chosen_p();
    rb_hs_malloc_boot(chosen && rb_hs_options.malloc_mode == HS_MALLOC_SAY_ON);
    if (chosen) start_main_session();
    else if (rb_hs_options.standby) begin_service();
    rb_hs_extending_boot();
}

void
rb_hs_name_all(void)
{
    HS_CONTRACT(gvl);
    HS_CONTRACT(free);
    RB_VM_LOCK_ENTER();
    {
        rb_hs_classes_rename();
        rb_hs_malloc_name_stacks();
    }
    RB_VM_LOCK_LEAVE();
}

static bool ended;

bool
rb_hs_ended_p(void)
{
    return ended;
}

static void
end_service(void *unused)
{
    (void)unused;
    rb_hs_service_end();
}

static void
stop_periodic(void *unused)
{
    (void)unused;
    rb_hs_periodic_stop();
}

static void
deadline(struct timespec *until, uint64_t ms)
{
    clock_gettime(CLOCK_MONOTONIC, until);
    rb_hs_add_ms(until, ms);
}

/* A signal meanwhile ends the process as it would have ended an at_exit block. Without the GVL: a call that the service waits for
 * may run on another thread of Ruby's. */
static void
end_all(void)
{
    bool wanted = rb_hs_options.on && rb_hs_sampler.session[HS_MAIN].on && !rb_hs_options.output_none;
    struct timespec until;
    int raised = 0, error = 0;
    deadline(&until, STOP_MS);
    if (rb_hs_service_no_more()) rb_hs_within(end_service, NULL, &until, &raised);
    deadline(&until, wanted ? LAST_PROFILE_MS : STOP_MS);
    if (raised) error = EINTR;
    else if (!rb_hs_periodic_ended_p()) error = rb_hs_within(stop_periodic, NULL, &until, &raised);
    if (!error && raised) error = EINTR;
    if (!error && wanted) {
        rb_hs_name_all();
        rb_hs_warn_of_gaps();
        error = rb_hs_output_at_exit(&until, &raised);
    }
    if (error && wanted) rb_hs_output_unfinished(error);
    if (raised) rb_jump_tag(raised);
}

void
rb_heap_sampler_at_exit(void)
{
    ended = true;
    rb_hs_holders_no_more();
    rb_hs_no_later();
    if (!booted) return;
    end_all();
}

static int forking;             /* this process's id, before its fork: the child may be the only one that is left */

void
rb_heap_sampler_before_fork(void)
{
    forking = (int)getpid();
    rb_hs_lock();
    rb_hs_native_before_fork();
    rb_hs_alive_before_fork();
}

void
rb_heap_sampler_after_fork(int pid)
{
    if (pid == 0 || pid > 0) rb_hs_sampler.forks++;
    if (pid == 0) {
        become_child();
        rb_hs_threads_after_fork();
        rb_hs_inherited_after_fork(forking, rb_heap_sampler_drawing);
        rb_hs_be_quiet(rb_hs_options.quiet);
    }
    rb_hs_alive_after_fork(pid == 0);
    rb_hs_native_after_fork(pid == 0);
    rb_hs_unlock();
}

/* only=1/N is decided anew for each process. */
void
rb_heap_sampler_in_child(void)
{
    if (!booted) return;
    rb_hs_check_tables();
    rb_hs_holders_after_fork();
    rb_hs_extending_after_fork();
    rb_hs_safe_point_after_fork();
    rb_hs_forced_begin();
    rb_hs_periodic_after_fork();
    rb_hs_service_after_fork();
    if (!rb_hs_options.on || rb_hs_options.only_n <= 1) return;
    bool chosen = chosen_p();
    if (chosen && !rb_hs_sampler.session[HS_MAIN].on) {
        start_main_session();
    }
    else if (!chosen && rb_hs_sampler.session[HS_MAIN].on) {
        rb_hs_periodic_stop();
        rb_hs_session_stop(HS_MAIN);
    }
}

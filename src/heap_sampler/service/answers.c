/* See service/answers.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/service/answers.h"
#include "heap_sampler/account/account.h"
#include "heap_sampler/account/census.h"
#include "heap_sampler/account/who.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/locks.h"
#include "heap_sampler/base/must.h"
#include "heap_sampler/collections/collections.h"
#include "heap_sampler/malloc/hooks.h"
#include "heap_sampler/malloc/table.h"
#include "heap_sampler/process/control.h"
#include "heap_sampler/process/periodic.h"
#include "heap_sampler/process/request.h"
#include "heap_sampler/process/safe_point.h"
#include "heap_sampler/profile/formats.h"
#include "heap_sampler/profile/malloc_rows.h"
#include "heap_sampler/profile/snapshot.h"
#include "heap_sampler/settings/options.h"
#include "heap_sampler/sites/sampler.h"
#include "heap_sampler/slots/automatic.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

extern const char *rb_dynamic_description;       /* RUBY_DESCRIPTION; version.c */

void
rb_hs_answer_error(struct hs_answer *answer, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    rb_hs_buffer_free(&answer->out);
    answer->ok = false;
    answer->type = "text";
    rb_hs_buffer_puts(&answer->out, text);
}

/* -- hello, memory -------------------------------------------------------------------- */

static void
look_at_memory(struct hs_account *account, struct hs_census *census, bool places)
{
    struct hs_account_excess excess;
    rb_hs_malloc_look(&excess);
    rb_hs_census_take(census, places);
    rb_hs_account_take(account, &excess, census, false);
}

static struct hs_account
account_at_start(void)
{
    struct hs_account account = {0};
    rb_hs_lock();
    if (rb_hs_sampler.session[HS_MAIN].on) account = rb_hs_sampler.session[HS_MAIN].account_at_start;
    rb_hs_unlock();
    return account;
}

static void
answer_hello(struct hs_buffer *out)
{
    struct hs_about about = {.ruby = rb_dynamic_description, .deploy = rb_hs_options.deploy, .process_id = (uint64_t)getpid(), .taken_ns = rb_hs_now_ns(), .every = rb_hs_options.every};
    struct hs_census census;
    rb_hs_lock();
    const struct hs_session *session = &rb_hs_sampler.session[HS_MAIN];
    about.sampling = session->on;
    about.interval = session->on ? session->interval : 0;
    about.interval_auto = session->on && rb_hs_automatic_p();
    about.started_ns = session->on ? session->started_ns : 0;
    about.process_start = rb_hs_sampler.process_start;
    rb_hs_unlock();
    rb_hs_malloc_describe(&about.malloc, HS_MAIN);
    about.account_at_start = account_at_start();
    look_at_memory(&about.account, &census, false);
    rb_hs_who_read(&about.who);
    rb_hs_encode_about(&about, out);
}

static void
look_at_gc(struct hs_memory_now *now)
{
    struct rb_heap_sampler_gc_counts counts;
    rb_heap_sampler_gc_counts(&counts);
    now->gc.count = counts.gc;
    now->gc.minor = counts.minor;
    now->gc.major = counts.major;
    now->gc.ns = counts.gc_ns;
    now->gc.timed = counts.timed;
    now->heaps = counts.heap_count < HS_HEAPS_MAX ? counts.heap_count : HS_HEAPS_MAX;
    for (uint32_t i = 0; i < now->heaps; i++) {
        now->heap[i] = (struct hs_heap_stat){.slot_size = counts.heap[i].slot_size, .total_slots = counts.heap[i].total_slots, .live_slots = counts.heap[i].live_slots};
    }
}

static void
look_at_sampler(struct hs_memory_now *now)
{
    struct hs_malloc_counts counts;
    struct hs_malloc_table_stat table;
    struct timespec used = {0};
    rb_hs_malloc_counts(&counts);
    rb_hs_malloc_table_stat(&table);
    rb_hs_lock();
    const struct hs_session *session = &rb_hs_sampler.session[HS_MAIN];
    if (session->on) now->account_at_start = session->account_at_start;
    now->gc.last_major_ns = rb_hs_sampler.major_ns;
    now->sampler.live_samples = session->on ? session->samples : 0;
    now->sampler.samples = rb_hs_sampler.taken;
    now->sampler.dropped_samples = rb_hs_sampler.dropped_samples + table.dropped;
    rb_hs_unlock();
    now->sampler.malloc_live_samples = table.blocks;
    now->sampler.malloc_samples = counts.samples;
    for (int use = 0; use < HS_MEM_USES; use++) now->sampler.bytes += rb_hs_memory_bytes((enum hs_memory_use)use);
    now->sampler.bytes_max = rb_hs_memory_bound_p() ? HS_MEMORY_MAX : 0;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    now->sampler.thread_ns = (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

static void
answer_memory(struct hs_buffer *out)
{
    struct hs_memory_now now = {0};
    look_at_memory(&now.account, &now.census, true);
    look_at_gc(&now);
    look_at_sampler(&now);
    rb_hs_encode_memory(&now, out);
    rb_hs_census_free(&now.census);
}

/* -- profile ------------------------------------------------------------------------------ */

/* How long a profile waits for names: whoever asks is in no hurry, but who has asked before waits too. */
enum { NAMES_MS = 30 };

/* Who keeps it comes from a child of this process, which walks for seconds: it is looked after, and not waited for. */
static bool
complete_p(const struct hs_answer *answer)
{
    static const volatile bool at_once = true;
    return !answer->begun || rb_hs_snapshot_work(answer->begun, &at_once);
}

static void
no_profile(struct hs_answer *answer, int error)
{
    if (error == ESRCH) rb_hs_answer_error(answer, "this process is not sampled; run heapsample start %ld", (long)getpid());
    else rb_hs_answer_error(answer, "no profile: %s", strerror(error));
}

static void
answer_profile(const struct hs_ask *ask, struct hs_answer *answer)
{
    struct hs_request request = {.session = HS_MAIN, .format = HS_PB_GZ, .begun = answer->begun};
    if (rb_hs_ask_has_p(ask, "type", "alloc_space")) request.first = HS_ALLOC_FIRST;
    if (!answer->begun) rb_hs_name_at_safe_point(NAMES_MS);
    answer->begun = NULL;
    int error = rb_hs_request_serve(&request);
    answer->type = "pb.gz";
    answer->out = request.out;
    if (error) no_profile(answer, error);
}

static void
begin_walk(const struct hs_ask *ask, struct hs_answer *answer, struct hs_memory_part *part)
{
    unsigned by = rb_hs_ask_demands_p(ask) ? 0 : HS_BY_ITSELF;
    struct hs_request request = {.session = HS_MAIN, .flags = HS_WITH_HOLDERS | by};
    rb_hs_request_begin(&request, part);
    answer->begun = request.begun;
    if (!answer->begun) rb_hs_answer_error(answer, "no profile: %s", strerror(ENOMEM));
}

/* What was demanded; else what the share pays for. */
static void
force(const struct hs_ask *ask, struct hs_answer *answer, struct hs_memory_part *part)
{
    bool demanded = rb_hs_ask_demands_p(ask);
    if (!rb_hs_sampler.session[HS_MAIN].on) return;     /* what follows says so */
    bool gc = demanded ? rb_hs_ask_has_p(ask, "gc", "1") : rb_hs_forced_gc_due_p(ask->diagnose_ppm);
    if (gc && !rb_hs_forced_gc(0) && demanded) {
        rb_hs_answer_error(answer, "this process has disabled full GCs (GC.disable or GC.config); try again without gc=1");
        return;
    }
    if (demanded ? rb_hs_ask_has_p(ask, "why", "1") : rb_hs_forced_walk_due_p(ask->diagnose_ppm)) begin_walk(ask, answer, part);
}

void
rb_hs_answer_drop(struct hs_answer *answer)
{
    if (answer->begun) rb_hs_snapshot_free(rb_hs_snapshot_end(answer->begun));
    answer->begun = NULL;
    rb_hs_buffer_free(&answer->out);
}

/* -- settings -------------------------------------------------------------------------------- */

static bool
of_files_p(const struct hs_ask *ask)
{
    for (size_t i = 0; i < ask->argument_count; i++) {
        if (rb_hs_start_of_files_p(ask->arguments[i].key)) return true;
    }
    return false;
}

bool
rb_hs_answer_prepare(const struct hs_ask *ask, struct hs_answer *answer)
{
    bool start = ask->verb == HS_ASK_START || ask->verb == HS_ASK_SET;
    if (start) rb_hs_account_take(&answer->account, NULL, NULL, false);
    if (ask->verb != HS_ASK_STOP && !(start && of_files_p(ask))) return true;
    if (rb_hs_periodic_stop()) return true;
    rb_hs_answer_error(answer, "a periodic profile is being written to a slow disk; try again");
    return false;
}

/* Under the GVL there is one at a time. */
static void
start_or_set(const struct hs_ask *ask, struct hs_answer *answer)
{
    static struct hs_start start;
    rb_hs_start_begin(&start);
    start.account = &answer->account;
    /* A process that was started without files writes none unless the request names a place for them. */
    if (!rb_hs_options.on && !rb_hs_options.output_given && !rb_hs_ask_value(ask, "output")) rb_hs_start_read(&start, "output", "none");
    answer->ok = ask->verb == HS_ASK_START || rb_hs_sampler.session[HS_MAIN].on;
    if (!answer->ok) snprintf(start.error, sizeof(start.error), "this process is not sampled; use start, which takes the same settings");
    for (size_t i = 0; i < ask->argument_count && answer->ok; i++) {
        answer->ok = rb_hs_start_read(&start, ask->arguments[i].key, ask->arguments[i].value);
    }
    answer->ok = answer->ok && rb_hs_start_apply(&start) <= HS_CHANGED;
    if (!answer->ok) {
        rb_hs_start_resume();
        rb_hs_answer_error(answer, "%s", start.error);
    }
}

/* -- which --------------------------------------------------------------------------------------- */

bool
rb_hs_ask_needs_ruby_p(const struct hs_ask *ask)
{
    switch (ask->verb) {
    case HS_ASK_START:
    case HS_ASK_SET:
    case HS_ASK_STOP: return true;
    default: return ask->diagnose_ppm;
    }
}

bool
rb_hs_ask_demands_p(const struct hs_ask *ask)
{
    return ask->diagnose_ppm && (rb_hs_ask_has_p(ask, "gc", "1") || rb_hs_ask_has_p(ask, "why", "1"));
}

uint64_t
rb_hs_ask_waits_ns(const struct hs_ask *ask)
{
    return rb_hs_ask_demands_p(ask) ? rb_hs_forced_wait(ask->diagnose_ppm) : 0;
}

void
rb_hs_answer_in_ruby(const struct hs_ask *ask, struct hs_answer *answer, struct hs_memory_part *part)
{
    HS_CONTRACT(gvl);
    answer->ok = true;
    if (ask->verb == HS_ASK_STOP) rb_hs_stop_apply();
    else if (ask->verb == HS_ASK_PROFILE) force(ask, answer, part);
    else start_or_set(ask, answer);
}

bool
rb_hs_answer(const struct hs_ask *ask, struct hs_answer *answer)
{
    if (!complete_p(answer)) return false;
    answer->ok = true;
    answer->type = "json";
    switch (ask->verb) {
    case HS_ASK_PROFILE: answer_profile(ask, answer); break;
    case HS_ASK_MEMORY: answer_memory(&answer->out); break;
    default: answer_hello(&answer->out);        /* what start, set and stop have made of it, too */
    }
    return true;
}

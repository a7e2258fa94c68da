/* See service/answers.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/service/answers.h"
#include "heap_sampler/account/account.h"
#include "heap_sampler/account/census.h"
#include "heap_sampler/account/who.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/locks.h"
#include "heap_sampler/base/must.h"
#include "heap_sampler/malloc/hooks.h"
#include "heap_sampler/process/control.h"
#include "heap_sampler/process/periodic.h"
#include "heap_sampler/process/request.h"
#include "heap_sampler/process/safe_point.h"
#include "heap_sampler/profile/encode_metrics.h"
#include "heap_sampler/profile/formats.h"
#include "heap_sampler/profile/malloc_rows.h"
#include "heap_sampler/profile/snapshot.h"
#include "heap_sampler/service/http_door.h"
#include "heap_sampler/service/metrics.h"
#include "heap_sampler/settings/options.h"
#include "heap_sampler/sites/sampler.h"
#include "heap_sampler/slots/automatic.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
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

static bool
given_p(const struct hs_ask *ask, const char *key)
{
    const char *value = rb_hs_ask_value(ask, key);
    return value && strcmp(value, "1") == 0;
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
    char http[HS_HTTP_TEXT_MAX];
    rb_hs_http_copy_place(http);
    struct hs_about about = {.ruby = rb_dynamic_description, .http = http, .deploy = rb_hs_options.deploy, .process_id = (uint64_t)getpid(), .taken_ns = rb_hs_now_ns(), .every = rb_hs_options.every};
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
answer_memory(struct hs_buffer *out)
{
    struct hs_account account, start = account_at_start();
    struct hs_census census;
    struct rb_heap_sampler_gc_counts counts;
    look_at_memory(&account, &census, true);
    rb_heap_sampler_gc_counts(&counts);
    struct hs_gc_so_far gc = {counts.gc, counts.minor, counts.major, counts.gc_ns, counts.timed};
    rb_hs_encode_memory(&account, &start, &census, &gc, out);
    rb_hs_census_free(&census);
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
    else if (error == ESTALE) rb_hs_answer_error(answer, "sampling was stopped or restarted during the request; try again");
    else rb_hs_answer_error(answer, "no profile: %s", strerror(error));
}

struct hs_profile *
rb_hs_answer_first(struct hs_answer *answer)
{
    rb_hs_name_at_safe_point(NAMES_MS);
    struct hs_profile *profile = rb_hs_snapshot(HS_MAIN, 0);
    rb_hs_lock();
    bool on = rb_hs_sampler.session[HS_MAIN].on;
    rb_hs_unlock();
    if (!profile) no_profile(answer, on ? ENOMEM : ESRCH);
    return profile;
}

static bool
said_p(const struct hs_ask *ask, const char *key, const char *wanted)
{
    const char *value = rb_hs_ask_value(ask, key);
    return value && strcmp(value, wanted) == 0;
}

static void
answer_profile(const struct hs_ask *ask, const struct hs_profile *first, struct hs_answer *answer)
{
    struct hs_request request = {.session = HS_MAIN, .format = HS_PB_GZ, .since = first, .begun = answer->begun};
    if (said_p(ask, "type", "alloc_space")) request.first = HS_ALLOC_FIRST;
    if (!answer->begun) rb_hs_name_at_safe_point(NAMES_MS);
    answer->begun = NULL;
    int error = rb_hs_request_serve(&request);
    answer->type = "pb.gz";
    answer->out = request.out;
    if (error) no_profile(answer, error);
}

/* -- the family of an address of HTTP ------------------------------------------------------- */

bool
rb_hs_ask_of_family_p(const struct hs_ask *ask)
{
    const char *of = rb_hs_ask_value(ask, "of");
    return !of || (*of && strcmp(of, rb_hs_http_text()) == 0);
}

static void
answer_metrics(struct hs_answer *answer)
{
    struct hs_metrics metrics;
    rb_hs_metrics_take(&metrics);
    answer->type = "text";
    rb_hs_encode_metrics(&metrics, &answer->out);
}

/* RSS in bytes, 1 or 0 for sampled or not, and the title. */
static void
answer_member(struct hs_answer *answer)
{
    struct hs_who who;
    rb_hs_lock();
    bool on = rb_hs_sampler.session[HS_MAIN].on;
    rb_hs_unlock();
    rb_hs_who_read(&who);
    answer->type = "text";
    rb_hs_buffer_printf(&answer->out, "%" PRIu64 " %d %s", rb_hs_resident_bytes(), on, who.title);
}

static void
begin_walk(struct hs_answer *answer, struct hs_memory_part *part)
{
    struct hs_request request = {.session = HS_MAIN, .flags = HS_WITH_HOLDERS};
    if (!rb_hs_sampler.session[HS_MAIN].on) return;     /* what follows says so */
    rb_hs_request_begin(&request, part);
    answer->begun = request.begun;
    if (!answer->begun) rb_hs_answer_error(answer, "no profile: %s", strerror(ENOMEM));
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
    else if (start.http) rb_hs_http_want(start.options.http, start.options.http_token);
}

/* -- which --------------------------------------------------------------------------------------- */

bool
rb_hs_ask_needs_ruby_p(const struct hs_ask *ask)
{
    switch (ask->verb) {
    case HS_ASK_START:
    case HS_ASK_SET:
    case HS_ASK_STOP: return true;
    default: return rb_hs_ask_forces_p(ask);
    }
}

bool
rb_hs_ask_forces_p(const struct hs_ask *ask)
{
    return given_p(ask, "gc") || given_p(ask, "why");
}

void
rb_hs_answer_in_ruby(const struct hs_ask *ask, struct hs_answer *answer, struct hs_memory_part *part)
{
    HS_CONTRACT(gvl);
    answer->ok = true;
    if (ask->verb == HS_ASK_STOP) rb_hs_stop_apply();
    else if (ask->verb != HS_ASK_PROFILE) start_or_set(ask, answer);
    if (given_p(ask, "gc") && !rb_heap_sampler_gc_start_major(0)) {
        rb_hs_answer_error(answer, "this process has disabled full GCs (GC.disable or GC.config); try again without gc=1");
    }
    else if (given_p(ask, "why")) {
        begin_walk(answer, part);
    }
}

bool
rb_hs_answer(const struct hs_ask *ask, const struct hs_profile *first, struct hs_answer *answer)
{
    if (!complete_p(answer)) return false;
    answer->ok = true;
    answer->type = "json";
    switch (ask->verb) {
    case HS_ASK_PROFILE: answer_profile(ask, first, answer); break;
    case HS_ASK_MEMORY: answer_memory(&answer->out); break;
    case HS_ASK_METRICS: answer_metrics(answer); break;
    case HS_ASK_MEMBER: answer_member(answer); break;
    default: answer_hello(&answer->out);        /* what start, set and stop have made of it, too */
    }
    return true;
}

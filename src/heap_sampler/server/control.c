/* See server/control.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/kernel.h"
#include "heap_sampler/settings/options.h"
#include "heap_sampler/server/control.h"
#include "heap_sampler/base/contract.h"
#include "heap_sampler/server/output.h"
#include "heap_sampler/server/service.h"

#include <stdio.h>
#include <string.h>

static bool
on_p(void)
{
    return rb_hs_session(HS_MAIN)->on;
}

/* -- reading -------------------------------------------------------------------------------- */

void
rb_hs_start_begin(struct hs_start *start)
{
    HS_CONTRACT(gvl);
    *start = (struct hs_start){.options = rb_hs_options};
    start->options.limits = rb_hs_slot_store.limits;
    start->options.files = rb_hs_files;
}

static void
note(struct hs_start *start, enum hs_setting_of of, const char *value)
{
    start->given[of] = true;
    if (of == HS_OF_SEED) start->given[HS_OF_LIMITS] = true;
    if (of == HS_OF_MALLOC) start->malloc_interval = (*value >= '0' && *value <= '9') || strcmp(value, "auto") == 0;
}

bool
rb_hs_start_read(struct hs_start *start, const char *name, const char *value)
{
    char text[sizeof(start->options.files.output) + 64];
    int len = snprintf(text, sizeof(text), "%s=%s", name, value);
    char *equals = strchr(text, '=');
    for (char *c = text; *c && *c != '='; c++) *c = *c == '_' ? '-' : *c;
    if (!equals || len >= (int)sizeof(text) || strchr(text, ',')) {
        snprintf(start->error, sizeof(start->error), "%.60s=%.60s: the value must not contain a comma, or be longer than a path", name, value);
        return false;
    }
    if (!rb_hs_options_parse(&start->options, text, start->error, sizeof(start->error))) return false;
    *equals = '\0';
    enum hs_setting_of of = rb_hs_setting_of(text);
    note(start, of, equals + 1);
    if (of == HS_OF_BOOT) snprintf(start->error, sizeof(start->error), "%.60s can only be set when Ruby starts; put it in RUBY_HEAP_SAMPLE", text);
    return of != HS_OF_BOOT;
}

/* -- starting ------------------------------------------------------------------------------- */

void
rb_hs_start_resume(void)
{
    if (rb_hs_files.on && on_p()) rb_hs_periodic_start();
}

static enum hs_started
fail(struct hs_start *start, enum hs_started how, const char *error)
{
    snprintf(start->error, sizeof(start->error), "%s", error);
    return how;
}

static enum hs_started
change(struct hs_start *start, const struct hs_limits *limits, uint64_t malloc_interval)
{
    const struct hs_options *options = &start->options;
    /* Malloc that is sampled already keeps its interval, unless another one is given. */
    if (malloc_interval && (start->malloc_interval || !rb_hs_malloc_session(HS_MAIN).on)) {
        if (!rb_hs_malloc_start(HS_MAIN, malloc_interval, 0)) return fail(start, HS_START_NO_MEMORY, "not enough memory to sample malloc");
        rb_hs_malloc_automatic(options->malloc_auto);
    }
    if (start->given[HS_OF_INTERVAL] && !rb_hs_session_retune(HS_MAIN, options->interval, options->interval_auto)) {
        return fail(start, HS_START_NO_MEMORY, "not enough memory to change the interval; the old one is still in effect");
    }
    if (limits) rb_hs_session_limit(limits, start->given[HS_OF_SEED]);
    return HS_CHANGED;
}

static enum hs_started
begin(struct hs_start *start, const struct hs_limits *limits, uint64_t malloc_interval)
{
    const struct hs_options *options = &start->options;
    struct hs_session_settings session = {
        .interval = options->interval,
        .automatic = options->interval_auto,
        .malloc_interval = malloc_interval,
        .malloc_automatic = options->malloc_auto,
        .limits = limits,
        .sow = start->given[HS_OF_SEED],
    };
    if (start->account) rb_hs_account_begin(start->account);
    if (rb_hs_session_start(&session, true) < 0) {
        rb_hs_use_files(&rb_hs_options.files);
        return fail(start, HS_START_NO_MEMORY, "not enough memory to sample the heap");
    }
    return HS_STARTED;
}

static enum hs_started
apply(struct hs_start *start)
{
    const struct hs_options *options = &start->options;
    uint64_t malloc_interval = start->given[HS_OF_MALLOC] && options->malloc_mode != HS_MALLOC_MODE_ON ? 0 : options->malloc_interval;
    struct hs_malloc_meta meta;
    rb_hs_malloc_describe(&meta, HS_MAIN);
    bool demanded = start->given[HS_OF_MALLOC] && malloc_interval;
    if (demanded && meta.state == HS_MALLOC_OFF) {
        return fail(start, HS_START_NO_MALLOC, "malloc is not sampled, because Ruby was started with malloc=off; start it with malloc=standby");
    }
    if (demanded && meta.state == HS_MALLOC_MISSING) {
        snprintf(start->error, sizeof(start->error), "malloc cannot be sampled: %s", meta.missing);
        return HS_START_NO_MALLOC;
    }
    if (start->given[HS_OF_FILES] && !rb_hs_periodic_halted_p()) return fail(start, HS_START_BUSY, "a periodic profile is being written; try again");
    if (start->given[HS_OF_FILES]) {
        rb_hs_use_files(&options->files);
        rb_hs_note_start_folder();
    }
    const struct hs_limits *given = start->given[HS_OF_LIMITS] ? &options->limits : NULL;
    return on_p() ? change(start, given, malloc_interval) : begin(start, given, malloc_interval);
}

enum hs_started
rb_hs_start_apply(struct hs_start *start)
{
    HS_CONTRACT(gvl);
    HS_CONTRACT(free);
    enum hs_started how = apply(start);
    rb_hs_start_resume();
    return how;
}

bool
rb_hs_stop_apply(void)
{
    HS_CONTRACT(gvl);
    HS_CONTRACT(free);
    if (!on_p()) return false;
    rb_hs_session_stop(HS_MAIN);
    rb_hs_use_files(&rb_hs_options.files);
    return true;
}

/* See settings/options.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/kernel.h"
#include "heap_sampler/base/report.h"
#include "heap_sampler/settings/options.h"

#include <stdlib.h>

struct hs_options rb_hs_options;
struct hs_files rb_hs_files;

/* Bad settings end a Ruby that was given them on its command line. Settings of the environment may be meant for every
 * program of a machine: there the program is worth more than its profile. */
void
rb_hs_settings_read(const char *text, const char *from, bool environment)
{
    char error[512];
    if (rb_hs_options_parse(&rb_hs_options, text, error, sizeof(error))) return;
    if (!environment) rb_raise(rb_eArgError, "%s: %s", from, error);
    rb_hs_options.files.on = false;
    rb_hs_warn_of_settings("%s: %s; sampling is off until you fix this setting", from, error);
}

void
rb_hs_settings_prepare(void)
{
    static bool ready;
    if (ready) return;
    ready = true;
    rb_hs_options_default(&rb_hs_options);
    const char *text = secure_getenv("RUBY_HEAP_SAMPLE");       /* a setuid program's environment is another user's */
    if (text && *text) rb_hs_settings_read(text, "RUBY_HEAP_SAMPLE", true);
}

void
rb_hs_use_files(const struct hs_files *files)
{
    rb_hs_lock();
    rb_hs_files = *files;
    rb_hs_unlock();
}

void
rb_hs_settings_use(void)
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

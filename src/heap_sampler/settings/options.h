#ifndef HEAP_SAMPLER_SETTINGS_OPTIONS_H
#define HEAP_SAMPLER_SETTINGS_OPTIONS_H
/*
 * The settings of --heap-sample and RUBY_HEAP_SAMPLE: names, ranges, errors.
 * No MRI header; tested alone.
 *
 * settings/settings.inc lists them.  Further words of a text:
 *
 *   quiet                         quiet=on
 *   on | 1 | true | yes           with what was set before, or the defaults
 *   off | 0 | false | no | empty text   no sampling
 *   standby                       no sampling yet: malloc is prepared, and the socket is open
 *
 * In one text the last of two equal settings wins, and `off` wins over all but
 * a later `on`.  A comma ends a value.  doc/settings.md has the order of the texts.
 * What GC::SampleProfile.start is given replaces them, and a stop puts back what
 * they say.  A bad text of the environment counts as `off`; its warning is noted
 * in RUBY_HEAP_SAMPLE_TOLD, so that Rubies started from here do not repeat it.
 */
#include <stdbool.h>
#include <stddef.h>
#include "heap_sampler/kernel.h"

enum hs_malloc_mode {
    HS_MALLOC_MODE_ON,
    HS_MALLOC_MODE_STANDBY,
    HS_MALLOC_MODE_OFF
};

/* What is written, and which processes are sampled. */
struct hs_files {
    bool on;                    /* sampling starts with the process, and a profile is written at its end */
    char output[4096];
    bool output_none;
    bool output_given;
    uint32_t every;             /* seconds, 0: never */
    uint32_t keep;              /* 0: all */
    uint32_t diagnose_ppm;      /* of the run time, in millionths; 0: off */
    uint32_t at_rss_percent;    /* 0: none */
    uint64_t at_rss_bytes;      /* 0: none */
    uint32_t only_n;            /* 1: every process */
    bool quiet;
    char deploy[64];            /* "": none */
};

struct hs_options {
    uint64_t interval;          /* bytes; of auto: with which it begins */
    bool interval_auto;
    enum hs_malloc_mode malloc_mode;
    bool malloc_auto;
    uint64_t malloc_interval;   /* bytes, as it was asked for */
    bool standby;               /* not sampled yet; of no account while `on` */
    bool socket;                /* clients may connect to this process */
    bool usdt;                  /* a tracer that attaches to a probe makes sampling start */
    struct hs_limits limits;
    struct hs_files files;
};

/* What a setting belongs to, and so what GC::SampleProfile.start does with it. */
enum hs_setting_of {
    HS_OF_BOOT,                 /* it can only be set when Ruby starts */
    HS_OF_INTERVAL,
    HS_OF_LIMITS,
    HS_OF_SEED,
    HS_OF_MALLOC,
    HS_OF_FILES,
    HS_OF_COUNT
};

/* What the setting of this name belongs to; an underscore is as good as a hyphen. Unknown name: HS_OF_BOOT. */
enum hs_setting_of rb_hs_setting_of(const char *name);

void rb_hs_options_default(struct hs_options *options);

/* Read `text` (comma separated) over what `options` already has. On an error
 * returns false, leaves `options` as it was and writes one line without a
 * newline, which names the setting, its value, and what is allowed.
 * NULL (a variable that is not set) reads nothing and is no error. */
bool rb_hs_options_parse(struct hs_options *options, const char *text, char *error, size_t error_size);

/* Reads a share of the run time, such as 1%, as diagnose= takes it. [any] */
bool rb_hs_share_parse(const char *text, size_t len, uint32_t *ppm);

/* The output's path with its patterns filled in.  False if there is none
 * (output=none) or `size` is too small.  Allocates nothing and takes no lock. */
bool rb_hs_options_expand_output(const struct hs_files *files, uint64_t pid, int64_t unix_time, char *path, size_t size);

/* The settings of this process: those that its texts contain, and those in force. */

/* What the texts contain. Read by settings.c, lifecycle.c and server/control.c, where sampling starts later and stops. [gvl] */
extern struct hs_options rb_hs_options;

/* The defaults, and RUBY_HEAP_SAMPLE; later calls do nothing. [gvl] */
void rb_hs_settings_prepare(void);
/* A text of the command line, or of RUBYOPT (`environment`). Raises ArgumentError where a setting of the command line is bad. [gvl] */
void rb_hs_settings_read(const char *text, const char *from, bool environment);
/* What the texts contain is in force from now on. [gvl] [free] */
void rb_hs_settings_use(void);

/* The settings of files in force: from the texts, or from GC::SampleProfile.start until sampling stops. No periodic
 * profile is made while they change. [read]; a thread that makes a profile needs no lock. */
extern struct hs_files rb_hs_files;
void rb_hs_use_files(const struct hs_files *files);     /* [gvl] [free] */

/* Starts the session of the settings, which has nothing to do with files; `tracer`: a tracer wants it, with malloc unless
 * malloc=off. false: no memory. [gvl] [free] */
bool rb_hs_start_by_settings(bool tracer);

#endif

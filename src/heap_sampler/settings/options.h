#ifndef HEAP_SAMPLER_SETTINGS_OPTIONS_H
#define HEAP_SAMPLER_SETTINGS_OPTIONS_H
/*
 * The settings of --heap-sample and RUBY_HEAP_SAMPLE: names, ranges, errors.
 * No MRI header; tested alone.
 *
 *   interval=auto     as many samples as a budget pays for (estimate/pace.h); the default
 *   interval=64k      mean bytes between samples, 1 .. 1t (suffixes k m g t, powers of 1024)
 *   output=PATH       %p process id, %t UTC time (YYYYmmddTHHMMSS), %% a percent sign;
 *                     ends in .pb.gz or .pb; a relative one is of the folder
 *                     that the process was started in
 *                     `none` writes no profile and says nothing at exit
 *   every=SECONDS     a profile every so often, 1 .. 86400*365
 *   keep=N            keep the newest N periodic profiles of this process, 1 .. 1e6
 *   diagnose=1%|off   before a periodic profile a major GC, if none has ended since the one before, and a heap walk:
 *                     all of them take so much of the run time at most, 0.001% .. 50%; off: the default
 *   at-rss=80%|SIZE   one profile when the cgroup's memory in use crosses this share of its limit,
 *                     or the process's own resident memory this size, 1m .. 1t
 *   max-samples=N|none, max-depth=1..4096, seed=N (64 bits), only=1/N (N 1 .. 1e6)
 *   malloc=on|off|standby|auto|SIZE   sample malloc as well (on), never, or when it is started from
 *                     Ruby; SIZE is its mean bytes between samples, auto (the default) as many as a budget pays for
 *   quiet | quiet=on|off   say nothing of profiles that were written; forked children say nothing at all
 *   socket=on|off     whether other programs of the user may ask this process
 *   usdt=on|off       sampling starts when a tracer attaches to a USDT probe
 *   on | 1 | true | yes    with what was set before, or the defaults
 *   off | 0 | false | no | empty text   no sampling
 *   standby           no sampling yet: malloc is prepared, and the socket is open
 *   deploy=NAME       stands in each profile
 *
 * In one text the last of two equal settings wins, and `off` wins over all but
 * a later `on`.  Sizes and counts are decimal digits; a comma ends a value.
 *
 * Texts are read one over the other: RUBY_HEAP_SAMPLE, each --heap-sample of
 * RUBYOPT, each --heap-sample of the command line, and that of a script's #!
 * line.  A later text wins setting by setting, and switches sampling on unless
 * it says `off`.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum hs_malloc_mode {
    HS_MALLOC_SAY_ON,
    HS_MALLOC_SAY_STANDBY,
    HS_MALLOC_SAY_OFF
};

struct hs_options {
    bool on;
    uint64_t interval;          /* bytes; of auto: with which it begins */
    bool interval_auto;
    char output[4096];
    bool output_none;
    bool output_given;
    uint32_t every;             /* seconds, 0: never */
    uint32_t keep;              /* 0: all */
    uint32_t diagnose_ppm;      /* of the run time, in millionths; 0: off */
    uint32_t at_rss_percent;    /* 0: none */
    uint64_t at_rss_bytes;      /* 0: none */
    uint64_t max_samples;       /* 0: none */
    uint32_t max_depth;
    bool seeded;
    uint64_t seed;
    uint32_t only_n;            /* 1: every process */
    enum hs_malloc_mode malloc_mode;
    bool malloc_auto;
    uint64_t malloc_interval;   /* bytes, as it was asked for */
    bool quiet;
    bool no_socket;             /* nobody may ask this process */
    bool standby;               /* not sampled yet; of no account while `on` */
    char deploy[64];            /* "": none */
    bool usdt;                  /* a tracer that attaches to a probe makes sampling start */
};

/* Those of this process; read by any thread, written under the VM lock while no
 * other thread of ours runs (life/life.c). */
extern struct hs_options rb_hs_options;

void rb_hs_options_default(struct hs_options *options);

/* Read `text` (comma separated) over what `options` already says. On an error
 * returns false, leaves `options` as it was and writes one line without a
 * newline, which names the setting and its value and says what is allowed.
 * NULL (a variable that is not set) reads nothing and is no error. */
bool rb_hs_options_parse(struct hs_options *options, const char *text, char *error, size_t error_size);

/* Reads a share of the run time, such as 1%, as diagnose= takes it. [any] */
bool rb_hs_share_parse(const char *text, size_t len, uint32_t *ppm);

/* The output's path with its patterns filled in.  False if there is none
 * (output=none) or `size` is too small.  Allocates nothing and takes no lock. */
bool rb_hs_options_expand_output(const struct hs_options *options, uint64_t pid, int64_t unix_time,
                                 char *path, size_t size);

#endif

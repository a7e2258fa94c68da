/*
 * Settings: what is accepted, what it means, and what is said of the rest.
 */
#include "tap.h"
#include "heap_sampler/settings/options.h"

#include <stdio.h>
#include <string.h>

static bool
parse(struct hs_options *options, const char *text, char error[512])
{
    rb_hs_options_default(options);
    error[0] = '\0';
    return rb_hs_options_parse(options, text, error, 512);
}

/* Everything about the options that a text may change, in one line. */
static void
describe(const struct hs_options *o, char *text, size_t size)
{
    static const char *const malloc_modes[] = {"", " malloc=standby", " malloc=off"};
    char interval[32] = "auto";
    if (!o->interval_auto || o->interval != 524288) snprintf(interval, sizeof(interval), "%llu%s", (unsigned long long)o->interval, o->interval_auto ? " auto" : "");
    snprintf(text, size, "%s i=%s o=%s%s e=%u k=%u r=%u%%/%llu s=%llu seed=%s%llu n=%u%s%s",
             o->files.on ? "on" : "off", interval, o->files.output_none ? "none" : o->files.output,
             o->files.output_given ? "!" : "", o->files.every, o->files.keep, o->files.at_rss_percent,
             (unsigned long long)o->files.at_rss_bytes, (unsigned long long)o->limits.max_samples,
             o->limits.seeded ? "!" : "", (unsigned long long)o->limits.seed, o->files.only_n, malloc_modes[o->malloc_mode],
             o->files.quiet ? " quiet" : "");
    size_t len = strlen(text);
    if (!o->malloc_auto || o->malloc_interval != 524288) {
        len += (size_t)snprintf(text + len, size - len, " malloc=%llu%s", (unsigned long long)o->malloc_interval, o->malloc_auto ? " auto" : "");
    }
    if (o->files.diagnose_ppm) len += (size_t)snprintf(text + len, size - len, " diagnose=%u", o->files.diagnose_ppm);
    if (*o->files.deploy) len += (size_t)snprintf(text + len, size - len, " deploy=%s", o->files.deploy);
    if (o->usdt) len += (size_t)snprintf(text + len, size - len, " usdt");
    if (o->standby && !o->files.on) snprintf(text + len, size - len, " standby");
}

#define REST "e=0 k=0 r=0%/0 s=200000 seed=0 n=1"
#define OUT "o=heap-%p-%t.pb.gz "

static const struct {
    const char *text, *expected;
} good[] = {
    {"on", "on i=auto " OUT REST},
    {"1", "on i=auto " OUT REST},
    {"off", "off i=auto " OUT REST},
    {"0", "off i=auto " OUT REST},
    {"", "off i=auto " OUT REST},
    {"true", "on i=auto " OUT REST},
    {"yes", "on i=auto " OUT REST},
    {"false", "off i=auto " OUT REST},
    {"no,every=1", "off i=auto " OUT "e=1 k=0 r=0%/0 s=200000 seed=0 n=1"},
    {"quiet", "on i=auto " OUT REST " quiet"},
    {"standby", "off i=auto " OUT REST " standby"},
    {"standby,interval=1k", "off i=1024 " OUT REST " standby"},
    {"standby,off", "off i=auto " OUT REST},
    {"standby,on", "on i=auto " OUT REST},
    {"deploy=v1.4.2", "on i=auto " OUT REST " deploy=v1.4.2"},
    {"off,deploy=a,deploy=2026-11-23T10:00â", "off i=auto " OUT REST " deploy=2026-11-23T10:00â"},
    {"off,usdt=on", "off i=auto " OUT REST " usdt"},
    {"usdt=on,usdt=off", "on i=auto " OUT REST},
    {"off,quiet=on", "off i=auto " OUT REST " quiet"},
    {"quiet,quiet=off", "on i=auto " OUT REST},
    {"malloc=on", "on i=auto " OUT REST},
    {"malloc=off", "on i=auto " OUT REST " malloc=off"},
    {"malloc=standby", "on i=auto " OUT REST " malloc=standby"},
    {"malloc=64k", "on i=auto " OUT REST " malloc=65536"},
    {"malloc=512k", "on i=auto " OUT REST " malloc=524288"},
    {"malloc=64k,malloc=on", "on i=auto " OUT REST " malloc=65536"},
    {"malloc=300000", "on i=auto " OUT REST " malloc=300000"},
    {"malloc=off,malloc=3", "on i=auto " OUT REST " malloc=3"},
    {"interval=1", "on i=1 " OUT REST},
    {"interval=512", "on i=512 " OUT REST},
    {"interval=512k", "on i=524288 " OUT REST},
    {"interval=64k", "on i=65536 " OUT REST},
    {"interval=64K", "on i=65536 " OUT REST},
    {"interval=3m", "on i=3145728 " OUT REST},
    {"interval=2g", "on i=2147483648 " OUT REST},
    {"interval=1t", "on i=1099511627776 " OUT REST},
    {"interval=1024g", "on i=1099511627776 " OUT REST},
    {"interval=007", "on i=7 " OUT REST},
    {"interval=auto", "on i=auto " OUT REST},
    {"interval=auto,interval=2k", "on i=2048 " OUT REST},
    {"interval=2k,interval=auto", "on i=auto " OUT REST},
    {"malloc=64k,malloc=auto", "on i=auto " OUT REST},
    {"malloc=auto,malloc=off", "on i=auto " OUT REST " malloc=off"},
    {"interval=1k,interval=2k", "on i=2048 " OUT REST},
    {"off,interval=1k", "off i=1024 " OUT REST},
    {"interval=1k,off", "off i=1024 " OUT REST},
    {"off,on", "on i=auto " OUT REST},
    {"on,off", "off i=auto " OUT REST},
    {"output=none", "on i=auto o=none! " REST},
    {"output=none,output=a.pb", "on i=auto o=a.pb! " REST},
    {"output=/tmp/%%-%p/x%t.pb.gz", "on i=auto o=/tmp/%%-%p/x%t.pb.gz! " REST},
    {"output=a=b.pb.gz", "on i=auto o=a=b.pb.gz! " REST},
    {"output=x.pb", "on i=auto o=x.pb! " REST},
    {"output=heaps/", "on i=auto o=heaps/heap-%p-%t.pb.gz! " REST},
    {"output=/tmp/%p.pb/", "on i=auto o=/tmp/%p.pb/heap-%p-%t.pb.gz! " REST},
    {"every=1", "on i=auto " OUT "e=1 k=0 r=0%/0 s=200000 seed=0 n=1"},
    {"every=31536000", "on i=auto " OUT "e=31536000 k=0 r=0%/0 s=200000 seed=0 n=1"},
    {"keep=1000000", "on i=auto " OUT "e=0 k=1000000 r=0%/0 s=200000 seed=0 n=1"},
    {"diagnose=1%", "on i=auto " OUT REST " diagnose=10000"},
    {"diagnose=off", "on i=auto " OUT REST},
    {"diagnose=1%,diagnose=off", "on i=auto " OUT REST},
    {"diagnose=off,diagnose=50%", "on i=auto " OUT REST " diagnose=500000"},
    {"diagnose=0.1%", "on i=auto " OUT REST " diagnose=1000"},
    {"diagnose=2.50%", "on i=auto " OUT REST " diagnose=25000"},
    {"diagnose=0.001%", "on i=auto " OUT REST " diagnose=10"},
    {"at-rss=1%", "on i=auto " OUT "e=0 k=0 r=1%/0 s=200000 seed=0 n=1"},
    {"at-rss=100%", "on i=auto " OUT "e=0 k=0 r=100%/0 s=200000 seed=0 n=1"},
    {"at-rss=900m", "on i=auto " OUT "e=0 k=0 r=0%/943718400 s=200000 seed=0 n=1"},
    {"at-rss=900m,at-rss=80%", "on i=auto " OUT "e=0 k=0 r=80%/0 s=200000 seed=0 n=1"},
    {"at-rss=80%,at-rss=1m", "on i=auto " OUT "e=0 k=0 r=0%/1048576 s=200000 seed=0 n=1"},
    {"at-rss=1048576", "on i=auto " OUT "e=0 k=0 r=0%/1048576 s=200000 seed=0 n=1"},
    {"max-samples=none", "on i=auto " OUT "e=0 k=0 r=0%/0 s=0 seed=0 n=1"},
    {"max-samples=1", "on i=auto " OUT "e=0 k=0 r=0%/0 s=1 seed=0 n=1"},
    {"seed=0", "on i=auto " OUT "e=0 k=0 r=0%/0 s=200000 seed=!0 n=1"},
    {"seed=18446744073709551615",
     "on i=auto " OUT "e=0 k=0 r=0%/0 s=200000 seed=!18446744073709551615 n=1"},
    {"only=1/1", "on i=auto " OUT REST},
    {"only=1/1000000", "on i=auto " OUT "e=0 k=0 r=0%/0 s=200000 seed=0 n=1000000"},
};

/* Each error must hold both texts. */
static const struct {
    const char *text, *names, *says;
} bad[] = {
    {"interval=banana", "interval=banana: ", "1 to 1t"},
    {"interval=", "interval=: ", "1 to 1t"},
    {"interval", "interval: ", "needs a value"},
    {"interval=0", "interval=0: ", "1 to 1t"},
    {"interval=0k", "interval=0k: ", "1 to 1t"},
    {"interval=k", "interval=k: ", "1 to 1t"},
    {"interval=-1", "interval=-1: ", "1 to 1t"},
    {"interval=+1", "interval=+1: ", "1 to 1t"},
    {"interval= 1", "interval= 1: ", "1 to 1t"},
    {"interval=1 ", "interval=1 : ", "1 to 1t"},
    {"interval=1.5k", "interval=1.5k: ", "1 to 1t"},
    {"interval=0x10", "interval=0x10: ", "1 to 1t"},
    {"interval=1e3", "interval=1e3: ", "1 to 1t"},
    {"interval=512kb", "interval=512kb: ", "suffixes k, m, g, t"},
    {"interval=1kk", "interval=1kk: ", "suffixes k, m, g, t"},
    {"interval=2t", "interval=2t: ", "1 to 1t"},
    {"interval=1025g", "interval=1025g: ", "1 to 1t"},
    {"interval=1099511627777", "interval=1099511627777: ", "1 to 1t"},
    {"interval=18446744073709551616", "interval=18446744073709551616: ", "1 to 1t"},
    {"interval=18014398509481985k", "interval=18014398509481985k: ", "1 to 1t"},
    {"interval=512k;every=1", "interval=512k;every=1: ", "1 to 1t"},
    {"interval=\xd9\xa1", "interval=\xd9\xa1: ", "1 to 1t"},
    {"interval=1\n", "interval=1?: ", "1 to 1t"},
    {"every=0", "every=0: ", "seconds from 1 to 31536000"},
    {"why=1%", "unknown setting \"why\"", "diagnose"},
    {"gc=1%", "unknown setting \"gc\"", "diagnose"},
    {"every=-5", "every=-5: ", "seconds"},
    {"every=60s", "every=60s: ", "seconds"},
    {"every=31536001", "every=31536001: ", "31536000"},
    {"every=4294967297", "every=4294967297: ", "31536000"},
    {"keep=0", "keep=0: ", "1 to 1000000"},
    {"keep=1000001", "keep=1000001: ", "1 to 1000000"},
    {"diagnose=0%", "diagnose=0%: ", "0.001% to 50%"},
    {"diagnose=50.001%", "diagnose=50.001%: ", "or off"},
    {"diagnose=1", "diagnose=1: ", "such as 1%"},
    {"diagnose=", "diagnose=: ", "such as 1%"},
    {"diagnose=%", "diagnose=%: ", "such as 1%"},
    {"diagnose=.5%", "diagnose=.5%: ", "such as 1%"},
    {"diagnose=5.%", "diagnose=5.%: ", "such as 1%"},
    {"diagnose=0.0001%", "diagnose=0.0001%: ", "such as 1%"},
    {"diagnose=1e1%", "diagnose=1e1%: ", "such as 1%"},
    {"diagnose=on", "diagnose=on: ", "such as 1%"},
    {"diagnose=99999999999999999999%", "diagnose=99999999999999999999%: ", "such as 1%"},
    {"at-rss=0%", "at-rss=0%: ", "1% to 100%"},
    {"at-rss=101%", "at-rss=101%: ", "1% to 100%"},
    {"at-rss=%", "at-rss=%: ", "1% to 100%"},
    {"at-rss=", "at-rss=: ", "or a size"},
    {"at-rss=0", "at-rss=0: ", "or a size"},
    {"at-rss=0.8", "at-rss=0.8: ", "or a size"},
    {"at-rss=80%%", "at-rss=80%%: ", "1% to 100%"},
    {"at-rss=85", "at-rss=85: ", "write 85% or 85m"},
    {"at-rss=900", "at-rss=900: ", "is a size in bytes; write 900m"},
    {"at-rss=1048575", "at-rss=1048575: ", "write 1048575m"},
    {"at-rss=1023k", "at-rss=1023k: ", "1m to 1t"},
    {"max-samples=0", "max-samples=0: ", "or none"},
    {"max-samples=", "max-samples=: ", "or none"},
    {"max-samples=unlimited", "max-samples=unlimited: ", "or none"},
    {"max-samples=1000000001", "max-samples=1000000001: ", "1000000000"},
    {"seed=", "seed=: ", "18446744073709551615"},
    {"seed=18446744073709551616", "seed=18446744073709551616: ", "18446744073709551615"},
    {"seed=random", "seed=random: ", "18446744073709551615"},
    {"only=4", "only=4: ", "1/N"},
    {"only=1/", "only=1/: ", "1/N"},
    {"only=1/0", "only=1/0: ", "1/N"},
    {"only=2/3", "only=2/3: ", "1/N"},
    {"only=1/1000001", "only=1/1000001: ", "1000000"},
    {"output=", "output=: ", "must be a path, or none"},
    {"output", "output: ", "needs a value"},
    {"output=heap", "output=heap: ", ".pb.gz or .pb, or in / for a folder, or be none"},
    {"output=heap.gz", "output=heap.gz: ", ".pb.gz or .pb, or in / for a folder, or be none"},
    {"output=heap.json", "output=heap.json: ", ".pb.gz or .pb, or in / for a folder, or be none"},
    {"output=heap.html", "output=heap.html: ", ".pb.gz or .pb, or in / for a folder, or be none"},
    {"output=/dev/stdout", "output=/dev/stdout: ", ".pb.gz or .pb, or in / for a folder, or be none"},
    {"output=%d.pb", "output=%d.pb: ", "%p (process id), %t (time) and %%"},
    {"output=x%.pb", "output=x%.pb: ", "%p (process id)"},
    {"output=x.pb%", "output=x.pb%: ", "%p (process id)"},
    {"output=None", "output=None: ", ".pb.gz"},
    {"banana", "unknown setting \"banana\"", "interval, output, every, keep, diagnose, at-rss"},
    {"banana=1", "unknown setting \"banana\"", "max-samples, seed, only"},
    {"Interval=1k", "unknown setting \"Interval\"", "interval"},
    {"interval =1k", "unknown setting \"interval \"", "interval"},
    {"=1k", "unknown setting \"\"", "interval"},
    {"2", "unknown setting \"2\"", "on, off"},
    {"\n", "unknown setting \"?\"", "on, off"},
    {"on=1", "on=1: ", "no value"},
    {"standby=1", "standby=1: ", "no value"},
    {"usdt=yes", "usdt=yes: ", "on or off"},
    {"deploy=", "deploy=: ", "1 to 63 bytes"},
    {"deploy=a b", "deploy=a b: ", "without blanks"},
    {"deploy=a\tb", "deploy=a?b: ", "without blanks"},
    {"deploy=0123456789012345678901234567890123456789012345678901234567890123", "deploy=012345678", "1 to 63 bytes"},
    {"True", "unknown setting \"True\"", "on, off"},
    {"quiet=1", "quiet=1: ", "on or off"},
    {"quiet=", "quiet=: ", "on or off"},
    {"malloc=0", "malloc=0: ", "standby"},
    {"malloc=", "malloc=: ", "1 to 1t"},
    {"malloc=2t", "malloc=2t: ", "1 to 1t"},
    {"interval=1k,", "empty setting", "interval"},
    {",interval=1k", "empty setting", "interval"},
    {"interval=1k,,every=1", "empty setting", "interval"},
    {",", "empty setting", "interval"},
    {"interval=1k,seed=3,every=never", "every=never: ", "seconds"},
};

static void
test_tables(void)
{
    struct hs_options options, before;
    char error[512], got[8192];

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        bool parsed = parse(&options, good[i].text, error);
        describe(&options, got, sizeof(got));
        bool passed = parsed && strcmp(got, good[i].expected) == 0;
        if (!ok(passed, "accepts %s", *good[i].text ? good[i].text : "an empty text")) {
            note("%s %s", got, error);
        }
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char printed[64];
        snprintf(printed, sizeof(printed), "%s", bad[i].text);
        for (char *c = printed; *c; c++)
            if (*c == '\n') *c = '?';

        rb_hs_options_default(&before);
        bool parsed = parse(&options, bad[i].text, error);
        bool unchanged = memcmp(&before, &options, sizeof(options)) == 0;
        bool told = strstr(error, bad[i].names) == error && strstr(error, bad[i].says);
        bool line = !strchr(error, '\n');
        if (!ok(!parsed && unchanged && told && line, "rejects %s", printed)) note("%s", error);
    }
}

static void
test_output_length(void)
{
    struct hs_options options;
    char error[512], text[8192] = "output=";

    memset(text + 7, 'd', 5000);
    strcpy(text + 5007, ".pb");
    ok(!parse(&options, text, error) && strstr(error, "too long") && strstr(error, "ddd..."),
       "rejects a path of 5000 bytes, repeating its beginning only");

    for (size_t i = 7 + 100; i < 5007; i += 101) text[i] = '/';
    ok(!parse(&options, text, error) && strstr(error, "too long"), "rejects a deep path of 5000 bytes");
    text[4000] = '\0';
    strcat(text, ".pb");
    ok(parse(&options, text, error), "accepts a deep path of 4000 bytes");

    strcpy(text, "output=");
    for (int i = 0; i < 250; i++) strcat(text, "%p/");
    strcat(text, "x.pb");
    ok(!parse(&options, text, error) && strstr(error, "too long"),
       "rejects a pattern that may grow over the limit");

    strcpy(text, "output=");
    for (size_t len = 4080; len < 4100; len++) {
        memset(text + 7, 'd', len);
        for (size_t i = 7 + 100; i < 7 + len; i += 101) text[i] = '/';
        strcpy(text + 7 + len - 1, "/");
        if (parse(&options, text, error) || !strstr(error, "too long")) ok(false, "a folder of %zu bytes is too long", len);
    }

    strcpy(text, "output=");
    memset(text + 7, 'x', 240);
    strcpy(text + 247, ".pb.gz");
    ok(!parse(&options, text, error) && strstr(error, "too long"),
       "rejects a file name that leaves no room for .PID, a mark and -at-rss");
    strcpy(text + 7 + 204, ".pb.gz");
    ok(parse(&options, text, error), "accepts one that leaves room for them");
}

static void
test_parse(void)
{
    struct hs_options options;
    char error[512] = "", tiny[8];

    rb_hs_options_default(&options);
    ok(rb_hs_options_parse(&options, "interval=64k,seed=3", error, sizeof(error)) &&
           rb_hs_options_parse(&options, "every=5", error, sizeof(error)) &&
           options.interval == 65536 && options.limits.seed == 3 && options.files.every == 5,
       "a second text adds to the first");
    ok(rb_hs_options_parse(&options, "on", error, sizeof(error)) && options.interval == 65536,
       "`on` keeps what was set");
    ok(rb_hs_options_parse(&options, "off", error, sizeof(error)) && !options.files.on, "`off` ends it");
    ok(rb_hs_options_parse(&options, NULL, error, sizeof(error)) && !options.files.on, "NULL changes nothing");
    ok(!rb_hs_options_parse(&options, "interval=x", NULL, 0), "an error needs no room");
    ok(!rb_hs_options_parse(&options, "interval=x", tiny, sizeof(tiny)) && strlen(tiny) == 7,
       "an error is cut to the room there is");
}

static const struct {
    const char *output;
    uint64_t pid;
    int64_t time;
    const char *path;
} expansions[] = {
    {"heap-%p-%t.pb.gz", 42, 0, "heap-42-19700101T000000.pb.gz"},
    {"%t.pb", 1, 951827696, "20000229T123456.pb"},
    {"%t.pb", 1, 1709251199, "20240229T235959.pb"},
    {"%t.pb", 1, 1709251200, "20240301T000000.pb"},
    {"%t.pb", 1, 4107542400, "21000301T000000.pb"},
    {"%t.pb", 1, 1767225599, "20251231T235959.pb"},
    {"%t.pb", 1, -5, "19700101T000000.pb"},
    {"%t.pb", 1, INT64_MAX, "99991231T235959.pb"},
    {"100%%/%p%p.pb", UINT64_MAX, 0, "100%/1844674407370955161518446744073709551615.pb"},
};

static void
test_expand(void)
{
    struct hs_options options;
    char error[512], text[512], path[128];

    for (size_t i = 0; i < sizeof(expansions) / sizeof(expansions[0]); i++) {
        snprintf(text, sizeof(text), "output=%s", expansions[i].output);
        parse(&options, text, error);
        bool expanded = rb_hs_options_expand_output(&options.files, expansions[i].pid, expansions[i].time,
                                                    path, sizeof(path));
        ok(expanded && strcmp(path, expansions[i].path) == 0, "expands %s to %s",
           expansions[i].output, expansions[i].path);
    }
    parse(&options, "output=%p.pb", error);
    ok(!rb_hs_options_expand_output(&options.files, 12345, 0, path, 8), "a path that lacks room for its NUL fails");
    ok(rb_hs_options_expand_output(&options.files, 12345, 0, path, 9), "a path that just fits does not");
    ok(!rb_hs_options_expand_output(&options.files, 12345, 0, path, 0), "no room at all fails");
    parse(&options, "output=none", error);
    ok(!rb_hs_options_expand_output(&options.files, 1, 0, path, sizeof(path)), "output=none has no path");
}

void
test_options(void)
{
    test_tables();
    test_output_length();
    test_parse();
    test_expand();
}

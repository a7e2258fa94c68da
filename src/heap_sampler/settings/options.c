/*
 * The settings of --heap-sample and RUBY_HEAP_SAMPLE.
 *
 * A text is read into a copy, item by item, and the copy replaces the options
 * when all of it was good.  Errors are made for the person who typed the
 * setting: one line that names it, repeats the value and says what is allowed.
 * A comma ends a setting, also in a path.
 */
#include "heap_sampler/settings/options.h"
#include "heap_sampler/estimate/pace.h"

struct hs_options rb_hs_options;

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define KIB UINT64_C(1024)
#define DEFAULT_OUTPUT "heap-%p-%t.pb.gz"

enum {
    DEFAULT_MAX_DEPTH = 512,
    DEFAULT_MAX_SAMPLES = 200000,
    EVERY_MAX = 86400 * 365,
    KEEP_MAX = 1000000,
    SHARE_PPM_MIN = 10,
    SHARE_PPM_MAX = 500000,
    SAMPLES_MAX = 1000000000,
    DEPTH_MAX = 4096,
    ONLY_MAX = 1000000,
    SHOWN_MAX = 60,             /* bytes of a bad value that an error repeats */
    FILE_NAME_MAX = 255,        /* of one path component, on every file system in use */
    PID_DIGITS = 20,            /* of an uint64_t */
    NAME_SUFFIXES = 1 + PID_DIGITS + 17 + 7,    /* ".PID", which a fixed path gets in children, a mark, and "-at-rss" */
    TIME_LEN = 15               /* YYYYmmddTHHMMSS */
};

static const uint64_t size_max = KIB * KIB * KIB * KIB;         /* 1t */

/* A value: not NUL-terminated. */
struct span {
    const char *ptr;
    size_t len;
};

struct reader {
    struct hs_options *options; /* the copy */
    struct span name, value;
    char *error;
    size_t error_size;
};

static const char setting_names[] =
    "interval, output, every, keep, diagnose, at-rss, max-samples, max-depth, seed, only, malloc, quiet, socket, deploy, usdt, on, off, standby";

void
rb_hs_options_default(struct hs_options *options)
{
    memset(options, 0, sizeof(*options));
    options->interval = HS_PACE_LONGEST;
    options->interval_auto = true;
    strcpy(options->output, DEFAULT_OUTPUT);
    options->max_samples = DEFAULT_MAX_SAMPLES;
    options->max_depth = DEFAULT_MAX_DEPTH;
    options->only_n = 1;
    options->malloc_interval = HS_PACE_LONGEST;
    options->malloc_auto = true;
}

static bool
span_is(struct span span, const char *text)
{
    return span.len == strlen(text) && memcmp(span.ptr, text, span.len) == 0;
}

static bool
ends_with(struct span span, const char *end)
{
    size_t len = strlen(end);
    return span.len >= len && memcmp(span.ptr + span.len - len, end, len) == 0;
}

/* For an error: cut, and what would break its line or the terminal as `?`. */
static const char *
shown(struct span span, char buffer[SHOWN_MAX + 4])
{
    size_t len = span.len < SHOWN_MAX ? span.len : SHOWN_MAX;

    for (size_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char)span.ptr[i];
        buffer[i] = byte < 0x20 || byte == 0x7f ? '?' : (char)byte;
    }
    strcpy(buffer + len, span.len > SHOWN_MAX ? "..." : "");
    return buffer;
}

static bool fail(const struct reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool
fail(const struct reader *reader, const char *format, ...)
{
    va_list args;

    if (!reader->error || !reader->error_size) return false;
    va_start(args, format);
    vsnprintf(reader->error, reader->error_size, format, args);
    va_end(args);
    return false;
}

/* `name=value: why` */
static bool
fail_value(const struct reader *reader, const char *why)
{
    char name[SHOWN_MAX + 4], value[SHOWN_MAX + 4];

    return fail(reader, "%s=%s: %s", shown(reader->name, name), shown(reader->value, value), why);
}

/* Decimal digits only: no sign, no blank, nothing after them. */
static bool
read_digits(struct span span, uint64_t *value)
{
    *value = 0;
    if (!span.len) return false;
    for (size_t i = 0; i < span.len; i++) {
        if (span.ptr[i] < '0' || span.ptr[i] > '9') return false;
        uint64_t digit = (uint64_t)(span.ptr[i] - '0');
        if (*value > (UINT64_MAX - digit) / 10) return false;
        *value = *value * 10 + digit;
    }
    return true;
}

/* Digits and perhaps one of k m g t; 1 .. 1t. */
static bool
read_size(struct span span, uint64_t *value)
{
    uint64_t unit = 1;

    if (!span.len) return false;
    switch (span.ptr[span.len - 1]) {
    case 't':
    case 'T': unit *= KIB;  /* fall through */
    case 'g':
    case 'G': unit *= KIB;  /* fall through */
    case 'm':
    case 'M': unit *= KIB;  /* fall through */
    case 'k':
    case 'K':
        unit *= KIB;
        span.len--;
    }
    if (!read_digits(span, value)) return false;
    if (*value < 1 || *value > size_max / unit) return false;
    *value *= unit;
    return true;
}

static bool
read_count(struct span span, uint64_t max, uint32_t *count)
{
    uint64_t value;

    if (!read_digits(span, &value) || value < 1 || value > max) return false;
    *count = (uint32_t)value;
    return true;
}

static bool
read_interval(struct reader *reader)
{
    struct hs_options *options = reader->options;
    options->interval_auto = span_is(reader->value, "auto");
    if (options->interval_auto) {
        options->interval = HS_PACE_LONGEST;
        return true;
    }
    if (read_size(reader->value, &options->interval)) return true;
    return fail_value(reader, "must be a size in bytes from 1 to 1t, such as 64k (suffixes k, m, g, t), or auto");
}

/* The most bytes that a pattern can become; 0: it has an unknown %. */
static size_t
expanded_max(struct span pattern)
{
    size_t len = 0;

    for (size_t i = 0; i < pattern.len; i++) {
        if (pattern.ptr[i] != '%') {
            len++;
            continue;
        }
        if (++i == pattern.len) return 0;
        switch (pattern.ptr[i]) {
        case 'p': len += PID_DIGITS; break;
        case 't': len += TIME_LEN; break;
        case '%': len += 1; break;
        default: return 0;
        }
    }
    return len;
}

/* In a folder a file has the default's name. `room` holds the path then. */
static struct span
output_path(struct span value, char *room)
{
    if (value.ptr[value.len - 1] != '/') return value;
    memcpy(room, value.ptr, value.len);
    memcpy(room + value.len, DEFAULT_OUTPUT, sizeof(DEFAULT_OUTPUT));
    return (struct span){room, value.len + sizeof(DEFAULT_OUTPUT) - 1};
}

static bool
read_output(struct reader *reader)
{
    struct hs_options *options = reader->options;
    char room[sizeof(options->output) + sizeof(DEFAULT_OUTPUT)];

    if (span_is(reader->value, "none")) {
        options->output_none = options->output_given = true;
        return true;
    }
    if (!reader->value.len) return fail_value(reader, "must be a path, or none");
    if (reader->value.len >= sizeof(options->output)) return fail_value(reader, "the path is too long; give a shorter one");
    struct span value = output_path(reader->value, room), file = value;
    size_t len = expanded_max(value);
    if (!len) return fail_value(reader, "can only contain %p (process id), %t (time) and %% (a percent sign)");
    if (!ends_with(value, ".pb.gz") && !ends_with(value, ".pb")) {
        return fail_value(reader, "must end in .pb.gz or .pb, or in / for a folder, or be none");
    }
    for (size_t i = 0; i < value.len; i++) {
        if (value.ptr[i] == '/') file = (struct span){value.ptr + i + 1, value.len - i - 1};
    }
    if (len + NAME_SUFFIXES >= sizeof(options->output) || expanded_max(file) + NAME_SUFFIXES > FILE_NAME_MAX) {
        return fail_value(reader, "the path is too long; give a shorter one");
    }
    memcpy(options->output, value.ptr, value.len);
    options->output[value.len] = '\0';
    options->output_none = false;
    options->output_given = true;
    return true;
}

static bool
read_every(struct reader *reader)
{
    if (read_count(reader->value, EVERY_MAX, &reader->options->every)) return true;
    return fail_value(reader, "must be a number of seconds from 1 to 31536000");
}

static bool
read_keep(struct reader *reader)
{
    if (read_count(reader->value, KEEP_MAX, &reader->options->keep)) return true;
    return fail_value(reader, "must be a number of profiles from 1 to 1000000");
}

/* A percentage with up to three decimals. */
bool
rb_hs_share_parse(const char *text, size_t len, uint32_t *ppm)
{
    enum { DECIMALS = 3,
           MILLI_PERCENT_PPM = 10 };
    if (!len || text[--len] != '%') return false;
    const char *dot = len ? memchr(text, '.', len) : NULL;
    struct span whole = {text, dot ? (size_t)(dot - text) : len}, part = {"0", 1};
    if (dot) part = (struct span){dot + 1, len - whole.len - 1};
    uint64_t units, decimals;
    if (part.len > DECIMALS || !read_digits(whole, &units) || !read_digits(part, &decimals) || units > 100) return false;
    for (size_t digits = part.len; digits < DECIMALS; digits++) decimals *= 10;
    *ppm = (uint32_t)(units * 1000 + decimals) * MILLI_PERCENT_PPM;
    return *ppm >= SHARE_PPM_MIN && *ppm <= SHARE_PPM_MAX;
}

static bool
read_diagnose(struct reader *reader)
{
    struct span value = reader->value;
    uint32_t ppm = 0;
    if (!span_is(value, "off") && !rb_hs_share_parse(value.ptr, value.len, &ppm)) {
        return fail_value(reader, "must be a share of the run time from 0.001% to 50%, such as 1%, or off");
    }
    reader->options->diagnose_ppm = ppm;
    return true;
}

/* No Ruby is as small as a MiB: a number without its unit was forgotten to be
 * given one, and would write a profile at once. */
static bool
read_at_rss(struct reader *reader)
{
    struct span value = reader->value;
    uint32_t percent = 0;
    uint64_t bytes = 0;
    char why[128];

    if (value.len && value.ptr[value.len - 1] == '%') {
        value.len--;
        if (!read_count(value, 100, &percent)) goto bad;
    }
    else if (!read_size(value, &bytes)) {
        goto bad;
    }
    else if (bytes < KIB * KIB) {
        uint64_t number;
        if (!read_digits(value, &number)) goto bad;
        int len = snprintf(why, sizeof(why), "is a size in bytes; write ");
        if (number <= 100) len += snprintf(why + len, sizeof(why) - (size_t)len, "%" PRIu64 "%% or ", number);
        snprintf(why + len, sizeof(why) - (size_t)len, "%" PRIu64 "m", number);
        return fail_value(reader, why);
    }
    reader->options->at_rss_percent = percent;
    reader->options->at_rss_bytes = bytes;
    return true;

bad:
    return fail_value(reader, "must be a share of the memory limit from 1% to 100%,"
                              " or a size from 1m to 1t, such as 900m");
}

static bool
read_max_samples(struct reader *reader)
{
    uint32_t count = 0;

    if (span_is(reader->value, "none") || read_count(reader->value, SAMPLES_MAX, &count)) {
        reader->options->max_samples = count;
        return true;
    }
    return fail_value(reader, "must be a number of samples from 1 to 1000000000, or none");
}

static bool
read_max_depth(struct reader *reader)
{
    if (read_count(reader->value, DEPTH_MAX, &reader->options->max_depth)) return true;
    return fail_value(reader, "must be a number of frames from 1 to 4096");
}

static bool
read_seed(struct reader *reader)
{
    uint64_t seed;

    if (!read_digits(reader->value, &seed)) {
        return fail_value(reader, "must be an integer from 0 to 18446744073709551615");
    }
    reader->options->seed = seed;
    reader->options->seeded = true;
    return true;
}

static bool
read_only(struct reader *reader)
{
    struct span value = reader->value;

    if (value.len > 2 && memcmp(value.ptr, "1/", 2) == 0 &&
        read_count((struct span){value.ptr + 2, value.len - 2}, ONLY_MAX, &reader->options->only_n)) {
        return true;
    }
    return fail_value(reader, "must be 1/N with N from 1 to 1000000");
}

static bool
read_malloc(struct reader *reader)
{
    struct hs_options *options = reader->options;

    if (span_is(reader->value, "on")) {
        options->malloc_mode = HS_MALLOC_SAY_ON;
    }
    else if (span_is(reader->value, "off")) {
        options->malloc_mode = HS_MALLOC_SAY_OFF;
    }
    else if (span_is(reader->value, "standby")) {
        options->malloc_mode = HS_MALLOC_SAY_STANDBY;
    }
    else if (span_is(reader->value, "auto")) {
        options->malloc_mode = HS_MALLOC_SAY_ON;
        options->malloc_auto = true;
        options->malloc_interval = HS_PACE_LONGEST;
    }
    else if (read_size(reader->value, &options->malloc_interval)) {
        options->malloc_auto = false;
        options->malloc_mode = HS_MALLOC_SAY_ON;
    }
    else {
        return fail_value(reader, "must be on, off, standby, auto, or a size in bytes from 1 to 1t, such as 64k");
    }
    return true;
}

static bool
read_quiet(struct reader *reader)
{
    if (!span_is(reader->value, "on") && !span_is(reader->value, "off")) {
        return fail_value(reader, "must be on or off, or have no value");
    }
    reader->options->quiet = span_is(reader->value, "on");
    return true;
}

static bool
read_socket(struct reader *reader)
{
    if (!span_is(reader->value, "on") && !span_is(reader->value, "off")) return fail_value(reader, "must be on or off");
    reader->options->no_socket = span_is(reader->value, "off");
    return true;
}

/* It is shown to people, and stands in files. */
static bool
read_deploy(struct reader *reader)
{
    struct hs_options *options = reader->options;
    struct span value = reader->value;
    bool plain = value.len > 0 && value.len < sizeof(options->deploy);
    for (size_t i = 0; i < value.len; i++) plain = plain && (unsigned char)value.ptr[i] > 0x20 && value.ptr[i] != 0x7f;
    if (!plain) return fail_value(reader, "must be a name of 1 to 63 bytes without blanks, such as v1.4.2");
    memcpy(options->deploy, value.ptr, value.len);
    options->deploy[value.len] = '\0';
    return true;
}

static bool
read_usdt(struct reader *reader)
{
    if (!span_is(reader->value, "on") && !span_is(reader->value, "off")) return fail_value(reader, "must be on or off");
    reader->options->usdt = span_is(reader->value, "on");
    return true;
}

static const struct {
    const char *name;
    bool (*read)(struct reader *reader);
} settings[] = {
    {"interval", read_interval},
    {"output", read_output},
    {"every", read_every},
    {"keep", read_keep},
    {"diagnose", read_diagnose},
    {"at-rss", read_at_rss},
    {"max-samples", read_max_samples},
    {"max-depth", read_max_depth},
    {"seed", read_seed},
    {"only", read_only},
    {"malloc", read_malloc},
    {"quiet", read_quiet},
    {"socket", read_socket},
    {"deploy", read_deploy},
    {"usdt", read_usdt},
};

static bool
one_of(struct span span, const char *const words[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (span_is(span, words[i])) return true;
    }
    return false;
}

static bool
read_item(struct reader *reader, struct span item)
{
    static const char *const on_words[] = {"on", "1", "true", "yes"}, *const off_words[] = {"off", "0", "false", "no"};
    const char *equals = item.len ? memchr(item.ptr, '=', item.len) : NULL;
    bool on = one_of(item, on_words, 4);
    char name[SHOWN_MAX + 4];

    bool standby = span_is(item, "standby");
    if (on || standby || one_of(item, off_words, 4)) {
        reader->options->on = on;
        reader->options->standby = standby;
        return true;
    }
    if (span_is(item, "quiet")) {
        reader->options->quiet = true;
        return true;
    }
    reader->name = item;
    reader->value = (struct span){"", 0};
    if (equals) {
        reader->name.len = (size_t)(equals - item.ptr);
        reader->value = (struct span){equals + 1, item.len - reader->name.len - 1};
    }
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
        if (!span_is(reader->name, settings[i].name)) continue;
        if (equals) return settings[i].read(reader);
        return fail(reader, "%s: needs a value (%s=...)", settings[i].name, settings[i].name);
    }
    if (!item.len) return fail(reader, "empty setting; remove the extra comma (settings: %s)", setting_names);
    if (equals && (span_is(reader->name, "on") || span_is(reader->name, "off") || span_is(reader->name, "standby"))) {
        return fail_value(reader, "takes no value; remove the equals sign and what follows");
    }
    return fail(reader, "unknown setting \"%s\"; settings: %s", shown(reader->name, name), setting_names);
}

bool
rb_hs_options_parse(struct hs_options *options, const char *text, char *error, size_t error_size)
{
    struct hs_options copy = *options;
    struct reader reader = {.options = &copy, .error = error, .error_size = error_size};

    if (!text) return true;
    /* `off` wherever it stands is not undone by a setting beside it: putting
     * "off," in front of what a variable holds must switch off. */
    copy.on = *text != '\0';
    while (*text) {
        size_t len = strcspn(text, ",");
        if (!read_item(&reader, (struct span){text, len})) return false;
        text += len;
        if (*text != ',') break;
        /* nothing after the last comma is an empty setting too */
        if (!*++text) return read_item(&reader, (struct span){text, 0});
    }
    *options = copy;
    return true;
}

/* UTC without gmtime(3), which takes glibc's time zone lock: a child forked
 * while another thread held it would wait forever.  Days to a civil date with
 * years that begin in March, so that the leap day is a year's last. */
static void
format_time(int64_t unix_time, char text[TIME_LEN + 1])
{
    if (unix_time < 0) unix_time = 0;
    if (unix_time > INT64_C(253402300799)) unix_time = INT64_C(253402300799);   /* the end of 9999 */

    uint32_t second = (uint32_t)(unix_time % 86400);
    uint32_t day = (uint32_t)(unix_time / 86400) + 719468;      /* since 0000-03-01 */
    uint32_t era = day / 146097, day_of_era = day % 146097;     /* of 400 years */
    uint32_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    uint32_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    uint32_t march_month = (5 * day_of_year + 2) / 153;         /* 0: March */
    uint32_t month = march_month < 10 ? march_month + 3 : march_month - 9;
    uint32_t year = era * 400 + year_of_era + (month <= 2);

    /* the remainders change nothing; they let gcc see that it fits */
    snprintf(text, TIME_LEN + 1, "%04u%02u%02uT%02u%02u%02u", year % 10000, month % 100,
             (day_of_year - (153 * march_month + 2) / 5 + 1) % 100,
             second / 3600 % 100, second / 60 % 60, second % 60);
}

bool
rb_hs_options_expand_output(const struct hs_options *options, uint64_t pid, int64_t unix_time,
                            char *path, size_t size)
{
    size_t len = 0;

    if (options->output_none || !size) return false;
    for (const char *from = options->output; *from; from++) {
        char text[PID_DIGITS + 1] = {*from};

        if (*from == '%') {
            switch (*++from) {
            case 'p': snprintf(text, sizeof(text), "%" PRIu64, pid); break;
            case 't': format_time(unix_time, text); break;
            case '%': break;
            default: return false;
            }
        }
        size_t text_len = strlen(text);
        if (text_len >= size - len) return false;
        memcpy(path + len, text, text_len);
        len += text_len;
    }
    path[len] = '\0';
    return len > 0;
}

/*
 * The settings of --heap-sample and RUBY_HEAP_SAMPLE: see options.h, settings.inc.
 *
 * A text is read into a copy, item by item, and the copy replaces the options
 * when all of it was good.  Errors are made for the person who typed the
 * setting: one line that names it, repeats the value and says what is allowed.
 * A comma ends a setting, also in a path.
 */
#include "heap_sampler/base/options.h"
#include "heap_sampler/store/pace.h"

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
    SHARE_PPM_MIN = 10,
    SHARE_PPM_MAX = 500000,
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

struct reader;
struct setting {
    const char *name;
    enum hs_setting_of of;
    bool (*read)(struct reader *reader, void *field);
    size_t field;               /* its offset in struct hs_options */
    uint64_t most;
    const char *must;
};

struct reader {
    struct hs_options *options; /* the copy */
    const struct setting *setting;
    struct span name, value;
    const char *why;            /* it is refused, where that is not setting->must */
    char why_room[128];
    char *error;
    size_t error_size;
};

#define SETTING(name, of, read, field, most, must, value, help) name ", "
static const char setting_names[] =
#include "heap_sampler/base/settings.inc"
    "on, off, standby";
#undef SETTING

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

static void
copy_span(char *to, struct span span)
{
    memcpy(to, span.ptr, span.len);
    to[span.len] = '\0';
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
    static const char units[] = "kmgt";
    const char *unit = span.len ? memchr(units, span.ptr[span.len - 1] | 0x20, 4) : NULL;
    unsigned shift = unit ? (unsigned)(unit - units + 1) * 10 : 0;

    span.len -= unit != NULL;
    if (!read_digits(span, value) || *value < 1 || *value > size_max >> shift) return false;
    *value <<= shift;
    return true;
}

static bool
read_number(struct reader *reader, struct span span, uint64_t *value)
{
    return read_digits(span, value) && *value >= 1 && *value <= reader->setting->most;
}

/* -- the functions of settings.inc: false, and the field is not used, where the value is refused ------- */

static bool
read_count(struct reader *reader, void *field)
{
    uint64_t value;
    if (!read_number(reader, reader->value, &value)) return false;
    *(uint32_t *)field = (uint32_t)value;
    return true;
}

static bool
read_switch(struct reader *reader, void *field)
{
    *(bool *)field = span_is(reader->value, "on");
    return *(bool *)field || span_is(reader->value, "off");
}

static bool
read_interval(struct reader *reader, void *field)
{
    reader->options->interval_auto = span_is(reader->value, "auto");
    if (!reader->options->interval_auto) return read_size(reader->value, field);
    *(uint64_t *)field = HS_PACE_LONGEST;
    return true;
}

/* Fills in the pattern, as far as `size` bytes hold it. The length of all of it; 0: it has an unknown %. */
static size_t
expand(struct span pattern, const char *pid, const char *date, char *to, size_t size)
{
    size_t len = 0;

    for (size_t i = 0; i < pattern.len; i++) {
        struct span piece = {pattern.ptr + i, 1};
        if (*piece.ptr == '%') {
            switch (++i < pattern.len ? pattern.ptr[i] : '\0') {
            case 'p': piece = (struct span){pid, strlen(pid)}; break;
            case 't': piece = (struct span){date, strlen(date)}; break;
            case '%': break;
            default: return 0;
            }
        }
        if (len + piece.len <= size) memcpy(to + len, piece.ptr, piece.len);
        len += piece.len;
    }
    return len;
}

/* The most bytes that a pattern can become. */
static size_t
expanded_max(struct span pattern)
{
    return expand(pattern, "18446744073709551615", "YYYYmmddTHHMMSS", NULL, 0);
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
refuse(struct reader *reader, const char *why)
{
    reader->why = why;
    return false;
}

static bool
read_output(struct reader *reader, void *field)
{
    struct hs_options *options = reader->options;
    char room[sizeof(options->output) + sizeof(DEFAULT_OUTPUT)];

    options->output_given = true;
    options->output_none = span_is(reader->value, "none");
    if (options->output_none) return true;
    if (!reader->value.len) return false;
    if (reader->value.len >= sizeof(options->output)) return refuse(reader, "the path is too long; give a shorter one");
    struct span value = output_path(reader->value, room), file = value;
    size_t len = expanded_max(value);
    if (!len) return refuse(reader, "can only contain %p (process id), %t (time) and %% (a percent sign)");
    if (!ends_with(value, ".pb.gz") && !ends_with(value, ".pb")) {
        return refuse(reader, "must end in .pb.gz or .pb, or in / for a folder, or be none");
    }
    for (size_t i = 0; i < value.len; i++) {
        if (value.ptr[i] == '/') file = (struct span){value.ptr + i + 1, value.len - i - 1};
    }
    if (len + NAME_SUFFIXES >= sizeof(options->output) || expanded_max(file) + NAME_SUFFIXES > FILE_NAME_MAX) {
        return refuse(reader, "the path is too long; give a shorter one");
    }
    copy_span(field, value);
    return true;
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
read_diagnose(struct reader *reader, void *field)
{
    *(uint32_t *)field = 0;
    return span_is(reader->value, "off") || rb_hs_share_parse(reader->value.ptr, reader->value.len, field);
}

/* No Ruby is as small as a MiB: a number without its unit was forgotten to be
 * given one, and would write a profile at once. */
static bool
read_at_rss(struct reader *reader, void *field)
{
    const size_t size = sizeof(reader->why_room);
    struct span value = reader->value;
    uint64_t percent = 0, bytes = 0;

    if (value.len && value.ptr[value.len - 1] == '%') {
        value.len--;
        if (!read_digits(value, &percent) || percent < 1 || percent > 100) return false;
    }
    else if (!read_size(value, &bytes)) {
        return false;
    }
    else if (bytes < KIB * KIB) {
        if (!read_digits(value, &bytes)) return false;
        int len = snprintf(reader->why_room, size, "is a size in bytes; write ");
        if (bytes <= 100) len += snprintf(reader->why_room + len, size - (size_t)len, "%" PRIu64 "%% or ", bytes);
        snprintf(reader->why_room + len, size - (size_t)len, "%" PRIu64 "m", bytes);
        return refuse(reader, reader->why_room);
    }
    reader->options->at_rss_percent = (uint32_t)percent;
    *(uint64_t *)field = bytes;
    return true;
}

static bool
read_max_samples(struct reader *reader, void *field)
{
    *(uint64_t *)field = 0;
    return span_is(reader->value, "none") || read_number(reader, reader->value, field);
}

static bool
read_seed(struct reader *reader, void *field)
{
    reader->options->seeded = true;
    return read_digits(reader->value, field);
}

static bool
read_only(struct reader *reader, void *field)
{
    struct span value = reader->value;
    if (value.len <= 2 || memcmp(value.ptr, "1/", 2) != 0) return false;
    reader->value = (struct span){value.ptr + 2, value.len - 2};
    bool good = read_count(reader, field);
    reader->value = value;
    return good;
}

static bool
read_malloc(struct reader *reader, void *field)
{
    struct hs_options *options = reader->options;
    bool is_auto = span_is(reader->value, "auto");

    options->malloc_mode = HS_MALLOC_SAY_ON;
    if (span_is(reader->value, "on")) return true;
    if (span_is(reader->value, "off")) options->malloc_mode = HS_MALLOC_SAY_OFF;
    else if (span_is(reader->value, "standby")) options->malloc_mode = HS_MALLOC_SAY_STANDBY;
    if (options->malloc_mode != HS_MALLOC_SAY_ON) return true;
    options->malloc_auto = is_auto;
    if (!is_auto) return read_size(reader->value, field);
    *(uint64_t *)field = HS_PACE_LONGEST;
    return true;
}

static bool
read_socket(struct reader *reader, void *field)
{
    bool on;
    if (!read_switch(reader, &on)) return false;
    *(bool *)field = !on;
    return true;
}

/* It is shown to people, and stands in files. */
static bool
read_deploy(struct reader *reader, void *field)
{
    struct span value = reader->value;
    bool plain = value.len > 0 && value.len < sizeof(reader->options->deploy);
    for (size_t i = 0; i < value.len; i++) plain = plain && (unsigned char)value.ptr[i] > 0x20 && value.ptr[i] != 0x7f;
    if (plain) copy_span(field, value);
    return plain;
}

/* -- texts ---------------------------------------------------------------------------- */

#define SETTING(name, of, read, field, most, must, value, help) \
    {name, HS_OF_##of, read_##read, offsetof(struct hs_options, field), most, must},
static const struct setting settings[] = {
#include "heap_sampler/base/settings.inc"
};
#undef SETTING
enum { SETTINGS = sizeof(settings) / sizeof(settings[0]) };

enum hs_setting_of
rb_hs_setting_of(const char *name)
{
    for (int i = 0; i < SETTINGS; i++) {
        const char *a = name, *b = settings[i].name;
        while (*a && (*a == *b || (*a == '_' && *b == '-'))) a++, b++;
        if (!*a && !*b) return settings[i].of;
    }
    return HS_OF_BOOT;
}

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
    for (int i = 0; i < SETTINGS; i++) {
        const struct setting *setting = reader->setting = &settings[i];
        if (!span_is(reader->name, setting->name)) continue;
        if (!equals) return fail(reader, "%s: needs a value (%s=...)", setting->name, setting->name);
        return setting->read(reader, (char *)reader->options + setting->field) || fail_value(reader, reader->why ? reader->why : setting->must);
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
    char pid_text[PID_DIGITS + 1], date[TIME_LEN + 1];

    snprintf(pid_text, sizeof(pid_text), "%" PRIu64, pid);
    format_time(unix_time, date);
    size_t len = expand((struct span){options->output, strlen(options->output)}, pid_text, date, path, size);
    if (options->output_none || !len || len >= size) return false;
    path[len] = '\0';
    return true;
}

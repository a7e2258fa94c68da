/*
 * The settings of --heap-sample and RUBY_HEAP_SAMPLE: see options.h, settings.inc.
 *
 * A text is read into a copy, item by item, and the copy replaces the options
 * when all of it was good.  Errors are made for the person who typed the
 * setting: one line with its name, the value, and what is allowed.
 * A comma ends a setting, also in a path.
 */
#include "heap_sampler/settings/options.h"
#include "heap_sampler/base/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define KIB UINT64_C(1024)
#define DEFAULT_OUTPUT "heap-%p-%t.pb.gz"

enum {
    DEFAULT_MAX_SAMPLES = 200000,
    SHARE_PPM_MIN = 10,
    SHARE_PPM_MAX = 500000,
    SHOWN_MAX = 60,             /* bytes of a bad value that an error repeats */
    FILE_NAME_MAX = 255,        /* of one path component, on every common file system */
    PID_DIGITS = 20,            /* of an uint64_t */
    NAME_SUFFIXES = 1 + PID_DIGITS + 17 + 7,    /* ".PID", which a fixed path gets in children, a mark, and "-at-rss" */
    TIME_LEN = 15               /* YYYYmmddTHHMMSS */
};

static const uint64_t size_max = KIB * KIB * KIB * KIB;         /* 1t */

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
    struct hs_text value;
    const char *why;            /* the value is refused */
    char why_room[128];
};

#define SETTING(name, of, read, field, most, must, value, help) name ", "
static const char setting_names[] =
#include "heap_sampler/settings/settings.inc"
    "on, off, standby";
#undef SETTING

void
rb_hs_options_default(struct hs_options *options)
{
    memset(options, 0, sizeof(*options));
    options->interval = HS_PACE_LONGEST;
    options->interval_auto = true;
    options->malloc_interval = HS_PACE_LONGEST;
    options->malloc_auto = true;
    options->socket = true;
    options->limits.max_samples = DEFAULT_MAX_SAMPLES;
    options->files.only_n = 1;
    strcpy(options->files.output, DEFAULT_OUTPUT);
}

/* Is it one of these words, which a blank separates? */
static bool
is_word(struct hs_text text, const char *words)
{
    struct hs_text rest = hs_text_of(words);
    while (rest.len) {
        struct hs_text word = hs_text_cut(&rest, ' ');
        if (word.len == text.len && memcmp(word.ptr, text.ptr, word.len) == 0) return true;
    }
    return false;
}

static bool
ends_with(const char *text, const char *end)
{
    size_t len = strlen(text), end_len = strlen(end);
    return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

/* For an error: cut, and what would break its line or the terminal as `?`. */
static const char *
shown(struct hs_text text, char buffer[SHOWN_MAX + 4])
{
    size_t len = text.len < SHOWN_MAX ? text.len : SHOWN_MAX;

    for (size_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char)text.ptr[i];
        buffer[i] = byte < 0x20 || byte == 0x7f ? '?' : (char)byte;
    }
    strcpy(buffer + len, text.len > SHOWN_MAX ? "..." : "");
    return buffer;
}

/* Decimal digits only: no sign, no blank, nothing after them. */
static bool
read_digits(struct hs_text text, uint64_t *value)
{
    *value = 0;
    if (!text.len) return false;
    for (uint32_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9') return false;
        uint64_t digit = (uint64_t)(text.ptr[i] - '0');
        if (*value > (UINT64_MAX - digit) / 10) return false;
        *value = *value * 10 + digit;
    }
    return true;
}

/* Digits and perhaps one of k m g t; 1 .. 1t. */
static bool
read_size(struct hs_text text, uint64_t *value)
{
    static const char units[] = "kmgt";
    const char *unit = text.len ? memchr(units, text.ptr[text.len - 1] | 0x20, 4) : NULL;
    unsigned shift = unit ? (unsigned)(unit - units + 1) * 10 : 0;

    text.len -= unit != NULL;
    if (!read_digits(text, value) || *value < 1 || *value > size_max >> shift) return false;
    *value <<= shift;
    return true;
}

static bool
read_number(struct reader *reader, struct hs_text text, uint64_t *value)
{
    return read_digits(text, value) && *value >= 1 && *value <= reader->setting->most;
}

static bool
read_auto(struct hs_text text, bool *is_auto, uint64_t *interval)
{
    *is_auto = is_word(text, "auto");
    *interval = HS_PACE_LONGEST;
    return *is_auto || read_size(text, interval);
}

static bool
refuse(struct reader *reader, const char *why)
{
    reader->why = why;
    return false;
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
    *(bool *)field = is_word(reader->value, "on");
    return is_word(reader->value, "on off");
}

static bool
read_interval(struct reader *reader, void *field)
{
    return read_auto(reader->value, &reader->options->interval_auto, field);
}

static bool
read_malloc(struct reader *reader, void *field)
{
    struct hs_options *options = reader->options;
    options->malloc_mode = is_word(reader->value, "off") ? HS_MALLOC_MODE_OFF
        : is_word(reader->value, "standby")              ? HS_MALLOC_MODE_STANDBY
                                                         : HS_MALLOC_MODE_ON;
    return is_word(reader->value, "on off standby") || read_auto(reader->value, &options->malloc_auto, field);
}

static bool
read_max_samples(struct reader *reader, void *field)
{
    *(uint64_t *)field = 0;
    return is_word(reader->value, "none") || read_number(reader, reader->value, field);
}

static bool
read_seed(struct reader *reader, void *field)
{
    reader->options->limits.seeded = true;
    return read_digits(reader->value, field);
}

static bool
read_only(struct reader *reader, void *field)
{
    struct hs_text number = reader->value;
    uint64_t value;
    if (!is_word(hs_text_cut(&number, '/'), "1") || !read_number(reader, number, &value)) return false;
    *(uint32_t *)field = (uint32_t)value;
    return true;
}

/* It is shown to people, and stands in files. */
static bool
read_deploy(struct reader *reader, void *field)
{
    struct hs_text value = reader->value;
    bool plain = value.len > 0 && value.len < sizeof(reader->options->files.deploy);
    for (uint32_t i = 0; i < value.len; i++) plain = plain && (unsigned char)value.ptr[i] > 0x20 && value.ptr[i] != 0x7f;
    if (plain) sprintf(field, "%.*s", (int)value.len, value.ptr);
    return plain;
}

/* Fills in the pattern, as far as `size` bytes hold it. The length of all of it; 0: it has an unknown %. */
static size_t
expand(const char *pattern, const char *pid, const char *date, char *to, size_t size)
{
    size_t len = 0;

    for (; *pattern; pattern++) {
        struct hs_text piece = {pattern, 1};
        if (*pattern == '%') {
            switch (*++pattern) {
            case 'p': piece = hs_text_of(pid); break;
            case 't': piece = (struct hs_text){date, TIME_LEN}; break;
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
expanded_max(const char *pattern)
{
    return expand(pattern, "18446744073709551615", "YYYYmmddTHHMMSS", NULL, 0);
}

/* In a folder a file has the default's name. */
static bool
read_output(struct reader *reader, void *field)
{
    struct hs_files *files = &reader->options->files;
    const size_t size = sizeof(files->output);
    struct hs_text value = reader->value;
    char *path = field;

    files->output_given = true;
    files->output_none = is_word(value, "none");
    if (files->output_none) return true;
    if (!value.len) return false;
    bool folder = value.ptr[value.len - 1] == '/';
    bool fits = value.len < size && (size_t)snprintf(path, size, "%.*s%s", (int)value.len, value.ptr, folder ? DEFAULT_OUTPUT : "") < size;
    if (!fits) return refuse(reader, "the path is too long; give a shorter one");
    size_t len = expanded_max(path);
    if (!len) return refuse(reader, "can only contain %p (process id), %t (time) and %% (a percent sign)");
    if (!ends_with(path, ".pb.gz") && !ends_with(path, ".pb")) {
        return refuse(reader, "must end in .pb.gz or .pb, or in / for a folder, or be none");
    }
    const char *slash = strrchr(path, '/');
    if (len + NAME_SUFFIXES >= size || expanded_max(slash ? slash + 1 : path) + NAME_SUFFIXES > FILE_NAME_MAX) {
        return refuse(reader, "the path is too long; give a shorter one");
    }
    return true;
}

/* A percentage with up to three decimals. */
bool
rb_hs_share_parse(const char *text, size_t len, uint32_t *ppm)
{
    enum { DECIMALS = 3,
           MILLI_PERCENT_PPM = 10 };
    if (!len || text[--len] != '%') return false;
    struct hs_text part = {text, (uint32_t)len}, whole = hs_text_cut(&part, '.');
    uint64_t units, decimals = 0;
    if (!read_digits(whole, &units) || units > 100 || part.len > DECIMALS) return false;
    if (whole.len < len && !read_digits(part, &decimals)) return false;
    for (uint32_t digits = part.len; digits < DECIMALS; digits++) decimals *= 10;
    *ppm = (uint32_t)(units * 1000 + decimals) * MILLI_PERCENT_PPM;
    return *ppm >= SHARE_PPM_MIN && *ppm <= SHARE_PPM_MAX;
}

static bool
read_diagnose(struct reader *reader, void *field)
{
    *(uint32_t *)field = 0;
    return is_word(reader->value, "off") || rb_hs_share_parse(reader->value.ptr, reader->value.len, field);
}

/* No Ruby is as small as a MiB: a number without its unit was forgotten to be
 * given one, and would write a profile at once. */
static bool
read_at_rss(struct reader *reader, void *field)
{
    const char *const or_percent = "is a size in bytes; write %" PRIu64 "%% or %" PRIu64 "m", *const only_size = "is a size in bytes; write %" PRIu64 "m";
    struct hs_text value = reader->value;
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
        snprintf(reader->why_room, sizeof(reader->why_room), bytes <= 100 ? or_percent : only_size, bytes, bytes);
        return refuse(reader, reader->why_room);
    }
    reader->options->files.at_rss_percent = (uint32_t)percent;
    *(uint64_t *)field = bytes;
    return true;
}

/* -- texts ---------------------------------------------------------------------------- */

#define SETTING(name, of, read, field, most, must, value, help) \
    {name, HS_OF_##of, read_##read, offsetof(struct hs_options, field), most, must},
static const struct setting settings[] = {
#include "heap_sampler/settings/settings.inc"
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

static const struct setting *
find_setting(struct hs_text name)
{
    for (int i = 0; i < SETTINGS; i++) {
        if (is_word(name, settings[i].name)) return &settings[i];
    }
    return NULL;
}

/* false: it is not a word that stands without a value, such as `quiet`. */
static bool
read_word(struct hs_options *options, struct hs_text item)
{
    bool on = is_word(item, "on 1 true yes"), standby = is_word(item, "standby");
    if (is_word(item, "quiet")) {
        options->files.quiet = true;
        return true;
    }
    if (!on && !standby && !is_word(item, "off 0 false no")) return false;
    options->files.on = on;
    options->standby = standby;
    return true;
}

/* false: `error` has the reason. */
static bool
read_item(struct hs_options *options, struct hs_text item, char *error, size_t size)
{
    char shown_name[SHOWN_MAX + 4], shown_value[SHOWN_MAX + 4];
    struct hs_text value = item, name = hs_text_cut(&value, '=');
    const struct setting *setting = find_setting(name);
    struct reader reader = {.options = options, .setting = setting, .value = value};
    bool equals = name.len < item.len;

    if (read_word(options, item)) return true;
    shown(name, shown_name);
    if (setting && equals) {
        reader.why = setting->must;
        if (setting->read(&reader, (char *)options + setting->field)) return true;
    }
    else if (equals && is_word(name, "on off standby")) {
        reader.why = "takes no value; remove the equals sign and what follows";
    }
    if (reader.why) snprintf(error, size, "%s=%s: %s", shown_name, shown(value, shown_value), reader.why);
    else if (setting) snprintf(error, size, "%s: needs a value (%s=...)", setting->name, setting->name);
    else if (!item.len) snprintf(error, size, "empty setting; remove the extra comma (settings: %s)", setting_names);
    else snprintf(error, size, "unknown setting \"%s\"; settings: %s", shown_name, setting_names);
    return false;
}

bool
rb_hs_options_parse(struct hs_options *options, const char *text, char *error, size_t error_size)
{
    struct hs_options copy = *options;

    if (!text) return true;
    struct hs_text rest = hs_text_of(text);
    /* `off` wherever it stands is not undone by another setting: putting
     * "off," in front of what a variable holds must switch off. */
    copy.files.on = rest.len > 0;
    for (bool more = rest.len > 0; more;) {
        struct hs_text item = hs_text_cut(&rest, ',');
        more = item.ptr[item.len] == ',';       /* nothing after the last comma is an empty setting too */
        if (!read_item(&copy, item, error, error_size)) return false;
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
rb_hs_options_expand_output(const struct hs_files *files, uint64_t pid, int64_t unix_time, char *path, size_t size)
{
    char pid_text[PID_DIGITS + 1], date[TIME_LEN + 1];

    snprintf(pid_text, sizeof(pid_text), "%" PRIu64, pid);
    format_time(unix_time, date);
    size_t len = expand(files->output, pid_text, date, path, size);
    if (files->output_none || !len || len >= size) return false;
    path[len] = '\0';
    return true;
}

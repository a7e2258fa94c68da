/*
 * pprof: a profile as profile.proto of github.com/google/pprof, encoded by
 * hand so that the VM depends on no protobuf library.  doc/format.md describes
 * what is in it, doc/heap_sampler.proto the fields that only our files have.
 *
 * A field that is 0 or empty is left out, as proto3 does.  Strings are written once into a
 * table and named by their index; index 0 is "".
 *
 * Rows are written in one pass.  Functions, locations and strings that they
 * use get their numbers when first met and collect in buffers of their own,
 * which end the file.
 */
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/table.h"
#include "heap_sampler/base/texts.h"
#include "heap_sampler/holders/holders.h"
#include "heap_sampler/profile/buffer.h"
#include "heap_sampler/profile/encode.h"
#include "heap_sampler/profile/file_rows.h"
#include "heap_sampler/profile/formats.h"
#include "heap_sampler/profile/profile.h"
#include "heap_sampler/profile/row_columns.h"
#include "heap_sampler/stacks/stack_table.h"

#include <errno.h>
#include <string.h>

/* Field numbers of profile.proto; from 1000 on our own. */
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING_TABLE = 6,
    PROFILE_TIME_NANOS = 9,
    PROFILE_DURATION_NANOS = 10,
    PROFILE_PERIOD_TYPE = 11,
    PROFILE_PERIOD = 12,
    PROFILE_DEFAULT_SAMPLE_TYPE = 14,
    PROFILE_META = 1000,
    PROFILE_REFERENCE = 1001,
    VALUE_TYPE_TYPE = 1,
    VALUE_TYPE_UNIT = 2,
    SAMPLE_LOCATION_ID = 1,
    SAMPLE_VALUE = 2,
    SAMPLE_LABEL = 3,
    SAMPLE_ROW = 1000,
    LABEL_KEY = 1,
    LABEL_STR = 2,
    MAPPING_ID = 1,
    MAPPING_MEMORY_START = 2,
    MAPPING_MEMORY_LIMIT = 3,
    MAPPING_FILE_OFFSET = 4,
    MAPPING_FILENAME = 5,
    MAPPING_BUILD_ID = 6,
    MAPPING_HAS_FUNCTIONS = 7,
    MAPPING_HAS_FILENAMES = 8,
    MAPPING_HAS_LINE_NUMBERS = 9,
    LOCATION_ID = 1,
    LOCATION_MAPPING_ID = 2,
    LOCATION_ADDRESS = 3,
    LOCATION_LINE = 4,
    LINE_FUNCTION_ID = 1,
    LINE_LINE = 2,
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
    FUNCTION_SYSTEM_NAME = 3,
    FUNCTION_FILENAME = 4,
    /* HS_ROW_FIELDS has the others. */
    ROW_GC_BIRTH = 1,
    ROW_THREAD = 2,
    ROW_TYPE = 3,
    ROW_RESIDENT = 23,
    ROW_PART = 30,
    PART_REFERENCE = 1,
    PART_OBJECTS = 2,
    PART_SPACE = 3,
    PART_VARIANCE = 4,
    PART_CLASS = 5,
    REFERENCE_PARENT = 1,
    REFERENCE_NAME = 2,
    REFERENCE_KIND = 3,
    REFERENCE_PATH = 4,
    REFERENCE_LINE = 5,
    REFERENCE_OBJECTS = 6,
    REFERENCE_REPEATS = 7
};

/* Mapping numbers: all Ruby code has the first, those of the profile follow. */
enum { NO_MAPPING = 0,
       RUBY_MAPPING = 1,
       FIRST_NATIVE_MAPPING = 2 };

/* Strings that every file has, in the order of the string table. */
/* clang-format off */
#define FIXED_STRINGS_ALL(S) \
    S(alloc_objects) S(count) S(alloc_space) S(bytes) S(inuse_objects) S(inuse_space) S(space) S(class) S(kind) S(malloc) \
    S(library)
/* clang-format on */

enum fixed_string {
    S_empty,
#define S(name) S_##name,
    FIXED_STRINGS_ALL(S)
#undef S
        FIXED_STRINGS
};

static const char *const fixed_strings[FIXED_STRINGS] = {
    "",
#define S(name) #name,
    FIXED_STRINGS_ALL(S)
#undef S
};

static const struct {
    enum fixed_string type, unit;
} sample_types[] = {
#define VALUE(type, unit, number) {S_##type, S_##unit},
    HS_ROW_VALUES(VALUE)
#undef VALUE
};

enum { SAMPLE_TYPES = sizeof(sample_types) / sizeof(sample_types[0]) };

/* Estimates are rounded, counts are whole. */
#define TO_FILE(number) _Generic((number), uint64_t: rb_hs_saturate, default: rb_hs_round)(number)

/* Added to what other rows have. */
static void
add_values(const struct hs_row *row, uint64_t sum[SAMPLE_TYPES])
{
    int i = 0;
#define VALUE(type, unit, number) sum[i] = (uint64_t)rb_hs_saturate(sum[i] + (uint64_t)TO_FILE(number)), i++;
    HS_ROW_VALUES(VALUE)
#undef VALUE
}

struct function {
    uint32_t label, path;       /* texts; NATIVE in place of the path: one of a library */
    uint64_t hash;              /* of both: what its addresses begin with */
};
enum { NATIVE = UINT32_MAX };

/* A key or a value of labels, and its string. */
struct label_text {
    struct hs_text text;
    uint32_t string;
};

struct pprof {
    const struct hs_profile *profile;
    struct hs_buffer *out;
    struct hs_buffer locations, functions, strings;     /* fields of the profile, ready */
    struct hs_buffer message;           /* a field of the profile, being built */
    struct hs_file_row *rows;
    uint32_t *location_of_frame;        /* 0: not met yet; so everywhere below */
    uint32_t *string_of_text;
    uint32_t *function_slots;           /* open hash of function numbers, never over half full */
    size_t function_slot_count;         /* a power of two */
    struct function *function;          /* by number - 1; room for one per frame */
    bool *mapping_unnamed;              /* by mapping: it has a location without a function */
    struct hs_map addresses;            /* of Ruby frames, less the start of their mapping: those that are taken */
    uint64_t location_count, no_stack, evicted;
    uint32_t function_count, string_count;
    struct hs_map label_strings;        /* places in label_texts, by hash */
    struct label_text *label_texts;
    uint32_t label_text_count, label_text_capacity;
};

static void
put_number(struct hs_buffer *out, uint32_t field, uint64_t value)
{
    if (value) rb_hs_put_number(out, field, value);
}

/* The message built so far goes out; the next one starts. */
static void
flush(struct pprof *p)
{
    rb_hs_buffer_append(p->out, p->message.ptr, p->message.len);
    if (p->message.failed) p->out->failed = true;
    p->message.len = 0;
}

static uint32_t
add_string(struct pprof *p, struct hs_text text)
{
    size_t at = rb_hs_open_message(&p->strings, PROFILE_STRING_TABLE);
    rb_hs_append_utf8(&p->strings, text);
    rb_hs_close_message(&p->strings, at);
    return p->string_count++;
}

static uint32_t
string_of(struct pprof *p, uint32_t text)
{
    if (!p->profile->texts[text].len) return S_empty;
    if (!p->string_of_text[text]) p->string_of_text[text] = add_string(p, p->profile->texts[text]);
    return p->string_of_text[text];
}

/* -- functions and locations ------------------------------------------------------------- */

/* Ruby's have no system_name: were it equal to the name, `go tool pprof` would
 * take the name for C++ and cut what is in <>, () and []: `<main>` became
 * `<unknown>`.  Native ones have it, so that it takes _ZN3fooEv apart. */
static void
put_function(struct pprof *p, uint64_t id, uint32_t name, uint32_t system_name, uint32_t filename)
{
    size_t at = rb_hs_open_message(&p->functions, PROFILE_FUNCTION);
    put_number(&p->functions, FUNCTION_ID, id);
    put_number(&p->functions, FUNCTION_NAME, name);
    put_number(&p->functions, FUNCTION_SYSTEM_NAME, system_name);
    put_number(&p->functions, FUNCTION_FILENAME, filename);
    rb_hs_close_message(&p->functions, at);
}

/* `function` 0: none is known. */
static void
put_location(struct pprof *p, uint64_t id, uint64_t mapping, uint64_t address, uint64_t function, uint32_t line)
{
    size_t at = rb_hs_open_message(&p->locations, PROFILE_LOCATION);
    put_number(&p->locations, LOCATION_ID, id);
    put_number(&p->locations, LOCATION_MAPPING_ID, mapping);
    put_number(&p->locations, LOCATION_ADDRESS, address);
    if (function) {
        size_t within = rb_hs_open_message(&p->locations, LOCATION_LINE);
        put_number(&p->locations, LINE_FUNCTION_ID, function);
        put_number(&p->locations, LINE_LINE, line);
        rb_hs_close_message(&p->locations, within);
    }
    rb_hs_close_message(&p->locations, at);
}

/* A polynomial modulo a prime below 2^53: the library, in Ruby, takes the same steps without allocating. */
static uint64_t
hash_on(struct pprof *p, uint64_t hash, struct hs_text text)
{
    enum { BASE = 257 };
    const uint64_t prime = (UINT64_C(1) << 53) - 111;
    size_t from = p->strings.len;
    rb_hs_append_utf8(&p->strings, text);       /* and off again: a reader has no other bytes */
    if (p->strings.failed) return 0;
    for (size_t i = from; i < p->strings.len; i++) hash = (hash * BASE + (unsigned char)p->strings.ptr[i] + 1) % prime;
    p->strings.len = from;
    return hash;
}

static uint64_t
hash_of_function(struct pprof *p, struct hs_text label, struct hs_text path)
{
    return hash_on(p, hash_on(p, hash_on(p, 0, label), (struct hs_text){"", 1}), path);
}

/* Of one more frame; where another frame has it, that of the next hash. */
static uint64_t
address_of(struct pprof *p, uint64_t function_hash, uint32_t line)
{
    enum { LINE_BITS = 21 };
    uint64_t lines = UINT64_C(1) << LINE_BITS, offset = ((uint32_t)function_hash * lines + line % lines);
    while (rb_hs_map_find(&p->addresses, offset + 1)) offset = (offset + lines) % HS_RUBY_CODE_SIZE;
    if (!rb_hs_map_put(&p->addresses, offset + 1, 0)) p->out->failed = true;
    return HS_RUBY_CODE + offset;
}

/* Frames that differ in their line only share a function. */
static uint32_t
function_of(struct pprof *p, uint32_t label, uint32_t path)
{
    size_t mask = p->function_slot_count - 1;
    uint64_t hash = ((uint64_t)label << 32 | path) * UINT64_C(0x9e3779b97f4a7c15);
    size_t slot = (size_t)(hash >> 32) & mask;

    for (; p->function_slots[slot]; slot = (slot + 1) & mask) {
        const struct function *known = &p->function[p->function_slots[slot] - 1];
        if (known->label == label && known->path == path) return p->function_slots[slot];
    }
    p->function_slots[slot] = ++p->function_count;
    struct function *function = &p->function[p->function_count - 1];
    *function = (struct function){label, path, 0};
    struct hs_text text = p->profile->texts[label];
    if (!text.len) text = rb_hs_text_of(HS_NO_LABEL);
    uint32_t name = string_of(p, label);
    if (!name) name = add_string(p, text);
    if (path == (uint32_t)NATIVE) {
        put_function(p, p->function_count, name, name, S_empty);
    }
    else {
        put_function(p, p->function_count, name, S_empty, string_of(p, path));
        function->hash = hash_of_function(p, text, p->profile->texts[path]);
    }
    return p->function_count;
}

/* Where the file has no symbol, there is an address only: `go tool pprof` looks
 * further (debug files, addr2line), and where it finds nothing either sums by
 * file, as `[libfoo.so]`. */
static void
put_native_location(struct pprof *p, uint64_t id, const struct hs_frame *frame)
{
    uint32_t mapping = rb_hs_mapping_of(p->profile, frame->address);
    bool known = mapping < p->profile->mapping_count, named = p->profile->texts[frame->label].len > 0;

    if (known && !named) p->mapping_unnamed[mapping] = true;
    put_location(p, id, known ? FIRST_NATIVE_MAPPING + (uint64_t)mapping : NO_MAPPING, frame->address,
                 known && !named ? 0 : function_of(p, frame->label, NATIVE), 0);
}

static uint64_t
location_of(struct pprof *p, uint32_t index)
{
    const struct hs_frame *frame = &p->profile->frames[index];

    if (p->location_of_frame[index]) return p->location_of_frame[index];
    p->location_of_frame[index] = (uint32_t)++p->location_count;
    if (frame->address) {
        put_native_location(p, p->location_count, frame);
    }
    else {
        uint32_t path = p->profile->texts[frame->absolute_path].len ? frame->absolute_path : frame->path;
        uint32_t function = function_of(p, frame->label, path);
        uint64_t address = address_of(p, p->function[function - 1].hash, frame->line);
        put_location(p, p->location_count, RUBY_MAPPING, address, function, frame->line);
    }
    return p->location_of_frame[index];
}

/* Of a frame that no row has. Its function's number, which its location has too, is past those of all frames. */
static uint64_t
location_of_other(struct pprof *p, uint64_t *known, uint32_t number, const char *label)
{
    if (*known) return *known;
    struct hs_text text = rb_hs_text_of(label);
    *known = (uint64_t)p->profile->frame_count + number;
    put_function(p, *known, add_string(p, text), S_empty, S_empty);
    put_location(p, *known, RUBY_MAPPING, address_of(p, hash_of_function(p, text, rb_hs_text_of("")), 0), *known, 0);
    return *known;
}

static void
put_value_type(struct pprof *p, uint32_t field, enum fixed_string type, enum fixed_string unit)
{
    size_t at = rb_hs_open_message(&p->message, field);
    put_number(&p->message, VALUE_TYPE_TYPE, type);
    put_number(&p->message, VALUE_TYPE_UNIT, unit);
    rb_hs_close_message(&p->message, at);
    flush(p);
}

/* -- samples and their rows ----------------------------------------------------------------- */

static void
put_label(struct pprof *p, uint32_t key, uint32_t string)
{
    size_t at = rb_hs_open_message(&p->message, SAMPLE_LABEL);
    put_number(&p->message, LABEL_KEY, key);
    put_number(&p->message, LABEL_STR, string);
    rb_hs_close_message(&p->message, at);
}

/* Many label sets have the same keys, and many the same values: each is written once. */
static uint32_t
label_string(struct pprof *p, struct hs_text text)
{
    uint64_t hash = text.len;
    for (uint32_t i = 0; i < text.len; i++) hash = hs_mix(hash ^ (unsigned char)text.ptr[i]);
    for (hash |= 1;; hash += 2) {
        const uint32_t *found = rb_hs_map_find(&p->label_strings, hash);
        if (!found) break;
        struct hs_text same = p->label_texts[*found].text;
        if (same.len == text.len && memcmp(same.ptr, text.ptr, text.len) == 0) return p->label_texts[*found].string;
    }
    if (!rb_hs_grow(HS_MEM_SNAPSHOTS, (void **)&p->label_texts, &p->label_text_capacity, (uint64_t)p->label_text_count + 1,
                    sizeof(*p->label_texts)) ||
        !rb_hs_map_put(&p->label_strings, hash, p->label_text_count)) {
        p->out->failed = true;
        return S_empty;
    }
    uint32_t string = add_string(p, text);
    p->label_texts[p->label_text_count++] = (struct label_text){text, string};
    return string;
}

static void
put_labels(struct pprof *p, const struct hs_row *row)
{
    uint32_t class_name = string_of(p, row->class_name), library = string_of(p, row->library);

    if (class_name) put_label(p, S_class, class_name);
    if (row->malloced) put_label(p, S_kind, S_malloc);
    if (row->malloced && library) put_label(p, S_library, library);
    struct hs_text rest = p->profile->texts[row->labels];       /* lines "key=value" */
    while (rest.len) {
        struct hs_text value = hs_text_cut(&rest, '\n'), key = hs_text_cut(&value, '=');
        uint32_t key_string = label_string(p, key);
        put_label(p, key_string, label_string(p, value));
    }
}

/* Leaf first. */
static void
put_stack(struct pprof *p, uint64_t stack)
{
    const struct hs_profile *profile = p->profile;
    size_t at = rb_hs_open_message(&p->message, SAMPLE_LOCATION_ID);
    if (!stack) {
        rb_hs_put_varint(&p->message, location_of_other(p, &p->no_stack, 1, HS_NO_STACK));
    }
    else if (stack < profile->node_count) {
        for (uint32_t node = (uint32_t)stack; node; node = profile->nodes[node].parent) {
            rb_hs_put_varint(&p->message, location_of(p, profile->nodes[node].frame));
        }
    }
    else {
        uint64_t frame = stack - profile->node_count;
        if (frame < profile->frame_count) rb_hs_put_varint(&p->message, location_of(p, (uint32_t)frame));
        rb_hs_put_varint(&p->message, location_of_other(p, &p->evicted, 2, HS_EVICTED));
    }
    rb_hs_close_message(&p->message, at);
}

/* Rows that are equal are one: *sum. Returns the first that is not of it. */
static size_t
add_equal_rows(const struct pprof *p, size_t first, struct hs_row *sum)
{
    size_t i = first;
    *sum = *p->rows[first].row;
    while (++i < p->profile->row_count && rb_hs_file_rows_equal(&p->rows[first], &p->rows[i])) rb_hs_row_add(sum, p->rows[i].row);
    return i;
}

static void
put_part(struct pprof *p, const struct hs_row *row, const struct hs_kept *kept)
{
    uint32_t owner = row->malloced ? string_of(p, p->profile->holders.nodes[kept->node].klass) : 0;
    size_t at = rb_hs_open_message(&p->message, ROW_PART);
    put_number(&p->message, PART_REFERENCE, (uint64_t)kept->node + 1);
    put_number(&p->message, PART_OBJECTS, (uint64_t)rb_hs_round(kept->objects));
    put_number(&p->message, PART_SPACE, (uint64_t)rb_hs_round(kept->space));
    put_number(&p->message, PART_VARIANCE, (uint64_t)rb_hs_round(kept->variance));
    put_number(&p->message, PART_CLASS, owner);
    rb_hs_close_message(&p->message, at);
}

static void
put_parts(struct pprof *p, const struct hs_row *row)
{
    const struct hs_kept *kept = p->profile->kept;
    size_t number = (size_t)(row - p->profile->rows), low = 0, high = p->profile->kept_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (kept[middle].row < number) low = middle + 1;
        else high = middle;
    }
    for (; low < p->profile->kept_count && kept[low].row == number; low++) put_part(p, row, &kept[low]);
}

/* Where all samples of a row have the same weight, as in most rows, the variance follows from the other figures as they are in
 * the file: only one that is another, by more than a thousandth, is written. */
static void
put_variance(struct pprof *p, uint32_t field, const struct hs_estimate *samples, double space, double variance)
{
    enum { EXACT = 1000 };
    double count = (double)rb_hs_saturate(samples->samples), objects = (double)rb_hs_round(samples->objects), bytes = (double)rb_hs_round(space);
    int64_t value = rb_hs_round(variance);
    int64_t follows = count > 0 && objects > count ? rb_hs_round(bytes * bytes * (objects / count - 1) / objects) : 0;
    if ((value > follows ? value - follows : follows - value) > value / EXACT) rb_hs_put_number(&p->message, field, (uint64_t)value);
}

/* Of the rows from `first` on up to `end`, which are equal; *row is their sum. */
static void
put_row(struct pprof *p, size_t first, size_t end, const struct hs_row *row)
{
    size_t at = rb_hs_open_message(&p->message, SAMPLE_ROW);
    if (row->has_birth) rb_hs_put_number(&p->message, ROW_GC_BIRTH, (uint64_t)rb_hs_saturate(row->birth_gc));
    put_number(&p->message, ROW_THREAD, row->thread);
    put_number(&p->message, ROW_TYPE, string_of(p, row->type));
#define FIELD(field, number) put_number(&p->message, field, (uint64_t)TO_FILE(number));
#define VARIANCE(field, estimate, share) put_variance(p, field, &(estimate), (share).space, (share).variance);
    HS_ROW_FIELDS(FIELD, VARIANCE)
#undef FIELD
#undef VARIANCE
    int64_t resident = rb_hs_round(rb_hs_row_resident(row));
    if (resident != rb_hs_round(row->inuse.space)) rb_hs_put_number(&p->message, ROW_RESIDENT, (uint64_t)resident);
    for (size_t i = first; i < end; i++) put_parts(p, p->rows[i].row);
    rb_hs_close_message(&p->message, at);
}

/* The sample that begins with a row. Returns the first row that is not of it. */
static size_t
put_sample(struct pprof *p, size_t first)
{
    uint64_t values[SAMPLE_TYPES] = {0};
    struct hs_row row;
    size_t end = first;
    while (end < p->profile->row_count && rb_hs_file_rows_of_one_sample(&p->rows[first], &p->rows[end])) {
        end = add_equal_rows(p, end, &row);
        add_values(&row, values);
    }
    size_t at = rb_hs_open_message(&p->message, PROFILE_SAMPLE);
    put_stack(p, p->rows[first].stack);
    size_t within = rb_hs_open_message(&p->message, SAMPLE_VALUE);
    for (int i = 0; i < SAMPLE_TYPES; i++) rb_hs_put_varint(&p->message, values[i]);
    rb_hs_close_message(&p->message, within);
    put_labels(p, p->rows[first].row);
    for (size_t i = first, next; i < end; i = next) {
        next = add_equal_rows(p, i, &row);
        put_row(p, i, next, &row);
    }
    rb_hs_close_message(&p->message, at);
    flush(p);
    return end;
}

/* -- what retains it, and the rest ------------------------------------------------------------ */

static void
put_references(struct pprof *p)
{
    for (uint32_t i = 0; i < p->profile->holders.node_count; i++) {
        const struct hs_holder *node = &p->profile->holders.nodes[i];
        size_t at = rb_hs_open_message(&p->message, PROFILE_REFERENCE);
        bool root = node->parent == i;
        put_number(&p->message, REFERENCE_PARENT, root ? 0 : (uint64_t)node->parent + 1);
        put_number(&p->message, REFERENCE_NAME, string_of(p, node->name));
        put_number(&p->message, REFERENCE_KIND, string_of(p, node->kind));
        put_number(&p->message, REFERENCE_PATH, string_of(p, node->path));
        put_number(&p->message, REFERENCE_LINE, node->line);
        put_number(&p->message, REFERENCE_OBJECTS, node->objects);
        put_number(&p->message, REFERENCE_REPEATS, node->folded && !root);
        rb_hs_close_message(&p->message, at);
        flush(p);
    }
}

/* Says that every location of Ruby code has its names: without it `go tool
 * pprof` looks for a binary to take them from, and complains. */
static void
put_ruby_mapping(struct pprof *p)
{
    size_t at = rb_hs_open_message(&p->message, PROFILE_MAPPING);
    put_number(&p->message, MAPPING_ID, RUBY_MAPPING);
    put_number(&p->message, MAPPING_MEMORY_START, HS_RUBY_CODE);
    put_number(&p->message, MAPPING_MEMORY_LIMIT, HS_RUBY_CODE + HS_RUBY_CODE_SIZE);
    put_number(&p->message, MAPPING_HAS_FUNCTIONS, true);
    put_number(&p->message, MAPPING_HAS_FILENAMES, true);
    put_number(&p->message, MAPPING_HAS_LINE_NUMBERS, true);
    rb_hs_close_message(&p->message, at);
    flush(p);
}

/* After the locations, which say whether all have names. */
static void
put_native_mappings(struct pprof *p)
{
    for (uint32_t i = 0; i < p->profile->mapping_count; i++) {
        const struct hs_mapping *mapping = &p->profile->mappings[i];
        size_t at = rb_hs_open_message(&p->message, PROFILE_MAPPING);
        put_number(&p->message, MAPPING_ID, FIRST_NATIVE_MAPPING + (uint64_t)i);
        put_number(&p->message, MAPPING_MEMORY_START, mapping->start);
        put_number(&p->message, MAPPING_MEMORY_LIMIT, mapping->end);
        put_number(&p->message, MAPPING_FILE_OFFSET, mapping->offset);
        put_number(&p->message, MAPPING_FILENAME, string_of(p, mapping->path));
        put_number(&p->message, MAPPING_BUILD_ID, string_of(p, mapping->build_id));
        put_number(&p->message, MAPPING_HAS_FUNCTIONS, !p->mapping_unnamed[i]);
        rb_hs_close_message(&p->message, at);
        flush(p);
    }
}

static int
put_head(struct pprof *p, enum hs_shown_first first)
{
    const struct hs_profile_meta *meta = &p->profile->meta;

    for (int i = 0; i < FIXED_STRINGS; i++) add_string(p, rb_hs_text_of(fixed_strings[i]));
    for (int i = 0; i < SAMPLE_TYPES; i++) put_value_type(p, PROFILE_SAMPLE_TYPE, sample_types[i].type, sample_types[i].unit);
    put_ruby_mapping(p);
    uint64_t duration = meta->taken_ns > meta->started_ns ? meta->taken_ns - meta->started_ns : 0;
    put_number(p->out, PROFILE_TIME_NANOS, (uint64_t)rb_hs_saturate(meta->started_ns));
    put_number(p->out, PROFILE_DURATION_NANOS, (uint64_t)rb_hs_saturate(duration));
    put_value_type(p, PROFILE_PERIOD_TYPE, S_space, S_bytes);
    put_number(p->out, PROFILE_PERIOD, (uint64_t)rb_hs_saturate(meta->interval));
    put_number(p->out, PROFILE_DEFAULT_SAMPLE_TYPE, first == HS_ALLOC_FIRST ? S_alloc_space : S_inuse_space);

    size_t at = rb_hs_open_message(&p->message, PROFILE_META);
    int error = rb_hs_encode_meta(p->profile, false, &p->message);
    rb_hs_close_message(&p->message, at);
    flush(p);
    return error;
}

static int
prepare(struct pprof *p)
{
    size_t frames = p->profile->frame_count, texts = p->profile->text_count;

    p->function_slot_count = 2;
    while (p->function_slot_count < frames * 2) p->function_slot_count *= 2;
    p->location_of_frame = rb_hs_calloc(HS_MEM_SNAPSHOTS, frames, sizeof(*p->location_of_frame));
    p->string_of_text = rb_hs_calloc(HS_MEM_SNAPSHOTS, texts, sizeof(*p->string_of_text));
    p->function_slots = rb_hs_calloc(HS_MEM_SNAPSHOTS, p->function_slot_count, sizeof(*p->function_slots));
    p->function = rb_hs_calloc(HS_MEM_SNAPSHOTS, frames, sizeof(*p->function));
    p->mapping_unnamed = rb_hs_calloc(HS_MEM_SNAPSHOTS, p->profile->mapping_count, sizeof(*p->mapping_unnamed));
    p->rows = rb_hs_file_rows(p->profile);
    return p->rows && p->location_of_frame && p->string_of_text && p->function_slots && p->function && p->mapping_unnamed ? 0 : ENOMEM;
}

static void
dispose(struct pprof *p)
{
    rb_hs_free(HS_MEM_SNAPSHOTS, p->location_of_frame);
    rb_hs_free(HS_MEM_SNAPSHOTS, p->string_of_text);
    rb_hs_free(HS_MEM_SNAPSHOTS, p->function_slots);
    rb_hs_free(HS_MEM_SNAPSHOTS, p->function);
    rb_hs_free(HS_MEM_SNAPSHOTS, p->mapping_unnamed);
    rb_hs_free(HS_MEM_SNAPSHOTS, p->rows);
    rb_hs_map_free(&p->addresses);
    rb_hs_free(HS_MEM_SNAPSHOTS, p->label_texts);
    rb_hs_map_free(&p->label_strings);
    rb_hs_buffer_free(&p->locations);
    rb_hs_buffer_free(&p->functions);
    rb_hs_buffer_free(&p->strings);
    rb_hs_buffer_free(&p->message);
}

int
rb_hs_encode_pprof(const struct hs_profile *profile, enum hs_shown_first first, struct hs_buffer *out)
{
    struct pprof p = {.profile = profile, .out = out, .label_strings.use = HS_MEM_SNAPSHOTS, .addresses.use = HS_MEM_SNAPSHOTS};
    int error = rb_hs_profile_check(profile);
    if (error) return error;

    error = prepare(&p);
    if (!error) error = put_head(&p, first);
    for (size_t i = 0; !error && i < profile->row_count;) {
        i = put_sample(&p, i);
        if (out->failed) error = ENOMEM;
    }
    if (!error) {
        put_references(&p);
        put_native_mappings(&p);
        rb_hs_buffer_append(out, p.locations.ptr, p.locations.len);
        rb_hs_buffer_append(out, p.functions.ptr, p.functions.len);
        rb_hs_buffer_append(out, p.strings.ptr, p.strings.len);
    }
    if (!error && (p.locations.failed || p.functions.failed || p.strings.failed)) error = ENOMEM;
    if (!error && (p.message.failed || out->failed)) error = ENOMEM;
    dispose(&p);
    return error;
}

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
#include "heap_sampler/profile/encode.h"

#include <errno.h>
#include <string.h>

/* Field numbers of profile.proto, from 1000 on our own.  Messages whose fields are all numbers are written as lists: see PUT. */
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
    SAMPLE_LOCATION_ID = 1,
    SAMPLE_VALUE = 2,
    SAMPLE_LABEL = 3,
    SAMPLE_ROW = 1000,
    LOCATION_ID = 1,
    LOCATION_MAPPING_ID = 2,
    LOCATION_ADDRESS = 3,
    LOCATION_LINE = 4,
    ROW_ALLOCATION_GC = 1,
    ROW_THREAD = 2,
    ROW_TYPE = 3,
    ROW_SLOT_SIZE = 4,
    ROW_PART = 30               /* for the figures: HS_ROW_FIGURES */
};

/* Mapping numbers: all Ruby code has the first, the profile's mappings follow. */
enum { NO_MAPPING = 0,
       RUBY_MAPPING = 1,
       FIRST_NATIVE_MAPPING = 2 };

/* Strings that every file has, in the order of the string table. */
/* clang-format off */
enum fixed_string {
    S_empty, S_alloc_objects, S_count, S_alloc_space, S_bytes, S_inuse_objects, S_inuse_space, S_space, S_class, S_kind, S_malloc, S_library,
    FIXED_STRINGS
};
/* clang-format on */
static const char *const fixed_strings[FIXED_STRINGS] = {
    "", "alloc_objects", "count", "alloc_space", "bytes", "inuse_objects", "inuse_space", "space", "class", "kind", "malloc", "library"};

/* Every program's files of heaps have these, and ours no others. */
enum { SAMPLE_TYPES = 4 };
static const struct {
    enum fixed_string type, unit;
} sample_types[SAMPLE_TYPES] = {{S_alloc_objects, S_count}, {S_alloc_space, S_bytes}, {S_inuse_objects, S_count}, {S_inuse_space, S_bytes}};

/* Added to what other rows have. */
static void
add_values(const struct hs_row *row, uint64_t sum[SAMPLE_TYPES])
{
    const double values[SAMPLE_TYPES] = {row->alloc.objects, row->alloc.space, row->inuse.objects, row->inuse.space};
    for (int i = 0; i < SAMPLE_TYPES; i++) sum[i] = (uint64_t)rb_hs_saturate(sum[i] + (uint64_t)rb_hs_round(values[i]));
}

enum { NATIVE = UINT32_MAX };  /* in place of a function's path: it is one of a library */

/* Frames that stand for others. */
enum other_frame { NO_STACK,
                   EVICTED,
                   TRUNCATED,
                   OTHER_FRAMES };

struct pprof {
    const struct hs_profile *profile;
    struct hs_buffer *out;
    struct hs_gzip *gzip;               /* where `out` is passed on, or NULL */
    struct hs_buffer locations, functions, strings;     /* fields of the profile, ready */
    struct hs_file_row *rows;
    uint32_t *location_of_frame;        /* 0: not met yet; so everywhere below */
    uint32_t *string_of_text;
    struct hs_map functions_known;      /* numbers, by label and path */
    uint64_t *function_hash;            /* by number - 1, room for one per frame: what a function's addresses begin with */
    bool *mapping_unnamed;              /* by mapping: it has a location without a function */
    struct hs_map addresses;            /* of Ruby frames, less the start of their mapping: those that are taken */
    uint64_t location_count, others[OTHER_FRAMES];
    uint32_t depth;                     /* so many frames of a stack are written at most */
    uint32_t function_count, string_count, string_capacity;
    struct hs_map strings_known;        /* numbers, by hash */
    struct hs_text *string;             /* by number */
};

static void
put_number(struct hs_buffer *out, uint32_t field, uint64_t value)
{
    if (value) rb_hs_put_number(out, field, value);
}

/* A message whose fields are numbers, from field 1 on. */
#define PUT(out, field, ...) put_numbers(out, field, (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static void
put_numbers(struct hs_buffer *out, uint32_t field, const uint64_t *numbers, size_t count)
{
    size_t at = rb_hs_open_message(out, field);
    for (size_t i = 0; i < count; i++) put_number(out, (uint32_t)i + 1, numbers[i]);
    rb_hs_close_message(out, at);
}

/* Compresses what is ready. Between messages only. */
static void
pass_on(struct pprof *p)
{
    enum { LONG = 64 * 1024 };
    if (!p->gzip || p->out->failed || p->out->len < LONG) return;
    if (rb_hs_gzip_append(p->gzip, p->out->ptr, p->out->len, false) != 0) p->out->failed = true;
    p->out->len = 0;
}

static uint32_t
add_string(struct pprof *p, struct hs_text text)
{
    uint64_t hash;
    uint32_t number = rb_hs_text_find(&p->strings_known, p->string, text, &hash);
    if (number || (!text.len && p->string_count)) return number;
    if (!rb_hs_grow(HS_MEM_SNAPSHOTS, (void **)&p->string, &p->string_capacity, (uint64_t)p->string_count + 1, sizeof(*p->string)) ||
        (text.len && !rb_hs_map_put(&p->strings_known, hash, p->string_count))) {
        p->out->failed = true;
        return S_empty;
    }
    size_t at = rb_hs_open_message(&p->strings, PROFILE_STRING_TABLE);
    rb_hs_append_utf8(&p->strings, text, false);
    rb_hs_close_message(&p->strings, at);
    p->string[p->string_count] = text;
    return p->string_count++;
}

static uint32_t
string_of(struct pprof *p, uint32_t text)
{
    if (!p->string_of_text[text]) p->string_of_text[text] = add_string(p, p->profile->texts[text]);
    return p->string_of_text[text];
}

/* -- functions and locations ------------------------------------------------------------- */

/* `function` 0: none is known. */
static void
put_location(struct pprof *p, uint64_t id, uint64_t mapping, uint64_t address, uint64_t function, uint32_t line)
{
    size_t at = rb_hs_open_message(&p->locations, PROFILE_LOCATION);
    put_number(&p->locations, LOCATION_ID, id);
    put_number(&p->locations, LOCATION_MAPPING_ID, mapping);
    put_number(&p->locations, LOCATION_ADDRESS, address);
    if (function) PUT(&p->locations, LOCATION_LINE, function, line);
    rb_hs_close_message(&p->locations, at);
}

/* A polynomial modulo a prime below 2^53: the library, in Ruby, takes the same steps without allocating. */
static uint64_t
hash_on(struct pprof *p, uint64_t hash, struct hs_text text)
{
    enum { BASE = 257 };
    const uint64_t prime = (UINT64_C(1) << 53) - 111;
    size_t from = p->strings.len;
    rb_hs_append_utf8(&p->strings, text, false);        /* and off again: a reader has no other bytes */
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

/* The address of one more frame; where another frame has it, the address of the next hash. */
static uint64_t
address_of(struct pprof *p, uint64_t function_hash, uint32_t line)
{
    enum { LINE_BITS = 21 };
    uint64_t lines = UINT64_C(1) << LINE_BITS, offset = (function_hash * lines + line % lines) % HS_RUBY_CODE_SIZE;
    while (rb_hs_map_find(&p->addresses, offset + 1)) offset = (offset + lines) % HS_RUBY_CODE_SIZE;
    if (!rb_hs_map_put(&p->addresses, offset + 1, 0)) p->out->failed = true;
    return HS_RUBY_CODE + offset;
}

/* Frames that differ in their line only share a function. */
static uint32_t
function_of(struct pprof *p, uint32_t label, uint32_t path)
{
    uint64_t key = ((uint64_t)label << 32 | path) + 1;
    const uint32_t *known = rb_hs_map_find(&p->functions_known, key);
    if (known) return *known;
    if (!rb_hs_map_put(&p->functions_known, key, ++p->function_count)) p->out->failed = true;
    struct hs_text text = p->profile->texts[label];
    if (!text.len) text = hs_text_of(HS_NO_LABEL);
    uint32_t name = add_string(p, text);
    /* Ruby's have no system_name: were it equal to the name, `go tool pprof` would take the name for C++ and cut what is in <>,
     * () and []: `<main>` became `<unknown>`. Native ones have it, so that it takes _ZN3fooEv apart. */
    bool native = path == (uint32_t)NATIVE;
    PUT(&p->functions, PROFILE_FUNCTION, p->function_count, name, native ? name : S_empty, native ? S_empty : string_of(p, path));
    if (!native) p->function_hash[p->function_count - 1] = hash_of_function(p, text, p->profile->texts[path]);
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
        uint64_t address = address_of(p, p->function_hash[function - 1], frame->line);
        put_location(p, p->location_count, RUBY_MAPPING, address, function, frame->line);
    }
    return p->location_of_frame[index];
}

/* Of a frame that the profile may not have. Then its function's number, which its location has too, is past the numbers
 * of all frames. */
static uint64_t
location_of_other(struct pprof *p, enum other_frame other)
{
    static const char *const labels[OTHER_FRAMES] = {HS_NO_STACK, HS_EVICTED, HS_TRUNCATED};
    uint64_t *known = &p->others[other];
    if (*known) return *known;
    uint32_t frame = rb_hs_frame_of_label(p->profile, labels[other]);
    if (frame != UINT32_MAX) return *known = location_of(p, frame);
    struct hs_text text = hs_text_of(labels[other]);
    *known = (uint64_t)p->profile->frame_count + other + 1;
    PUT(&p->functions, PROFILE_FUNCTION, *known, add_string(p, text));
    put_location(p, *known, RUBY_MAPPING, address_of(p, hash_of_function(p, text, hs_text_of("")), 0), *known, 0);
    return *known;
}

/* -- samples and their rows ----------------------------------------------------------------- */

static void
put_labels(struct pprof *p, const struct hs_row *row)
{
    uint32_t class_name = string_of(p, row->class_name), library = string_of(p, row->library);

    if (class_name) PUT(p->out, SAMPLE_LABEL, S_class, class_name);
    if (row->malloced) PUT(p->out, SAMPLE_LABEL, S_kind, S_malloc);
    if (row->malloced && library) PUT(p->out, SAMPLE_LABEL, S_library, library);
    struct hs_text rest = p->profile->texts[row->labels];       /* lines "key=value" */
    while (rest.len) {
        struct hs_text value = hs_text_cut(&rest, '\n'), key = hs_text_cut(&value, '=');
        uint32_t key_string = add_string(p, key), value_string = add_string(p, value);
        PUT(p->out, SAMPLE_LABEL, key_string, value_string);
    }
}

/* How many frames the different stacks in the file have, if at most `depth` of each are written. `depths`: by node. */
static uint64_t
frames_in_file(const struct pprof *p, const uint32_t *depths, uint32_t depth)
{
    uint64_t frames = 0, before = 0;
    for (size_t i = 0; i < p->profile->row_count; i++) {
        uint64_t stack = p->rows[i].stack;
        if (stack != before && stack < p->profile->node_count) frames += depths[stack] < depth ? depths[stack] : depth;
        before = stack;
    }
    return frames;
}

/* The library refuses a file with more than twice as many frames, and one that gzip makes a hundred times smaller. So the
 * outermost callers of the deepest stacks are left out where there are too many. */
static bool
limit_depth(struct pprof *p)
{
    enum { FRAMES_MOST = 1 << 24,
           DEPTH_MOST = 1 << 10,
           DEPTH_LEAST = 1 << 4 };
    const struct hs_profile *profile = p->profile;
    uint32_t *depths = rb_hs_calloc(HS_MEM_SNAPSHOTS, (size_t)profile->node_count + 1, sizeof(*depths));
    if (!depths) return false;
    for (uint32_t node = 1; node < profile->node_count; node++) depths[node] = depths[profile->nodes[node].parent] + 1;
    p->depth = DEPTH_MOST;
    while (p->depth > DEPTH_LEAST && frames_in_file(p, depths, p->depth) > FRAMES_MOST) p->depth /= 2;
    rb_hs_free(HS_MEM_SNAPSHOTS, depths);
    return true;
}

/* Leaf first. */
static void
put_stack(struct pprof *p, uint64_t stack)
{
    const struct hs_profile *profile = p->profile;
    size_t at = rb_hs_open_message(p->out, SAMPLE_LOCATION_ID);
    if (!stack) {
        rb_hs_put_varint(p->out, location_of_other(p, NO_STACK));
    }
    else if (stack < profile->node_count) {
        uint32_t left = p->depth, node = (uint32_t)stack;
        for (; node && left; node = profile->nodes[node].parent, left--) {
            rb_hs_put_varint(p->out, location_of(p, profile->nodes[node].frame));
        }
        if (node) rb_hs_put_varint(p->out, location_of_other(p, TRUNCATED));
    }
    else {
        uint64_t frame = stack - profile->node_count;
        if (frame < profile->frame_count) rb_hs_put_varint(p->out, location_of(p, (uint32_t)frame));
        rb_hs_put_varint(p->out, location_of_other(p, EVICTED));
    }
    rb_hs_close_message(p->out, at);
}

/* Rows that are equal are one: *sum. Returns the first that is not of it. */
static size_t
add_equal_rows(const struct pprof *p, size_t first, struct hs_row *sum)
{
    size_t i = first;
    *sum = *p->rows[first].row;
    while (++i < p->profile->row_count && rb_hs_file_rows_agree(&p->rows[first], &p->rows[i], HS_ROW_KEYS)) rb_hs_row_add(sum, p->rows[i].row);
    return i;
}

static void
put_part(struct pprof *p, const struct hs_row *row, const struct hs_part *kept)
{
    uint32_t owner = row->malloced ? string_of(p, p->profile->retainers.nodes[kept->node].klass) : 0;
    PUT(p->out, ROW_PART, (uint64_t)kept->node + 1, (uint64_t)rb_hs_round(kept->sum.objects), (uint64_t)rb_hs_round(kept->sum.space),
        (uint64_t)rb_hs_round(kept->sum.variance), owner);
}

static void
put_parts(struct pprof *p, const struct hs_row *row)
{
    const struct hs_part *kept = p->profile->kept;
    size_t number = (size_t)(row - p->profile->rows), low = 0, high = p->profile->kept_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (kept[middle].of < number) low = middle + 1;
        else high = middle;
    }
    for (; low < p->profile->kept_count && kept[low].of == number; low++) put_part(p, row, &kept[low]);
}

/* To ten binary digits, which is exact to a thousandth: zeros compress. */
static int64_t
round_variance(double variance)
{
    enum { MOST = 1 << 10 };
    uint64_t value = (uint64_t)rb_hs_round(variance);
    int shift = 0;
    while (value >> shift >= MOST) shift++;
    return rb_hs_saturate((value + (UINT64_C(1) << shift) / 2) >> shift << shift);
}

static bool
within_a_thousandth(int64_t value, int64_t other)
{
    return (value > other ? value - other : other - value) <= value / 1000;
}

/* Where all samples of a row have the same weight, as in most rows, the variance follows from the other figures as they are in
 * the file: only one that is another is written. */
static void
put_variance(struct pprof *p, uint32_t field, const struct hs_estimate *samples, double space, double variance)
{
    double count = (double)rb_hs_saturate(samples->samples), objects = (double)rb_hs_round(samples->objects), bytes = (double)rb_hs_round(space);
    int64_t value = round_variance(variance);
    int64_t follows = count > 0 && objects > count ? rb_hs_round(bytes * bytes * (objects / count - 1) / objects) : 0;
    if (!within_a_thousandth(value, follows)) rb_hs_put_number(p->out, field, (uint64_t)value);
}

static void
put_rounded(struct pprof *p, uint32_t field, double value)
{
    put_number(p->out, field, (uint64_t)rb_hs_round(value));
}

static void
put_estimate(struct pprof *p, uint32_t field, const struct hs_estimate *estimate)
{
    put_number(p->out, field, (uint64_t)rb_hs_saturate(estimate->samples));
    put_rounded(p, field + 1, estimate->objects);
    put_rounded(p, field + 2, estimate->space);
    put_variance(p, field + 3, estimate, estimate->space, estimate->variance);
}

/* A part of the bytes of `inuse`. */
static void
put_share(struct pprof *p, uint32_t field, const struct hs_row *row, const struct hs_share *share)
{
    put_rounded(p, field, share->space);
    put_variance(p, field + 1, &row->inuse, share->space, share->variance);
}

static void
put_sum(struct pprof *p, uint32_t field, double value, double absent)
{
    if (rb_hs_round(value) != rb_hs_round(absent)) rb_hs_put_number(p->out, field, (uint64_t)rb_hs_round(value));
}

/* Was all freed that was allocated?  Then the file has the samples alone. */
static bool
is_all_freed(const struct hs_estimate *freed, const struct hs_estimate *alloc)
{
    return freed->samples == alloc->samples && rb_hs_round(freed->objects) == rb_hs_round(alloc->objects) &&
        rb_hs_round(freed->space) == rb_hs_round(alloc->space) &&
        within_a_thousandth(round_variance(freed->variance), round_variance(alloc->variance));
}

/* Writes one row for the rows from `first` up to `end`, which are equal; *row is their sum. */
static void
put_row(struct pprof *p, size_t first, size_t end, struct hs_row *row)
{
    if (is_all_freed(&row->freed, &row->alloc)) row->freed = (struct hs_estimate){.samples = row->freed.samples};
    size_t at = rb_hs_open_message(p->out, SAMPLE_ROW);
    if (row->has_allocation_gc) rb_hs_put_number(p->out, ROW_ALLOCATION_GC, (uint64_t)rb_hs_saturate(row->allocation_gc));
    put_number(p->out, ROW_THREAD, row->thread);
    put_number(p->out, ROW_TYPE, string_of(p, row->type));
    put_number(p->out, ROW_SLOT_SIZE, row->slot_size);
#define ESTIMATE(name, field) put_estimate(p, field, &row->name);
#define SHARE(name, field) put_share(p, field, row, &row->name);
#define SUM(name, field, absent) put_sum(p, field, row->name, absent);
    HS_ROW_FIGURES(ESTIMATE, SHARE, SUM)
    for (size_t i = first; i < end; i++) put_parts(p, p->rows[i].row);
    rb_hs_close_message(p->out, at);
}

/* The sample that begins with a row. Returns the first row that is not of it. */
static size_t
put_sample(struct pprof *p, size_t first)
{
    uint64_t values[SAMPLE_TYPES] = {0};
    struct hs_row row;
    size_t end = first;
    while (end < p->profile->row_count && rb_hs_file_rows_agree(&p->rows[first], &p->rows[end], HS_SAMPLE_KEYS)) {
        end = add_equal_rows(p, end, &row);
        add_values(&row, values);
    }
    size_t at = rb_hs_open_message(p->out, PROFILE_SAMPLE);
    put_stack(p, p->rows[first].stack);
    size_t within = rb_hs_open_message(p->out, SAMPLE_VALUE);
    for (int i = 0; i < SAMPLE_TYPES; i++) rb_hs_put_varint(p->out, values[i]);
    rb_hs_close_message(p->out, within);
    put_labels(p, p->rows[first].row);
    for (size_t i = first, next; i < end; i = next) {
        next = add_equal_rows(p, i, &row);
        put_row(p, i, next, &row);
    }
    rb_hs_close_message(p->out, at);
    pass_on(p);
    return end;
}

/* -- what retains it, and the rest ------------------------------------------------------------ */

static void
put_references(struct pprof *p)
{
    for (uint32_t i = 0; i < p->profile->retainers.node_count; i++) {
        const struct hs_retainer *node = &p->profile->retainers.nodes[i];
        bool root = node->parent == i;
        PUT(p->out, PROFILE_REFERENCE, root ? 0 : (uint64_t)node->parent + 1, string_of(p, node->name), string_of(p, node->kind),
            string_of(p, node->path), node->line, node->objects, node->folded && !root,
            node->entries == HS_NO_ENTRIES ? 0 : (uint64_t)node->entries + 1, string_of(p, node->bound));
    }
}

/* After the locations, which say whether all have names. */
static void
put_native_mappings(struct pprof *p)
{
    for (uint32_t i = 0; i < p->profile->mapping_count; i++) {
        const struct hs_mapping *mapping = &p->profile->mappings[i];
        PUT(p->out, PROFILE_MAPPING, FIRST_NATIVE_MAPPING + (uint64_t)i, mapping->start, mapping->end, mapping->offset,
            string_of(p, mapping->path), string_of(p, mapping->build_id), !p->mapping_unnamed[i]);
    }
}

static int
put_head(struct pprof *p, enum hs_shown_first first)
{
    const struct hs_profile_meta *meta = &p->profile->meta;

    for (int i = 0; i < FIXED_STRINGS; i++) add_string(p, hs_text_of(fixed_strings[i]));
    for (int i = 0; i < SAMPLE_TYPES; i++) PUT(p->out, PROFILE_SAMPLE_TYPE, sample_types[i].type, sample_types[i].unit);
    /* Every location of Ruby code has its names: else `go tool pprof` looks for a binary to take them from, and complains. */
    PUT(p->out, PROFILE_MAPPING, RUBY_MAPPING, HS_RUBY_CODE, HS_RUBY_CODE + HS_RUBY_CODE_SIZE, 0, 0, 0, true, true, true);
    uint64_t duration = meta->taken_ns > meta->started_ns ? meta->taken_ns - meta->started_ns : 0;
    put_number(p->out, PROFILE_TIME_NANOS, (uint64_t)rb_hs_saturate(meta->started_ns));
    put_number(p->out, PROFILE_DURATION_NANOS, (uint64_t)rb_hs_saturate(duration));
    put_number(p->out, PROFILE_PERIOD, (uint64_t)rb_hs_saturate(meta->interval));
    put_number(p->out, PROFILE_DEFAULT_SAMPLE_TYPE, first == HS_ALLOC_FIRST ? S_alloc_space : S_inuse_space);
    PUT(p->out, PROFILE_PERIOD_TYPE, S_space, S_bytes);

    size_t at = rb_hs_open_message(p->out, PROFILE_META);
    int error = rb_hs_encode_meta(p->profile, p->out);
    rb_hs_close_message(p->out, at);
    return error;
}

static int
prepare(struct pprof *p)
{
    size_t frames = p->profile->frame_count, texts = p->profile->text_count;

    p->location_of_frame = rb_hs_calloc(HS_MEM_SNAPSHOTS, frames, sizeof(*p->location_of_frame));
    p->string_of_text = rb_hs_calloc(HS_MEM_SNAPSHOTS, texts, sizeof(*p->string_of_text));
    p->function_hash = rb_hs_calloc(HS_MEM_SNAPSHOTS, frames, sizeof(*p->function_hash));
    p->mapping_unnamed = rb_hs_calloc(HS_MEM_SNAPSHOTS, p->profile->mapping_count, sizeof(*p->mapping_unnamed));
    p->rows = rb_hs_file_rows(p->profile);
    bool ready = p->rows && p->location_of_frame && p->string_of_text && p->function_hash && p->mapping_unnamed;
    return ready && limit_depth(p) ? 0 : ENOMEM;
}

static void
dispose(struct pprof *p)
{
    rb_hs_free(HS_MEM_SNAPSHOTS, p->location_of_frame);
    rb_hs_free(HS_MEM_SNAPSHOTS, p->string_of_text);
    rb_hs_free(HS_MEM_SNAPSHOTS, p->function_hash);
    rb_hs_free(HS_MEM_SNAPSHOTS, p->mapping_unnamed);
    rb_hs_free(HS_MEM_SNAPSHOTS, p->rows);
    rb_hs_free(HS_MEM_SNAPSHOTS, p->string);
    rb_hs_map_free(&p->addresses);
    rb_hs_map_free(&p->functions_known);
    rb_hs_map_free(&p->strings_known);
    rb_hs_buffer_free(&p->locations);
    rb_hs_buffer_free(&p->functions);
    rb_hs_buffer_free(&p->strings);
}

static int
encode(const struct hs_profile *profile, enum hs_shown_first first, struct hs_gzip *gzip, struct hs_buffer *out)
{
    struct pprof p = {.profile = profile, .out = out, .gzip = gzip, .strings_known.use = HS_MEM_SNAPSHOTS, .functions_known.use = HS_MEM_SNAPSHOTS, .addresses.use = HS_MEM_SNAPSHOTS};
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
        pass_on(&p);
        rb_hs_buffer_append(out, p.functions.ptr, p.functions.len);
        pass_on(&p);
        rb_hs_buffer_append(out, p.strings.ptr, p.strings.len);
    }
    if (!error && (p.locations.failed || p.functions.failed || p.strings.failed || out->failed)) error = ENOMEM;
    dispose(&p);
    return error;
}

/* -- the two formats ------------------------------------------------------------------------- */

const char *
rb_hs_format_of(const char *path, enum hs_format *format)
{
    static const char *const endings[] = {[HS_PB_GZ] = ".pb.gz", [HS_PB] = ".pb"};
    size_t len = strlen(path);
    for (int i = HS_PB_GZ; i <= HS_PB; i++) {
        size_t ending = strlen(endings[i]);
        *format = (enum hs_format)i;
        if (len >= ending && strcmp(path + len - ending, endings[i]) == 0) return endings[i];
    }
    return NULL;
}

int
rb_hs_encode(const struct hs_profile *profile, enum hs_format format, enum hs_shown_first first, struct hs_buffer *out)
{
    if (format == HS_PB) return encode(profile, first, NULL, out);
    struct hs_buffer plain = {0};
    struct hs_gzip *gzip = rb_hs_gzip_open(out);
    int error = gzip ? encode(profile, first, gzip, &plain) : ENOMEM;
    if (!error) error = rb_hs_gzip_append(gzip, plain.ptr, plain.len, true);
    rb_hs_gzip_close(gzip);
    rb_hs_buffer_free(&plain);
    return error;
}

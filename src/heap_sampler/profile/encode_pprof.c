/*
 * pprof: a profile as profile.proto of github.com/google/pprof, encoded by
 * hand so that the VM depends on no protobuf library.  doc/format.md freezes
 * what is in it.
 *
 * A message is a run of fields; a field is a tag (number and wire type) and
 * either a varint or a length and that many bytes.  A field that is 0 or
 * empty is left out, as proto3 does.  A message within a message needs its
 * length first, hence the small buffers.  Strings are written once into a
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
#include "heap_sampler/profile/formats.h"
#include "heap_sampler/profile/profile.h"
#include "heap_sampler/profile/row_columns.h"
#include "heap_sampler/stacks/stack_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Field numbers of profile.proto. */
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
    PROFILE_COMMENT = 13,
    PROFILE_DEFAULT_SAMPLE_TYPE = 14,
    VALUE_TYPE_TYPE = 1,
    VALUE_TYPE_UNIT = 2,
    SAMPLE_LOCATION_ID = 1,
    SAMPLE_VALUE = 2,
    SAMPLE_LABEL = 3,
    LABEL_KEY = 1,
    LABEL_STR = 2,
    LABEL_NUM = 3,
    LABEL_NUM_UNIT = 4,
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
    FUNCTION_FILENAME = 4
};

enum { WIRE_VARINT = 0,
       WIRE_BYTES = 2 };
enum { VARINT_MAX = 10 };

/* Mapping numbers: all Ruby code has the first, those of the profile follow. */
enum { NO_MAPPING = 0,
       RUBY_MAPPING = 1,
       FIRST_NATIVE_MAPPING = 2 };

/* Strings that every file has, in the order of the string table: those named here, and between them the sample types. */
#define FIXED_STRINGS_BEFORE(S) S(count) S(bytes) S(bytes2) S(space) S(class) S(type) S(slot_size) S(gc_birth) S(thread)
#define FIXED_STRINGS_BEHIND(S) S(kind) S(malloc) S(library)

enum fixed_string {
    S_empty,
#define S(name) S_##name,
#define VALUE(type, unit, number) S_value_##type,
    FIXED_STRINGS_BEFORE(S)
        HS_ROW_VALUES(VALUE)
            FIXED_STRINGS_BEHIND(S)
#undef S
#undef VALUE
                FIXED_STRINGS
};

static const char *const fixed_strings[FIXED_STRINGS] = {
    "",
#define S(name) #name,
#define VALUE(type, unit, number) #type,
    FIXED_STRINGS_BEFORE(S)
        HS_ROW_VALUES(VALUE)
            FIXED_STRINGS_BEHIND(S)
#undef S
#undef VALUE
};

static const struct {
    enum fixed_string type, unit;
} sample_types[] = {
#define VALUE(type, unit, number) {S_value_##type, S_##unit},
    HS_ROW_VALUES(VALUE)
#undef VALUE
};

enum { SAMPLE_TYPES = sizeof(sample_types) / sizeof(sample_types[0]) };

/* Estimates are rounded, counts are whole. */
#define TO_FILE(number) _Generic((number), uint64_t: rb_hs_saturate, default: rb_hs_round)(number)

static void
values(const struct hs_row *row, int64_t value[SAMPLE_TYPES])
{
    int i = 0;
#define VALUE(type, unit, number) value[i++] = TO_FILE(number);
    HS_ROW_VALUES(VALUE)
#undef VALUE
}

struct function {
    uint32_t label, path;       /* texts; NATIVE in place of the path: one of a library */
};
enum { NATIVE = UINT32_MAX };

/* Of a node of the holders; 0: not met yet. */
struct holder_locations {
    uint64_t reference;         /* to an object */
    uint64_t object, block;     /* that object, or its memory, where a stack begins */
};

/* A key or a value of labels, and its string. */
struct label_text {
    struct hs_text text;
    uint32_t string;
};

struct pprof {
    const struct hs_profile *profile;
    struct hs_buffer *out;
    struct hs_buffer locations, functions, strings;     /* fields of the profile, ready */
    struct hs_buffer message, packed;                   /* being built */
    struct hs_stack stack;
    uint32_t *location_of_frame;        /* 0: not met yet; so everywhere below */
    uint32_t *string_of_text;
    uint32_t *function_slots;           /* open hash of function numbers, never over half full */
    size_t function_slot_count;         /* a power of two */
    struct function *function;          /* by number - 1; room for one per frame */
    bool *mapping_unnamed;              /* by mapping: it has a location without a function */
    uint64_t location_count, no_stack_location;
    uint32_t function_count, string_count;
    struct hs_map label_strings;        /* places in label_texts, by hash */
    struct label_text *label_texts;
    uint32_t label_text_count, label_text_capacity;
    struct holder_locations *of_holder; /* by node of the holders */
    uint32_t object_string, row_string, linked_string;
    uint64_t holder_count;
};

static void
put_varint(struct hs_buffer *out, uint64_t value)
{
    unsigned char bytes[VARINT_MAX];
    size_t len = 0;

    while (value >= 0x80) {
        bytes[len++] = (unsigned char)(value | 0x80);
        value >>= 7;
    }
    bytes[len++] = (unsigned char)value;
    rb_hs_buffer_append(out, bytes, len);
}

static void
put_number(struct hs_buffer *out, uint32_t field, uint64_t value)
{
    if (!value) return;
    put_varint(out, field << 3 | WIRE_VARINT);
    put_varint(out, value);
}

static void
put_bytes(struct hs_buffer *out, uint32_t field, const struct hs_buffer *bytes)
{
    put_varint(out, field << 3 | WIRE_BYTES);
    put_varint(out, bytes->len);
    rb_hs_buffer_append(out, bytes->ptr, bytes->len);
    if (bytes->failed) out->failed = true;
}

/* The message built so far becomes a field of `out`; the next one starts. */
static void
put_message(struct pprof *p, struct hs_buffer *out, uint32_t field)
{
    put_bytes(out, field, &p->message);
    p->message.len = 0;
}

static uint32_t
add_string(struct pprof *p, struct hs_text text)
{
    p->packed.len = 0;
    rb_hs_append_utf8(&p->packed, text);
    put_bytes(&p->strings, PROFILE_STRING_TABLE, &p->packed);
    p->packed.len = 0;
    return p->string_count++;
}

static uint32_t
string_of(struct pprof *p, uint32_t text)
{
    if (!p->profile->texts[text].len) return S_empty;
    if (!p->string_of_text[text]) p->string_of_text[text] = add_string(p, p->profile->texts[text]);
    return p->string_of_text[text];
}

/* Ruby's have no system_name: were it equal to the name, `go tool pprof` would
 * take the name for C++ and cut what is in <>, () and []: `<main>` became
 * `<unknown>`.  Native ones have it, so that it takes _ZN3fooEv apart. */
static void
put_function(struct pprof *p, uint64_t id, uint32_t name, uint32_t system_name, uint32_t filename)
{
    put_number(&p->message, FUNCTION_ID, id);
    put_number(&p->message, FUNCTION_NAME, name);
    put_number(&p->message, FUNCTION_SYSTEM_NAME, system_name);
    put_number(&p->message, FUNCTION_FILENAME, filename);
    put_message(p, &p->functions, PROFILE_FUNCTION);
}

/* `function` 0: none is known. */
static void
put_location(struct pprof *p, uint64_t id, uint64_t mapping, uint64_t address, uint64_t function, uint32_t line)
{
    put_number(&p->message, LOCATION_ID, id);
    put_number(&p->message, LOCATION_MAPPING_ID, mapping);
    put_number(&p->message, LOCATION_ADDRESS, address);
    if (function) {
        /* Line is a message in a message: at most two tags and two varints */
        put_number(&p->packed, LINE_FUNCTION_ID, function);
        put_number(&p->packed, LINE_LINE, line);
        put_bytes(&p->message, LOCATION_LINE, &p->packed);
        p->packed.len = 0;
    }
    put_message(p, &p->locations, PROFILE_LOCATION);
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
    p->function[p->function_count++] = (struct function){label, path};
    p->function_slots[slot] = p->function_count;
    uint32_t name = string_of(p, label);
    if (!name) name = add_string(p, rb_hs_text_of(HS_NO_LABEL));
    if (path == (uint32_t)NATIVE) put_function(p, p->function_count, name, name, S_empty);
    else put_function(p, p->function_count, name, S_empty, string_of(p, path));
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

static uint32_t
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
        put_location(p, p->location_count, RUBY_MAPPING, 0, function_of(p, frame->label, path), frame->line);
    }
    return p->location_of_frame[index];
}

/* Its function's number is past those of the frames, of which there are at
 * most frame_count. */
static uint64_t
location_of_no_stack(struct pprof *p)
{
    if (!p->no_stack_location) {
        uint64_t function = (uint64_t)p->profile->frame_count + 1;
        put_function(p, function, add_string(p, rb_hs_text_of(HS_NO_STACK)), S_empty, S_empty);
        p->no_stack_location = function;
        put_location(p, p->no_stack_location, RUBY_MAPPING, 0, function, 0);
    }
    return p->no_stack_location;
}

static void
put_value_type(struct pprof *p, uint32_t field, uint32_t type, enum fixed_string unit)
{
    put_number(&p->message, VALUE_TYPE_TYPE, type);
    put_number(&p->message, VALUE_TYPE_UNIT, unit);
    put_message(p, p->out, field);
}

static void
put_label(struct pprof *p, uint32_t key, uint32_t string, uint64_t number, enum fixed_string unit)
{
    put_number(&p->packed, LABEL_KEY, key);
    put_number(&p->packed, LABEL_STR, string);
    put_number(&p->packed, LABEL_NUM, number);
    put_number(&p->packed, LABEL_NUM_UNIT, unit);
    put_bytes(&p->message, SAMPLE_LABEL, &p->packed);
    p->packed.len = 0;
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

/* Lines "key=value". Their strings are added first: a label is built where strings are. */
static void
put_application_labels(struct pprof *p, uint32_t labels)
{
    struct hs_text rest = p->profile->texts[labels];
    while (rest.len) {
        struct hs_text value = hs_text_cut(&rest, '\n'), key = hs_text_cut(&value, '=');
        uint32_t key_string = label_string(p, key), value_string = label_string(p, value);
        put_label(p, key_string, value_string, 0, S_empty);
    }
}

static void
put_labels(struct pprof *p, const struct hs_row *row)
{
    uint32_t class_name = string_of(p, row->class_name), type = string_of(p, row->type);

    if (class_name) put_label(p, S_class, class_name, 0, S_empty);
    if (type) put_label(p, S_type, type, 0, S_empty);
    if (row->malloced) {
        uint32_t library = string_of(p, row->library);
        put_label(p, S_kind, S_malloc, 0, S_empty);
        if (library) put_label(p, S_library, library, 0, S_empty);
    }
    else {
        put_label(p, S_slot_size, 0, row->slot_size, S_bytes);
    }
    /* The unit is what makes a label numeric for pprof where the number is 0
     * (a field left out); without it, it drops the label. */
    if (row->has_birth) put_label(p, S_gc_birth, 0, (uint64_t)rb_hs_saturate(row->birth_gc), S_count);
    if (row->thread) put_label(p, S_thread, 0, row->thread, S_count);
    put_application_labels(p, row->labels);
}

/* -- who keeps it ------------------------------------------------------------------------ */

/* Behind all other sample types, in a profile that has them. */
enum { KEPT_TYPES = 3 };
static const struct {
    const char *type;
    enum fixed_string unit;
} kept_types[KEPT_TYPES] = {{"kept_objects", S_count}, {"kept_space", S_bytes}, {"kept_var", S_bytes2}};

static bool
kept_p(const struct pprof *p)
{
    return p->profile->holders.nodes != NULL;
}

/* Their functions and locations have the numbers behind those of all frames. */
static uint64_t
put_holder(struct pprof *p, uint32_t name, uint32_t kind, uint32_t path, uint32_t line)
{
    uint64_t number = (uint64_t)p->profile->frame_count + 1 + ++p->holder_count;
    put_function(p, number, name, kind, path);
    put_location(p, number, RUBY_MAPPING, 0, number, line);
    return number;
}

/* "@next of Node", or "@next of Node ×812" of objects that are linked by it to each other. */
static uint32_t
name_of_reference(struct pprof *p, const struct hs_holder *node)
{
    const struct hs_text *name = &p->profile->texts[node->name];
    char text[HS_EDGE_TEXT_MAX + 16];
    if (!node->folded || node->parent == node - p->profile->holders.nodes) return string_of(p, node->name);
    int length = snprintf(text, sizeof(text), "%.*s \xc3\x97%" PRIu32, (int)name->len, name->ptr, node->objects);
    return add_string(p, (struct hs_text){text, (uint32_t)length});
}

static uint64_t
location_of_reference(struct pprof *p, uint32_t number)
{
    const struct hs_holder *node = &p->profile->holders.nodes[number];
    uint64_t *location = &p->of_holder[number].reference;
    if (!*location) *location = put_holder(p, name_of_reference(p, node), string_of(p, node->kind), string_of(p, node->path), node->line);
    return *location;
}

/* The object at the end of a chain, by its class, or the memory that it has from malloc. */
static uint64_t
location_of_end(struct pprof *p, uint32_t number, bool block)
{
    const struct hs_holder *node = &p->profile->holders.nodes[number];
    uint64_t *location = block ? &p->of_holder[number].block : &p->of_holder[number].object;
    if (*location) return *location;
    uint32_t name = block ? 0 : string_of(p, node->klass);
    if (!name) name = add_string(p, rb_hs_text_of(block ? "(malloc)" : "(object)"));
    *location = put_holder(p, name, block ? S_malloc : p->object_string, S_empty, 0);
    return *location;
}

/* From the object up to the root. What was not reached has no object to tell of. */
static int
stack_of_holders(struct pprof *p, uint32_t number, bool block)
{
    const struct hs_holder *nodes = p->profile->holders.nodes;
    uint32_t depth = 0;
    for (uint32_t node = number; nodes[node].parent != node; node = nodes[node].parent) depth++;
    uint64_t end = depth ? location_of_end(p, number, block) : 0;
    for (uint32_t node = number;; node = nodes[node].parent) {
        location_of_reference(p, node);
        if (nodes[node].parent == node) break;
    }
    if (end) put_varint(&p->packed, end);
    for (uint32_t node = number;; node = nodes[node].parent) {
        put_varint(&p->packed, p->of_holder[node].reference);
        if (nodes[node].parent == node) break;
    }
    return p->packed.failed ? ENOMEM : 0;
}

/* How many objects are at each reference of the chain, on the chains of any sample: in the order of the locations. */
static void
put_linked(struct pprof *p, uint32_t number)
{
    const struct hs_holder *nodes = p->profile->holders.nodes;
    for (uint32_t node = number;; node = nodes[node].parent) {
        put_label(p, p->linked_string, 0, nodes[node].objects, S_count);
        if (nodes[node].parent == node) break;
    }
}

static void
put_kept_labels(struct pprof *p, const struct hs_kept *kept)
{
    const struct hs_row *row = &p->profile->rows[kept->row];
    uint32_t owner = string_of(p, p->profile->holders.nodes[kept->node].klass), type = string_of(p, row->type);
    uint32_t class_name = row->malloced && owner ? owner : string_of(p, row->class_name);
    if (class_name) put_label(p, S_class, class_name, 0, S_empty);
    if (type) put_label(p, S_type, type, 0, S_empty);
    if (row->malloced) put_label(p, S_kind, S_malloc, 0, S_empty);
    put_application_labels(p, row->labels);
    put_label(p, p->row_string, 0, kept->row, S_count);
    put_linked(p, kept->node);
}

static int
put_kept(struct pprof *p, const struct hs_kept *kept)
{
    const double value[KEPT_TYPES] = {kept->objects, kept->space, kept->variance};
    int error = stack_of_holders(p, kept->node, p->profile->rows[kept->row].malloced);
    put_bytes(&p->message, SAMPLE_LOCATION_ID, &p->packed);
    p->packed.len = 0;
    for (int i = 0; i < SAMPLE_TYPES; i++) put_varint(&p->packed, 0);
    for (int i = 0; i < KEPT_TYPES; i++) put_varint(&p->packed, (uint64_t)rb_hs_round(value[i]));
    put_bytes(&p->message, SAMPLE_VALUE, &p->packed);
    p->packed.len = 0;
    put_kept_labels(p, kept);
    put_message(p, p->out, PROFILE_SAMPLE);
    return p->out->failed ? ENOMEM : error;
}

static int
put_all_kept(struct pprof *p)
{
    int error = 0;
    if (!kept_p(p)) return 0;
    p->of_holder = rb_hs_calloc(HS_MEM_SNAPSHOTS, p->profile->holders.node_count, sizeof(*p->of_holder));
    if (!p->of_holder) return ENOMEM;
    p->row_string = add_string(p, rb_hs_text_of("row"));
    p->linked_string = add_string(p, rb_hs_text_of("linked"));
    p->object_string = add_string(p, rb_hs_text_of("object"));
    for (size_t i = 0; !error && i < p->profile->kept_count; i++) error = put_kept(p, &p->profile->kept[i]);
    return error;
}

/* -- rows and the rest ----------------------------------------------------------------------- */

static int
put_sample(struct pprof *p, const struct hs_row *row)
{
    int64_t value[SAMPLE_TYPES];
    int error = rb_hs_stack_read(&p->stack, p->profile, row->node);
    if (error) return error;

    /* Numbers the locations, which needs `message` and `packed`, before the
     * sample starts to use them. */
    for (uint32_t i = 0; i < p->stack.depth; i++) {
        p->stack.frames[i] = location_of(p, p->stack.frames[i]);
    }
    for (uint32_t i = 0; i < p->stack.depth; i++) put_varint(&p->packed, p->stack.frames[i]);
    if (!p->stack.depth) {
        uint64_t location = location_of_no_stack(p);
        put_varint(&p->packed, location);
    }
    put_bytes(&p->message, SAMPLE_LOCATION_ID, &p->packed);
    p->packed.len = 0;

    values(row, value);
    for (int i = 0; i < SAMPLE_TYPES; i++) put_varint(&p->packed, (uint64_t)value[i]);
    for (int i = 0; kept_p(p) && i < KEPT_TYPES; i++) put_varint(&p->packed, 0);
    put_bytes(&p->message, SAMPLE_VALUE, &p->packed);
    p->packed.len = 0;

    put_labels(p, row);
    put_message(p, p->out, PROFILE_SAMPLE);
    return p->out->failed ? ENOMEM : 0;
}

/* Says that every location of Ruby code has its names: without it `go tool
 * pprof` looks for a binary to take them from, and complains. */
static void
put_ruby_mapping(struct pprof *p)
{
    put_number(&p->message, MAPPING_ID, RUBY_MAPPING);
    put_number(&p->message, MAPPING_HAS_FUNCTIONS, true);
    put_number(&p->message, MAPPING_HAS_FILENAMES, true);
    put_number(&p->message, MAPPING_HAS_LINE_NUMBERS, true);
    put_message(p, p->out, PROFILE_MAPPING);
}

/* After the locations, which tell whether all have names. */
static void
put_native_mappings(struct pprof *p)
{
    for (uint32_t i = 0; i < p->profile->mapping_count; i++) {
        const struct hs_mapping *mapping = &p->profile->mappings[i];
        uint32_t filename = string_of(p, mapping->path), build_id = string_of(p, mapping->build_id);
        put_number(&p->message, MAPPING_ID, FIRST_NATIVE_MAPPING + (uint64_t)i);
        put_number(&p->message, MAPPING_MEMORY_START, mapping->start);
        put_number(&p->message, MAPPING_MEMORY_LIMIT, mapping->end);
        put_number(&p->message, MAPPING_FILE_OFFSET, mapping->offset);
        put_number(&p->message, MAPPING_FILENAME, filename);
        put_number(&p->message, MAPPING_BUILD_ID, build_id);
        put_number(&p->message, MAPPING_HAS_FUNCTIONS, !p->mapping_unnamed[i]);
        put_message(p, p->out, PROFILE_MAPPING);
    }
}

static int
put_head(struct pprof *p, enum hs_shown_first first)
{
    const struct hs_profile_meta *meta = &p->profile->meta;
    struct hs_buffer comment = {0};

    for (int i = 0; i < FIXED_STRINGS; i++) add_string(p, rb_hs_text_of(fixed_strings[i]));
    for (int i = 0; i < SAMPLE_TYPES; i++) {
        put_value_type(p, PROFILE_SAMPLE_TYPE, sample_types[i].type, sample_types[i].unit);
    }
    for (int i = 0; kept_p(p) && i < KEPT_TYPES; i++) {
        uint32_t type = add_string(p, rb_hs_text_of(kept_types[i].type));
        put_value_type(p, PROFILE_SAMPLE_TYPE, type, kept_types[i].unit);
    }
    put_ruby_mapping(p);
    uint64_t duration = meta->taken_ns > meta->started_ns ? meta->taken_ns - meta->started_ns : 0;
    put_number(p->out, PROFILE_TIME_NANOS, (uint64_t)rb_hs_saturate(meta->started_ns));
    put_number(p->out, PROFILE_DURATION_NANOS, (uint64_t)rb_hs_saturate(duration));
    put_value_type(p, PROFILE_PERIOD_TYPE, S_space, S_bytes);
    put_number(p->out, PROFILE_PERIOD, (uint64_t)rb_hs_saturate(meta->interval));
    put_number(p->out, PROFILE_DEFAULT_SAMPLE_TYPE, first == HS_ALLOC_FIRST ? S_value_alloc_space : S_value_inuse_space);

    int error = rb_hs_encode_meta_json(meta, &comment);
    if (!error) {
        struct hs_text text = {comment.ptr, (uint32_t)comment.len};
        put_number(p->out, PROFILE_COMMENT, add_string(p, text));
    }
    rb_hs_buffer_free(&comment);
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
    return p->location_of_frame && p->string_of_text && p->function_slots && p->function && p->mapping_unnamed ? 0 : ENOMEM;
}

static void
dispose(struct pprof *p)
{
    rb_hs_free(HS_MEM_SNAPSHOTS, p->location_of_frame);
    rb_hs_free(HS_MEM_SNAPSHOTS, p->string_of_text);
    rb_hs_free(HS_MEM_SNAPSHOTS, p->function_slots);
    rb_hs_free(HS_MEM_SNAPSHOTS, p->function);
    rb_hs_free(HS_MEM_SNAPSHOTS, p->mapping_unnamed);
    rb_hs_free(HS_MEM_SNAPSHOTS, p->of_holder);
    rb_hs_free(HS_MEM_SNAPSHOTS, p->label_texts);
    rb_hs_map_free(&p->label_strings);
    rb_hs_buffer_free(&p->locations);
    rb_hs_buffer_free(&p->functions);
    rb_hs_buffer_free(&p->strings);
    rb_hs_buffer_free(&p->message);
    rb_hs_buffer_free(&p->packed);
    rb_hs_stack_free(&p->stack);
}

int
rb_hs_encode_pprof(const struct hs_profile *profile, enum hs_shown_first first, struct hs_buffer *out)
{
    struct pprof p = {.profile = profile, .out = out, .label_strings.use = HS_MEM_SNAPSHOTS};
    int error = rb_hs_profile_check(profile);
    if (error) return error;

    error = prepare(&p);
    if (!error) error = put_head(&p, first);
    for (size_t i = 0; !error && i < profile->row_count; i++) error = put_sample(&p, &profile->rows[i]);
    if (!error) error = put_all_kept(&p);
    if (!error) {
        put_native_mappings(&p);
        rb_hs_buffer_append(out, p.locations.ptr, p.locations.len);
        rb_hs_buffer_append(out, p.functions.ptr, p.functions.len);
        rb_hs_buffer_append(out, p.strings.ptr, p.strings.len);
    }
    if (!error && (p.locations.failed || p.functions.failed || p.strings.failed)) error = ENOMEM;
    if (!error && (p.message.failed || p.packed.failed || out->failed)) error = ENOMEM;
    dispose(&p);
    return error;
}

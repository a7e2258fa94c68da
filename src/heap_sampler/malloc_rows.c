/*
 * See malloc_rows.h.
 *
 * A profile's texts, frames and nodes are copies, to which native ones are
 * added here: native frames as nodes above the node of the Ruby frame that
 * called into C.  Two kinds of native frames say nothing and are left out:
 * the interpreter's between a C method and Ruby's frame, and the functions of
 * the xmalloc family, through which all of Ruby's own memory comes.
 */
#include "malloc_rows.h"
#include "check.h"
#include "malloc_stacks.h"
#include "memory.h"
#include "native.h"
#include "table.h"

#include <errno.h>
#include <string.h>

int
rb_hs_malloc_rows_begin(struct hs_malloc_rows *rows)
{
    *rows = (struct hs_malloc_rows){ .dump = rb_hs_malloc_stacks_begin_dump() };
    int error = rb_hs_malloc_profile_take(&rows->live);
    if (!error) {
        rows->stacks = rb_hs_calloc(HS_MEM_SNAPSHOTS, (size_t)rows->live.count + 1, sizeof(*rows->stacks));
        if (!rows->stacks) error = ENOMEM;
    }
    if (error) rb_hs_malloc_rows_end(rows);
    return error;
}

void
rb_hs_malloc_rows_copy(struct hs_malloc_rows *rows)
{
    for (uint32_t i = 0; i < rows->live.count; i++) {
        const struct hs_malloc_live *live = &rows->live.list[i];
        struct hs_malloc_stack *stack = &rows->stacks[i];
        enum hs_malloc_kind kind;
        uint32_t handle;
        if (hs_malloc_word_read(live->word, &kind, &handle) && kind == HS_MALLOC_STACK) {
            bool found = rb_hs_malloc_stack_listed(rows->dump, handle, stack);
            HS_MUST(found, "jemalloc lists malloc stack %u, which is free", handle);
            continue;
        }
        stack->node = HS_MALLOC_PENDING;
        stack->native_count = live->native_count;
        for (uint32_t n = 0; n < live->native_count; n++) {
            stack->native[n] = (uintptr_t)rows->live.natives[live->native_at + n];
        }
    }
    rows->told = true;
}

void
rb_hs_malloc_rows_end(struct hs_malloc_rows *rows)
{
    rb_hs_free(HS_MEM_SNAPSHOTS, rows->stacks);
    rb_hs_malloc_profile_free(&rows->live);
    if (rows->dump) rb_hs_malloc_stacks_end_dump(rows->told);
    rows->stacks = NULL;
    rows->dump = 0;
}

size_t
rb_hs_malloc_rows_bytes(void)
{
    /* native frames and nodes of a stack's own, with what finds them by key */
    enum { NATIVE = 3 * (sizeof(struct hs_frame) + sizeof(struct hs_node) + 4 * (sizeof(uint64_t) + sizeof(uint32_t))) };
    struct hs_malloc_stack_stat stat;
    rb_hs_malloc_stacks_stat(&stat);
    return stat.stacks * (sizeof(struct hs_malloc_live) + sizeof(struct hs_malloc_stack) + sizeof(struct hs_row) + NATIVE);
}

/* -- adding to a profile ------------------------------------------------------------ */

struct building {
    struct hs_profile *profile;
    struct hs_native *native;   /* NULL: native frames stay without names */
    uint32_t text_capacity, frame_capacity, node_capacity, mapping_capacity;
    struct hs_map texts;        /* by address of the text, which is interned */
    struct hs_map frames;       /* by address of the code */
    struct hs_map nodes;        /* by parent and frame */
    struct hs_map rows;         /* of malloc, by node */
    struct hs_text ruby_file;   /* base name of the file that the interpreter is in */
    bool failed;
};

/* Texts are equal if they are the same, so a map by address will do. */
static uint32_t
text_number(struct building *b, struct hs_text text)
{
    struct hs_profile *profile = b->profile;
    if (!text.len) return 0;
    const uint32_t *found = rb_hs_map_find(&b->texts, (uint64_t)(uintptr_t)text.ptr);
    if (found) return *found;
    if (!rb_hs_grow(HS_MEM_SNAPSHOTS, (void **)&profile->texts, &b->text_capacity, (uint64_t)profile->text_count + 1,
                    sizeof(*profile->texts)) ||
        !rb_hs_map_put(&b->texts, (uint64_t)(uintptr_t)text.ptr, profile->text_count)) {
        b->failed = true;
        return 0;
    }
    profile->texts[profile->text_count] = text;
    return profile->text_count++;
}

static uint32_t
literal_number(struct building *b, const char *literal)
{
    return text_number(b, (struct hs_text){ literal, (uint32_t)strlen(literal) });
}

/* `key` tells frames apart: the address of code, or of a literal label. */
static uint32_t
frame_number(struct building *b, uint64_t key, const struct hs_frame *frame)
{
    struct hs_profile *profile = b->profile;
    const uint32_t *found = rb_hs_map_find(&b->frames, key);
    if (found) return *found;
    if (!rb_hs_grow(HS_MEM_SNAPSHOTS, (void **)&profile->frames, &b->frame_capacity, (uint64_t)profile->frame_count + 1,
                    sizeof(*profile->frames)) ||
        !rb_hs_map_put(&b->frames, key, profile->frame_count)) {
        b->failed = true;
        return 0;
    }
    profile->frames[profile->frame_count] = *frame;
    return profile->frame_count++;
}

static uint32_t
node_number(struct building *b, uint32_t parent, uint32_t frame)
{
    struct hs_profile *profile = b->profile;
    uint64_t key = ((uint64_t)parent << 32 | frame) + 1;
    const uint32_t *found = rb_hs_map_find(&b->nodes, key);
    if (found) return *found;
    if (!rb_hs_grow(HS_MEM_SNAPSHOTS, (void **)&profile->nodes, &b->node_capacity, (uint64_t)profile->node_count + 2,
                    sizeof(*profile->nodes))) {
        b->failed = true;
        return 0;
    }
    if (!profile->node_count) profile->nodes[profile->node_count++] = (struct hs_node){ 0, 0 };
    if (!rb_hs_map_put(&b->nodes, key, profile->node_count)) {
        b->failed = true;
        return 0;
    }
    profile->nodes[profile->node_count] = (struct hs_node){ parent, frame };
    return profile->node_count++;
}

static uint32_t
literal_node(struct building *b, const char *label)
{
    struct hs_frame frame = { .label = literal_number(b, label) };
    return node_number(b, 0, frame_number(b, (uint64_t)(uintptr_t)label, &frame));
}

static bool
text_is(struct hs_text a, struct hs_text b)
{
    return a.len == b.len && memcmp(a.ptr, b.ptr, a.len) == 0;
}

static bool
starts_with(struct hs_text text, const char *start)
{
    size_t len = strlen(start);
    return text.len >= len && memcmp(text.ptr, start, len) == 0;
}

static bool
has_inside(struct hs_text text, const char *part)
{
    size_t len = strlen(part);
    for (size_t at = 0; at + len <= text.len; at++) {
        if (memcmp(text.ptr + at, part, len) == 0) return true;
    }
    return false;
}

/* Ruby's own way from a call to a C function. */
static bool
plumbing_p(const struct building *b, const struct hs_native_place *place)
{
    return text_is(place->file, b->ruby_file) &&
        (starts_with(place->function, "vm_") || starts_with(place->function, "rb_vm_") ||
         starts_with(place->function, "ractor_safe_call_cfunc"));
}

static bool
xmalloc_p(const struct building *b, const struct hs_native_place *place)
{
    static const char *const parts[] = {
        "xmalloc", "xcalloc", "xrealloc", "gc_impl_malloc", "gc_impl_calloc", "gc_impl_realloc",
    };
    if (!text_is(place->file, b->ruby_file)) return false;
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        if (has_inside(place->function, parts[i])) return true;
    }
    return false;
}

/* What gcc puts behind a name for its own copies of a function. */
static struct hs_text
without_clone_suffix(struct hs_text name)
{
    static const char *const suffixes[] = { ".part.", ".isra.", ".constprop.", ".cold", ".lto_priv." };
    for (uint32_t at = 1; at < name.len; at++) {
        struct hs_text rest = { name.ptr + at, name.len - at };
        for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
            if (starts_with(rest, suffixes[i])) return (struct hs_text){ name.ptr, at };
        }
    }
    return name;
}

/* Code that only passes a request for memory on, for whoever calls it. */
static bool
passes_on_p(const struct hs_native_place *place)
{
    static const char *const files[] = { "libjemalloc.so", "libc.so", "libc-", "libstdc++.so", "ld-linux" };
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        if (starts_with(place->file, files[i])) return true;
    }
    return false;
}

static uint32_t
native_node(struct building *b, uint32_t parent, uintptr_t address, const struct hs_native_place *place)
{
    struct hs_frame frame = { .address = address - 1 };         /* within the call, not behind it */
    if (place->mapping != UINT32_MAX) {
        uint32_t count;
        const struct hs_native_mapping *mappings = rb_hs_native_mappings(b->native, &count);
        frame.label = text_number(b, without_clone_suffix(place->function));
        frame.path = text_number(b, mappings[place->mapping].path);
    }
    return node_number(b, parent, frame_number(b, address, &frame));
}

/* The node of a whole stack, and the file whose code called malloc. */
static uint32_t
stack_node(struct building *b, uint32_t parent, const struct hs_malloc_stack *stack, uint32_t *library)
{
    struct hs_native_place places[HS_NATIVE_MAX];
    uint32_t first = 0, end = stack->native_count;
    struct hs_text caller = { NULL, 0 };

    for (uint32_t i = 0; i < end; i++) {
        places[i] = (struct hs_native_place){ .mapping = UINT32_MAX };
        if (b->native) rb_hs_native_find(b->native, stack->native[i] - 1, &places[i]);
        if (!caller.len && !passes_on_p(&places[i]) && !xmalloc_p(b, &places[i])) caller = places[i].file;
    }
    if (!caller.len && end) caller = places[0].file;
    *library = text_number(b, caller);

    while (first < end && starts_with(places[first].file, "libjemalloc.so")) first++;   /* before our hook was there */
    while (first < end && xmalloc_p(b, &places[first])) first++;
    while (end > first + 1 && plumbing_p(b, &places[end - 1])) end--;
    for (uint32_t i = end; i-- > first; ) parent = native_node(b, parent, stack->native[i], &places[i]);
    return parent;
}

static const char *
label_of_kind(enum hs_malloc_kind kind)
{
    static const char *const labels[HS_MALLOC_KINDS] = {
        [HS_MALLOC_STACK] = "(evicted)",
        [HS_MALLOC_AT_BOOT] = "(boot)",
        [HS_MALLOC_AT_GC] = "(GC)",
        [HS_MALLOC_AT_NO_GVL] = "(no GVL)",
        [HS_MALLOC_AT_BUSY] = "(busy)",
        [HS_MALLOC_AT_SAMPLER] = "(heap sampler)",
        [HS_MALLOC_AT_NO_FRAME] = "(no Ruby frame)",
    };
    return labels[kind];
}

static uint32_t
ruby_node(struct building *b, const struct hs_malloc_live *live, const struct hs_malloc_stack *stack)
{
    enum hs_malloc_kind kind;
    uint32_t handle;
    if (!hs_malloc_word_read(live->word, &kind, &handle)) kind = HS_MALLOC_AT_BOOT;
    if (kind != HS_MALLOC_STACK) return literal_node(b, label_of_kind(kind));
    if (!stack->used) return literal_node(b, label_of_kind(HS_MALLOC_STACK));
    if (stack->node == HS_MALLOC_PENDING) return literal_node(b, "(not named yet)");
    if (stack->node == HS_NODE_EMPTY) return literal_node(b, label_of_kind(HS_MALLOC_AT_NO_FRAME));
    return stack->node;
}

static int
compare_mappings(const void *left, const void *right)
{
    uint64_t a = ((const struct hs_mapping *)left)->start, b = ((const struct hs_mapping *)right)->start;
    return a < b ? -1 : a > b;
}

/* The mappings that native frames are in, with our texts. */
static void
add_mappings(struct building *b)
{
    struct hs_profile *profile = b->profile;
    uint32_t count = 0;
    const struct hs_native_mapping *mappings = b->native ? rb_hs_native_mappings(b->native, &count) : NULL;
    profile->mappings = rb_hs_malloc(HS_MEM_SNAPSHOTS, count * sizeof(*profile->mappings) + 1);
    if (!profile->mappings) {
        b->failed = true;
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        profile->mappings[profile->mapping_count++] = (struct hs_mapping){
            mappings[i].start, mappings[i].end, mappings[i].offset,
            text_number(b, mappings[i].path), text_number(b, mappings[i].build_id),
        };
    }
    rb_hs_sort(profile->mappings, profile->mapping_count, sizeof(*profile->mappings), compare_mappings);
}

/* Some function that is surely the interpreter's. */
static void
find_ruby(struct building *b)
{
    struct hs_native_place place;
    rb_hs_native_find(b->native, (uint64_t)(uintptr_t)rb_hs_malloc_rows_add, &place);
    b->ruby_file = place.file;
}

/* A stack may have several handles, since code that died or moved makes all be
 * found anew. */
static void
add_row(struct building *b, const struct hs_malloc_live *live, const struct hs_malloc_stack *stack)
{
    uint32_t library, node = stack_node(b, ruby_node(b, live, stack), stack, &library);
    struct hs_estimate alloc = live->alloc;
    alloc.samples = stack->taken > live->inuse.samples ? stack->taken : live->inuse.samples;

    const uint32_t *found = rb_hs_map_find(&b->rows, (uint64_t)node + 1);
    size_t number = found ? *found : b->profile->row_count;
    struct hs_row *row = &b->profile->rows[number];
    if (!found) {
        if (!rb_hs_map_put(&b->rows, (uint64_t)node + 1, (uint32_t)number)) {
            b->failed = true;
            return;
        }
        *row = (struct hs_row){ .node = node, .malloced = true, .library = library };
        row->class_name = row->type = literal_number(b, "(malloc)");
        b->profile->row_count++;
    }
    rb_hs_estimate_add(&row->inuse, &live->inuse);
    rb_hs_estimate_add(&row->alloc, &alloc);
    row->resident += live->inuse.space;
}

bool
rb_hs_malloc_rows_add(struct hs_malloc_rows *rows, struct hs_profile *profile)
{
    struct building b = {
        .profile = profile, .native = rb_hs_native_open(), .text_capacity = profile->text_count,
        .frame_capacity = profile->frame_count, .node_capacity = profile->node_count,
        .texts = { .use = HS_MEM_SNAPSHOTS }, .frames = { .use = HS_MEM_SNAPSHOTS }, .nodes = { .use = HS_MEM_SNAPSHOTS },
        .rows = { .use = HS_MEM_SNAPSHOTS },
    };
    if (b.native) find_ruby(&b);

    size_t most = profile->row_count + rows->live.count;
    struct hs_row *list = rb_hs_realloc(HS_MEM_SNAPSHOTS, profile->rows, most * sizeof(*list) + 1);
    if (list) profile->rows = list;
    b.failed = !list;
    for (uint32_t i = 0; !b.failed && i < rows->live.count; i++) {
        add_row(&b, &rows->live.list[i], &rows->stacks[i]);
    }
    if (!b.failed) add_mappings(&b);
    rb_hs_native_close(b.native);
    rb_hs_map_free(&b.texts);
    rb_hs_map_free(&b.frames);
    rb_hs_map_free(&b.nodes);
    rb_hs_map_free(&b.rows);
    return !b.failed;
}

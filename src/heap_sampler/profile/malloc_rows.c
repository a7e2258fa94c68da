/*
 * See profile/malloc_rows.h.
 *
 * A profile's texts, frames and nodes are copies, to which native ones are
 * added here: native frames as nodes above the node of the Ruby frame that
 * called into C.  Two kinds of native frames say nothing and are left out:
 * the interpreter's between a C method and Ruby's frame, and the functions of
 * the xmalloc family, through which all of Ruby's own memory comes.
 */
#include "heap_sampler/profile/malloc_rows.h"
#include "heap_sampler/account/account.h"
#include "heap_sampler/account/survey.h"
#include "heap_sampler/base/locks.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/must.h"
#include "heap_sampler/base/table.h"
#include "heap_sampler/base/texts.h"
#include "heap_sampler/estimate/draw.h"
#include "heap_sampler/malloc/hooks.h"
#include "heap_sampler/malloc/state.h"
#include "heap_sampler/malloc/table.h"
#include "heap_sampler/malloc/yjit.h"
#include "heap_sampler/native/names.h"
#include "heap_sampler/native/unwind.h"
#include "heap_sampler/profile/profile.h"
#include "heap_sampler/sites/sampler.h"
#include "heap_sampler/stacks/stack_table.h"

#include <string.h>
#include <unistd.h>

/* At what the kernel has in memory. */
struct look {
    int pagemap;                /* -1: it cannot be read */
    uint64_t pages_left;        /* that are asked for */
};

/* A stack, when its native frames have names. */
struct named {
    uint32_t node, library;
    uint32_t first;             /* the first stack that has this node */
};

/* What slots/intervals.c and malloc/table.c reckon with. */
_Static_assert(sizeof(struct hs_malloc_block_copy) + sizeof(struct hs_row) <= HS_SNAPSHOT_BLOCK, "of a block");
_Static_assert(sizeof(struct hs_malloc_stack_copy) + sizeof(struct hs_totals) + sizeof(struct named) + sizeof(struct hs_row) +
                       3 * (sizeof(struct hs_frame) + sizeof(struct hs_node) + 4 * (sizeof(uint64_t) + sizeof(uint32_t))) + 64 <=
                   HS_SNAPSHOT_STACK,
               "of a stack, with three native frames of its own, what finds them, and 64 bytes of names");

/* -- adding to a profile ------------------------------------------------------------ */

struct building {
    struct hs_profile *profile;
    const struct hs_malloc_copy *copy;
    uint32_t labels;            /* text of label set 0; those of the others follow */
    struct named *named;        /* by stack; node UINT32_MAX: not yet */
    struct hs_native *native;   /* NULL: native frames stay without names */
    uint32_t text_capacity, frame_capacity, node_capacity, mapping_capacity;
    struct hs_map texts;        /* by address of the text, which is interned */
    struct hs_map frames;       /* by address of the code */
    struct hs_map nodes;        /* by parent and frame */
    struct hs_map first;        /* stacks, by node and labels */
    uint32_t malloc_text;
    struct look look;
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
    return text_number(b, (struct hs_text){literal, (uint32_t)strlen(literal)});
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
    if (!profile->node_count) profile->nodes[profile->node_count++] = (struct hs_node){0, 0};
    if (!rb_hs_map_put(&b->nodes, key, profile->node_count)) {
        b->failed = true;
        return 0;
    }
    profile->nodes[profile->node_count] = (struct hs_node){parent, frame};
    return profile->node_count++;
}

static uint32_t
literal_node(struct building *b, const char *label)
{
    struct hs_frame frame = {.label = literal_number(b, label)};
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
        "xmalloc",
        "xcalloc",
        "xrealloc",
        "gc_impl_malloc",
        "gc_impl_calloc",
        "gc_impl_realloc",
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
    static const char *const suffixes[] = {".part.", ".isra.", ".constprop.", ".cold", ".lto_priv."};
    for (uint32_t at = 1; at < name.len; at++) {
        struct hs_text rest = {name.ptr + at, name.len - at};
        for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
            if (starts_with(rest, suffixes[i])) return (struct hs_text){name.ptr, at};
        }
    }
    return name;
}

/* Code that only passes a request for memory on, for whoever calls it. */
static bool
passes_on_p(const struct hs_native_place *place)
{
    static const char *const files[] = {"libc.so", "libc-", "libstdc++.so", "ld-linux"};
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        if (starts_with(place->file, files[i])) return true;
    }
    return false;
}

static uint32_t
native_node(struct building *b, uint32_t parent, uintptr_t address, const struct hs_native_place *place)
{
    struct hs_frame frame = {.address = address - 1};         /* within the call, not behind it */
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
stack_node(struct building *b, uint32_t parent, const struct hs_malloc_stack_copy *stack, uint32_t *library)
{
    const uintptr_t *native = b->copy->natives + stack->native_at;
    struct hs_native_place places[HS_NATIVE_MAX];
    uint32_t first = 0, end = stack->native_count;
    struct hs_text caller = {NULL, 0};

    for (uint32_t i = 0; i < end; i++) {
        places[i] = (struct hs_native_place){.mapping = UINT32_MAX};
        if (b->native) rb_hs_native_find(b->native, native[i] - 1, &places[i]);
        if (!caller.len && !passes_on_p(&places[i]) && !xmalloc_p(b, &places[i])) caller = places[i].file;
    }
    if (!caller.len && end) caller = places[0].file;
    *library = text_number(b, caller);

    while (first < end && xmalloc_p(b, &places[first])) first++;
    while (end > first + 1 && plumbing_p(b, &places[end - 1])) end--;
    for (uint32_t i = end; i-- > first;) parent = native_node(b, parent, native[i], &places[i]);
    return parent;
}

static uint32_t
ruby_node(struct building *b, const struct hs_malloc_stack_copy *stack)
{
    static const char *const labels[HS_MALLOC_KINDS] = {
        [HS_MALLOC_STACK] = "(no Ruby frame)",
        [HS_MALLOC_AT_BOOT] = "(boot)",
        [HS_MALLOC_AT_GC] = "(GC)",
        [HS_MALLOC_AT_NO_GVL] = "(no GVL)",
        [HS_MALLOC_AT_SAMPLER] = "(heap sampler)",
        [HS_MALLOC_AT_NO_FRAME] = "(no Ruby frame)",
        [HS_MALLOC_EVICTED] = "(evicted)",
    };
    if (stack->node == HS_MALLOC_RAW) return literal_node(b, "(not named yet)");
    return stack->node == HS_NODE_EMPTY ? literal_node(b, labels[stack->kind]) : stack->node;
}

static bool
totals_row_p(const struct hs_totals *totals)
{
    return totals->alloc.samples || totals->dead.samples;
}

/* Native frames that are left out may be all in which two stacks differ: the first of one node stands for all. */
static uint32_t
first_of_node(struct building *b, uint32_t number)
{
    const struct hs_malloc_stack_copy *stack = &b->copy->stacks[number];
    struct named *named = &b->named[number];
    if (named->node == UINT32_MAX) {
        named->node = stack_node(b, ruby_node(b, stack), stack, &named->library);
        uint64_t key = ((uint64_t)stack->labels << 32 | named->node) + 1;
        const uint32_t *found = rb_hs_map_find(&b->first, key);
        named->first = found ? *found : number;
        if (!found && !rb_hs_map_put(&b->first, key, number)) b->failed = true;
    }
    return named->first;
}

/* Blocks and totals are those of the first stacks from here on. */
static void
join_stacks(struct building *b, struct hs_malloc_copy *copy)
{
    for (uint32_t i = 0; i < copy->block_count; i++) copy->blocks[i].stack = first_of_node(b, copy->blocks[i].stack);
    for (uint32_t i = 0; i < copy->stack_count; i++) {
        struct hs_totals *totals = &copy->totals[i];
        uint32_t first = totals_row_p(totals) ? first_of_node(b, i) : i;
        if (first == i) continue;
        rb_hs_estimate_add(&copy->totals[first].alloc, &totals->alloc);
        rb_hs_estimate_add(&copy->totals[first].dead, &totals->dead);
        copy->totals[first].dead_gcs += totals->dead_gcs;
        memset(totals, 0, sizeof(*totals));
    }
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
            mappings[i].start,
            mappings[i].end,
            mappings[i].offset,
            text_number(b, mappings[i].path),
            text_number(b, mappings[i].build_id),
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

static struct hs_row *
add_row(struct building *b, uint32_t stack)
{
    const struct named *named = &b->named[stack];
    struct hs_row *row = &b->profile->rows[b->profile->row_count++];
    *row = (struct hs_row){
        .node = named->node,
        .malloced = true,
        .library = named->library,
        .class_name = b->malloc_text,
        .type = b->malloc_text,
        .labels = b->labels + b->copy->stacks[stack].labels,
    };
    return row;
}

/* -- what is resident ---------------------------------------------------------------- */

/* A small block shares its pages with others or is on one that it was written to.  Large ones may never have been
 * touched; the kernel knows, page by page: 16 GiB of them take it 40 ms. */
enum { LARGE_BLOCK = 1 << 14,
       PAGES_MOST = 4 << 20 };

static double
resident_part(struct look *look, const struct hs_malloc_block_copy *block)
{
    if (block->size < LARGE_BLOCK || look->pagemap < 0) return 1;
    uint64_t pages = block->size / 4096;
    if (pages > look->pages_left) return 1;
    look->pages_left -= pages;
    return (double)rb_hs_survey_resident(look->pagemap, block->address, block->address + block->size) / (double)block->size;
}

void
rb_hs_malloc_look_at(struct hs_account_excess *excess, const struct hs_profile *profile)
{
    double untouched = 0;
    rb_hs_malloc_excess(excess);
    excess->untouched_known = profile->meta.malloc.state == HS_MALLOC_ON;
    for (size_t i = 0; i < profile->row_count; i++) {
        const struct hs_row *row = &profile->rows[i];
        if (row->malloced) untouched += row->inuse.space - row->resident;
    }
    excess->untouched = (uint64_t)untouched;
}

void
rb_hs_malloc_look(struct hs_account_excess *excess)
{
    HS_CONTRACT(free);
    struct hs_malloc_copy copy;
    double untouched = 0;
    rb_hs_malloc_excess(excess);
    rb_hs_lock();
    excess->untouched_known = rb_hs_malloc_session(HS_MAIN).on && rb_hs_malloc_copy(&copy, HS_MAIN);
    rb_hs_unlock();
    if (!excess->untouched_known) return;
    struct look look = {rb_hs_survey_open_pagemap(), PAGES_MOST};
    for (uint32_t i = 0; i < copy.block_count; i++) {
        const struct hs_malloc_block_copy *block = &copy.blocks[i];
        double size = (double)block->size;
        untouched += rb_hs_weight(size, (double)block->interval) * size * (1 - resident_part(&look, block));
    }
    if (look.pagemap >= 0) close(look.pagemap);
    rb_hs_malloc_copy_free(&copy);
    excess->untouched = (uint64_t)untouched;
}

/* -- rows ------------------------------------------------------------------------------ */

/* Blocks of one stack and birth become one row. */
static int
compare_blocks(const void *left, const void *right)
{
    const struct hs_malloc_block_copy *a = left, *b = right;
    if (a->stack != b->stack) return a->stack < b->stack ? -1 : 1;
    if (a->birth_gc != b->birth_gc) return a->birth_gc < b->birth_gc ? -1 : 1;
    return 0;
}

static void
add_blocks(struct building *b, struct hs_malloc_copy *copy)
{
    struct hs_row *row = NULL;
    rb_hs_sort(copy->blocks, copy->block_count, sizeof(*copy->blocks), compare_blocks);
    for (uint32_t i = 0; i < copy->block_count; i++) {
        struct hs_malloc_block_copy *block = &copy->blocks[i];
        if (!i || compare_blocks(block - 1, block) != 0) {
            row = add_row(b, block->stack);
            row->has_birth = true;
            row->birth_gc = block->birth_gc;
            row->thread = block->thread;
        }
        if (row->thread != block->thread) row->thread = 0;
        block->row = b->profile->row_count - 1;
        double size = (double)block->size, weight = rb_hs_weight(size, (double)block->interval);
        struct hs_estimate one = {1, weight, weight * size, weight * (weight - 1) * size * size};
        rb_hs_estimate_add(&row->inuse, &one);
        row->resident += one.space * resident_part(&b->look, block);
    }
}

static void
add_totals(struct building *b)
{
    for (uint32_t i = 0; i < b->copy->stack_count; i++) {
        const struct hs_totals *totals = &b->copy->totals[i];
        if (!totals_row_p(totals)) continue;
        struct hs_row *row = add_row(b, i);
        row->alloc = totals->alloc;
        row->dead = totals->dead;
        row->dead_gcs = totals->dead_gcs;
    }
}

/* The bytes are known. Nobody counts the blocks: as many are given as samples
 * would be expected. */
static struct hs_estimate
counted(const struct building *b, uint64_t bytes)
{
    uint64_t interval = b->copy->interval ? b->copy->interval : 1, samples = (bytes + interval - 1) / interval;
    return (struct hs_estimate){.samples = samples, .objects = (double)samples, .space = (double)bytes};
}

static void
add_yjit(struct building *b, const struct hs_yjit_memory *yjit)
{
    if (!yjit->born) return;
    struct hs_row *row = &b->profile->rows[b->profile->row_count++];
    *row = (struct hs_row){
        .node = literal_node(b, "(YJIT)"),
        .malloced = true,
        .library = text_number(b, b->ruby_file),
        .class_name = b->malloc_text,
        .type = b->malloc_text,
        .inuse = counted(b, yjit->inuse),
        .alloc = counted(b, yjit->born),
        .dead = counted(b, yjit->born - yjit->inuse),
        .resident = (double)yjit->inuse,
    };
}

static bool
make_room(struct building *b)
{
    size_t most = b->profile->row_count + b->copy->block_count + 1;      /* and YJIT's */
    for (uint32_t i = 0; i < b->copy->stack_count; i++) most += totals_row_p(&b->copy->totals[i]);
    struct hs_row *rows = rb_hs_realloc(HS_MEM_SNAPSHOTS, b->profile->rows, most * sizeof(*rows) + 1);
    if (rows) b->profile->rows = rows;
    b->named = rb_hs_malloc(HS_MEM_SNAPSHOTS, b->copy->stack_count * sizeof(*b->named) + 1);
    if (!rows || !b->named) return false;
    for (uint32_t i = 0; i < b->copy->stack_count; i++) b->named[i] = (struct named){.node = UINT32_MAX};
    return true;
}

bool
rb_hs_malloc_rows_add(struct hs_malloc_copy *copy, const struct hs_yjit_memory *yjit, uint32_t labels, struct hs_profile *profile)
{
    uint32_t texts = profile->text_count;
    rb_hs_unwind_refresh();
    struct building b = {
        .profile = profile,
        .copy = copy,
        .labels = labels,
        .native = rb_hs_native_open(),
        .text_capacity = profile->text_count,
        .frame_capacity = profile->frame_count,
        .node_capacity = profile->node_count,
        .texts = {.use = HS_MEM_SNAPSHOTS},
        .frames = {.use = HS_MEM_SNAPSHOTS},
        .nodes = {.use = HS_MEM_SNAPSHOTS},
        .first = {.use = HS_MEM_SNAPSHOTS},
        .look = {rb_hs_survey_open_pagemap(), PAGES_MOST},
    };
    if (b.native) find_ruby(&b);
    b.failed = !make_room(&b);
    b.malloc_text = literal_number(&b, "(malloc)");
    if (!b.failed) join_stacks(&b, copy);
    if (!b.failed) add_blocks(&b, copy);
    if (!b.failed) add_totals(&b);
    if (!b.failed) add_yjit(&b, yjit);
    if (!b.failed) add_mappings(&b);
    if (!b.failed) b.failed = !rb_hs_profile_own_texts(profile, texts);
    if (b.look.pagemap >= 0) close(b.look.pagemap);
    rb_hs_native_close(b.native);
    rb_hs_map_free(&b.texts);
    rb_hs_map_free(&b.frames);
    rb_hs_map_free(&b.nodes);
    rb_hs_map_free(&b.first);
    rb_hs_free(HS_MEM_SNAPSHOTS, b.named);
    return !b.failed;
}

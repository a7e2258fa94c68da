/*
 * The malloc side of a profile: copies of blocks and stacks as rows, and native frames as nodes above the node of the
 * Ruby frame that called into C.
 *
 * Blocks of one stack that were allocated in one GC cycle make a row; the totals of a stack make another.  The xmalloc
 * family at the leaf and the interpreter's call path at the root are left out, and stacks that are equal then become
 * one.  `library` of a row is the file whose code called malloc or one of the xmalloc family, other than libc,
 * libstdc++ and ld.so: Ruby's own file means that the memory is Ruby's.
 */
#include "heap_sampler/profile/rows.h"
#include "heap_sampler/memory/smaps.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/profile/native_names.h"

#include <string.h>

/* A stack, when its native frames have names. */
struct named {
    uint32_t node, library;
    uint32_t first;             /* the first stack that has this node */
};

/* What store/malloc_table.c reckons with. */
_Static_assert(sizeof(struct hs_malloc_block_copy) + sizeof(struct hs_row) <= HS_SNAPSHOT_BLOCK, "of a block");
_Static_assert(sizeof(struct hs_malloc_stack_copy) + sizeof(struct hs_totals) + sizeof(struct named) + sizeof(struct hs_row) +
                       3 * (sizeof(struct hs_frame) + sizeof(struct hs_node) + 4 * (sizeof(uint64_t) + sizeof(uint32_t))) + 64 <=
                   HS_SNAPSHOT_STACK,
               "of a stack, with three native frames of its own, what finds them, and 64 bytes of names");

/* -- adding to a profile ------------------------------------------------------------ */

/* An array of the profile, to which is added. */
struct list {
    void **array;
    uint32_t *count, capacity;
    size_t size;                /* of an element */
    struct hs_map added;        /* numbers of elements, by a key */
};

struct building {
    struct hs_profile *profile;
    const struct hs_malloc_copy *copy;
    uint32_t labels;            /* text of label set 0; the texts of the others follow */
    struct named *named;        /* by stack; node UINT32_MAX: not yet */
    struct hs_native *native;   /* NULL: native frames stay without names */
    struct list texts;          /* by hash */
    struct list frames;         /* by address of the code */
    struct list nodes;          /* by parent and frame */
    struct list mappings;       /* by start */
    struct hs_map first;        /* stacks, by node and labels */
    uint32_t malloc_text;
    struct hs_residency residency;
    bool failed;
};

static struct list
list_of(void **array, uint32_t *count, size_t size)
{
    return (struct list){array, count, *count, size, {.use = HS_MEM_SNAPSHOTS}};
}

/* A profile has far more of Ruby's frames than of native ones, and keeps what is allocated here: not twice the size. */
static bool
grow(struct list *list)
{
    uint32_t capacity = list->capacity + list->capacity / 16 + 64;
    void *grown = rb_hs_realloc(HS_MEM_SNAPSHOTS, *list->array, capacity * list->size);
    if (!grown) return false;
    *list->array = grown;
    list->capacity = capacity;
    return true;
}

/* The number of an element of a list, which is added if there is none with this key. 0: no memory. */
static uint32_t
number_of(struct building *b, struct list *list, uint64_t key, const void *element)
{
    const uint32_t *found = rb_hs_map_find(&list->added, key);
    if (found) return *found;
    uint32_t number = *list->count;
    if ((number == list->capacity && !grow(list)) || !rb_hs_map_put(&list->added, key, number)) {
        b->failed = true;
        return 0;
    }
    memcpy((char *)*list->array + number * list->size, element, list->size);
    return (*list->count)++;
}

static uint32_t
text_number(struct building *b, struct hs_text text)
{
    uint64_t hash;
    if (!text.len) return 0;
    uint32_t found = rb_hs_text_find(&b->texts.added, b->profile->texts, text, &hash);
    return found ? found : number_of(b, &b->texts, hash, &text);
}

static uint32_t
node_number(struct building *b, uint32_t parent, uint32_t frame)
{
    if (!b->profile->node_count) number_of(b, &b->nodes, UINT64_MAX, &(struct hs_node){0, 0});
    return number_of(b, &b->nodes, ((uint64_t)parent << 32 | frame) + 1, &(struct hs_node){parent, frame});
}

static uint32_t
literal_node(struct building *b, const char *label)
{
    uint32_t known = rb_hs_frame_of_label(b->profile, label);       /* of an object's stack, or of a literal before */
    if (known != UINT32_MAX) return node_number(b, 0, known);
    struct hs_frame frame = {.label = text_number(b, hs_text_of(label))};
    return node_number(b, 0, number_of(b, &b->frames, (uint64_t)(uintptr_t)label, &frame));
}

static uint32_t
native_node(struct building *b, uint32_t parent, uintptr_t address, const struct hs_native_place *place)
{
    struct hs_frame frame = {.address = address - 1};         /* within the call, not behind it */
    frame.label = text_number(b, place->function);
    frame.path = text_number(b, place->path);
    return node_number(b, parent, number_of(b, &b->frames, address, &frame));
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
        places[i] = b->native ? rb_hs_native_place(b->native, native[i]) : (struct hs_native_place){.role = HS_NATIVE_CODE};
        bool passes_on = places[i].role == HS_NATIVE_PASSES_ON || places[i].role == HS_NATIVE_XMALLOC;
        if (!caller.len && !passes_on) caller = places[i].file;
    }
    if (!caller.len && end) caller = places[0].file;
    *library = text_number(b, caller);

    while (first < end && places[first].role == HS_NATIVE_XMALLOC) first++;
    while (end > first + 1 && places[end - 1].role == HS_NATIVE_CALLS_C) end--;
    for (uint32_t i = end; !b->failed && i-- > first;) parent = native_node(b, parent, native[i], &places[i]);
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

/* Blocks and totals belong to the first stacks from here on. */
static void
join_stacks(struct building *b, struct hs_malloc_copy *copy)
{
    for (uint32_t i = 0; !b->failed && i < copy->block_count; i++) copy->blocks[i].stack = first_of_node(b, copy->blocks[i].stack);
    for (uint32_t i = 0; !b->failed && i < copy->stack_count; i++) {
        struct hs_totals *totals = &copy->totals[i];
        uint32_t first = hs_totals_row_p(totals) ? first_of_node(b, i) : i;
        if (first == i) continue;
        rb_hs_totals_add(&copy->totals[first], totals);
        memset(totals, 0, sizeof(*totals));
    }
}

/* The mappings that native frames are in, with our texts. */
static void
add_mappings(struct building *b)
{
    const struct hs_native_mapping *from;
    uint32_t number = 0;
    while (b->native && (from = rb_hs_native_mapping(b->native, &number))) {
        const struct hs_mapping mapping = {from->start, from->end, from->offset, text_number(b, from->path), text_number(b, from->build_id)};
        number_of(b, &b->mappings, from->start, &mapping);
    }
}

static struct hs_row
row_of_stack(const struct building *b, uint32_t stack)
{
    return (struct hs_row){
        .node = b->named[stack].node,
        .malloced = true,
        .library = b->named[stack].library,
        .class_name = b->malloc_text,
        .type = b->malloc_text,
        .labels = b->labels + b->copy->stacks[stack].labels,
    };
}

/* -- rows ------------------------------------------------------------------------------ */

/* Blocks of one stack that were allocated in one GC cycle become one row. */
static int
compare_blocks(const void *left, const void *right)
{
    const struct hs_malloc_block_copy *a = left, *b = right;
    if (a->stack != b->stack) return a->stack < b->stack ? -1 : 1;
    if (a->allocation_gc != b->allocation_gc) return a->allocation_gc < b->allocation_gc ? -1 : 1;
    return 0;
}

/* The first block of a row, where blocks are sorted. */
static bool
first_of_row_p(const struct hs_malloc_copy *copy, uint32_t i)
{
    return !i || compare_blocks(&copy->blocks[i - 1], &copy->blocks[i]) != 0;
}

/* Stacks that become one (join_stacks) have fewer rows than these. */
size_t
rb_hs_malloc_rows_sort(struct hs_malloc_copy *copy)
{
    size_t count = 1;           /* YJIT's */
    rb_hs_sort(copy->blocks, copy->block_count, sizeof(*copy->blocks), compare_blocks);
    for (uint32_t i = 0; i < copy->block_count; i++) count += first_of_row_p(copy, i);
    for (uint32_t i = 0; i < copy->stack_count; i++) count += hs_totals_row_p(&copy->totals[i]);
    return count;
}

static void
add_blocks(struct building *b, struct hs_malloc_copy *copy)
{
    struct hs_row *row = NULL;
    rb_hs_sort(copy->blocks, copy->block_count, sizeof(*copy->blocks), compare_blocks);
    for (uint32_t i = 0; i < copy->block_count; i++) {
        struct hs_malloc_block_copy *block = &copy->blocks[i];
        if (first_of_row_p(copy, i)) {
            row = rb_hs_row_new(b->profile, row_of_stack(b, block->stack));
            row->has_allocation_gc = true;
            row->allocation_gc = block->allocation_gc;
            row->thread = block->thread;
        }
        if (row->thread != block->thread) row->thread = 0;
        block->row = b->profile->row_count - 1;
        struct hs_estimate one = rb_hs_estimate_one(block->size, block->interval);
        rb_hs_estimate_add(&row->inuse, &one);
        row->resident += one.space * rb_hs_resident_part(&b->residency, block->address, block->size);
    }
}

/* The bytes are known. The blocks are not counted: as many are given as samples
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
    if (!yjit->allocated) return;
    const struct hs_row row = {
        .node = literal_node(b, "(YJIT)"),
        .malloced = true,
        .library = b->native ? text_number(b, rb_hs_native_place(b->native, HS_IN_RUBY).file) : 0,
        .class_name = b->malloc_text,
        .type = b->malloc_text,
        .inuse = counted(b, yjit->inuse),
        .alloc = counted(b, yjit->allocated),
        .freed = counted(b, yjit->allocated - yjit->inuse),
        .resident = (double)yjit->inuse,
    };
    rb_hs_row_new(b->profile, row);
}

static bool
allocate_names(struct building *b)
{
    b->named = rb_hs_malloc(HS_MEM_SNAPSHOTS, b->copy->stack_count * sizeof(*b->named) + 1);
    for (uint32_t i = 0; b->named && i < b->copy->stack_count; i++) b->named[i] = (struct named){.node = UINT32_MAX};
    return b->named;
}

bool
rb_hs_malloc_rows_add(struct hs_malloc_copy *copy, const struct hs_yjit_memory *yjit, uint32_t labels, struct hs_profile *profile)
{
    rb_hs_unwind_refresh();
    struct building b = {
        .profile = profile,
        .copy = copy,
        .labels = labels,
        .native = rb_hs_native_open(copy->natives, copy->native_count),
        .texts = list_of((void **)&profile->texts, &profile->text_count, sizeof(*profile->texts)),
        .frames = list_of((void **)&profile->frames, &profile->frame_count, sizeof(*profile->frames)),
        .nodes = list_of((void **)&profile->nodes, &profile->node_count, sizeof(*profile->nodes)),
        .mappings = list_of((void **)&profile->mappings, &profile->mapping_count, sizeof(*profile->mappings)),
        .first = {.use = HS_MEM_SNAPSHOTS},
        .residency = rb_hs_residency_open(),
    };
    b.failed = !allocate_names(&b);
    b.malloc_text = text_number(&b, hs_text_of("(malloc)"));
    if (!b.failed) join_stacks(&b, copy);
    if (!b.failed) add_blocks(&b, copy);
    for (uint32_t i = 0; !b.failed && i < copy->stack_count; i++) rb_hs_totals_row_add(profile, row_of_stack(&b, i), &copy->totals[i]);
    if (!b.failed) add_yjit(&b, yjit);
    if (!b.failed) add_mappings(&b);
    rb_hs_residency_close(&b.residency);
    if (b.native) profile->native_names = rb_hs_native_hold_texts(b.native);
    rb_hs_native_close(b.native);
    rb_hs_map_free(&b.texts.added);
    rb_hs_map_free(&b.frames.added);
    rb_hs_map_free(&b.nodes.added);
    rb_hs_map_free(&b.mappings.added);
    rb_hs_map_free(&b.first);
    rb_hs_free(HS_MEM_SNAPSHOTS, b.named);
    return !b.failed;
}

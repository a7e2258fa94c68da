/* See heap_walk/walk.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/heap_walk/walk.h"

#include <string.h>
#include <sys/mman.h>

enum rb_heap_sampler_reference rb_heap_sampler_reference;

enum { QUEUE_PART = 16,         /* a queue holds one in so many slots at most */
       QUEUE_LEAST = 4096,
       GUESSES_MOST = 1 << 22 }; /* a machine stack of 8 MiB has fewer */

/* -- sets of objects ----------------------------------------------------------------- */

static void
widen(struct hs_walk *walk, struct hs_level *level)
{
    for (uint32_t i = 0; i < level->count; i++) hs_bit_set(&walk->index, level->bits, level->queue[i]);
    level->count = 0;
    level->wide = true;
}

void
rb_hs_walk_go_on(struct hs_walk *walk, uint32_t number)
{
    struct hs_level *level = &walk->next;
    if (!level->wide && level->count == walk->queue_most) widen(walk, level);
    if (level->wide) hs_bit_set(&walk->index, level->bits, number);
    else level->queue[level->count++] = number;
}

/* Takes all out. */
static void
each_bit(struct hs_walk *walk, uint64_t *bits, void (*visit)(struct hs_walk *walk, uint32_t number))
{
    uint32_t page = 1, words = walk->index.slots / HS_WORD + 1;
    for (uint32_t i = 0; i < words; i++) {
        uint64_t left = bits[i];
        if (left) bits[i] = 0;
        for (; left; left &= left - 1) {
            uint32_t place = i * HS_WORD + (uint32_t)__builtin_ctzll(left);
            while (place >= walk->index.pages[page].first + walk->index.pages[page].slots) page++;
            visit(walk, page << HS_SLOT_BITS | (place - walk->index.pages[page].first));
        }
    }
}

/* -- one object ----------------------------------------------------------------------- */

void
rb_hs_walk_reach(struct hs_walk *walk, VALUE object, uint32_t from)
{
    uint32_t number = hs_index_number(&walk->index, object);
    if (number == HS_NO_OBJECT || object == walk->without) return;
    uint32_t *place = hs_index_from(&walk->index, number);
    if (*place) return;
    *place = from;
    if (walk->trying) hs_bit_set(&walk->index, walk->tried, number);
    walk->found->figures.objects++;
    rb_hs_walk_go_on(walk, number);
}

static void
note_pin(struct hs_walk *walk, VALUE object, uint32_t from, enum rb_heap_sampler_reference reference)
{
    if (reference && walk->pin) walk->pin(walk, object, from, reference == RB_HEAP_SAMPLER_MAYBE_PINS);
}

void
rb_hs_walk_follow(struct hs_walk *walk, VALUE object, uint32_t from, enum rb_heap_sampler_reference reference)
{
    note_pin(walk, object, from, reference);
    rb_hs_walk_reach(walk, object, from);
}

/* Is it put off? */
static bool
guess(struct hs_walk *walk, VALUE child)
{
    if (!walk->from_stack || rb_heap_sampler_reference != RB_HEAP_SAMPLER_MAYBE_PINS || walk->guess_count == GUESSES_MOST) return false;
    walk->guesses[walk->guess_count++] = child;
    return true;
}

/* What a machine stack seems to have is no reference. */
static void
note_resumable(struct hs_walk *walk, VALUE child)
{
    uint32_t number = hs_index_number(&walk->index, child);
    bool refers = number != HS_NO_OBJECT && number != walk->from && rb_heap_sampler_reference != RB_HEAP_SAMPLER_MAYBE_PINS;
    if (refers) hs_bit_set(&walk->index, walk->resumable, number);
}

static void
follow(VALUE child, void *data)
{
    struct hs_walk *walk = data;
    walk->found->figures.edges++;
    note_pin(walk, child, walk->from, rb_heap_sampler_reference);
    if (walk->from_resumer) note_resumable(walk, child);
    if (walk->from_ractor && walk->held_back(child)) return;
    if (!guess(walk, child)) rb_hs_walk_reach(walk, child, walk->from);
}

static bool
cache_p(VALUE object)
{
    switch (imemo_type(object)) {
    case imemo_callcache:
    case imemo_callinfo:
    case imemo_constcache:
    case imemo_cref: return true;
    default: return false;
    }
}

/* TOPLEVEL_BINDING has the locals of the main program, too. */
bool
rb_hs_walk_stack_p(VALUE object)
{
    return rb_typeddata_is_kind_of(object, &ruby_binding_data_type) || rb_hs_ec_of(object);
}

/* The VM's table of symbols that were made from strings has the names of live symbols, which refer to them as well. In
 * 4.0 the table is weak. */
static bool
names_of_symbols_p(VALUE object)
{
#if RUBY_API_VERSION_MAJOR >= 4
    return false;
#else
    return object == ruby_global_symbols.dsymbol_fstr_hash;
#endif
}

static enum hs_pass
pass_of(VALUE object)
{
    switch (BUILTIN_TYPE(object)) {
    case T_IMEMO: return cache_p(object) ? HS_PASS_CACHED : HS_PASS_LASTING;
    case T_DATA: return rb_hs_walk_stack_p(object) ? HS_PASS_RUNNING : HS_PASS_LASTING;
    case T_HASH: return names_of_symbols_p(object) ? HS_PASS_CACHED : HS_PASS_LASTING;
    default: return HS_PASS_LASTING;
    }
}

/* What has just been taken is not initialised, and what was freed may be seen on a stack. */
static bool
object_p(VALUE object)
{
    switch (BUILTIN_TYPE(object)) {
    case T_NONE:
    case T_MOVED:
    case T_ZOMBIE:
    case T_NODE: return false;
    default: return true;
    }
}

static void
note_type(struct hs_walk *walk, VALUE object)
{
    const char *name = RTYPEDDATA_P(object) ? RTYPEDDATA_TYPE(object)->wrap_struct_name : "an object in C (untyped)";
    strncpy(walk->found->type, name ? name : "?", sizeof(walk->found->type) - 1);
}

/* What tables of the VM retain as long as the object lives, and its mark function does not mark. */
static void
follow_kept_by_tables(struct hs_walk *walk, VALUE object, uint32_t number)
{
    if (FL_TEST_RAW(object, FL_FINALIZE)) rb_hs_walk_follow(walk, rb_heap_sampler_gc_finalizers(object), number, RB_HEAP_SAMPLER_PINS);
    if (BUILTIN_TYPE(object) == T_SYMBOL) rb_hs_walk_reach(walk, RSYMBOL(object)->fstr, number);
}

/* The mark function of a T_DATA is code of an extension: its type is noted before it runs. */
static void
go_through(struct hs_walk *walk, uint32_t number)
{
    VALUE object = hs_index_object(&walk->index, number);
    if (!object_p(object)) return;
    enum hs_pass pass = pass_of(object);
    if (pass > walk->pass) {
        hs_bit_set(&walk->index, walk->later[pass], number);
        return;
    }
    if (walk->without && names_of_symbols_p(object)) return;
    if (pass == HS_PASS_RUNNING && walk->put_off && !walk->trying && walk->put_off(walk, object, number)) return;
    if (walk->each) walk->each(object, number);
    bool data = BUILTIN_TYPE(object) == T_DATA;
    walk->from = number;
    walk->from_stack = pass == HS_PASS_RUNNING;
    walk->from_resumer = !walk->trying && (data || imemo_type_p(object, imemo_env));
    walk->from_ractor = data && walk->held_back && rb_ractor_p(object);
    if (data) note_type(walk, object);
    rb_objspace_reachable_objects_from(object, follow, walk);
    if (data) *walk->found->type = '\0';
    follow_kept_by_tables(walk, object, number);
}

/* -- all ----------------------------------------------------------------------------------- */

static bool
make_level(struct hs_walk *walk, struct hs_level *level)
{
    level->queue = rb_hs_arena_map(walk->queue_most * sizeof(*level->queue));
    level->bits = hs_bits_make(&walk->index);
    return level->queue && level->bits;
}

bool
rb_hs_walk_make(struct hs_walk *walk, struct hs_found *found)
{
    *walk = (struct hs_walk){.found = found};
    if (!rb_hs_index_make(&walk->index)) return false;
    walk->queue_most = walk->index.slots / QUEUE_PART < QUEUE_LEAST ? QUEUE_LEAST : walk->index.slots / QUEUE_PART;
    for (int pass = HS_PASS_RUNNING; pass < HS_PASSES; pass++) {
        if (!(walk->later[pass] = hs_bits_make(&walk->index))) return false;
    }
    walk->tried = hs_bits_make(&walk->index);
    walk->resumable = hs_bits_make(&walk->index);
    walk->guesses = rb_hs_arena_map(GUESSES_MOST * sizeof(*walk->guesses));
    return walk->tried && walk->resumable && walk->guesses && make_level(walk, &walk->now) && make_level(walk, &walk->next);
}

static void
run_level(struct hs_walk *walk)
{
    struct hs_level level = walk->next;
    walk->next = walk->now;
    walk->now = level;
    for (uint32_t i = 0; i < level.count; i++) go_through(walk, level.queue[i]);
    if (level.wide) each_bit(walk, level.bits, go_through);
    walk->now.count = 0;
    walk->now.wide = false;
}

static void
run_levels(struct hs_walk *walk)
{
    while (walk->next.count || walk->next.wide) run_level(walk);
}

void
rb_hs_walk_pass(struct hs_walk *walk, enum hs_pass pass)
{
    walk->pass = pass;
    if (walk->later[pass]) each_bit(walk, walk->later[pass], go_through);
    run_levels(walk);
    while (walk->guess_count) {
        for (uint32_t i = 0; i < walk->guess_count; i++) rb_hs_walk_reach(walk, walk->guesses[i], HS_ROOT_NUMBERS + HS_TOP_MACHINE_STACK);
        walk->guess_count = 0;
        run_levels(walk);
    }
}

static void
take_back(struct hs_walk *walk, uint32_t number)
{
    *hs_index_from(&walk->index, number) = 0;
}

void
rb_hs_walk_take_back(struct hs_walk *walk)
{
    each_bit(walk, walk->tried, take_back);
    walk->trying = false;
}

void
rb_hs_walk_clear(struct hs_walk *walk)
{
    madvise(walk->index.from, walk->index.slots * sizeof(*walk->index.from), MADV_DONTNEED);    /* zeroes again */
    madvise(walk->resumable, (walk->index.slots / HS_WORD + 1) * sizeof(*walk->resumable), MADV_DONTNEED);
    walk->pass = HS_PASS_LASTING;
}

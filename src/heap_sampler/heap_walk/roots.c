/* See heap_walk/walk.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/heap_walk/walk.h"

#include <string.h>

enum { FINALIZERS_MOST = 1 << 22 };

static struct finalizer {
    VALUE object, blocks;
    bool referred;              /* not by the table alone, in the walk with all */
    bool by_itself;             /* not any more, but from its own finalizers, as far as is known */
} *finalizers;
static uint32_t finalizer_count;

static void
read_finalizer(VALUE object, VALUE blocks, void *unused)
{
    (void)unused;
    if (finalizer_count < FINALIZERS_MOST) finalizers[finalizer_count++] = (struct finalizer){object, blocks};
}

/* The blocks of objects that nothing refers to. */
static void
reach_blocks(struct hs_walk *walk)
{
    for (uint32_t i = 0; i < finalizer_count; i++) {
        bool alone = !finalizers[i].referred || finalizers[i].by_itself;
        if (alone) rb_hs_walk_follow(walk, finalizers[i].blocks, HS_ROOT_NUMBERS + HS_TOP_FINALIZERS, RB_HEAP_SAMPLER_PINS);
    }
    rb_hs_walk_pass(walk, HS_PASS_CACHED);
}

static void
walk_finalizers(struct hs_walk *walk)
{
    for (uint32_t i = 0; i < finalizer_count; i++) {
        if (!walk->without) finalizers[i].referred = hs_walk_reached_p(walk, finalizers[i].object);
        finalizers[i].by_itself = false;
    }
    reach_blocks(walk);
}

/* Sets by_itself of the objects that are reached again from the finalizers of such objects; how many. */
static uint32_t
try_blocks(struct hs_walk *walk)
{
    uint32_t count = 0;
    walk->trying = true;
    reach_blocks(walk);
    for (uint32_t i = 0; i < finalizer_count; i++) {
        finalizers[i].by_itself = finalizers[i].by_itself && hs_walk_reached_p(walk, finalizers[i].object);
        count += finalizers[i].by_itself;
    }
    rb_hs_walk_take_back(walk);
    return count;
}

bool
rb_hs_finalizers_settle(struct hs_walk *walk)
{
    enum { ROUNDS = 8 };        /* a long chain of such objects is not followed to its end */
    uint32_t count = 0, before = 0;
    for (uint32_t i = 0; i < finalizer_count; i++) {
        finalizers[i].by_itself = finalizers[i].referred && !hs_walk_reached_p(walk, finalizers[i].object);
        count += finalizers[i].by_itself;
    }
    for (int round = 0; count != before && round < ROUNDS; round++) {
        before = count;
        count = try_blocks(walk);
    }
    if (count) reach_blocks(walk);
    return count;
}

enum { ROOTS_MOST = 1 << 22 };  /* a machine stack of 8 MiB has fewer */

static struct root_object {
    VALUE object;
    enum hs_top root;
    enum rb_heap_sampler_reference reference;
} *roots;
static uint32_t root_count;
static VALUE *modules;          /* in the order in which their names were found */

/* -- reading them ---------------------------------------------------------------------- */

enum hs_top
rb_hs_root_of(const char *category, VALUE object)
{
    if (strcmp(category, "global_tbl") == 0) return HS_TOP_GLOBALS;
    if (strcmp(category, "end_proc") == 0) return HS_TOP_AT_EXIT;
    if (strcmp(category, "machine_context") == 0) return HS_TOP_MACHINE_STACK;
    if (strcmp(category, "YJIT") == 0 || imemo_type_p(object, imemo_callcache)) return HS_TOP_CACHES;
    return rb_ractor_p(object) ? HS_TOP_THREADS : HS_TOP_VM;
}

static void
read_root(const char *category, VALUE object, void *unused)
{
    (void)unused;
    if (root_count == ROOTS_MOST) return;
    roots[root_count++] = (struct root_object){object, rb_hs_root_of(category, object), rb_heap_sampler_reference};
}

bool
rb_hs_roots_read(struct hs_walk *walk)
{
    roots = rb_hs_arena_map(ROOTS_MOST * sizeof(*roots));
    modules = rb_hs_arena_map(walk->index.slots * sizeof(*modules));
    finalizers = rb_hs_arena_map(FINALIZERS_MOST * sizeof(*finalizers));
    if (!roots || !modules || !finalizers) return false;
    rb_objspace_reachable_objects_from_root(read_root, NULL);
    rb_heap_sampler_gc_each_finalizer(read_finalizer, NULL);
    return true;
}

/* -- walking from them --------------------------------------------------------------------- */

struct naming {
    struct hs_walk *walk;
    uint32_t count, from;
};

static void
reach_module(struct naming *naming, VALUE module)
{
    if (hs_walk_reached_p(naming->walk, module)) return;
    rb_hs_walk_reach(naming->walk, module, naming->from);
    modules[naming->count++] = module;
}

static enum rb_id_table_iterator_result
reach_constant(VALUE entry, void *data)
{
    VALUE value = ((const rb_const_entry_t *)entry)->value;
    if (!SPECIAL_CONST_P(value) && (BUILTIN_TYPE(value) == T_CLASS || BUILTIN_TYPE(value) == T_MODULE)) reach_module(data, value);
    return ID_TABLE_CONTINUE;
}

/* Level by level, too: the shortest name wins. */
static void
reach_modules(struct hs_walk *walk)
{
    struct naming naming = {walk, 0, HS_ROOT_NUMBERS + HS_TOP_CONSTANTS};
    reach_module(&naming, rb_cObject);
    for (uint32_t i = 0; i < naming.count; i++) {
        struct rb_id_table *constants = RCLASS_CONST_TBL(modules[i]);
        naming.from = hs_index_number(&walk->index, modules[i]);
        if (constants) rb_id_table_foreach_values(constants, reach_constant, &naming);
    }
}

static void
reach_roots(struct hs_walk *walk, enum hs_top top)
{
    for (uint32_t i = 0; i < root_count; i++) {
        if (roots[i].root == top) rb_hs_walk_follow(walk, roots[i].object, HS_ROOT_NUMBERS + top, roots[i].reference);
    }
}

void
rb_hs_roots_walk(struct hs_walk *walk)
{
    reach_modules(walk);
    for (enum hs_top root = HS_TOP_GLOBALS; root <= HS_TOP_THREADS; root++) reach_roots(walk, root);
    rb_hs_walk_pass(walk, HS_PASS_LASTING);
    rb_hs_walk_pass(walk, HS_PASS_RUNNING);
    reach_roots(walk, HS_TOP_MACHINE_STACK);
    rb_hs_walk_pass(walk, HS_PASS_RUNNING);
    reach_roots(walk, HS_TOP_CACHES);
    rb_hs_walk_pass(walk, HS_PASS_CACHED);
    walk_finalizers(walk);
}

/* See holders/finalizers.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/holders/finalizers.h"
#include "heap_sampler/holders/arena.h"
#include "heap_sampler/holders/holders.h"

enum { FINALIZERS_MOST = 1 << 22 };

static struct finalizer {
    VALUE object, blocks;
    bool held;                  /* not by the table alone, in the walk with all */
    bool kept;                  /* not any more, but by itself, as far as is known */
} *finalizers;
static uint32_t finalizer_count;

static void
read_finalizer(VALUE object, VALUE blocks, void *unused)
{
    (void)unused;
    if (finalizer_count < FINALIZERS_MOST) finalizers[finalizer_count++] = (struct finalizer){object, blocks};
}

bool
rb_hs_finalizers_read(struct hs_walk *walk)
{
    finalizers = rb_hs_arena_map(FINALIZERS_MOST * sizeof(*finalizers));
    if (finalizers) rb_heap_sampler_gc_each_finalizer(read_finalizer, NULL);
    return finalizers != NULL;
}

static void
reach_blocks(struct hs_walk *walk, const struct finalizer *finalizer)
{
    rb_hs_walk_reach_finalizers(walk, finalizer->blocks, HS_ROOT_NUMBERS + HS_TOP_FINALIZERS);
}

void
rb_hs_finalizers_walk(struct hs_walk *walk)
{
    for (uint32_t i = 0; i < finalizer_count && !walk->without; i++) finalizers[i].held = hs_walk_reached_p(walk, finalizers[i].object);
    for (uint32_t i = 0; i < finalizer_count; i++) {
        if (!finalizers[i].held) reach_blocks(walk, &finalizers[i]);
    }
    rb_hs_walk_pass(walk, HS_PASS_CACHED);
}

static void
reach_kept(struct hs_walk *walk)
{
    for (uint32_t i = 0; i < finalizer_count; i++) {
        if (finalizers[i].kept) reach_blocks(walk, &finalizers[i]);
    }
    rb_hs_walk_pass(walk, HS_PASS_CACHED);
}

/* Those that are reached from each other's blocks; how many. */
static uint32_t
try_kept(struct hs_walk *walk)
{
    uint32_t kept = 0;
    rb_hs_walk_try(walk);
    reach_kept(walk);
    for (uint32_t i = 0; i < finalizer_count; i++) {
        finalizers[i].kept = finalizers[i].kept && hs_walk_reached_p(walk, finalizers[i].object);
        kept += finalizers[i].kept;
    }
    rb_hs_walk_take_back(walk);
    return kept;
}

bool
rb_hs_finalizers_settle(struct hs_walk *walk)
{
    uint32_t kept = 0, before;
    for (uint32_t i = 0; i < finalizer_count; i++) {
        finalizers[i].kept = finalizers[i].held && !hs_walk_reached_p(walk, finalizers[i].object);
        kept += finalizers[i].kept;
    }
    /* Who was reached by one that nobody keeps is kept no more; of a long chain the end is not waited for. */
    enum { ROUNDS = 8 };
    for (int round = 0; kept && round < ROUNDS; round++) {
        before = kept;
        kept = try_kept(walk);
        if (kept == before) break;
    }
    if (kept) reach_kept(walk);
    return kept;
}

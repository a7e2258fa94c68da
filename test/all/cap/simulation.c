/*
 * A hundred million live objects, without their four gigabytes: heap pages that
 * are nothing but an address, a table of samples and mark bits.  The sampler's
 * hooks are called as the allocator and the GC call them: a draw for each
 * installed list, one sample where it was cut, a move now and then, a page that
 * goes, and a mark that finds nine of ten alive.  The hooks and all behind them
 * are from the Ruby under test, whose static library this is linked with.
 *
 * Prints TAP.  Usage: simulation INTERVAL MAX_SAMPLES MILLIONS PROFILE
 */
#include "ruby/internal/config.h"
#include "internal/heap_sampler.h"
#include "ruby/ruby.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/profile/formats.h"
#include "heap_sampler/profile/profile.h"
#include "snapshot.h"
#include "tap.h"
#include "heap_sampler/store/page_table.h"
#include "heap_sampler/sampling/malloc_hooks.h"
#include "heap_sampler/sampling/sessions.h"
#include "heap_sampler/store/store.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SLOT_SIZE = 40,
       SLOTS = 1638,
       WORDS = SLOTS / 64 + 1,
       CLASSES = 2000,
       FREED_ONE_IN = 10 };

struct page {
    struct rb_heap_sampler_page *table;
    uintptr_t bits[WORDS];
};

static struct page *pages;
static size_t page_count;
static VALUE classes[CLASSES];
static uint64_t made, freed;

static uintptr_t
body_of(size_t page)
{
    return 0x100000000000 + page * 65536;       /* never read */
}

/* What newobj does with the free list of a page that is empty. */
static void
fill(size_t number)
{
    struct page *page = &pages[number];
    unsigned slot = 0;
    while (slot < SLOTS) {
        uint64_t drawn_at;
        unsigned nth = rb_heap_sampler_on_install(SLOT_SIZE, SLOTS - slot, &drawn_at);
        if (!nth) break;
        slot += nth - 1;
        rb_heap_sampler_on_take(&page->table, body_of(number), page->bits, slot, SLOT_SIZE, SLOT_SIZE,
                                classes[(number * 7 + slot) % CLASSES], T_OBJECT, drawn_at);
        slot++;
    }
    for (unsigned i = 0; i < SLOTS; i++) page->bits[i / 64] |= (uintptr_t)1 << i % 64;
    made += SLOTS;
}

/* The collection is a real one, of all that this process has besides; it calls
 * the hook, which finds our pages among its own. */
static void
mark(size_t from, size_t to)
{
    for (size_t number = from; number < to; number++) {
        for (unsigned slot = 0; slot < SLOTS; slot++) {
            if ((number + slot) % FREED_ONE_IN) continue;
            pages[number].bits[slot / 64] &= ~((uintptr_t)1 << slot % 64);
            freed++;
        }
    }
    rb_gc_start();
}

struct sums {
    double objects, variance;
};

static void
check_sum(const char *name, struct sums sum, uint64_t truth)
{
    double z = (sum.objects - (double)truth) / (sum.variance > 0 ? sqrt(sum.variance) : 1);
    ok(fabs(z) < 4.5, "%s: %.0f of %" PRIu64 ", z %.2f (bound 4.5)", name, sum.objects, truth, z);
}

static void
add(struct sums *sum, const struct hs_estimate *estimate)
{
    sum->objects += estimate->objects;
    sum->variance += estimate->variance / SLOT_SIZE / SLOT_SIZE;
}

/* Hardly anything else in the process is of this size and young enough. */
static void
check_snapshot(const char *path)
{
    struct hs_profile *profile = take_snapshot(HS_MAIN, 0);
    struct sums live = {0, 0}, alloc = {0, 0};
    ok(profile != NULL, "a snapshot, with %zu KiB in use", rb_hs_memory_total() >> 10);
    if (!profile) return;
    for (size_t i = 0; i < profile->row_count; i++) {
        const struct hs_row *row = &profile->rows[i];
        if (row->slot_size != SLOT_SIZE) continue;
        add(&live, &row->inuse);
        add(&live, &row->young);
        add(&alloc, &row->alloc);
    }
    check_sum("what lives", live, made - freed);
    check_sum("what was allocated", alloc, made);
    struct hs_buffer out = {0};
    int error = rb_hs_encode(profile, HS_PB_GZ, HS_INUSE_FIRST, &out);
    if (!error) error = rb_hs_write_file(path, out.ptr, out.len, NULL);
    ok(error == 0, "it is written: %zu rows, %zu bytes", profile->row_count, out.len);
    rb_hs_buffer_free(&out);
    rb_hs_snapshot_free(profile);
}

static void
simulate(uint64_t interval, const char *path)
{
    struct hs_session_settings settings = {.interval = interval};
    bool in_bounds = rb_hs_session_start(&settings, true) == HS_MAIN;
    ok(in_bounds, "sampling at %" PRIu64 " bytes", interval);
    size_t step = page_count / 20 + 1, marked = 0;
    for (size_t number = 0; number < page_count; number++) {
        fill(number);
        in_bounds &= rb_hs_memory_total() <= HS_MEMORY_MAX;
        if ((number + 1) % step) continue;
        mark(marked, number);
        marked = number;
        /* the first object of a page goes to a freed slot of the next */
        for (size_t i = number - 100; i + 1 < number; i++) {
            unsigned from = i % FREED_ONE_IN ? 0 : 1, to = (FREED_ONE_IN - (i + 1) % FREED_ONE_IN) % FREED_ONE_IN;
            pages[i].bits[0] &= ~((uintptr_t)1 << from);
            pages[i + 1].bits[0] |= (uintptr_t)1 << to;
            rb_heap_sampler_on_move(pages[i].table, from, &pages[i + 1].table, body_of(i + 1), pages[i + 1].bits, to);
        }
    }
    const struct hs_session *main = rb_hs_session(HS_MAIN);
    printf("# interval now %" PRIu64 ", %" PRIu64 " live samples of %" PRIu64 " taken, %u sites; records %zu KiB, totals %zu KiB\n",
           main->interval, main->samples, rb_hs_pages.taken, rb_hs_slot_store.site_count,
           rb_hs_memory_bytes(HS_MEM_RECORDS) >> 10, rb_hs_memory_bytes(HS_MEM_TOTALS) >> 10);
    ok(in_bounds, "in bounds after each of %zu pages, %" PRIu64 " objects, %" PRIu64 " of them freed", page_count, made, freed);
    check_snapshot(path);
    ok(!rb_hs_slot_store.dropped && !rb_hs_pages.dropped_moves, "no sample was dropped, nor a move");
    for (size_t number = 0; number < page_count; number++) {
        if (pages[number].table) rb_heap_sampler_on_page_free(pages[number].table);
    }
    ok(rb_hs_memory_peak() <= HS_MEMORY_MAX, "own memory was %.1f MiB at most", (double)rb_hs_memory_peak() / (1 << 20));
    rb_hs_session_stop(HS_MAIN);
    ok(rb_hs_pages.records == 0 && rb_hs_pages.count == 0, "nothing is left when the pages are gone and sampling stops");
}

int
main(int argc, char **argv)
{
    if (argc != 5) return 2;
    page_count = (size_t)(strtod(argv[3], NULL) * 1e6 / SLOTS);
    pages = calloc(page_count, sizeof(*pages));
    if (!pages) return 2;
    ruby_init();
    rb_hs_random_seed(&rb_hs_slot_store.random, 20251121);
    rb_hs_slot_store.limits.max_samples = strtoull(argv[2], NULL, 10);
    rb_hs_malloc_settings(true, 0);
    for (int i = 0; i < CLASSES; i++) {
        char name[32];
        snprintf(name, sizeof(name), "Simulated%d", i);
        classes[i] = rb_define_class(name, rb_cObject);
    }
    rb_gc_disable();
    simulate(strtoull(argv[1], NULL, 10), argv[4]);
    int status = tap_finish();
    fflush(stdout);
    _exit(status);
}

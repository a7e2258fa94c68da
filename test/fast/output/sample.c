/*
 * Profiles made by hand, to be encoded.
 */
#include "sample.h"
#include "heap_sampler/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void *
copy(const void *from, size_t size)
{
    void *to = rb_hs_malloc(HS_MEM_SNAPSHOTS, size);
    if (!to) abort();
    memcpy(to, from, size);
    return to;
}

#define TEXT(literal) {literal, sizeof(literal) - 1}
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define FILL(profile, rows_, nodes_, frames_, texts_) \
    do { \
        (profile)->rows = copy(rows_, sizeof(rows_)); \
        (profile)->row_count = COUNT(rows_); \
        for (size_t r_ = 0; r_ < COUNT(rows_); r_++) \
            if (!rows_[r_].malloced) (profile)->rows[r_].resident = rows_[r_].inuse.space; \
        (profile)->nodes = copy(nodes_, sizeof(nodes_)); \
        (profile)->node_count = COUNT(nodes_); \
        (profile)->frames = copy(frames_, sizeof(frames_)); \
        (profile)->frame_count = COUNT(frames_); \
        (profile)->texts = copy(texts_, sizeof(texts_)); \
        (profile)->text_count = COUNT(texts_); \
    } while (0)

/*
 * inuse_space: Ticket#store 6000.4 + 3000.2 (line 5), 999.9 (line 7);
 * under a truncated root 500; without a stack 64.
 */
void
sample_profile(struct hs_profile *profile)
{
    static const struct hs_text texts[] = {
        TEXT(""),
        TEXT("<main>"),
        TEXT("app.rb"),
        TEXT("/srv/app.rb"),
        TEXT("Ticket#store"),
        TEXT("lib/ticket.rb"),
        TEXT("/srv/lib/ticket.rb"),
        TEXT("Integer#times"),
        TEXT("<internal:numeric>"),
        TEXT("(truncated)"),
        TEXT("String"),
        TEXT("T_STRING"),
        TEXT("Ticket"),
        TEXT("T_OBJECT"),
        TEXT("never used"),
    };
    static const struct hs_frame frames[] = {
        {9, 0, 0, 0, 0},
        {1, 2, 3, 10, 0},
        {7, 8, 0, 237, 0},
        {4, 5, 6, 5, 0},
        {4, 5, 6, 7, 0},
        {14, 14, 14, 1, 0},
    };
    static const struct hs_node nodes[] = {
        {0, 0},
        {0, 1},
        {1, 2},
        {2, 3},
        {2, 4},
        {0, 0},
        {5, 3},
    };
    static const struct hs_row rows[] = {
        {.node = 3, .class_name = 10, .type = 11, .slot_size = 40, .thread = 1, .has_allocation_gc = true, .allocation_gc = 0, .inuse = {2, 150.01, 6000.4, 1e6 + 0.5}, .holds_free = {700.4, 9000}, .holds_free_pinned = 300, .unshared = {1200, 8000}, .unshared_allocated = 400},
        {.node = 3, .class_name = 10, .type = 11, .slot_size = 40, .thread = 2, .has_allocation_gc = true, .allocation_gc = 7, .inuse = {1, 75.005, 3000.2, 5e5}, .young = {1, 75.005, 3000.2, 5e5}},
        {.node = 3, .class_name = 10, .type = 11, .slot_size = 40, .alloc = {5, 400.5, 16020, 2.5e6}, .freed = {2, 150, 6000, 1e6}, .freed_gcs = 301.5},
        {.node = 4, .class_name = 12, .type = 13, .slot_size = 160, .thread = 1, .has_allocation_gc = true, .allocation_gc = 3, .inuse = {1, 6.2494, 999.9, 8e5}, .alloc = {1, 6.2494, 999.9, 8e5}},
        {.node = 6, .class_name = 12, .type = 13, .slot_size = 160, .inuse = {1, 3.125, 500, 0}, .alloc = {1, 3.125, 500, 0}},
        {.node = 0, .class_name = 10, .type = 11, .slot_size = 64, .inuse = {1, 1, 64, 0}},
    };
    static const struct hs_profile_meta meta = {
        .interval = 524288,
        .first_interval = 262144,
        .interval_changes = 1,
        .max_samples = 200000,
        .only_n = 1,
        .seeded = true,
        .seed = UINT64_MAX,
        .process_id = 4242,
        .process_start = 0xabcdef,
        .identity = {.parent_id = 17, .title = "puma \"w\"", .host = "web-1"},
        .deploy = "v1.4.2",
        .session = 1,
        .started_ns = UINT64_C(1700000000000000001),
        .taken_ns = UINT64_C(1700000090500000001),
        .gc_count = 9,
        .gc_minor = 7,
        .gc_major = 2,
        .last_major_ns = UINT64_C(1700000080000000000),
        .last_major_gc = 8,
        .diagnose_ppm = 10000,
        .forced = {3, 2, 41000000, 230000000, 12000000, UINT64_C(90000000000), HS_FORCED_OVER_BUDGET},
        .gc_times = {2, {{UINT64_C(1699999999000999999), 1, 0}, {UINT64_C(1700000080000000000), 9, 2}}},
        .objects = 2000,
        .majors = {.count = 3, .list = {{UINT64_C(1699999999250000000), 1000, 4000, 3, {100, 7}}, {UINT64_C(1699999999750000000), 1050, 0, 5, {97, 9}}, {UINT64_C(1699999999750999999), 1050, 3500, 6, {97, 9}}}},
        .gc_timed = true,
        .cpu_ns = 400000000,
        .gc_log = {.count = 2,
                   .list = {{UINT64_C(1699999999000999999), 8, 8, 2, 6, 3000000, 9000000, 1000000, 2500000, 70000, 900, 20, 500, 4000},
                            {UINT64_C(1700000080000000000), 9, 1, 0, 1, 1500, 1000, 500, 7000, 800, 20, 19, 700, 4020}},
                   .causes = {[1] = {3, 1500, 7000}, [6] = {6, 10000000, 2500000}}},
        .live_samples = 6,
        .drop_samples = 1,
        .drop_stacks = 2,
        .drop_frames = 3,
        .drop_classes = 4,
        .drop_moves = 5,
        .own_bytes = 65536,
        .heaps = 2,
        .heap = {{40, 1000, 900, 10, {0}}, {80, 500, 400, 20, {true, 10, 3, 180, 320}}},
        .inherited = {true, NULL, 1048576, 4096},
        .ruby = "ruby 3.4.5 \"test\"",
    };

    memset(profile, 0, sizeof(*profile));
    profile->meta = meta;
    FILL(profile, rows, nodes, frames, texts);
}

void
hostile_profile(struct hs_profile *profile)
{
    static char every_byte[256];
    static const char cut_character[] = "cut \xf0\x9f\x92";
    struct hs_text texts[] = {
        TEXT(""),
        TEXT("a;b\nc\rd\te\"f\\g"),
        TEXT("/tmp/;\n\"\\.rb"),
        TEXT("\xff\xfe"),
        TEXT("\xc0\x80 \xed\xa0\x80"),
        TEXT("\xf4\x90\x80\x80 \xf8\x88\x80\x80\x80"),
        TEXT("LS\xe2\x80\xa8PS\xe2\x80\xa9NEL\xc2\x85"),
        TEXT("nul\0inside"),
        TEXT("\x7f</script><!--"),
        TEXT("名前 \xf0\x9f\x92\x8e é"),
        {every_byte, sizeof(every_byte)},
        {cut_character, sizeof(cut_character) - 1},
        TEXT("100"),
        TEXT("class 7 9"),
    };
    struct hs_frame frames[COUNT(texts)];
    struct hs_node nodes[COUNT(texts) + 1];
    struct hs_row rows[COUNT(texts)];

    for (int i = 0; i < 256; i++) every_byte[i] = (char)i;
    memset(nodes, 0, sizeof(nodes));
    memset(rows, 0, sizeof(rows));
    for (uint32_t i = 0; i < COUNT(texts); i++) {
        frames[i] = (struct hs_frame){i, i, i % 2 ? i : 0, i % 3 ? i : 0, 0};
        nodes[i + 1] = (struct hs_node){i, i};
        rows[i].node = i + 1;
        rows[i].class_name = rows[i].type = i;
        rows[i].inuse = rows[i].alloc = (struct hs_estimate){1, 1, 10 + i, 0};
    }
    memset(profile, 0, sizeof(*profile));
    memset(profile->meta.ruby, 0xc3, sizeof(profile->meta.ruby));       /* no NUL, no UTF-8 */
    profile->meta.heaps = UINT32_MAX;
    FILL(profile, rows, nodes, frames, texts);
}

void
huge_profile(struct hs_profile *profile)
{
    const double values[] = {1e300, INFINITY, NAN, 9223372036854775807.0, 9223372036854774784.0, -1e300, 0.4999, 0.5};
    struct hs_text texts[] = {TEXT(""), TEXT("huge")};
    struct hs_frame frames[] = {{1, 1, 1, UINT32_MAX, 0}};
    struct hs_node nodes[COUNT(values) + 1] = {{0, 0}};
    struct hs_row rows[COUNT(values)];

    memset(rows, 0, sizeof(rows));
    for (uint32_t i = 0; i < COUNT(values); i++) {
        const double v = values[i];
        nodes[i + 1] = (struct hs_node){i, 0};
        rows[i] = (struct hs_row){.node = i + 1, .slot_size = UINT32_MAX, .thread = UINT32_MAX, .has_allocation_gc = true, .allocation_gc = UINT64_MAX, .freed_gcs = v};
        rows[i].memsize = v;
        rows[i].resident = v;
        rows[i].inuse = rows[i].young = rows[i].alloc = rows[i].freed = (struct hs_estimate){UINT64_MAX, v, v, v};
    }
    memset(profile, 0, sizeof(*profile));
    memset(&profile->meta, 0xff, sizeof(profile->meta));
    profile->meta.forced.last = HS_FORCED_NONE;
    profile->meta.malloc.state = HS_MALLOC_MISSING;
    profile->meta.seeded = profile->meta.memsize = profile->meta.gc_timed = profile->meta.interval_auto = profile->meta.malloc.automatic = true;
    profile->meta.account.malloc_known = profile->meta.account.jemalloc = true;
    profile->meta.account_at_start.malloc_known = profile->meta.account_at_start.jemalloc = true;
    profile->meta.account.stacks_known = profile->meta.account_at_start.stacks_known = true;
    profile->meta.account.limit.machine = profile->meta.account_at_start.limit.machine = true;
    profile->meta.census.taken = profile->meta.census.stacks_known = true;
    profile->meta.census.places = NULL;
    profile->meta.census.paths = NULL;
    profile->meta.census.place_count = 0;
    profile->meta.heaps = HS_HEAPS_MAX;
    for (int i = 0; i < HS_HEAPS_MAX; i++) profile->meta.heap[i].use.known = true;
    profile->meta.inherited.known = true;
    FILL(profile, rows, nodes, frames, texts);
}

/* A comb: a stack 4,096 deep, and at each of its nodes a row and a leaf. */
void
large_profile(struct hs_profile *profile)
{
    enum { DEPTH = 4096 };
    static struct hs_text texts[] = {TEXT(""), TEXT("deep"), TEXT("deep.rb")};
    static struct hs_frame frames[DEPTH];
    static struct hs_node nodes[DEPTH + 1];
    static struct hs_row rows[64];

    for (uint32_t i = 0; i < DEPTH; i++) {
        frames[i] = (struct hs_frame){1, 2, 0, i + 1, 0};
        nodes[i + 1] = (struct hs_node){i, i};
    }
    for (uint32_t i = 0; i < COUNT(rows); i++) {
        rows[i] = (struct hs_row){.node = DEPTH - i, .slot_size = 40, .inuse = {1, 1, 40, 0}};
    }
    memset(profile, 0, sizeof(*profile));
    FILL(profile, rows, nodes, frames, texts);
}

/*
 * inuse_space by line of app.rb: 10: 4000 of slots, 1000000 of malloc through
 * libfoo (named) and 300000 through libbar (no symbol); 20: 50000 through code
 * that is in no file. 4000 of slots hold 70000 outside.
 */
void
malloc_profile(struct hs_profile *profile)
{
    static const struct hs_text texts[] = {
        TEXT(""),
        TEXT("<main>"),
        TEXT("app.rb"),
        TEXT("/srv/app.rb"),
        TEXT("String"),
        TEXT("T_STRING"),
        TEXT("(malloc)"),
        TEXT("foo_new"),
        TEXT("/usr/lib/libfoo.so.1"),
        TEXT("libfoo.so.1"),
        TEXT("/usr/lib/libbar;1.so"),
        TEXT("libbar;1.so"),
        TEXT("00ff17"),
        TEXT("_ZN3foo3newEv"),
        TEXT("[vdso]"),
    };
    static const struct hs_frame frames[] = {
        {1, 2, 3, 10, 0},
        {1, 2, 3, 20, 0},
        {7, 8, 0, 0, 0x7f0000001234},
        {0, 10, 0, 0, 0x7f0000101010},
        {13, 8, 0, 0, 0x7f0000001999},
        {0, 0, 0, 0, 0x1000},
        {13, 10, 0, 0, 0x7f0000101020},
    };
    static const struct hs_node nodes[] = {
        {0, 0},
        {0, 0},
        {1, 4},
        {2, 2},
        {1, 6},
        {4, 3},
        {0, 1},
        {6, 5},
    };
    static const struct hs_mapping mappings[] = {
        {0x7f0000001000, 0x7f0000002000, 0x3000, 8, 12},
        {0x7f0000100000, 0x7f0000102000, 0, 10, 0},
        {UINT64_C(0xffffffffff600000), UINT64_MAX, 0, 14, 0},
    };
    static const struct hs_row rows[] = {
        {.node = 1, .class_name = 4, .type = 5, .slot_size = 40, .has_allocation_gc = true, .allocation_gc = 3, .inuse = {1, 100, 4000, 4e4}, .memsize = 70000.4},
        {.node = 1, .class_name = 4, .type = 5, .slot_size = 40, .alloc = {2, 200, 8000, 8e4}},
        {.node = 3, .malloced = true, .library = 9, .class_name = 6, .type = 6, .thread = 2, .has_allocation_gc = true, .allocation_gc = 7, .inuse = {2, 4, 1000000, 2e6}, .resident = 8192.4},
        {.node = 3, .malloced = true, .library = 9, .class_name = 6, .type = 6, .alloc = {9, 18.25, 4500000, 9e6}, .freed = {7, 14.25, 3500000, 7e6}, .freed_gcs = 28.5},
        {.node = 5, .malloced = true, .library = 11, .class_name = 6, .type = 6, .has_allocation_gc = true, .inuse = {1, 1.5, 300000, 7}, .resident = 300000, .alloc = {1, 1.5, 300000, 7}},
        {.node = 7, .malloced = true, .class_name = 6, .type = 6, .inuse = {1, 1, 50000, 0}, .alloc = {1, 1, 50000, 0}},
    };

    memset(profile, 0, sizeof(*profile));
    profile->meta.interval = profile->meta.first_interval = 524288;
    profile->meta.memsize = true;
    profile->meta.malloc = (struct hs_malloc_meta){
        HS_MALLOC_ON,
        100000,
        524288,
        1,
        0,
        true,
        "jemalloc 5.3.1",
        "no thread's stack: nobody asked",
    };
    FILL(profile, rows, nodes, frames, texts);
    profile->mappings = copy(mappings, sizeof(mappings));
    profile->mapping_count = COUNT(mappings);
}

void
walked_profile(struct hs_profile *profile)
{
    /* Texts 15 to 20, behind the texts of the first profile. */
    static const struct hs_text more[] = {
        TEXT("root"),
        TEXT("(constants)"),
        TEXT("constant"),
        TEXT("Ticket::ALL"),
        TEXT("ivar"),
        TEXT("@next of Ticket"),
        TEXT("(not reached)"),
    };
    static const struct hs_retainer nodes[] = {
        {.parent = 0, .kind = 15, .name = 16, .objects = 900, .entries = HS_NO_ENTRIES},
        {.parent = 0, .kind = 17, .name = 18, .klass = 12, .path = 6, .line = 1, .objects = 1, .entries = HS_NO_ENTRIES},
        {.parent = 1, .kind = 19, .name = 20, .klass = 12, .objects = 812, .folded = 811, .entries = HS_NO_ENTRIES},
        {.parent = 3, .kind = 15, .name = 21, .entries = HS_NO_ENTRIES},
    };
    static const struct hs_part kept[] = {{0, 2, 0, {1, 100.4, 4016, 7e5}}, {0, 3, 0, {1, 49.6, 1984, 3e5}}, {1, 1, 0, {1, 150, 6000, 1e6}}, {3, 2, 0, {1, 6.25, 1000, 8e5}}};

    sample_profile(profile);
    uint32_t count = profile->text_count;
    profile->texts = rb_hs_realloc(HS_MEM_SNAPSHOTS, profile->texts, (count + COUNT(more)) * sizeof(*profile->texts));
    memcpy(profile->texts + count, more, sizeof(more));
    profile->text_count += COUNT(more);
    profile->asked_for_kept = true;
    struct hs_found *found = profile->retainers.found = rb_hs_found_map(0);
    memcpy(found->nodes, nodes, sizeof(nodes));
    found->freed[0] = (struct hs_freed){2, 900, 36000.4, 5e6};
    found->freed_count = 1;
    profile->retainers.nodes = found->nodes;
    profile->retainers.node_count = COUNT(nodes);
    profile->retainers.figures.objects = 4711;
    profile->retainers.room = (struct hs_memory_room){.left = 1 << 20, .limit = 1 << 30, .group = "/app"};
    profile->kept = copy(kept, sizeof(kept));
    profile->kept_count = COUNT(kept);
}

void
freed_profile(struct hs_profile *profile)
{
    enum { LINES = 150,
           STACKS = 2 * LINES };
    static const struct hs_text texts[] = {TEXT(""), TEXT("Boot#load"), TEXT("/srv/boot.rb"), TEXT("<main>"), TEXT("String"), TEXT("T_STRING"), TEXT("Boot#once")};
    static struct hs_frame frames[LINES + 3];
    static struct hs_node nodes[STACKS + 4];
    static struct hs_row rows[STACKS + 1];

    frames[LINES] = (struct hs_frame){3, 2, 2, 1000, 0};
    frames[LINES + 1] = (struct hs_frame){3, 2, 2, 1001, 0};
    frames[LINES + 2] = (struct hs_frame){6, 2, 2, 5, 0};
    nodes[0] = (struct hs_node){0, 0};
    nodes[1] = (struct hs_node){0, LINES};
    nodes[2] = (struct hs_node){0, LINES + 1};
    for (uint32_t i = 0; i < STACKS; i++) {
        frames[i % LINES] = (struct hs_frame){1, 2, 2, i % LINES + 1, 0};
        nodes[i + 3] = (struct hs_node){1 + i / LINES, i % LINES};
        rows[i] = (struct hs_row){.node = i + 3, .class_name = 4, .type = 5, .slot_size = 40, .alloc = {1, 10, 400, 7}, .freed = {1, 10, 400, 7}};
    }
    rows[9].alloc.space = 2e6;                                  /* a large one */
    rows[11].inuse = (struct hs_estimate){3, 10, 400, 7};       /* more than two samples live */
    rows[13].inuse = (struct hs_estimate){1, 10, 1e6, 7};       /* most of what lives */
    rows[15].alloc.variance = 0;                                /* counted, not sampled */
    rows[17].young = (struct hs_estimate){1, 10, 2e4, 7};       /* little of it */
    rows[19].alloc.samples = 30;                                /* small all the same */
    nodes[STACKS + 3] = (struct hs_node){1, LINES + 2};
    rows[STACKS] = (struct hs_row){.node = STACKS + 3, .class_name = 4, .type = 5, .slot_size = 40, .alloc = {1, 10, 4e6, 7}, .freed = {1, 10, 400, 7}};
    memset(profile, 0, sizeof(*profile));
    FILL(profile, rows, nodes, frames, texts);
}

const struct sample_profile sample_profiles[SAMPLE_PROFILES] = {
    {"sample", sample_profile},
    {"hostile", hostile_profile},
    {"huge", huge_profile},
    {"large", large_profile},
    {"malloc", malloc_profile},
    {"walked", walked_profile},
    {"freed", freed_profile},
};

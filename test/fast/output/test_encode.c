/*
 * The encoders: the text they make of a profile made by hand, what they do
 * with hostile names, values too large, broken profiles and no memory.
 * What other programs make of the files is checked by test/fast/output/run.
 */
#include "sample.h"
#include "tap.h"
#include "tests.h"
#include "heap_sampler/profile/encode.h"
#include "heap_sampler/profile/formats.h"
#include "heap_sampler/base/memory.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int (*encoder)(const struct hs_profile *profile, struct hs_buffer *out);

static int
memory_json(const struct hs_profile *profile, struct hs_buffer *out)
{
    struct hs_profile_meta meta = profile->meta;
    meta.last_major_ns = 0;
    return rb_hs_encode_memory(&meta, &(struct hs_sampler_now){0}, out);
}

static int
hello_json(const struct hs_profile *profile, struct hs_buffer *out)
{
    struct hs_profile_meta meta = profile->meta;
    meta.interval_auto = false;
    meta.account = meta.account_at_start = (struct hs_account){0};
    return rb_hs_encode_about(&meta, true, 0, out);
}

static int
plain_pprof(const struct hs_profile *profile, struct hs_buffer *out)
{
    return rb_hs_encode(profile, HS_PB, HS_INUSE_FIRST, out);
}

static int
gzipped_pprof(const struct hs_profile *profile, struct hs_buffer *out)
{
    return rb_hs_encode(profile, HS_PB_GZ, HS_INUSE_FIRST, out);
}

static const struct {
    const char *name;
    encoder encode;
} encoders[] = {
    {"pprof", plain_pprof},
    {"gzipped pprof", gzipped_pprof},
    {"memory", memory_json},
    {"hello", hello_json},
};

enum { ENCODERS = sizeof(encoders) / sizeof(encoders[0]) };

static void
test_hello(void)
{
    struct hs_profile profile;
    struct hs_buffer out = {0};

    sample_profile(&profile);
    hello_json(&profile, &out);
    rb_hs_buffer_append(&out, "", 1);
    is_text(out.ptr,
            "{\"protocol\":1,\"process_id\":4242,\"process_start\":\"0000000000abcdef\",\"parent_id\":17,\"title\":\"puma \\\"w\\\"\","
            "\"host\":\"web-1\",\"deploy\":\"v1.4.2\",\"ruby\":\"ruby 3.4.5 \\\"test\\\"\",\"sampling\":true,\"interval_auto\":false,"
            "\"taken_ns\":1700000090500000001,\"started_ns\":1700000000000000001,\"interval\":524288,"
            "\"malloc\":{\"state\":\"missing\",\"interval_changes\":0,\"thinnings\":0,\"interval_auto\":false}}",
            "hello: every field that is known");
    rb_hs_buffer_free(&out);
    rb_hs_profile_free(&profile);
}

static void
test_formats(void)
{
    enum hs_format format = HS_PB;
    struct hs_profile profile;
    struct hs_buffer plain = {0}, packed = {0};

    ok(rb_hs_format_of("a.pb.gz", &format) && format == HS_PB_GZ && rb_hs_format_of("/b/.pb", &format) && format == HS_PB &&
           !rb_hs_format_of("a.json", &format) && !rb_hs_format_of("", &format),
       "a path's ending says the format");
    sample_profile(&profile);
    ok(!rb_hs_encode(&profile, HS_PB, HS_INUSE_FIRST, &plain) && !rb_hs_encode(&profile, HS_PB_GZ, HS_INUSE_FIRST, &packed) &&
           packed.len > 2 && memcmp(packed.ptr, "\x1f\x8b", 2) == 0 && packed.len < plain.len,
       "bytes without a file, packed or not");
    rb_hs_buffer_free(&plain);
    rb_hs_buffer_free(&packed);
    rb_hs_profile_free(&profile);
}

static void
test_malloc(void)
{
    struct hs_profile profile;

    malloc_profile(&profile);
    static const struct {
        uint64_t address;
        uint32_t mapping;
    } cases[] = {
        {0, 3},
        {0x7f0000000fff, 3},
        {0x7f0000001000, 0},
        {0x7f0000001fff, 0},
        {0x7f0000002000, 3},
        {0x7f0000100000, 1},
        {UINT64_MAX - 1, 2},
        {UINT64_MAX, 3},
    };
    bool passed = true;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (rb_hs_mapping_of(&profile, cases[i].address) != cases[i].mapping) passed = false;
    }
    ok(passed, "an address is in its mapping, at either end of it too");
    rb_hs_profile_free(&profile);
}

static void
test_account(void)
{
    struct hs_profile profile;
    struct hs_buffer out = {0};

    sample_profile(&profile);
    profile.meta.account = (struct hs_account){
        .taken_ns = 7,
        .cost_ns = 8,
        .rss = 1000,
        .slots_live = 100,
        .slots_free = 50,
        .malloc_live = 300,
        .malloc_waste = 60,
        .malloc_metadata = 40,
        .stacks = 20,
        .code_and_files = 400,
        .jit = 0,
        .sampler = 10,
        .unattributed = 20,
        .pss = 900,
        .threads = 3,
        .fibers = 2,
        .stacks_known = true,
        .thread_stacks = 15,
        .fiber_stacks = 5,
        .malloc_known = true,
        .jemalloc = true,
        .je_allocated = 1,
        .je_active = 2,
        .je_resident = 3,
        .je_dirty = 4,
        .je_retained = 5,
        .je_metadata = 6,
        .allocator = "jemalloc 5.3.0",
    };
    /* no /proc, and a malloc that says nothing */
    profile.meta.account_at_start = (struct hs_account){.taken_ns = 1, .slots_live = 9, .allocator = "malloc"};
    memory_json(&profile, &out);
    rb_hs_buffer_append(&out, "", 1);
    const char *account = strstr(out.ptr, "\"account\":");
    is_text(account ? account : "",
            "\"account\":{\"taken_ns\":7,\"cost_ns\":8,\"rss\":1000,\"slots_live\":100,\"slots_free\":50,"
            "\"malloc_live\":300,\"malloc_waste\":60,\"malloc_metadata\":40,\"stacks\":20,\"code_and_files\":400,"
            "\"jit\":0,\"sampler\":10,\"unattributed\":20,\"pss\":900,\"threads\":3,"
            "\"fibers\":2,\"thread_stacks\":15,\"fiber_stacks\":5,\"allocator\":\"jemalloc 5.3.0\","
            "\"jemalloc\":{\"allocated\":1,\"active\":2,\"resident\":3,\"dirty\":4,\"retained\":5,\"metadata\":6}},"
            "\"account_at_start\":{\"taken_ns\":1,\"cost_ns\":0,\"slots_live\":9,\"slots_free\":0,"
            "\"sampler\":0,\"threads\":0,\"fibers\":0,\"allocator\":\"malloc\"},"
            "\"gc\":{\"count\":9,\"minor\":7,\"major\":2,\"ns\":0,\"causes\":["
            "{\"reason\":\"malloc\",\"gcs\":3,\"ns\":1500,\"longest_stop_ns\":7000},"
            "{\"reason\":\"oldgen\",\"gcs\":6,\"ns\":10000000,\"longest_stop_ns\":2500000}]},\"heaps\":["
            "{\"slot_size\":40,\"total_slots\":1000,\"live_slots\":900},"
            "{\"slot_size\":80,\"total_slots\":500,\"live_slots\":400,\"pages\":10,\"pinned_pages\":3,\"held_slots\":320,\"compact_bytes\":393216}],"
            "\"sampler\":{\"live_samples\":0,\"samples\":0,\"malloc_live_samples\":0,\"malloc_samples\":0,\"dropped_samples\":0,\"bytes\":0,\"thread_ns\":0}}",
            "memory: without what is not known");
    rb_hs_buffer_free(&out);
    rb_hs_profile_free(&profile);
}

static void
test_alive(void)
{
    struct hs_profile profile;
    struct hs_buffer out = {0};

    sample_profile(&profile);
    struct hs_creation_site *places = rb_hs_calloc(HS_MEM_SNAPSHOTS, 2, sizeof(*places));
    places[0] = (struct hs_creation_site){HS_THREADS, 12, {"a\"b.rb", 6}, {2, {[HS_SLEEPING] = 1, [HS_WAITING] = 1}, 8192}};
    places[1] = (struct hs_creation_site){HS_FIBERS, 0, {"(other)", 7}, {1, {[HS_SUSPENDED] = 1, [HS_ENDED] = 4}, 4096}};
    profile.meta.census = (struct hs_census){
        .taken = true,
        .stacks_known = true,
        .of = {[HS_THREADS] = {3, {[HS_RUNNING] = 1, [HS_SLEEPING] = 1, [HS_WAITING] = 1}, 9000}, [HS_FIBERS] = {1, {[HS_SUSPENDED] = 1, [HS_ENDED] = 4}, 4096}},
        .places = places,
        .place_count = 2,
    };
    memory_json(&profile, &out);
    rb_hs_buffer_append(&out, "", 1);
    const char *alive = strstr(out.ptr, "\"alive\":");
    const char *end = alive ? strstr(alive, ",\"gc\"") : NULL;
    if (end) out.ptr[end - out.ptr] = '\0';
    is_text(alive ? alive : "",
            "\"alive\":{\"threads\":{\"count\":3,\"running\":1,\"runnable\":0,\"sleeping\":1,\"waiting\":1,\"blocked\":0,"
            "\"ended\":0,\"stacks\":9000,\"made\":[{\"path\":\"a\\\"b.rb\",\"line\":12,\"count\":2,\"running\":0,\"runnable\":0,"
            "\"sleeping\":1,\"waiting\":1,\"blocked\":0,\"ended\":0,\"stacks\":8192}]},"
            "\"fibers\":{\"count\":1,\"created\":0,\"resumed\":0,\"suspended\":1,\"ended\":4,\"stacks\":4096,"
            "\"made\":[{\"path\":\"(other)\",\"count\":1,\"created\":0,\"resumed\":0,\"suspended\":1,\"ended\":4,"
            "\"stacks\":4096}]}}",
            "memory: threads and fibers, by what they do and where they were made");
    rb_hs_buffer_free(&out);
    rb_hs_profile_free(&profile);
}

static void
test_rounding(void)
{
    ok(rb_hs_round(0.5) == 1 && rb_hs_round(0.49) == 0 && rb_hs_round(1.5) == 2, "rounds to the nearest integer");
    ok(rb_hs_round(1e300) == INT64_MAX && rb_hs_round(INFINITY) == INT64_MAX &&
           rb_hs_round(9223372036854775808.0) == INT64_MAX,
       "what is too large saturates");
    ok(rb_hs_round(9223372036854774784.0) == INT64_C(9223372036854774784), "the largest that fits does not");
    ok(rb_hs_round(-1e300) == 0 && rb_hs_round(-INFINITY) == 0, "what is negative is 0");
    ok(rb_hs_round(NAN) == 0, "not-a-number is 0");
    ok(rb_hs_saturate(UINT64_MAX) == INT64_MAX && rb_hs_saturate(7) == 7, "64-bit counts saturate");
}

static void
test_broken(void)
{
    static const char *const broken[] = {
        "a circle of nodes", "a node of itself", "a parent past the nodes", "a frame past the frames",
        "a row past the nodes", "a class past the texts", "a label past the texts", "a path past the texts",
        "a library past the texts", "a mapping's path past the texts", "its build id past them"};

    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        bool refused = true;
        for (int e = 0; e < 2; e++) {       /* the header of a profile has no index */
            struct hs_profile profile;
            struct hs_buffer out = {0};

            i < 8 ? sample_profile(&profile) : malloc_profile(&profile);
            switch (i) {
            case 0: profile.nodes[1].parent = 3; break;
            case 1: profile.nodes[3].parent = 3; break;
            case 2: profile.nodes[3].parent = profile.node_count; break;
            case 3: profile.nodes[3].frame = profile.frame_count; break;
            case 4: profile.rows[0].node = profile.node_count; break;
            case 5: profile.rows[0].class_name = profile.text_count; break;
            case 6: profile.frames[0].label = profile.text_count; break;
            case 7: profile.frames[0].absolute_path = UINT32_MAX; break;
            case 8: profile.rows[2].library = profile.text_count; break;
            case 9: profile.mappings[2].path = profile.text_count; break;
            case 10: profile.mappings[0].build_id = profile.text_count; break;
            }
            if (encoders[e].encode(&profile, &out) != EINVAL) refused = false;
            rb_hs_buffer_free(&out);
            rb_hs_profile_free(&profile);
        }
        ok(refused, "every encoder refuses %s", broken[i]);
    }
}

static void
test_empty(void)
{
    struct hs_profile profile = {.rows = NULL};
    bool passed = true;

    for (int e = 0; e < ENCODERS; e++) {
        struct hs_buffer out = {0};
        if (encoders[e].encode(&profile, &out) != 0) passed = false;
        rb_hs_buffer_free(&out);
    }
    ok(passed, "every encoder takes a profile that holds nothing");
}

/* Readers identify a frame by its address, so two locations of one frame would be two frames. */
static void
test_one_location(void)
{
    static const char label[] = "(no stack)";
    struct hs_profile profile;
    struct hs_buffer out = {0};
    size_t found = 0;

    sample_profile(&profile);       /* has a row without a stack */
    profile.texts[profile.frames[0].label] = (struct hs_text){label, sizeof(label) - 1};
    plain_pprof(&profile, &out);
    for (size_t i = 0; i + sizeof(label) <= out.len; i++) found += memcmp(out.ptr + i, label, sizeof(label) - 1) == 0;
    ok(found == 1, "a label in parentheses that the profile has already is one function and one location");
    rb_hs_buffer_free(&out);
    rb_hs_profile_free(&profile);
}

static void
test_deterministic(void)
{
    for (int e = 0; e < ENCODERS; e++) {
        struct hs_buffer out[2] = {{0}};
        for (int i = 0; i < 2; i++) {
            struct hs_profile profile;
            sample_profile(&profile);
            encoders[e].encode(&profile, &out[i]);
            rb_hs_profile_free(&profile);
        }
        ok(out[0].len && out[0].len == out[1].len && memcmp(out[0].ptr, out[1].ptr, out[0].len) == 0,
           "%s: equal profiles give equal bytes", encoders[e].name);
        rb_hs_buffer_free(&out[0]);
        rb_hs_buffer_free(&out[1]);
    }
}

void
test_encode(void)
{
    test_formats();
    test_hello();
    test_malloc();
    test_account();
    test_alive();
    test_rounding();
    test_broken();
    test_empty();
    test_one_location();
    test_deterministic();
}

/* Fail the first allocation, then the second, … until all went well. */
static void
fail_each_allocation(int p, int e)
{
    struct hs_profile profile;
    long countdown = 0;
    int error;
    bool passed = true;

    sample_profiles[p].make(&profile);
    size_t held = rb_hs_memory_total();
    do {
        struct hs_buffer out = {0};
        fail_after(countdown++);
        error = encoders[e].encode(&profile, &out);
        fail_after(-1);
        if (error && error != ENOMEM) passed = false;
        rb_hs_buffer_free(&out);
        if (rb_hs_memory_total() != held) passed = false;
    } while (error && passed);
    rb_hs_profile_free(&profile);
    if (!ok(passed && countdown > 1, "%s of the %s profile: ENOMEM at each of %ld allocations, nothing kept",
            encoders[e].name, sample_profiles[p].name, countdown - 1)) {
        note("error %d at allocation %ld", error, countdown);
    }
}

static void
test_buffer(void)
{
    struct hs_buffer buffer = {0};

    rb_hs_buffer_puts(&buffer, "");
    ok(!buffer.ptr && !buffer.failed, "buffer: an empty text needs no memory");
    for (int i = 0; i < 1000; i++) rb_hs_buffer_printf(&buffer, "%03d,", i);
    ok(buffer.len == 4000 && memcmp(buffer.ptr + 3996, "999,", 4) == 0, "buffer: grows under printf");
    fail_after(0);
    rb_hs_buffer_append(&buffer, buffer.ptr, 4000);
    fail_after(-1);
    rb_hs_buffer_puts(&buffer, "more");
    ok(buffer.failed && buffer.len == 4000, "buffer: once failed, it stays so");
    rb_hs_buffer_free(&buffer);
    ok(!buffer.ptr && !buffer.failed, "buffer: freed, it can be used again");
}

void
test_encode_memory(void)
{
    test_buffer();
    for (int p = 0; p < SAMPLE_PROFILES; p++) {
        for (int e = 0; e < ENCODERS; e++) fail_each_allocation(p, e);
    }
    is_number((long long)rb_hs_memory_total(), 0, "nothing of the sampler's memory is left");
}

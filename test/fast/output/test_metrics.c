/* Metrics of one process and of several: profile/encode_metrics.c. FOLDER gets metrics.txt and metrics.om, for promtool. */
#include "heap_sampler/profile/encode_metrics.h"
#include "tap.h"
#include "tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct hs_metrics
metrics_of(uint64_t pid)
{
    struct hs_metrics metrics = {
        .ruby = "ruby 3.4.5 \"x\" \\ y\nz \xff",
        .deploy = "v1.4.2",
        .process_id = pid,
        .cpu_ns = 1500000000,
        .start_ns = UINT64_C(1700000000500000000),
        .gc_minor = 12,
        .gc_major = 3,
        .gc_ns = 7000000,
        .gc_timed = true,
        .last_major_ns = UINT64_C(1700000001000000000),
        .heaps = 2,
        .heap = {{.slot_size = 40, .total_slots = 100, .live_slots = 60}, {.slot_size = 80, .total_slots = 50, .live_slots = 51}},
        .sampling = true,
        .interval = 524288,
        .live_samples = 131,
        .taken = 1000,
        .own_bytes = {1, 2, 3, 4, 5, 6},
        .own_bytes_max = HS_MEMORY_MAX,
        .account = {.taken_ns = 1, .rss = 1000, .slots_live = 300, .slots_free = 100, .malloc_live = 200, .malloc_waste = 50, .malloc_metadata = 50, .stacks = 100, .code_and_files = 100, .jit = 10, .sampler = 40, .unattributed = 50, .pss = 900, .stacks_known = true, .malloc_known = true, .jemalloc = true},
        .census = {.taken = true, .stacks_known = true},
    };
    strcpy(metrics.who.title, "puma: cluster worker 0: a\"b");
    metrics.census.of[HS_THREADS].states[HS_SLEEPING] = 4;
    return metrics;
}

static struct hs_buffer
part_of(uint64_t pid)
{
    struct hs_metrics metrics = metrics_of(pid);
    struct hs_buffer out = {0};
    rb_hs_encode_metrics(&metrics, &out);
    return out;
}

static char *
page_of(const struct hs_metrics_part *parts, size_t count, bool open)
{
    struct hs_buffer out = {0};
    rb_hs_metrics_page(parts, count, open, &out);
    char *text = calloc(1, out.len + 1);
    if (out.len) memcpy(text, out.ptr, out.len);
    rb_hs_buffer_free(&out);
    return text;
}

static int
times(const char *text, const char *what)
{
    int count = 0;
    for (; (text = strstr(text, what)); text++) count++;
    return count;
}

static void
save(const char *folder, const char *name, const char *text)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (!file || fputs(text, file) < 0) abort();
    fclose(file);
}

static void
test_one(const struct hs_buffer *part)
{
    char *page = page_of(&(struct hs_metrics_part){part->ptr, part->len}, 1, true);
    ok(strstr(page, "# TYPE ruby_gc_runs counter\n") && strstr(page, "\nruby_gc_runs_total{pid=\"7\",kind=\"minor\"} 12\n"), "OpenMetrics: a counter has its name, and _total in its samples");
    ok(strstr(page, "# TYPE ruby info\nruby_info{") != NULL, "OpenMetrics: an info likewise");
    ok(strstr(page, "# UNIT ruby_memory_bytes bytes\n") && strstr(page, "ruby_memory_bytes{pid=\"7\",part=\"slots_live\"} 300\n"), "OpenMetrics: a gauge has its unit");
    ok(strstr(page, "ruby_gc_seconds_total{pid=\"7\"} 0.007000000\n") != NULL, "OpenMetrics: times are in seconds");
    ok(strstr(page, "ruby_heap_slots{pid=\"7\",state=\"free\",slot_size=\"80\"} 0\n") != NULL, "OpenMetrics: free slots are not less than none");
    ok(strstr(page, "description=\"ruby 3.4.5 \\\"x\\\" \\\\ y?z ?\",title=\"puma: cluster worker 0: a\\\"b\",deploy=\"v1.4.2\"} 1\n") != NULL, "OpenMetrics: texts are escaped");
    ok(strlen(page) > 6 && strcmp(page + strlen(page) - 6, "# EOF\n") == 0, "OpenMetrics: # EOF ends the page");
    is_number(times(page, "part=\""), 10, "OpenMetrics: ten parts make the resident memory");
    free(page);
}

static void
test_several(const struct hs_buffer *first, const struct hs_buffer *second, const char *folder)
{
    static const char lies[] = "no line\n@ruby_gc_runs\nruby_gc_runs_total{pid=\"9\",kind=\"minor\"} 5\nruby_info{pid=\"9\"} 1\n# EOF\n@unheard_of\nunheard_of{pid=\"9\"} 1\n@ruby_threads\nruby_threads{pid=\"9\"} 1";
    const struct hs_metrics_part parts[] = {{first->ptr, first->len}, {second->ptr, second->len}, {lies, sizeof(lies) - 1}, {"", 0}};
    char *page = page_of(parts, 4, true), *older = page_of(parts, 2, false), *two = page_of(parts, 2, true);
    is_number(times(page, "# TYPE ruby_gc_runs "), 1, "metrics of several: each metric comes once");
    is_number(times(page, "ruby_gc_runs_total{"), 5, "metrics of several: with the samples of all");
    ok(times(page, "# EOF") == 1 && !strstr(page, "unheard_of") && times(page, "ruby_info{") == 2 && times(page, "ruby_threads{pid=\"9\"") == 0, "metrics of several: what is no sample of its metric is left out");
    ok(strstr(older, "# TYPE ruby_gc_runs_total counter\n") && strstr(older, "# TYPE ruby_info gauge\n") && !strstr(older, "# EOF") && !strstr(older, "# UNIT"), "metrics: Prometheus' older format");
    ok(strstr(rb_hs_metrics_type(true), "version=1.0.0; charset=utf-8") && strstr(rb_hs_metrics_type(false), "version=0.0.4"), "metrics: each has its type");
    save(folder, "metrics.txt", older);
    save(folder, "metrics.om", two);
    free(page);
    free(older);
    free(two);
}

void
test_metrics(const char *folder)
{
    struct hs_buffer first = part_of(7), second = part_of(8);
    test_one(&first);
    test_several(&first, &second, folder);
    rb_hs_buffer_free(&first);
    rb_hs_buffer_free(&second);
}

/* See profile/encode_metrics.h. */
#include "heap_sampler/profile/encode_metrics.h"
#include "heap_sampler/profile/encode.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum type { GAUGE,
            COUNTER,
            INFO };

/* Names as Prometheus has them: base units, which end the name; a counter's samples end in _total. */
#define METRICS(M) \
    M(ruby_info, INFO, "", "The Ruby that runs, the title of the process, and its deploy.") \
    M(process_start_time_seconds, GAUGE, "seconds", "Unix time of the start of the process.") \
    M(process_cpu_seconds, COUNTER, "seconds", "CPU time that the process has used, in user and in system mode.") \
    M(process_resident_memory_bytes, GAUGE, "bytes", "Resident memory; the sum of ruby_memory_bytes.") \
    M(ruby_memory_bytes, GAUGE, "bytes", "Resident memory by who has it.") \
    M(ruby_memory_proportional_bytes, GAUGE, "bytes", "Resident memory, of which what is shared counts in parts (PSS).") \
    M(ruby_stacks_bytes, GAUGE, "bytes", "Resident memory of the stacks of threads and of fibers.") \
    M(ruby_jemalloc_bytes, GAUGE, "bytes", "What jemalloc says of itself; virtual memory, too.") \
    M(ruby_gc_runs, COUNTER, "", "Garbage collections.") \
    M(ruby_gc_seconds, COUNTER, "seconds", "CPU time that garbage collections took.") \
    M(ruby_gc_last_major_timestamp_seconds, GAUGE, "seconds", "Unix time when the last major garbage collection was seen; since sampling began.") \
    M(ruby_heap_slots, GAUGE, "", "Slots of heap pages.") \
    M(ruby_threads, GAUGE, "", "Threads, by what they do.") \
    M(ruby_fibers, GAUGE, "", "Fibers, by what they do.") \
    M(ruby_heap_sampler_running, GAUGE, "", "1 while the heap is sampled, else 0.") \
    M(ruby_heap_sampler_interval_bytes, GAUGE, "bytes", "Mean bytes between two samples.") \
    M(ruby_heap_sampler_live_samples, GAUGE, "", "Samples that are held.") \
    M(ruby_heap_sampler_samples, COUNTER, "", "Samples that were taken.") \
    M(ruby_heap_sampler_dropped, COUNTER, "", "What was lost for want of room.") \
    M(ruby_heap_sampler_memory_bytes, GAUGE, "bytes", "Memory of the sampler's own, by what it is for.") \
    M(ruby_heap_sampler_memory_limit_bytes, GAUGE, "bytes", "The bound of that memory.") \
    M(ruby_heap_sampler_service_cpu_seconds, COUNTER, "seconds", "CPU time of the thread that answers requests, such as this one.")

enum metric {
#define M(name, type, unit, help) M_##name,
    METRICS(M)
#undef M
        METRIC_COUNT
};

static const struct {
    const char *name;
    enum type type;
    const char *unit, *help;
} metrics_list[METRIC_COUNT] = {
#define M(name, type, unit, help) {#name, type, unit, help},
    METRICS(M)
#undef M
};

/* -- the part of a process ------------------------------------------------------------------- */

struct part {
    struct hs_buffer *out;
    uint64_t pid;
    enum metric metric;
};

static void
begin(struct part *part, enum metric metric)
{
    part->metric = metric;
    rb_hs_buffer_printf(part->out, "@%s\n", metrics_list[metric].name);
}

static void
put_name(struct hs_buffer *out, enum metric metric)
{
    rb_hs_buffer_printf(out, "%s%s", metrics_list[metric].name, metrics_list[metric].type == COUNTER ? "_total" : "");
}

/* `label` NULL: none but the pid. */
static void
put_labels(struct part *part, const char *label, const char *value)
{
    put_name(part->out, part->metric);
    rb_hs_buffer_printf(part->out, "{pid=\"%" PRIu64 "\"", part->pid);
    if (label) rb_hs_buffer_printf(part->out, ",%s=\"%s\"", label, value);
}

static void
put(struct part *part, const char *label, const char *value, uint64_t number)
{
    put_labels(part, label, value);
    rb_hs_buffer_printf(part->out, "} %" PRIu64 "\n", number);
}

static void
put_seconds(struct part *part, uint64_t ns)
{
    put_labels(part, NULL, NULL);
    rb_hs_buffer_printf(part->out, "} %" PRIu64 ".%09" PRIu64 "\n", ns / 1000000000, ns % 1000000000);
}

static void
put_one(struct part *part, enum metric metric, uint64_t number)
{
    begin(part, metric);
    put(part, NULL, NULL, number);
}

static void
put_time(struct part *part, enum metric metric, uint64_t ns)
{
    begin(part, metric);
    put_seconds(part, ns);
}

/* A label's text: valid UTF-8, with its quotes, backslashes and line ends escaped. */
static void
put_escaped(struct hs_buffer *out, const char *text)
{
    size_t len = strlen(text);
    for (size_t i = 0; i < len;) {
        size_t bytes = rb_hs_utf8_length(text + i, len - i);
        bool control = bytes == 1 && ((unsigned char)text[i] < ' ' || text[i] == 0x7f);
        if (bytes == 1 && (text[i] == '"' || text[i] == '\\')) rb_hs_buffer_puts(out, "\\");
        rb_hs_buffer_append(out, !bytes || control ? "?" : text + i, bytes ? bytes : 1);
        i += bytes ? bytes : 1;
    }
}

static void
put_info(struct part *part, const struct hs_metrics *metrics)
{
    begin(part, M_ruby_info);
    put_labels(part, NULL, NULL);
    rb_hs_buffer_puts(part->out, ",description=\"");
    put_escaped(part->out, metrics->ruby);
    rb_hs_buffer_puts(part->out, "\",title=\"");
    put_escaped(part->out, metrics->who.title);
    rb_hs_buffer_puts(part->out, "\",deploy=\"");
    put_escaped(part->out, metrics->deploy);
    rb_hs_buffer_puts(part->out, "\"} 1\n");
}

/* The parts of rss stand between it and what stands beside it (account.h). */
static void
put_account(struct part *part, const struct hs_account *account)
{
    struct hs_account_field fields[HS_ACCOUNT_FIELDS];
    rb_hs_account_fields(account, fields);
    if (account->rss) put_one(part, M_process_resident_memory_bytes, account->rss);
    begin(part, M_ruby_memory_bytes);
    for (int i = 1; i < HS_ACCOUNT_FIELDS && strcmp(fields[i].name, "pss") != 0; i++) {
        if (fields[i].known) put(part, "part", fields[i].name, fields[i].value);
    }
    if (account->pss) put_one(part, M_ruby_memory_proportional_bytes, account->pss);
    if (!account->stacks_known) return;
    begin(part, M_ruby_stacks_bytes);
    put(part, "of", "threads", account->thread_stacks);
    put(part, "of", "fibers", account->fiber_stacks);
}

static void
put_jemalloc(struct part *part, const struct hs_account *account)
{
    struct hs_account_field fields[HS_JEMALLOC_FIELDS];
    if (!account->jemalloc) return;
    rb_hs_jemalloc_fields(account, fields);
    begin(part, M_ruby_jemalloc_bytes);
    for (int i = 0; i < HS_JEMALLOC_FIELDS; i++) put(part, "state", fields[i].name, fields[i].value);
}

static void
put_gc(struct part *part, const struct hs_metrics *metrics)
{
    begin(part, M_ruby_gc_runs);
    put(part, "kind", "minor", metrics->gc_minor);
    put(part, "kind", "major", metrics->gc_major);
    if (metrics->gc_timed) put_time(part, M_ruby_gc_seconds, metrics->gc_ns);
    if (metrics->last_major_ns) put_time(part, M_ruby_gc_last_major_timestamp_seconds, metrics->last_major_ns);
}

static void
put_slots(struct part *part, const struct hs_heap_stat *heap, const char *state, uint64_t slots)
{
    put_labels(part, "state", state);
    rb_hs_buffer_printf(part->out, ",slot_size=\"%" PRIu32 "\"} %" PRIu64 "\n", heap->slot_size, slots);
}

static void
put_heaps(struct part *part, const struct hs_metrics *metrics)
{
    begin(part, M_ruby_heap_slots);
    for (uint32_t i = 0; i < metrics->heaps; i++) {
        const struct hs_heap_stat *heap = &metrics->heap[i];
        uint64_t live = heap->live_slots < heap->total_slots ? heap->live_slots : heap->total_slots;
        put_slots(part, heap, "live", live);
        put_slots(part, heap, "free", heap->total_slots - live);
    }
}

static void
put_alive(struct part *part, enum metric metric, enum hs_alive_kind kind, const struct hs_census *census)
{
    if (!census->taken) return;
    begin(part, metric);
    for (int state = 0; state < HS_ENDED; state++) {
        if (!rb_hs_alive_state_p(kind, (enum hs_alive_state)state)) continue;
        put(part, "state", rb_hs_alive_state_name((enum hs_alive_state)state), census->of[kind].states[state]);
    }
}

/* One figure of slots, one of malloc. */
static void
put_both(struct part *part, enum metric metric, uint64_t slots, uint64_t malloc)
{
    begin(part, metric);
    put(part, "of", "slots", slots);
    put(part, "of", "malloc", malloc);
}

static void
put_own(struct part *part, const struct hs_metrics *metrics)
{
    static const char *const uses[HS_MEM_USES] = {
        [HS_MEM_RECORDS] = "records", [HS_MEM_STACKS] = "stacks", [HS_MEM_TOTALS] = "totals", [HS_MEM_NAMES] = "names", [HS_MEM_MALLOC] = "malloc", [HS_MEM_SNAPSHOTS] = "snapshots"};
    begin(part, M_ruby_heap_sampler_dropped);
    put(part, "what", "samples", metrics->dropped_samples);
    put(part, "what", "stacks", metrics->dropped_stacks);
    put(part, "what", "frames", metrics->dropped_frames);
    put(part, "what", "classes", metrics->dropped_classes);
    begin(part, M_ruby_heap_sampler_memory_bytes);
    for (int use = 0; use < HS_MEM_USES; use++) {
        if (uses[use]) put(part, "use", uses[use], metrics->own_bytes[use]);
    }
    if (metrics->own_bytes_max) put_one(part, M_ruby_heap_sampler_memory_limit_bytes, metrics->own_bytes_max);
    put_time(part, M_ruby_heap_sampler_service_cpu_seconds, metrics->service_cpu_ns);
}

static void
put_samples(struct part *part, const struct hs_metrics *metrics)
{
    put_one(part, M_ruby_heap_sampler_running, metrics->sampling);
    if (metrics->sampling) put_both(part, M_ruby_heap_sampler_interval_bytes, metrics->interval, metrics->malloc_interval);
    put_both(part, M_ruby_heap_sampler_live_samples, metrics->live_samples, metrics->malloc_live_samples);
    put_both(part, M_ruby_heap_sampler_samples, metrics->taken, metrics->malloc_taken);
}

void
rb_hs_encode_metrics(const struct hs_metrics *metrics, struct hs_buffer *out)
{
    struct part part = {.out = out, .pid = metrics->process_id};
    put_info(&part, metrics);
    if (metrics->start_ns) put_time(&part, M_process_start_time_seconds, metrics->start_ns);
    put_time(&part, M_process_cpu_seconds, metrics->cpu_ns);
    put_account(&part, &metrics->account);
    put_jemalloc(&part, &metrics->account);
    put_gc(&part, metrics);
    put_heaps(&part, metrics);
    put_alive(&part, M_ruby_threads, HS_THREADS, &metrics->census);
    put_alive(&part, M_ruby_fibers, HS_FIBERS, &metrics->census);
    put_samples(&part, metrics);
    put_own(&part, metrics);
}

/* -- the page ---------------------------------------------------------------------------------- */

/* The name that TYPE and HELP have: of an info and, in the older format, of a counter it differs from that of the metric. */
static void
put_head(struct hs_buffer *out, enum metric metric, bool open)
{
    static const char *const types[] = {[GAUGE] = "gauge", [COUNTER] = "counter", [INFO] = "info"};
    enum type type = metrics_list[metric].type;
    char name[96];
    snprintf(name, sizeof(name), "%s%s", metrics_list[metric].name, !open && type == COUNTER ? "_total" : "");
    if (open && type == INFO) name[strlen(name) - strlen("_info")] = '\0';
    rb_hs_buffer_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, metrics_list[metric].help, name, !open && type == INFO ? "gauge" : types[type]);
    if (open && *metrics_list[metric].unit) rb_hs_buffer_printf(out, "# UNIT %s %s\n", name, metrics_list[metric].unit);
}

/* The end of the line, behind its line end. */
static const char *
line_end(const char *line, const char *end)
{
    const char *at = memchr(line, '\n', (size_t)(end - line));
    return at ? at + 1 : end;
}

/* Does the line begin so? */
static bool
begins_p(const char *line, const char *end, const char *with)
{
    size_t len = strlen(with);
    return (size_t)(end - line) > len && memcmp(line, with, len) == 0;
}

/* A sample of this metric, and nothing that could be taken for more. */
static bool
sample_p(const char *line, const char *end, enum metric metric)
{
    char wanted[112];
    snprintf(wanted, sizeof(wanted), "%s%s{pid=\"", metrics_list[metric].name, metrics_list[metric].type == COUNTER ? "_total" : "");
    return begins_p(line, end, wanted) && end[-1] == '\n';
}

/* Where the part's samples of the metric begin, or NULL. */
static const char *
find(const struct hs_metrics_part *part, enum metric metric)
{
    char wanted[96];
    const char *end = part->ptr + part->len;
    snprintf(wanted, sizeof(wanted), "@%s\n", metrics_list[metric].name);
    for (const char *line = part->ptr; line < end; line = line_end(line, end)) {
        if (begins_p(line, end, wanted)) return line + strlen(wanted);
    }
    return NULL;
}

static void
put_samples_of(const struct hs_metrics_part *part, enum metric metric, bool open, bool *headed, struct hs_buffer *out)
{
    const char *end = part->ptr + part->len;
    for (const char *line = find(part, metric); line && line < end && *line != '@'; line = line_end(line, end)) {
        if (!sample_p(line, line_end(line, end), metric)) continue;
        if (!*headed) put_head(out, metric, open);
        *headed = true;
        rb_hs_buffer_append(out, line, (size_t)(line_end(line, end) - line));
    }
}

void
rb_hs_metrics_page(const struct hs_metrics_part *parts, size_t count, bool open, struct hs_buffer *out)
{
    for (int metric = 0; metric < METRIC_COUNT; metric++) {
        bool headed = false;
        for (size_t i = 0; i < count; i++) put_samples_of(&parts[i], (enum metric)metric, open, &headed, out);
    }
    if (open) rb_hs_buffer_puts(out, "# EOF\n");
}

const char *
rb_hs_metrics_type(bool open)
{
    return open ? "application/openmetrics-text; version=1.0.0; charset=utf-8" : "text/plain; version=0.0.4; charset=utf-8";
}

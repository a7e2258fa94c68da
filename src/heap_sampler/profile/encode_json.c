/*
 * JSON: a profile for speedscope, and what is known about a profile as one
 * object, which pprof files carry as their comment.  doc/format.md freezes
 * the names of that object's fields.
 *
 * Integers are written in full.  Times in nanoseconds lose their last digits
 * in a reader whose numbers are doubles; the two values that must not (they
 * are compared, or typed in again) are strings.
 */
#include "heap_sampler/account/account.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/texts.h"
#include "heap_sampler/malloc/state.h"
#include "heap_sampler/profile/encode.h"
#include "heap_sampler/profile/output.h"
#include "heap_sampler/profile/profile.h"
#include "heap_sampler/sites/sampler.h"
#include "heap_sampler/stacks/stack_table.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static void
append_name(struct hs_buffer *out, const char *name)
{
    rb_hs_buffer_printf(out, "\"%s\":", name);
}

/* A field, and the comma after it. */
static void
append_number(struct hs_buffer *out, const char *name, uint64_t value)
{
    rb_hs_buffer_printf(out, "\"%s\":%" PRIu64 ",", name, value);
}

/* The same where 0 says that there is none. */
static void
append_number_or_null(struct hs_buffer *out, const char *name, uint64_t value)
{
    if (value) {
        append_number(out, name, value);
        return;
    }
    rb_hs_buffer_printf(out, "\"%s\":null,", name);
}

/* In place of the last comma. */
static void
end_with(struct hs_buffer *out, const char *text)
{
    if (!out->failed && out->len && out->ptr[out->len - 1] == ',') out->len--;
    rb_hs_buffer_puts(out, text);
}

static void
append_gc(struct hs_buffer *out, const struct hs_profile_meta *meta)
{
    append_name(out, "gc");
    rb_hs_buffer_puts(out, "{");
    append_number(out, "count", meta->gc_count);
    append_number(out, "minor", meta->gc_minor);
    append_number(out, "major", meta->gc_major);
    append_number_or_null(out, "last_minor_ns", meta->last_minor_ns);
    append_number_or_null(out, "last_major_ns", meta->last_major_ns);
    end_with(out, "},");
}

static void
append_settings(struct hs_buffer *out, const struct hs_profile_meta *meta)
{
    append_name(out, "settings");
    rb_hs_buffer_puts(out, "{");
    append_number(out, "interval", meta->interval);
    append_number(out, "first_interval", meta->first_interval);
    append_number(out, "interval_changes", meta->interval_changes);
    append_number_or_null(out, "max_samples", meta->max_samples);
    append_number(out, "max_depth", meta->max_depth);
    append_number(out, "only_n", meta->only_n);
    if (meta->seeded) {
        rb_hs_buffer_printf(out, "\"seed\":\"%" PRIu64 "\",", meta->seed);
    }
    else {
        rb_hs_buffer_puts(out, "\"seed\":null,");
    }
    end_with(out, "},");
}

static void
append_drops(struct hs_buffer *out, const struct hs_profile_meta *meta)
{
    append_name(out, "drops");
    rb_hs_buffer_puts(out, "{");
    append_number(out, "samples", meta->drop_samples);
    append_number(out, "stacks", meta->drop_stacks);
    append_number(out, "frames", meta->drop_frames);
    append_number(out, "classes", meta->drop_classes);
    append_number(out, "moves", meta->drop_moves);
    end_with(out, "},");
}

static void
append_heaps(struct hs_buffer *out, const struct hs_profile_meta *meta)
{
    append_name(out, "heaps");
    rb_hs_buffer_puts(out, "[");
    for (uint32_t i = 0; i < meta->heaps && i < HS_HEAPS_MAX; i++) {
        rb_hs_buffer_puts(out, "{");
        append_number(out, "slot_size", meta->heap[i].slot_size);
        append_number(out, "total_slots", meta->heap[i].total_slots);
        append_number(out, "live_slots", meta->heap[i].live_slots);
        append_number(out, "live_at_start", meta->heap[i].live_at_start);
        end_with(out, "},");
    }
    end_with(out, "],");
}

static void
append_text(struct hs_buffer *out, const char *name, const char *text, size_t most)
{
    size_t len = strnlen(text, most);

    append_name(out, name);
    if (len) rb_hs_append_json(out, (struct hs_text){text, (uint32_t)len});
    else rb_hs_buffer_puts(out, "null");
    rb_hs_buffer_puts(out, ",");
}

static const char *
malloc_state(enum hs_malloc_state state)
{
    switch (state) {
      case HS_MALLOC_ON: return "on";
      case HS_MALLOC_STANDBY: return "standby";
      case HS_MALLOC_OFF: return "off";
      case HS_MALLOC_MISSING: break;
    }
    return "missing";
}

static void
append_malloc(struct hs_buffer *out, const struct hs_profile_meta *meta)
{
    const struct hs_malloc_meta *side = &meta->malloc;

    rb_hs_buffer_printf(out, "\"malloc\":{\"state\":\"%s\",", malloc_state(side->state));
    append_number_or_null(out, "interval", side->interval);
    append_number_or_null(out, "first_interval", side->first_interval);
    append_number(out, "interval_changes", side->interval_changes);
    append_text(out, "allocator", side->allocator, sizeof(side->allocator));
    append_text(out, "missing", side->missing, sizeof(side->missing));
    end_with(out, "},");
    rb_hs_buffer_printf(out, "\"memsize\":%s,", meta->memsize ? "true" : "false");
}

/* The same where a value may not be known. */
static void
append_fields(struct hs_buffer *out, const struct hs_account_field *fields, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (fields[i].known) {
            append_number(out, fields[i].name, fields[i].bytes);
        }
        else {
            append_number_or_null(out, fields[i].name, 0);
        }
    }
}

static void
append_account(struct hs_buffer *out, const char *name, const struct hs_account *account)
{
    struct hs_account_field fields[HS_ACCOUNT_FIELDS], jemalloc[HS_JEMALLOC_FIELDS];
    append_name(out, name);
    if (!account->taken_ns) {
        rb_hs_buffer_puts(out, "null,");
        return;
    }
    rb_hs_account_fields(account, fields);
    rb_hs_jemalloc_fields(account, jemalloc);
    rb_hs_buffer_puts(out, "{");
    append_number(out, "taken_ns", account->taken_ns);
    append_number(out, "cost_ns", account->cost_ns);
    append_fields(out, fields, HS_ACCOUNT_FIELDS);
    append_name(out, "allocator");
    rb_hs_append_json(out, (struct hs_text){account->allocator, strnlen(account->allocator, sizeof(account->allocator))});
    rb_hs_buffer_puts(out, ",");
    append_name(out, "jemalloc");
    rb_hs_buffer_puts(out, account->jemalloc ? "{" : "null");
    if (account->jemalloc) {
        append_fields(out, jemalloc, HS_JEMALLOC_FIELDS);
        end_with(out, "}");
    }
    rb_hs_buffer_puts(out, "},");
}

int
rb_hs_encode_meta_json(const struct hs_profile_meta *meta, struct hs_buffer *out)
{
    rb_hs_buffer_puts(out, "{");
    append_number(out, "format", HS_FORMAT_VERSION);
    rb_hs_buffer_puts(out, "\"generator\":\"heap_sampler\",\"ruby\":");
    rb_hs_append_json(out, (struct hs_text){meta->ruby, strnlen(meta->ruby, sizeof(meta->ruby))});
    rb_hs_buffer_puts(out, ",");
    append_number(out, "process_id", meta->process_id);
    rb_hs_buffer_printf(out, "\"process_start\":\"%016" PRIx64 "\",", meta->process_start);
    append_number(out, "session", meta->session);
    append_number(out, "started_ns", meta->started_ns);
    append_number(out, "taken_ns", meta->taken_ns);
    append_gc(out, meta);
    append_settings(out, meta);
    append_number(out, "live_samples", meta->live_samples);
    append_drops(out, meta);
    append_number(out, "own_bytes", meta->own_bytes);
    append_heaps(out, meta);
    append_malloc(out, meta);
    append_account(out, "account", &meta->account);
    append_account(out, "account_at_start", &meta->account_at_start);
    end_with(out, "}");
    return out->failed ? ENOMEM : 0;
}

static void
append_frame_name(struct hs_buffer *out, const struct hs_profile *profile, const struct hs_frame *frame)
{
    struct hs_text label = profile->texts[frame->label];
    struct hs_buffer name = {0};

    if (!frame->address) {
        rb_hs_append_json(out, label.len ? label : rb_hs_text_of(HS_NO_LABEL));
        return;
    }
    rb_hs_append_native(&name, profile, frame);
    rb_hs_append_json(out, (struct hs_text){name.ptr, (uint32_t)name.len});
    if (name.failed) out->failed = true;
    rb_hs_buffer_free(&name);
}

static void
append_frames(struct hs_buffer *out, const struct hs_profile *profile)
{
    rb_hs_buffer_puts(out, "[");
    for (uint32_t i = 0; i < profile->frame_count; i++) {
        const struct hs_frame *frame = &profile->frames[i];
        struct hs_text path = profile->texts[frame->absolute_path];
        if (!path.len) path = profile->texts[frame->path];

        rb_hs_buffer_puts(out, "\n{\"name\":");
        append_frame_name(out, profile, frame);
        if (path.len) {
            rb_hs_buffer_puts(out, ",\"file\":");
            rb_hs_append_json(out, path);
        }
        if (frame->line) rb_hs_buffer_printf(out, ",\"line\":%" PRIu32, frame->line);
        rb_hs_buffer_puts(out, "},");
    }
    /* for stacks without frames: the index after the last frame */
    rb_hs_buffer_puts(out, "\n{\"name\":\"" HS_NO_STACK "\"}]");
}

/* One `sampled` profile: a stack (root first) and its value for every node
 * whose rows' sum does not round to 0. */
static int
append_sampled(struct hs_buffer *out, const struct hs_profile *profile, enum hs_value value,
               const char *name, const char *unit)
{
    struct hs_stack stack = {0};
    struct hs_buffer weights = {0};
    double *sums = NULL;
    int64_t total = 0;
    int error = rb_hs_sum_by_node(profile, value, &sums);

    rb_hs_buffer_printf(out, "{\"type\":\"sampled\",\"name\":\"%s\",\"unit\":\"%s\",\"samples\":[", name, unit);
    for (uint32_t node = 0; !error && !out->failed && (node == 0 || node < profile->node_count); node++) {
        int64_t sum = rb_hs_round(sums[node]);
        if (sum <= 0) continue;
        error = rb_hs_stack_read(&stack, profile, node);
        if (error) break;

        rb_hs_buffer_puts(out, "\n[");
        if (!stack.depth) rb_hs_buffer_printf(out, "%" PRIu32, profile->frame_count);
        for (uint32_t i = stack.depth; i-- > 0;) {
            rb_hs_buffer_printf(out, "%" PRIu32 "%s", stack.frames[i], i ? "," : "");
        }
        rb_hs_buffer_puts(out, "],");
        rb_hs_buffer_printf(&weights, "%" PRId64 ",", sum);
        total = sum > INT64_MAX - total ? INT64_MAX : total + sum;
    }
    end_with(out, "],\"weights\":[");
    end_with(&weights, "]");
    rb_hs_buffer_append(out, weights.ptr, weights.len);
    rb_hs_buffer_printf(out, ",\"startValue\":0,\"endValue\":%" PRId64 "}", total);
    if (!error && weights.failed) error = ENOMEM;

    rb_hs_buffer_free(&weights);
    rb_hs_stack_free(&stack);
    rb_hs_free(HS_MEM_SNAPSHOTS, sums);
    return error;
}

int
rb_hs_encode_speedscope(const struct hs_profile *profile, struct hs_buffer *out)
{
    static const struct {
        enum hs_value value;
        const char *name, *unit;
    } values[] = {      /* the first is shown first */
        {HS_INUSE_SPACE, "inuse_space", "bytes"},
        {HS_INUSE_OBJECTS, "inuse_objects", "none"},
        {HS_ALLOC_SPACE, "alloc_space", "bytes"},
        {HS_ALLOC_OBJECTS, "alloc_objects", "none"},
        {HS_MALLOC_INUSE_SPACE, "malloc_inuse_space", "bytes"},
        {HS_SLOTS_INUSE_SPACE, "slots_inuse_space", "bytes"},
    };
    int error = rb_hs_profile_check(profile);
    if (error) return error;

    rb_hs_buffer_puts(out, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
                        "\"exporter\":\"heap_sampler\",");
    rb_hs_buffer_printf(out, "\"name\":\"Ruby heap of process %" PRIu64 "\",\"activeProfileIndex\":0,\n"
                          "\"heap_sampler\":", profile->meta.process_id);
    rb_hs_encode_meta_json(&profile->meta, out);
    rb_hs_buffer_puts(out, ",\n\"shared\":{\"frames\":");
    append_frames(out, profile);
    rb_hs_buffer_puts(out, "},\n\"profiles\":[");
    for (size_t i = 0; !error && !out->failed && i < sizeof(values) / sizeof(values[0]); i++) {
        if (i) rb_hs_buffer_puts(out, ",\n");
        error = append_sampled(out, profile, values[i].value, values[i].name, values[i].unit);
    }
    rb_hs_buffer_puts(out, "]}\n");
    if (!error && out->failed) error = ENOMEM;
    return error;
}

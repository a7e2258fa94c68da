/*
 * What is known about a profile, as one JSON object, which pprof files carry as
 * their comment.  doc/format.md freezes the names of the object's fields.
 *
 * Integers are written in full.  Times in nanoseconds lose their last digits
 * in a reader whose numbers are doubles; the two values that must not (they
 * are compared, or typed in again) are strings.
 */
#include "heap_sampler/account/account.h"
#include "heap_sampler/account/bodies.h"
#include "heap_sampler/account/census.h"
#include "heap_sampler/base/texts.h"
#include "heap_sampler/malloc/state.h"
#include "heap_sampler/profile/buffer.h"
#include "heap_sampler/profile/encode.h"
#include "heap_sampler/profile/formats.h"
#include "heap_sampler/profile/profile.h"
#include "heap_sampler/sites/sampler.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { NS_PER_MS = 1000000 };

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

/* Each is counted from the one before, the first from zero: small numbers, which compress well. */
static void
append_gc_times(struct hs_buffer *out, const struct hs_gc_times *times)
{
    struct hs_gc_time before = {0};
    append_name(out, "times");
    rb_hs_buffer_puts(out, "[");
    for (uint32_t i = 0; i < times->count && i < HS_GC_TIMES; i++) {
        const struct hs_gc_time *time = &times->list[i];
        rb_hs_buffer_printf(out, "[%" PRIu32 ",%" PRIu64 ",%" PRIu32 "],", time->gc - before.gc,
                            time->ns / NS_PER_MS - before.ns / NS_PER_MS, time->majors - before.majors);
        before = *time;
    }
    end_with(out, "],");
}

static const char *const asked_last[] = {
    [HS_ASKED_NONE] = "none",
    [HS_ASKED_ENDED] = "ended",
    [HS_ASKED_UNFINISHED] = "unfinished",
    [HS_ASKED_NOT_NEEDED] = "not_needed",
    [HS_ASKED_OVER_BUDGET] = "over_budget",
    [HS_ASKED_NO_SAFE_POINT] = "no_safe_point",
    [HS_ASKED_REFUSED] = "refused",
};

static void
append_asked(struct hs_buffer *out, const struct hs_asked_gcs *asked)
{
    append_name(out, "asked");
    if (!asked->limit_ppm) {
        rb_hs_buffer_puts(out, "null,");
        return;
    }
    rb_hs_buffer_puts(out, "{");
    append_number(out, "limit_ppm", asked->limit_ppm);
    append_number(out, "count", asked->count);
    append_number(out, "ns", asked->ns);
    append_number(out, "of_ns", asked->of_ns);
    bool known = (size_t)asked->last < sizeof(asked_last) / sizeof(*asked_last);
    rb_hs_buffer_printf(out, "\"last\":\"%s\"},", asked_last[known ? asked->last : HS_ASKED_NONE]);
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
    append_number_or_null(out, "last_major_gc", meta->last_major_gc);
    append_gc_times(out, &meta->gc_times);
    append_asked(out, &meta->asked);
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
    append_number(out, "thinnings", meta->thinnings);
    rb_hs_buffer_printf(out, "\"interval_auto\":%s,", meta->interval_auto ? "true" : "false");
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
append_heap_use(struct hs_buffer *out, const struct hs_heap_use *use)
{
    if (!use->known) {
        rb_hs_buffer_puts(out, "\"pages\":null,\"pinned_pages\":null,\"held_slots\":null,\"compact_bytes\":null,");
        return;
    }
    append_number(out, "pages", use->pages);
    append_number(out, "pinned_pages", use->pinned_pages);
    append_number(out, "held_slots", use->free_slots);
    append_number(out, "compact_bytes", rb_hs_heap_spare_pages(use) * HS_BODY_BYTES);
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
        append_heap_use(out, &meta->heap[i].use);
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
    append_number(out, "thinnings", side->thinnings);
    rb_hs_buffer_printf(out, "\"interval_auto\":%s,", side->automatic ? "true" : "false");
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
            append_number(out, fields[i].name, fields[i].value);
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

static void
append_population(struct hs_buffer *out, const struct hs_census *census, enum hs_alive_kind kind, const struct hs_population *population)
{
    append_number(out, "count", population->count);
    for (int state = 0; state < HS_ALIVE_STATES; state++) {
        if (!rb_hs_alive_state_p(kind, (enum hs_alive_state)state)) continue;
        append_number(out, rb_hs_alive_state_name((enum hs_alive_state)state), population->states[state]);
    }
    if (census->stacks_known) append_number(out, "stacks", population->stacks);
    else rb_hs_buffer_puts(out, "\"stacks\":null,");
}

static void
append_birthplace(struct hs_buffer *out, const struct hs_census *census, const struct hs_birthplace *place)
{
    rb_hs_buffer_puts(out, "{");
    append_name(out, "path");
    rb_hs_append_json(out, place->path);
    rb_hs_buffer_puts(out, ",");
    append_number_or_null(out, "line", place->line);
    append_population(out, census, place->kind, &place->population);
    end_with(out, "},");
}

static void
append_kind(struct hs_buffer *out, const char *name, const struct hs_census *census, enum hs_alive_kind kind)
{
    append_name(out, name);
    rb_hs_buffer_puts(out, "{");
    append_population(out, census, kind, &census->of[kind]);
    append_name(out, "made");
    rb_hs_buffer_puts(out, "[");
    for (uint32_t i = 0; i < census->place_count; i++) {
        if (census->places[i].kind == kind) append_birthplace(out, census, &census->places[i]);
    }
    end_with(out, "]},");
}

static void
append_alive(struct hs_buffer *out, const struct hs_census *census)
{
    append_name(out, "alive");
    if (!census->taken) {
        rb_hs_buffer_puts(out, "null,");
        return;
    }
    rb_hs_buffer_puts(out, "{");
    append_kind(out, "threads", census, HS_THREADS);
    append_kind(out, "fibers", census, HS_FIBERS);
    end_with(out, "},");
}

static void
append_inherited(struct hs_buffer *out, const struct hs_inherited *inherited)
{
    append_name(out, "inherited");
    if (!inherited->known) {
        const char *missing = inherited->missing ? inherited->missing : "";
        rb_hs_buffer_puts(out, "null,");
        append_text(out, "inherited_missing", missing, strlen(missing));
        return;
    }
    rb_hs_buffer_puts(out, "{");
    append_number(out, "bytes", inherited->bytes);
    append_number(out, "unshared", inherited->unshared);
    end_with(out, "},");
    rb_hs_buffer_puts(out, "\"inherited_missing\":null,");
}

static void
append_items(struct hs_buffer *out, const struct hs_profile_meta *meta)
{
    for (uint32_t i = 0; i < meta->item_count; i++) {
        const struct hs_meta_item *item = &meta->items[i];
        rb_hs_append_json(out, rb_hs_text_of(item->name));
        rb_hs_buffer_printf(out, ":%s,", item->json);
    }
}

int
rb_hs_encode_about(const struct hs_about *about, struct hs_buffer *out)
{
    rb_hs_buffer_puts(out, "{");
    append_number(out, "protocol", 1);
    append_number(out, "process_id", about->process_id);
    rb_hs_buffer_printf(out, "\"process_start\":\"%016" PRIx64 "\",", about->process_start);
    append_number_or_null(out, "parent_id", about->who.parent_id);
    append_text(out, "title", about->who.title, sizeof(about->who.title));
    append_text(out, "directory", about->who.directory, sizeof(about->who.directory));
    append_text(out, "host", about->who.host, sizeof(about->who.host));
    append_text(out, "deploy", about->deploy, strlen(about->deploy));
    append_text(out, "ruby", about->ruby, strlen(about->ruby));
    append_text(out, "http", about->http, strlen(about->http));
    append_number(out, "taken_ns", about->taken_ns);
    rb_hs_buffer_printf(out, "\"sampling\":%s,", about->sampling ? "true" : "false");
    append_number_or_null(out, "started_ns", about->started_ns);
    append_number_or_null(out, "interval", about->interval);
    rb_hs_buffer_printf(out, "\"interval_auto\":%s,", about->interval_auto ? "true" : "false");
    append_number_or_null(out, "every", about->every);
    rb_hs_buffer_printf(out, "\"malloc\":{\"state\":\"%s\",", malloc_state(about->malloc.state));
    append_number_or_null(out, "interval", about->malloc.interval);
    append_text(out, "missing", about->malloc.missing, sizeof(about->malloc.missing));
    end_with(out, "},");
    append_account(out, "account", &about->account);
    append_account(out, "account_at_start", &about->account_at_start);
    end_with(out, "}");
    return out->failed ? ENOMEM : 0;
}

static void
append_gc_so_far(struct hs_buffer *out, const struct hs_gc_so_far *gc)
{
    append_name(out, "gc");
    rb_hs_buffer_puts(out, "{");
    append_number(out, "count", gc->count);
    append_number(out, "minor", gc->minor);
    append_number(out, "major", gc->major);
    if (gc->timed) append_number(out, "ns", gc->ns);
    else rb_hs_buffer_puts(out, "\"ns\":null");
    end_with(out, "},");
}

int
rb_hs_encode_memory(const struct hs_account *account, const struct hs_account *at_start, const struct hs_census *census,
                    const struct hs_gc_so_far *gc, struct hs_buffer *out)
{
    rb_hs_buffer_puts(out, "{");
    append_account(out, "account", account);
    append_account(out, "account_at_start", at_start);
    append_alive(out, census);
    append_gc_so_far(out, gc);
    end_with(out, "}");
    return out->failed ? ENOMEM : 0;
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
    append_number_or_null(out, "parent_id", meta->who.parent_id);
    append_text(out, "title", meta->who.title, sizeof(meta->who.title));
    append_text(out, "directory", meta->who.directory, sizeof(meta->who.directory));
    append_text(out, "gemfile", meta->who.gemfile, sizeof(meta->who.gemfile));
    append_text(out, "host", meta->who.host, sizeof(meta->who.host));
    append_text(out, "deploy", meta->deploy, sizeof(meta->deploy));
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
    append_alive(out, &meta->census);
    append_inherited(out, &meta->inherited);
    append_items(out, meta);
    end_with(out, "}");
    return out->failed ? ENOMEM : 0;
}

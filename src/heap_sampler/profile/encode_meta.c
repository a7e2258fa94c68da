/*
 * What is known about a profile: the message Meta of a file (doc/heap_sampler.proto), and the same as a JSON object, as
 * which Ruby gets it.  And the answers of the control socket, which have parts of it, as JSON.
 *
 * Integers are written in full.  Times in nanoseconds lose their last digits
 * in a reader of JSON whose numbers are doubles; the two values that must not (they
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
#include <stdio.h>
#include <string.h>

enum { NS_PER_MS = 1000000 };

/* Each is counted from the one before, the first from zero: small numbers, which compress well. */
static void
append_gc_times(const struct hs_object *object, const struct hs_gc_times *times)
{
    struct hs_gc_time before = {0};
    rb_hs_open_list(object, HS_F_times);
    size_t at = object->json ? 0 : rb_hs_open_message(object->out, HS_F_times);
    for (uint32_t i = 0; i < times->count && i < HS_GC_TIMES; i++) {
        const struct hs_gc_time *time = &times->list[i];
        uint64_t steps[] = {time->gc - before.gc, time->ns / NS_PER_MS - before.ns / NS_PER_MS, time->majors - before.majors};
        for (int n = 0; n < 3 && !object->json; n++) rb_hs_put_varint(object->out, steps[n]);
        if (object->json) rb_hs_buffer_printf(object->out, "[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "],", steps[0], steps[1], steps[2]);
        before = *time;
    }
    if (object->json) rb_hs_close_list(object);
    else rb_hs_close_message(object->out, at);
}

static void
append_gc(const struct hs_object *object, const struct hs_profile_meta *meta)
{
    size_t at = rb_hs_open(object, HS_F_gc);
    rb_hs_put(object, HS_F_count, meta->gc_count);
    rb_hs_put(object, HS_F_minor, meta->gc_minor);
    rb_hs_put(object, HS_F_major, meta->gc_major);
    rb_hs_put_or_null(object, HS_F_last_minor_ns, meta->last_minor_ns);
    rb_hs_put_or_null(object, HS_F_last_major_ns, meta->last_major_ns);
    rb_hs_put_or_null(object, HS_F_last_major_gc, meta->last_major_gc);
    append_gc_times(object, &meta->gc_times);
    rb_hs_close(object, at);
}

static const char *const forced_last[] = {
    [HS_FORCED_NONE] = "none",
    [HS_FORCED_ENDED] = "ended",
    [HS_FORCED_UNFINISHED] = "unfinished",
    [HS_FORCED_NOT_NEEDED] = "not_needed",
    [HS_FORCED_OVER_BUDGET] = "over_budget",
    [HS_FORCED_NO_SAFE_POINT] = "no_safe_point",
    [HS_FORCED_REFUSED] = "refused",
};

static void
append_forced(const struct hs_object *object, const struct hs_profile_meta *meta)
{
    const struct hs_forced *forced = &meta->forced;
    size_t at = rb_hs_open(object, HS_F_forced);
    rb_hs_put(object, HS_F_limit_ppm, meta->diagnose_ppm);
    rb_hs_put(object, HS_F_gcs, forced->gcs);
    rb_hs_put(object, HS_F_gc_ns, forced->gc_ns);
    rb_hs_put(object, HS_F_walks, forced->walks);
    rb_hs_put(object, HS_F_walk_ns, forced->walk_ns);
    rb_hs_put(object, HS_F_longest_stop_ns, forced->stop_ns);
    rb_hs_put(object, HS_F_of_ns, forced->of_ns);
    bool known = (size_t)forced->last < sizeof(forced_last) / sizeof(*forced_last);
    rb_hs_put_text(object, HS_F_last, rb_hs_text_of(forced_last[known ? forced->last : HS_FORCED_NONE]));
    rb_hs_close(object, at);
}

static void
append_settings(const struct hs_object *object, const struct hs_profile_meta *meta)
{
    size_t at = rb_hs_open(object, HS_F_settings);
    rb_hs_put(object, HS_F_interval, meta->interval);
    rb_hs_put(object, HS_F_first_interval, meta->first_interval);
    rb_hs_put(object, HS_F_interval_changes, meta->interval_changes);
    rb_hs_put(object, HS_F_thinnings, meta->thinnings);
    rb_hs_put_flag(object, HS_F_interval_auto, meta->interval_auto);
    rb_hs_put_or_null(object, HS_F_max_samples, meta->max_samples);
    rb_hs_put(object, HS_F_max_depth, meta->max_depth);
    rb_hs_put(object, HS_F_only_n, meta->only_n);
    char seed[24] = "";
    if (meta->seeded) snprintf(seed, sizeof(seed), "%" PRIu64, meta->seed);
    rb_hs_put_text_or_null(object, HS_F_seed, seed, sizeof(seed));
    rb_hs_close(object, at);
}

static void
append_drops(const struct hs_object *object, const struct hs_profile_meta *meta)
{
    size_t at = rb_hs_open(object, HS_F_drops);
    rb_hs_put(object, HS_F_samples, meta->drop_samples);
    rb_hs_put(object, HS_F_stacks, meta->drop_stacks);
    rb_hs_put(object, HS_F_frames, meta->drop_frames);
    rb_hs_put(object, HS_F_classes, meta->drop_classes);
    rb_hs_put(object, HS_F_moves, meta->drop_moves);
    rb_hs_close(object, at);
}

static void
append_heap_use(const struct hs_object *object, const struct hs_heap_use *use)
{
    if (!use->known) {
        static const enum hs_field fields[] = {HS_F_pages, HS_F_pinned_pages, HS_F_held_slots, HS_F_compact_bytes};
        for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) rb_hs_put_null(object, fields[i]);
        return;
    }
    rb_hs_put(object, HS_F_pages, use->pages);
    rb_hs_put(object, HS_F_pinned_pages, use->pinned_pages);
    rb_hs_put(object, HS_F_held_slots, use->free_slots);
    rb_hs_put(object, HS_F_compact_bytes, rb_hs_heap_spare_pages(use) * HS_BODY_BYTES);
}

static void
append_heaps(const struct hs_object *object, const struct hs_profile_meta *meta)
{
    rb_hs_open_list(object, HS_F_heaps);
    for (uint32_t i = 0; i < meta->heaps && i < HS_HEAPS_MAX; i++) {
        size_t at = rb_hs_open_element(object, HS_F_heaps);
        rb_hs_put(object, HS_F_slot_size, meta->heap[i].slot_size);
        rb_hs_put(object, HS_F_total_slots, meta->heap[i].total_slots);
        rb_hs_put(object, HS_F_live_slots, meta->heap[i].live_slots);
        rb_hs_put(object, HS_F_live_at_start, meta->heap[i].live_at_start);
        append_heap_use(object, &meta->heap[i].use);
        rb_hs_close(object, at);
    }
    rb_hs_close_list(object);
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
append_malloc(const struct hs_object *object, const struct hs_profile_meta *meta)
{
    const struct hs_malloc_meta *side = &meta->malloc;

    size_t at = rb_hs_open(object, HS_F_malloc);
    rb_hs_put_text(object, HS_F_state, rb_hs_text_of(malloc_state(side->state)));
    rb_hs_put_or_null(object, HS_F_interval, side->interval);
    rb_hs_put_or_null(object, HS_F_first_interval, side->first_interval);
    rb_hs_put(object, HS_F_interval_changes, side->interval_changes);
    rb_hs_put(object, HS_F_thinnings, side->thinnings);
    rb_hs_put_flag(object, HS_F_interval_auto, side->automatic);
    rb_hs_put_text_or_null(object, HS_F_allocator, side->allocator, sizeof(side->allocator));
    rb_hs_put_text_or_null(object, HS_F_missing, side->missing, sizeof(side->missing));
    rb_hs_close(object, at);
    rb_hs_put_flag(object, HS_F_memsize, meta->memsize);
}

/* The same where a value may not be known. */
static void
append_fields(const struct hs_object *object, const struct hs_account_field *fields, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (fields[i].known) rb_hs_put(object, fields[i].field, fields[i].value);
        else rb_hs_put_null(object, fields[i].field);
    }
}

static void
append_account(const struct hs_object *object, enum hs_field field, const struct hs_account *account)
{
    struct hs_account_field fields[HS_ACCOUNT_FIELDS], jemalloc[HS_JEMALLOC_FIELDS];
    if (!account->taken_ns) {
        rb_hs_put_null(object, field);
        return;
    }
    rb_hs_account_fields(account, fields);
    rb_hs_jemalloc_fields(account, jemalloc);
    size_t at = rb_hs_open(object, field);
    rb_hs_put(object, HS_F_taken_ns, account->taken_ns);
    rb_hs_put(object, HS_F_cost_ns, account->cost_ns);
    append_fields(object, fields, HS_ACCOUNT_FIELDS);
    rb_hs_put_text(object, HS_F_allocator, (struct hs_text){account->allocator, strnlen(account->allocator, sizeof(account->allocator))});
    if (account->jemalloc) {
        size_t within = rb_hs_open(object, HS_F_jemalloc);
        append_fields(object, jemalloc, HS_JEMALLOC_FIELDS);
        rb_hs_close(object, within);
    }
    else {
        rb_hs_put_null(object, HS_F_jemalloc);
    }
    rb_hs_close(object, at);
}

static void
append_population(const struct hs_object *object, const struct hs_census *census, enum hs_alive_kind kind, const struct hs_population *population)
{
    rb_hs_put(object, HS_F_count, population->count);
    for (int state = 0; state < HS_ALIVE_STATES; state++) {
        if (!rb_hs_alive_state_p(kind, (enum hs_alive_state)state)) continue;
        rb_hs_put(object, rb_hs_alive_state_field((enum hs_alive_state)state), population->states[state]);
    }
    if (census->stacks_known) rb_hs_put(object, HS_F_stacks, population->stacks);
    else rb_hs_put_null(object, HS_F_stacks);
}

static void
append_birthplace(const struct hs_object *object, const struct hs_census *census, const struct hs_birthplace *place)
{
    size_t at = rb_hs_open_element(object, HS_F_made);
    rb_hs_put_text(object, HS_F_path, place->path);
    rb_hs_put_or_null(object, HS_F_line, place->line);
    append_population(object, census, place->kind, &place->population);
    rb_hs_close(object, at);
}

static void
append_kind(const struct hs_object *object, enum hs_field field, const struct hs_census *census, enum hs_alive_kind kind)
{
    size_t at = rb_hs_open(object, field);
    append_population(object, census, kind, &census->of[kind]);
    rb_hs_open_list(object, HS_F_made);
    for (uint32_t i = 0; i < census->place_count; i++) {
        if (census->places[i].kind == kind) append_birthplace(object, census, &census->places[i]);
    }
    rb_hs_close_list(object);
    rb_hs_close(object, at);
}

static void
append_alive(const struct hs_object *object, const struct hs_census *census)
{
    if (!census->taken) {
        rb_hs_put_null(object, HS_F_alive);
        return;
    }
    size_t at = rb_hs_open(object, HS_F_alive);
    append_kind(object, HS_F_threads, census, HS_THREADS);
    append_kind(object, HS_F_fibers, census, HS_FIBERS);
    rb_hs_close(object, at);
}

static void
append_inherited(const struct hs_object *object, const struct hs_inherited *inherited)
{
    if (!inherited->known) {
        const char *missing = inherited->missing ? inherited->missing : "";
        rb_hs_put_null(object, HS_F_inherited);
        rb_hs_put_text_or_null(object, HS_F_inherited_missing, missing, SIZE_MAX);
        return;
    }
    size_t at = rb_hs_open(object, HS_F_inherited);
    rb_hs_put(object, HS_F_bytes, inherited->bytes);
    rb_hs_put(object, HS_F_unshared, inherited->unshared);
    rb_hs_close(object, at);
    rb_hs_put_null(object, HS_F_inherited_missing);
}

static void
append_process_start(const struct hs_object *object, uint64_t process_start)
{
    char text[24];
    snprintf(text, sizeof(text), "%016" PRIx64, process_start);
    rb_hs_put_text(object, HS_F_process_start, rb_hs_text_of(text));
}

int
rb_hs_encode_about(const struct hs_about *about, struct hs_buffer *out)
{
    const struct hs_object json = {out, true}, *object = &json;
    rb_hs_open_json(object);
    rb_hs_put(object, HS_F_protocol, 1);
    rb_hs_put(object, HS_F_process_id, about->process_id);
    append_process_start(object, about->process_start);
    rb_hs_put_or_null(object, HS_F_parent_id, about->who.parent_id);
    rb_hs_put_text_or_null(object, HS_F_title, about->who.title, sizeof(about->who.title));
    rb_hs_put_text_or_null(object, HS_F_directory, about->who.directory, sizeof(about->who.directory));
    rb_hs_put_text_or_null(object, HS_F_host, about->who.host, sizeof(about->who.host));
    rb_hs_put_text_or_null(object, HS_F_deploy, about->deploy, SIZE_MAX);
    rb_hs_put_text_or_null(object, HS_F_ruby, about->ruby, SIZE_MAX);
    rb_hs_put(object, HS_F_taken_ns, about->taken_ns);
    rb_hs_put_flag(object, HS_F_sampling, about->sampling);
    rb_hs_put_or_null(object, HS_F_started_ns, about->started_ns);
    rb_hs_put_or_null(object, HS_F_interval, about->interval);
    rb_hs_put_flag(object, HS_F_interval_auto, about->interval_auto);
    rb_hs_put_or_null(object, HS_F_every, about->every);
    size_t at = rb_hs_open(object, HS_F_malloc);
    rb_hs_put_text(object, HS_F_state, rb_hs_text_of(malloc_state(about->malloc.state)));
    rb_hs_put_or_null(object, HS_F_interval, about->malloc.interval);
    rb_hs_put_text_or_null(object, HS_F_missing, about->malloc.missing, sizeof(about->malloc.missing));
    rb_hs_close(object, at);
    append_account(object, HS_F_account, &about->account);
    append_account(object, HS_F_account_at_start, &about->account_at_start);
    rb_hs_close_json(object);
    return out->failed ? ENOMEM : 0;
}

static void
append_gc_now(const struct hs_object *object, const struct hs_memory_now *now)
{
    size_t at = rb_hs_open(object, HS_F_gc);
    rb_hs_put(object, HS_F_count, now->gc.count);
    rb_hs_put(object, HS_F_minor, now->gc.minor);
    rb_hs_put(object, HS_F_major, now->gc.major);
    if (now->gc.timed) rb_hs_put(object, HS_F_ns, now->gc.ns);
    else rb_hs_put_null(object, HS_F_ns);
    rb_hs_put_or_null(object, HS_F_last_major_ns, now->gc.last_major_ns);
    rb_hs_close(object, at);
}

static void
append_heaps_now(const struct hs_object *object, const struct hs_memory_now *now)
{
    rb_hs_open_list(object, HS_F_heaps);
    for (uint32_t i = 0; i < now->heaps; i++) {
        size_t at = rb_hs_open_element(object, HS_F_heaps);
        rb_hs_put(object, HS_F_slot_size, now->heap[i].slot_size);
        rb_hs_put(object, HS_F_total_slots, now->heap[i].total_slots);
        rb_hs_put(object, HS_F_live_slots, now->heap[i].live_slots);
        rb_hs_close(object, at);
    }
    rb_hs_close_list(object);
}

static void
append_sampler_now(const struct hs_object *object, const struct hs_memory_now *now)
{
    size_t at = rb_hs_open(object, HS_F_sampler);
    rb_hs_put(object, HS_F_live_samples, now->sampler.live_samples);
    rb_hs_put(object, HS_F_samples, now->sampler.samples);
    rb_hs_put(object, HS_F_malloc_live_samples, now->sampler.malloc_live_samples);
    rb_hs_put(object, HS_F_malloc_samples, now->sampler.malloc_samples);
    rb_hs_put(object, HS_F_dropped_samples, now->sampler.dropped_samples);
    rb_hs_put(object, HS_F_bytes, now->sampler.bytes);
    rb_hs_put_or_null(object, HS_F_bytes_max, now->sampler.bytes_max);
    rb_hs_put(object, HS_F_thread_ns, now->sampler.thread_ns);
    rb_hs_close(object, at);
}

int
rb_hs_encode_memory(const struct hs_memory_now *now, struct hs_buffer *out)
{
    const struct hs_object json = {out, true}, *object = &json;
    rb_hs_open_json(object);
    append_account(object, HS_F_account, &now->account);
    append_account(object, HS_F_account_at_start, &now->account_at_start);
    append_alive(object, &now->census);
    append_gc_now(object, now);
    append_heaps_now(object, now);
    append_sampler_now(object, now);
    rb_hs_close_json(object);
    return out->failed ? ENOMEM : 0;
}

int
rb_hs_encode_meta(const struct hs_profile *profile, bool as_json, struct hs_buffer *out)
{
    const struct hs_profile_meta *meta = &profile->meta;
    const struct hs_object whole = {out, as_json}, *object = &whole;
    rb_hs_open_json(object);
    rb_hs_put(object, HS_F_format, HS_FORMAT_VERSION);
    rb_hs_put_text(object, HS_F_generator, rb_hs_text_of("heap_sampler"));
    rb_hs_put_text(object, HS_F_ruby, (struct hs_text){meta->ruby, strnlen(meta->ruby, sizeof(meta->ruby))});
    rb_hs_put(object, HS_F_process_id, meta->process_id);
    append_process_start(object, meta->process_start);
    rb_hs_put_or_null(object, HS_F_parent_id, meta->who.parent_id);
    rb_hs_put_text_or_null(object, HS_F_title, meta->who.title, sizeof(meta->who.title));
    rb_hs_put_text_or_null(object, HS_F_directory, meta->who.directory, sizeof(meta->who.directory));
    rb_hs_put_text_or_null(object, HS_F_gemfile, meta->who.gemfile, sizeof(meta->who.gemfile));
    rb_hs_put_text_or_null(object, HS_F_host, meta->who.host, sizeof(meta->who.host));
    rb_hs_put_text_or_null(object, HS_F_deploy, meta->deploy, sizeof(meta->deploy));
    rb_hs_put(object, HS_F_session, meta->session);
    rb_hs_put(object, HS_F_started_ns, meta->started_ns);
    rb_hs_put(object, HS_F_taken_ns, meta->taken_ns);
    append_gc(object, meta);
    append_forced(object, meta);
    append_settings(object, meta);
    rb_hs_put(object, HS_F_live_samples, meta->live_samples);
    append_drops(object, meta);
    rb_hs_put(object, HS_F_own_bytes, meta->own_bytes);
    append_heaps(object, meta);
    append_malloc(object, meta);
    append_account(object, HS_F_account, &meta->account);
    append_account(object, HS_F_account_at_start, &meta->account_at_start);
    append_alive(object, &meta->census);
    append_inherited(object, &meta->inherited);
    if (profile->asked_for_kept) rb_hs_put_kept(object, profile);
    rb_hs_close_json(object);
    return out->failed ? ENOMEM : 0;
}

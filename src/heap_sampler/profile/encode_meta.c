/*
 * What is known about a profile: the message Meta of a file (doc/heap_sampler.proto).  And the answers of the control
 * socket, which have parts of it, as JSON: a person with a shell can read them.
 *
 * Integers are written in full.  Times in nanoseconds lose their last digits
 * in a reader of JSON whose numbers are doubles; the two values that must not (they
 * are compared, or typed in again) are strings.
 */
#include "heap_sampler/profile/encode.h"
#include "heap_sampler/profile/snapshot.h"
#include "heap_sampler/base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Each is counted from the one before, the first from zero: small numbers, which compress well. */
static void
append_gc_times(const struct hs_object *object, const struct hs_gc_times *times)
{
    struct hs_gc_time before = {0};
    size_t at = rb_hs_open_message(object->out, HS_F_times);
    for (uint32_t i = 0; i < times->count && i < HS_GC_TIMES; i++) {
        const struct hs_gc_time *time = &times->list[i];
        rb_hs_put_varint(object->out, time->gc - before.gc);
        rb_hs_put_varint(object->out, time->ns / HS_MS_NS - before.ns / HS_MS_NS);
        rb_hs_put_varint(object->out, time->majors - before.majors);
        before = *time;
    }
    rb_hs_close_message(object->out, at);
}

static uint64_t
zigzag(uint64_t now, uint64_t before)
{
    int64_t difference = (int64_t)(now - before);
    return ((uint64_t)difference << 1) ^ (uint64_t)(difference >> 63);
}

/* The same.  Malloc is 0 where it is not known, else 1 higher. */
static void
append_majors(const struct hs_object *object, const struct hs_profile_meta *meta)
{
    struct hs_major before = {0};
    size_t at = rb_hs_open_message(object->out, HS_F_majors);
    for (uint32_t i = 0; i < meta->majors.count && i < HS_MAJORS; i++) {
        const struct hs_major *major = &meta->majors.list[i];
        rb_hs_put_varint(object->out, major->gc - before.gc);
        rb_hs_put_varint(object->out, major->ns / HS_MS_NS - before.ns / HS_MS_NS);
        rb_hs_put_varint(object->out, major->objects - before.objects);
        rb_hs_put_varint(object->out, major->malloc ? 1 + zigzag(major->malloc, before.malloc) : 0);
        for (uint32_t heap = 0; heap < meta->heaps; heap++) rb_hs_put_varint(object->out, zigzag(major->slots[heap], before.slots[heap]));
        uint64_t malloc = major->malloc ? major->malloc : before.malloc;
        before = *major;
        before.malloc = malloc;
    }
    rb_hs_close_message(object->out, at);
}

static void
append_gc_log(const struct hs_object *object, const struct hs_gc_log *log)
{
    struct hs_gc_entry before = {0};
    size_t at = rb_hs_open_message(object->out, HS_F_log);
    for (uint32_t i = 0; i < log->count && i < HS_GC_LOG; i++) {
        const struct hs_gc_entry *entry = &log->list[i];
        const uint64_t row[] = {entry->gc - before.gc, entry->ns / HS_MS_NS - before.ns / HS_MS_NS, entry->gcs, entry->majors, entry->reason,
                                entry->mark_ns / 1000, entry->sweep_ns / 1000, entry->pause_ns / 1000, entry->allocated, entry->promoted,
                                zigzag(entry->pages, before.pages), zigzag(entry->free_slots, before.free_slots),
                                zigzag(entry->old_objects, before.old_objects)};
        for (size_t k = 0; k < sizeof(row) / sizeof(*row); k++) rb_hs_put_varint(object->out, row[k]);
        before = *entry;
    }
    rb_hs_close_message(object->out, at);
}

/* By number: doc/format.md. */
static const char *const reasons[HS_GC_REASONS] = {"newobj", "malloc", "method", "capi", "stress", "nofree",
                                                   "oldgen", "shady", "oldmalloc", "force", "sampler"};

static void
append_causes(const struct hs_object *object, const struct hs_gc_log *log)
{
    rb_hs_open_list(object, HS_F_causes);
    for (int i = 0; i < HS_GC_REASONS; i++) {
        const struct hs_gc_cause *cause = &log->causes[i];
        if (!cause->gcs) continue;
        size_t at = rb_hs_open_element(object, HS_F_causes);
        rb_hs_put_text(object, HS_F_reason, hs_text_of(reasons[i]));
        HS_PUT(object, N(gcs, cause->gcs), N(ns, cause->ns), N(longest_stop_ns, cause->pause_ns));
        rb_hs_close(object, at);
    }
    rb_hs_close_list(object);
}

static void
append_gc(const struct hs_object *object, const struct hs_profile_meta *meta)
{
    size_t at = rb_hs_open(object, HS_F_gc);
    HS_PUT(object, N(count, meta->gc_count), N(minor, meta->gc_minor), N(major, meta->gc_major), KNOWN(last_minor_ns, meta->last_minor_ns),
           KNOWN(last_major_ns, meta->last_major_ns), KNOWN(last_major_gc, meta->last_major_gc));
    append_gc_times(object, &meta->gc_times);
    append_majors(object, meta);
    append_gc_log(object, &meta->gc_log);
    append_causes(object, &meta->gc_log);
    HS_PUT(object, KNOWN(cpu_ns, meta->gc_timed ? meta->cpu_ns : 0));
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
    HS_PUT(object, N(limit_ppm, meta->diagnose_ppm), N(gcs, forced->gcs), N(gc_ns, forced->gc_ns), N(walks, forced->walks),
           N(walk_ns, forced->walk_ns), N(longest_stop_ns, forced->stop_ns), N(of_ns, forced->of_ns));
    rb_hs_put_text(object, HS_F_last, hs_text_of(forced_last[forced->last]));
    rb_hs_close(object, at);
}

static void
append_settings(const struct hs_object *object, const struct hs_profile_meta *meta)
{
    size_t at = rb_hs_open(object, HS_F_settings);
    HS_PUT(object, N(interval, meta->interval), N(first_interval, meta->first_interval), N(interval_changes, meta->interval_changes),
           N(thinnings, meta->thinnings));
    rb_hs_put_flag(object, HS_F_interval_auto, meta->interval_auto);
    HS_PUT(object, KNOWN(max_samples, meta->max_samples), N(only_n, meta->only_n));
    char seed[24] = "";
    if (meta->seeded) snprintf(seed, sizeof(seed), "%" PRIu64, meta->seed);
    rb_hs_put_known_text(object, HS_F_seed, seed, sizeof(seed));
    rb_hs_close(object, at);
}

static void
append_heaps(const struct hs_object *object, const struct hs_profile_meta *meta)
{
    rb_hs_open_list(object, HS_F_heaps);
    for (uint32_t i = 0; i < meta->heaps && i < HS_HEAPS_MAX; i++) {
        size_t at = rb_hs_open_element(object, HS_F_heaps);
        const struct hs_heap_stat *heap = &meta->heap[i];
        const struct hs_heap_use *use = &heap->use;
        HS_PUT(object, N(slot_size, heap->slot_size), N(total_slots, heap->total_slots), N(live_slots, heap->live_slots),
               {HS_F_live_at_start, heap->live_at_start, !object->json}, {HS_F_pages, use->pages, use->known},
               {HS_F_pinned_pages, use->pinned_pages, use->known}, {HS_F_held_slots, use->free_slots, use->known},
               {HS_F_compact_bytes, use->known ? hs_heap_spare_pages(use) * HS_BODY_BYTES : 0, use->known});
        rb_hs_close(object, at);
    }
    rb_hs_close_list(object);
}

static const char *const malloc_states[] = {
    [HS_MALLOC_ON] = "on",
    [HS_MALLOC_STANDBY] = "standby",
    [HS_MALLOC_OFF] = "off",
    [HS_MALLOC_MISSING] = "missing",
};

static void
append_malloc(const struct hs_object *object, const struct hs_malloc_meta *side)
{
    size_t at = rb_hs_open(object, HS_F_malloc);
    rb_hs_put_text(object, HS_F_state, hs_text_of(malloc_states[side->state]));
    HS_PUT(object, KNOWN(interval, side->interval), KNOWN(first_interval, side->first_interval), N(interval_changes, side->interval_changes),
           N(thinnings, side->thinnings));
    rb_hs_put_flag(object, HS_F_interval_auto, side->automatic);
    rb_hs_put_known_text(object, HS_F_allocator, side->allocator, sizeof(side->allocator));
    rb_hs_put_known_text(object, HS_F_missing, side->missing, sizeof(side->missing));
    rb_hs_close(object, at);
}

static void
append_account(const struct hs_object *object, enum hs_field field, const struct hs_account *account)
{
    struct hs_account_field fields[HS_ACCOUNT_FIELDS + HS_JEMALLOC_FIELDS];
    if (!account->taken_ns) return;
    rb_hs_account_fields(account, fields);
    size_t at = rb_hs_open(object, field);
    HS_PUT(object, N(taken_ns, account->taken_ns), N(cost_ns, account->cost_ns));
    rb_hs_put_all(object, fields, HS_ACCOUNT_FIELDS);
    const struct hs_memory_limit *limit = &account->limit;
    if (limit->bytes) {
        HS_PUT(object, N(limit_bytes, limit->bytes), N(limit_used, limit->used));
        rb_hs_put_flag(object, HS_F_limit_machine, limit->machine);
    }
    rb_hs_put_text(object, HS_F_allocator, (struct hs_text){account->allocator, strnlen(account->allocator, sizeof(account->allocator))});
    if (account->jemalloc) {
        size_t within = rb_hs_open(object, HS_F_jemalloc);
        rb_hs_put_all(object, fields + HS_ACCOUNT_FIELDS, HS_JEMALLOC_FIELDS);
        rb_hs_close(object, within);
    }
    rb_hs_close(object, at);
}

static void
append_population(const struct hs_object *object, const struct hs_census *census, enum hs_alive_kind kind, const struct hs_population *population)
{
    rb_hs_put(object, HS_F_count, population->count);
    for (int state = 0; state < HS_ALIVE_STATES; state++) {
        enum hs_field field = rb_hs_alive_state_field(kind, (enum hs_alive_state)state);
        if (field) rb_hs_put(object, field, population->states[state]);
    }
    if (census->stacks_known) rb_hs_put(object, HS_F_stacks, population->stacks);
}

static void
append_alive(const struct hs_object *object, const struct hs_census *census)
{
    static const enum hs_field kinds[HS_ALIVE_KINDS] = {[HS_THREADS] = HS_F_threads, [HS_FIBERS] = HS_F_fibers};
    if (!census->taken) return;
    size_t at = rb_hs_open(object, HS_F_alive);
    for (int kind = 0; kind < HS_ALIVE_KINDS; kind++) {
        size_t of_kind = rb_hs_open(object, kinds[kind]);
        append_population(object, census, (enum hs_alive_kind)kind, &census->of[kind]);
        rb_hs_open_list(object, HS_F_made);
        for (uint32_t i = 0; i < census->place_count; i++) {
            const struct hs_creation_site *place = &census->places[i];
            if ((int)place->kind != kind) continue;
            size_t element = rb_hs_open_element(object, HS_F_made);
            rb_hs_put_text(object, HS_F_path, place->path);
            HS_PUT(object, KNOWN(line, place->line));
            append_population(object, census, place->kind, &place->population);
            rb_hs_close(object, element);
        }
        rb_hs_close_list(object);
        rb_hs_close(object, of_kind);
    }
    rb_hs_close(object, at);
}

/* Which process it is. */
static void
append_process(const struct hs_object *object, const struct hs_profile_meta *meta)
{
    const struct hs_identity *identity = &meta->identity;
    char start[24];
    snprintf(start, sizeof(start), "%016" PRIx64, meta->process_start);
    rb_hs_put(object, HS_F_process_id, meta->process_id);
    rb_hs_put_text(object, HS_F_process_start, hs_text_of(start));
    HS_PUT(object, KNOWN(parent_id, identity->parent_id));
    rb_hs_put_known_text(object, HS_F_title, identity->title, sizeof(identity->title));
    rb_hs_put_known_text(object, HS_F_directory, identity->directory, sizeof(identity->directory));
    rb_hs_put_known_text(object, HS_F_gemfile, identity->gemfile, sizeof(identity->gemfile));
    rb_hs_put_known_text(object, HS_F_host, identity->host, sizeof(identity->host));
    rb_hs_put_known_text(object, HS_F_deploy, meta->deploy, sizeof(meta->deploy));
}

/* A whole answer. */
static struct hs_object
begin_json(struct hs_buffer *out)
{
    rb_hs_buffer_puts(out, "{");
    return (struct hs_object){out, true};
}

static int
end_json(const struct hs_object *object)
{
    rb_hs_close(object, 0);
    if (!object->out->failed) object->out->len--;       /* the comma behind an object */
    return object->out->failed ? ENOMEM : 0;
}

int
rb_hs_encode_about(const struct hs_profile_meta *meta, bool sampling, uint64_t every, struct hs_buffer *out)
{
    const struct hs_object json = begin_json(out), *object = &json;
    rb_hs_put(object, HS_F_protocol, 1);
    append_process(object, meta);
    rb_hs_put_known_text(object, HS_F_ruby, meta->ruby, sizeof(meta->ruby));
    rb_hs_put_flag(object, HS_F_sampling, sampling);
    rb_hs_put_flag(object, HS_F_interval_auto, sampling && meta->interval_auto);
    HS_PUT(object, N(taken_ns, meta->taken_ns), {HS_F_started_ns, meta->started_ns, sampling}, {HS_F_interval, meta->interval, sampling},
           KNOWN(every, every));
    append_malloc(object, &meta->malloc);
    append_account(object, HS_F_account, &meta->account);
    append_account(object, HS_F_account_at_start, &meta->account_at_start);
    return end_json(object);
}

int
rb_hs_encode_memory(const struct hs_profile_meta *meta, const struct hs_sampler_now *sampler, struct hs_buffer *out)
{
    const struct hs_object json = begin_json(out), *object = &json;
    append_account(object, HS_F_account, &meta->account);
    append_account(object, HS_F_account_at_start, &meta->account_at_start);
    append_alive(object, &meta->census);
    size_t at = rb_hs_open(object, HS_F_gc);
    HS_PUT(object, N(count, meta->gc_count), N(minor, meta->gc_minor), N(major, meta->gc_major), {HS_F_ns, meta->gc_ns, meta->gc_timed},
           KNOWN(last_major_ns, meta->last_major_ns));
    append_causes(object, &meta->gc_log);
    rb_hs_close(object, at);
    append_heaps(object, meta);
    HS_PUT_OBJECT(object, HS_F_sampler, N(live_samples, sampler->live_samples), N(samples, sampler->samples),
                  N(malloc_live_samples, sampler->malloc_live_samples), N(malloc_samples, sampler->malloc_samples),
                  N(dropped_samples, sampler->dropped_samples), N(bytes, sampler->bytes), KNOWN(bytes_max, sampler->bytes_max),
                  N(thread_ns, sampler->thread_ns));
    const struct hs_compaction *compaction = &sampler->compaction;
    if (compaction->estimate_ns) {
        HS_PUT_OBJECT(object, HS_F_compaction, N(stop_estimate_ns, compaction->estimate_ns), KNOWN(ns, compaction->ns),
                      N(considered, compaction->considered), N(moved, compaction->moved));
    }
    return end_json(object);
}

static const char *
reason_of(unsigned flag)
{
    switch (flag) {
    case HS_PERIODIC: return "periodic";
    case HS_AT_EXIT: return "exit";
    case HS_AT_RSS: return "at_rss";
    case HS_FOR_AGENT: return "agent";
    default: return "asked";
    }
}

int
rb_hs_encode_meta(const struct hs_profile *profile, struct hs_buffer *out)
{
    const struct hs_profile_meta *meta = &profile->meta;
    const struct hs_inherited *inherited = &meta->inherited;
    const struct hs_object whole = {out, false}, *object = &whole;
    rb_hs_put(object, HS_F_format, HS_FORMAT_VERSION);
    rb_hs_put_text(object, HS_F_generator, hs_text_of("heap_sampler"));
    rb_hs_put_text(object, HS_F_ruby, (struct hs_text){meta->ruby, strnlen(meta->ruby, sizeof(meta->ruby))});
    append_process(object, meta);
    HS_PUT(object, N(session, meta->session), N(started_ns, meta->started_ns), N(taken_ns, meta->taken_ns), N(objects, meta->objects));
    rb_hs_put_text(object, HS_F_reason, hs_text_of(reason_of(profile->reason)));
    append_gc(object, meta);
    append_forced(object, meta);
    append_settings(object, meta);
    rb_hs_put(object, HS_F_live_samples, meta->live_samples);
    HS_PUT_OBJECT(object, HS_F_drops, N(samples, meta->drop_samples), N(stacks, meta->drop_stacks), N(frames, meta->drop_frames),
                  N(classes, meta->drop_classes), N(moves, meta->drop_moves));
    rb_hs_put(object, HS_F_own_bytes, meta->own_bytes);
    append_heaps(object, meta);
    append_malloc(object, &meta->malloc);
    rb_hs_put_flag(object, HS_F_memsize, meta->memsize);
    append_account(object, HS_F_account, &meta->account);
    append_account(object, HS_F_account_at_start, &meta->account_at_start);
    append_alive(object, &meta->census);
    if (inherited->known) HS_PUT_OBJECT(object, HS_F_inherited, N(bytes, inherited->bytes), N(unshared, inherited->unshared));
    else if (inherited->missing) rb_hs_put_known_text(object, HS_F_inherited_missing, inherited->missing, SIZE_MAX);
    if (profile->asked_for_kept) rb_hs_put_kept(object, profile);
    return out->failed ? ENOMEM : 0;
}

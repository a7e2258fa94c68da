/*
 * A snapshot: copy what one session knows while holding the lock, then add it
 * up without.  The copying is plain memory traffic, some 32 bytes a sample; a
 * thread that allocates waits for it only if it draws a sample just then.
 *
 * Nothing here needs the GVL or reads a heap slot.
 */
#include "heap_sampler/mri.h"
#include "heap_sampler/profile/snapshot.h"
#include "heap_sampler/account/account.h"
#include "heap_sampler/account/census.h"
#include "heap_sampler/account/inherited.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/locks.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/must.h"
#include "heap_sampler/base/table.h"
#include "heap_sampler/base/texts.h"
#include "heap_sampler/estimate/draw.h"
#include "heap_sampler/estimate/estimate.h"
#include "heap_sampler/collections/collections.h"
#include "heap_sampler/holders/ask.h"
#include "heap_sampler/holders/roots.h"
#include "heap_sampler/malloc/hooks.h"
#include "heap_sampler/malloc/state.h"
#include "heap_sampler/malloc/table.h"
#include "heap_sampler/malloc/yjit.h"
#include "heap_sampler/profile/kept.h"
#include "heap_sampler/profile/malloc_rows.h"
#include "heap_sampler/profile/profile.h"
#include "heap_sampler/settings/options.h"
#include "heap_sampler/sites/sampler.h"
#include "heap_sampler/sites/totals.h"
#include "heap_sampler/slots/automatic.h"
#include "heap_sampler/slots/check.h"
#include "heap_sampler/slots/intervals.h"
#include "heap_sampler/slots/page_table.h"
#include "heap_sampler/stacks/class_table.h"
#include "heap_sampler/stacks/stack_table.h"

#include <string.h>
#include <unistd.h>

extern const char *rb_dynamic_description;       /* RUBY_DESCRIPTION; version.c */

struct copied_record {
    struct hs_record record;
    uintptr_t body;
    uint64_t interval;          /* of the session, at birth */
    uint32_t number;            /* its place when it was copied */
    uint32_t row;               /* which it was added to */
    float free_share;           /* free bytes of its heap page */
    bool unshared;              /* a forked process has its memory page for itself now */
};

struct copied {
    struct copied_record *records;
    size_t record_count, record_capacity;
    struct hs_site *sites;
    struct {
        uint32_t class_text, type_text;
    } *names;  /* by site */
    uint32_t site_count;
    struct hs_totals *totals;
    uint32_t totals_count;
    uint64_t moves;
    uint64_t ids_at_fork;
};

static void
free_copied(struct copied *copied)
{
    rb_hs_free(HS_MEM_SNAPSHOTS, copied->records);
    rb_hs_free(HS_MEM_SNAPSHOTS, copied->sites);
    rb_hs_free(HS_MEM_SNAPSHOTS, copied->names);
    rb_hs_free(HS_MEM_SNAPSHOTS, copied->totals);
    *copied = (struct copied){0};
}

_Static_assert(sizeof(struct copied_record) + sizeof(struct hs_row) + sizeof(struct hs_live_sample) <= HS_SNAPSHOT_RECORD,
               "slots/intervals.c reckons with it");
_Static_assert(sizeof(struct hs_site) + sizeof(uint64_t) + sizeof(struct hs_totals) + sizeof(struct hs_row) <= HS_SNAPSHOT_SITE,
               "slots/intervals.c reckons with it");

static void *
copy_array(const void *from, size_t count, size_t size)
{
    void *to = rb_hs_malloc(HS_MEM_SNAPSHOTS, count * size + 1);
    if (to && count) memcpy(to, from, count * size);
    return to;
}

/* Room for the records, a few more than there are now. Its pages are touched
 * here, since page faults take longer than copying: no lock. */
static void
make_room(struct copied *copied)
{
    rb_hs_lock();
    size_t records = rb_hs_pages.records;
    rb_hs_unlock();
    copied->record_capacity = records + records / 16 + 256;
    copied->records = rb_hs_calloc(HS_MEM_SNAPSHOTS, copied->record_capacity, sizeof(*copied->records));
}

static bool
copy_records(struct copied *copied, int session)
{
    if (!copied->records || rb_hs_pages.records > copied->record_capacity) {
        rb_hs_free(HS_MEM_SNAPSHOTS, copied->records);
        copied->records = rb_hs_malloc(HS_MEM_SNAPSHOTS, rb_hs_pages.records * sizeof(*copied->records) + 1);
        if (!copied->records) return false;
    }
    for (uint32_t p = 0; p < rb_hs_pages.count; p++) {
        const struct rb_heap_sampler_page *page = rb_hs_pages.list[p];
        for (uint32_t i = 0; i < page->count; i++) {
            const struct hs_record *record = &page->records[i];
            if (!(record->sessions & (1u << session))) continue;
            copied->records[copied->record_count] = (struct copied_record){
                *record,
                page->body,
                rb_hs_sampler.epochs.list[record->epoch].interval[session],
                (uint32_t)copied->record_count,
                0,
                (float)page->free_share,
                false,
            };
            copied->record_count++;
        }
    }
    return true;
}

static bool
copy_sites(struct copied *copied, const struct hs_session *session)
{
    copied->site_count = rb_hs_sampler.site_count;
    copied->sites = copy_array(rb_hs_sampler.sites, rb_hs_sampler.site_count, sizeof(*copied->sites));
    copied->names = rb_hs_malloc(HS_MEM_SNAPSHOTS, rb_hs_sampler.site_count * sizeof(*copied->names) + 1);
    uint32_t totals = session->totals_count < rb_hs_sampler.site_count ? session->totals_count : rb_hs_sampler.site_count;
    copied->totals_count = totals;
    copied->totals = copy_array(session->totals, totals, sizeof(*copied->totals));
    if (!copied->sites || !copied->names || !copied->totals) return false;
    for (uint32_t i = 0; i < rb_hs_sampler.site_count; i++) {
        uint32_t class_id = rb_hs_sampler.sites[i].class_id;
        copied->names[i].class_text = rb_hs_class_text(class_id);
        copied->names[i].type_text = rb_hs_class_type_text(class_id);
    }
    return true;
}

static void
describe(struct hs_profile_meta *meta, const struct hs_session *session)
{
    const struct hs_options *options = &rb_hs_options;
    struct rb_heap_sampler_gc_counts counts;

    rb_heap_sampler_gc_counts(&counts);
    *meta = (struct hs_profile_meta){
        .interval = session->interval,
        .first_interval = session->first_interval,
        .interval_changes = session->interval_changes,
        .thinnings = session->thinnings,
        .interval_auto = session == &rb_hs_sampler.session[HS_MAIN] && rb_hs_automatic_p(),
        .max_samples = options->max_samples,
        .max_depth = options->max_depth,
        .only_n = options->only_n,
        .seeded = options->seeded,
        .seed = options->seed,
        .process_id = (uint64_t)getpid(),
        .process_start = rb_hs_sampler.process_start,
        .session = session->serial,
        .started_ns = session->started_ns,
        .taken_ns = rb_hs_now_ns(),
        .gc_count = counts.gc,
        .gc_minor = counts.minor,
        .gc_major = counts.major,
        .last_minor_ns = rb_hs_sampler.minor_ns,
        .last_major_ns = rb_hs_sampler.major_ns,
        .last_major_gc = rb_hs_sampler.major_gc,
        .live_samples = session->samples,
        .drop_samples = rb_hs_sampler.dropped_samples,
        .drop_stacks = rb_hs_stack_drops.stacks,
        .drop_frames = rb_hs_stack_drops.frames,
        .drop_classes = rb_hs_classes_dropped,
        .drop_moves = rb_hs_sampler.dropped_moves,
        .own_bytes = rb_hs_memory_total(),
    };
    rb_hs_gc_times_copy(&meta->gc_times);
    meta->asked = rb_hs_asked_gcs();
    meta->heaps = counts.heap_count < HS_HEAPS_MAX ? counts.heap_count : HS_HEAPS_MAX;
    for (uint32_t i = 0; i < meta->heaps; i++) {
        meta->heap[i] = (struct hs_heap_stat){
            counts.heap[i].slot_size,
            counts.heap[i].total_slots,
            counts.heap[i].live_slots,
            session->live_at_start[i],
            rb_hs_sampler.heap_use[i],
        };
    }
    meta->account_at_start = session->account_at_start;
    snprintf(meta->ruby, sizeof(meta->ruby), "%s", rb_dynamic_description);
}

/* Samples of one site, birth and thread become one row. */
static int
compare_records(const void *left, const void *right)
{
    const struct hs_record *a = &((const struct copied_record *)left)->record;
    const struct hs_record *b = &((const struct copied_record *)right)->record;
    if (a->site != b->site) return a->site < b->site ? -1 : 1;
    if (a->birth_gc != b->birth_gc) return a->birth_gc < b->birth_gc ? -1 : 1;
    if (a->thread != b->thread) return a->thread < b->thread ? -1 : 1;
    return 0;
}

static bool
totals_row_p(const struct hs_totals *totals)
{
    return totals->alloc.samples || totals->dead.samples;
}

static struct hs_row *
add_row(struct hs_profile *profile, const struct copied *copied, uint32_t site)
{
    struct hs_row *row = &profile->rows[profile->row_count++];
    *row = (struct hs_row){
        .node = copied->sites[site].node,
        .slot_size = copied->sites[site].slot_size,
        .class_name = copied->names[site].class_text,
        .type = copied->names[site].type_text,
    };
    return row;
}

/* Of sorted records. */
static size_t
count_rows(const struct copied *copied)
{
    size_t count = 0;
    for (size_t i = 0; i < copied->record_count; i++) {
        count += !i || compare_records(&copied->records[i - 1], &copied->records[i]) != 0;
    }
    for (uint32_t site = 0; site < copied->totals_count; site++) count += totals_row_p(&copied->totals[site]);
    return count;
}

static void
add_to_share(struct hs_share *share, double weight, double bytes)
{
    share->space += weight * bytes;
    share->variance += weight * (weight - 1) * bytes * bytes;
}

/* While records stand in the order of their pages: the kernel is asked once for each. */
static void
look_at_sharing(struct copied *copied, struct hs_inherited *inherited)
{
    struct hs_sharing sharing;
    rb_hs_sharing_begin(&sharing);
    for (size_t i = 0; i < copied->record_count && sharing.sum.known; i++) {
        struct copied_record *copy = &copied->records[i];
        copy->unshared = rb_hs_unshared_p(&sharing, copy->body, rb_heap_sampler_gc_slot_address(copy->body, copy->record.slot));
    }
    rb_hs_sharing_end(&sharing);
    *inherited = sharing.sum;
}

/* What else is known of an object in use. */
static void
add_where_it_lies(struct hs_row *row, const struct copied *copied, const struct copied_record *copy, double weight)
{
    const struct hs_record *record = &copy->record;
    add_to_share(&row->holds_free, weight, copy->free_share);
    if (record->pinned) row->holds_free_pinned += weight * copy->free_share;
    if (!copy->unshared) return;
    add_to_share(&row->unshared, weight, row->slot_size);
    if (record->id > copied->ids_at_fork) row->unshared_born += weight * row->slot_size;
}

static struct hs_estimate
estimate_of(double size, uint64_t interval)
{
    double weight = rb_hs_weight(size, (double)interval);
    return (struct hs_estimate){1, weight, weight * size, weight * (weight - 1) * size * size};
}

static bool
add_rows(struct hs_profile *profile, struct copied *copied)
{
    rb_hs_sort(copied->records, copied->record_count, sizeof(*copied->records), compare_records);
    profile->rows = rb_hs_malloc(HS_MEM_SNAPSHOTS, count_rows(copied) * sizeof(*profile->rows) + 1);
    if (!profile->rows) return false;

    struct hs_row *row = NULL;
    for (size_t i = 0; i < copied->record_count; i++) {
        struct copied_record *copy = &copied->records[i];
        const struct hs_record *record = &copy->record;
        if (!i || compare_records(copy - 1, copy) != 0) {
            row = add_row(profile, copied, record->site);
            row->has_birth = true;
            row->birth_gc = record->birth_gc;
            row->thread = record->thread;
        }
        copy->row = (uint32_t)(profile->row_count - 1);
        struct hs_estimate one = estimate_of(row->slot_size, copy->interval);
        rb_hs_estimate_add(record->young ? &row->young : &row->inuse, &one);
        if (!record->young) add_where_it_lies(row, copied, copy, one.objects);
    }
    for (uint32_t site = 0; site < copied->totals_count; site++) {
        const struct hs_totals *totals = &copied->totals[site];
        if (!totals_row_p(totals)) continue;
        row = add_row(profile, copied, site);
        row->alloc = totals->alloc;
        row->dead = totals->dead;
        row->dead_gcs = totals->dead_gcs;
    }
    return true;
}

static bool
list_samples(struct hs_live_samples *samples, const struct copied *copied, uint64_t gc_count)
{
    *samples = (struct hs_live_samples){.moves = copied->moves, .by_id.use = HS_MEM_SNAPSHOTS};
    samples->list = rb_hs_malloc(HS_MEM_SNAPSHOTS, copied->record_count * sizeof(*samples->list) + 1);
    if (!samples->list) return false;
    for (size_t i = 0; i < copied->record_count; i++) {
        const struct copied_record *copy = &copied->records[i];
        const struct hs_record *record = &copy->record;
        const struct hs_site *site = &copied->sites[record->site];
        samples->list[samples->count++] = (struct hs_live_sample){
            .id = record->id,
            .body = copy->body,
            .slot = record->slot,
            .young = record->young,
            .node = site->node,
            .class_text = copied->names[record->site].class_text,
            .type_text = copied->names[record->site].type_text,
            .slot_size = site->slot_size,
            .thread = record->thread,
            .birth_gc = record->birth_gc,
            .age = gc_count - record->birth_gc,
            .weight = rb_hs_weight(site->slot_size, (double)copy->interval),
            .row = copy->row,
        };
    }
    return true;
}

void
rb_hs_snapshot_free(struct hs_profile *profile)
{
    if (!profile) return;
    rb_hs_profile_free(profile);
    rb_hs_free(HS_MEM_SNAPSHOTS, profile);
}

/* -- who keeps it ------------------------------------------------------------------- */

struct hs_snapshot {
    int session;
    unsigned flags;
    struct hs_profile *profile;
    struct copied copied;
    struct hs_malloc_copy malloc_copy;
    struct hs_holders_child child;
    bool ok;
    bool asked;                 /* the child is to be waited for */
    bool worked;                /* the rows are there */
};

static uintptr_t
wanted_object(const void *data, uint32_t position)
{
    const struct hs_snapshot *snapshot = data;
    const struct copied_record *copy = &snapshot->copied.records[position];
    return (uintptr_t)rb_heap_sampler_gc_slot_address(copy->body, copy->record.slot);
}

static uintptr_t
wanted_block(const void *data, uint32_t position)
{
    const struct hs_snapshot *snapshot = data;
    return snapshot->malloc_copy.blocks[position].address;
}

static struct hs_estimate
object_weight(const void *data, uint32_t position)
{
    const struct hs_snapshot *snapshot = data;
    const struct copied_record *copy = &snapshot->copied.records[position];
    return estimate_of(snapshot->copied.sites[copy->record.site].slot_size, copy->interval);
}

static struct hs_estimate
block_weight(const void *data, uint32_t position)
{
    const struct hs_snapshot *snapshot = data;
    const struct hs_malloc_block_copy *block = &snapshot->malloc_copy.blocks[position];
    return estimate_of((double)block->size, block->interval);
}

static void
fork_child(struct hs_snapshot *snapshot)
{
    struct hs_wanted wanted = {
        .data = snapshot,
        .objects = (uint32_t)snapshot->copied.record_count,
        .blocks = snapshot->malloc_copy.block_count,
        .object = wanted_object,
        .block = wanted_block,
        .object_weight = object_weight,
        .block_weight = block_weight,
    };
    rb_hs_holders_fork(&snapshot->child, &wanted);
}

/* What is counted, and not sampled: the memory of YJIT's code, which no object has. */
static void
add_counted(struct hs_profile *profile)
{
    for (size_t i = 0; i < profile->row_count; i++) {
        const struct hs_row *row = &profile->rows[i];
        if (row->malloced && !row->has_birth && row->inuse.samples) rb_hs_kept_add(profile, i, HS_TOP_CACHES, &row->inuse);
    }
}

static bool
join_kept(struct hs_snapshot *snapshot)
{
    struct hs_profile *profile = snapshot->profile;
    const struct hs_holders *holders = &profile->holders;
    if (!rb_hs_kept_begin(profile, snapshot->copied.record_count + snapshot->malloc_copy.block_count + 1)) return false;
    for (size_t i = 0; i < snapshot->copied.record_count; i++) {
        const struct copied_record *copy = &snapshot->copied.records[i];
        struct hs_estimate one = estimate_of(profile->rows[copy->row].slot_size, copy->interval);
        rb_hs_kept_add(profile, copy->row, holders->object_nodes[copy->number], &one);
    }
    for (uint32_t i = 0; i < snapshot->malloc_copy.block_count; i++) {
        const struct hs_malloc_block_copy *block = &snapshot->malloc_copy.blocks[i];
        struct hs_estimate one = estimate_of((double)block->size, block->interval);
        rb_hs_kept_add(profile, block->row, holders->block_nodes[block->number], &one);
    }
    add_counted(profile);
    return rb_hs_kept_end(profile);
}

/* Without room for the answer there is a profile all the same. */
static bool
add_kept(struct hs_snapshot *snapshot)
{
    struct hs_profile *profile = snapshot->profile;
    if (!(snapshot->flags & HS_WITH_HOLDERS)) return true;
    if (!profile->holders.refusal && !join_kept(snapshot)) {
        profile->holders.refusal = HS_REFUSED_NO_ANSWER_ROOM;
        profile->kept_count = 0;
    }
    if (profile->holders.refusal) rb_hs_holders_free(&profile->holders);
    return rb_hs_kept_describe(profile);
}

/* -- all of it ------------------------------------------------------------------------- */

static void
copy_all(struct hs_snapshot *snapshot)
{
    struct hs_profile *profile = snapshot->profile;
    int number = snapshot->session;
    const struct hs_session *session = &rb_hs_sampler.session[number];
    bool ok = false;
    rb_hs_lock();
    if (session->on) {
        snapshot->copied.moves = rb_hs_sampler.moves;
        snapshot->copied.ids_at_fork = rb_hs_sampler.ids_at_fork;
        ok = copy_records(&snapshot->copied, number) && copy_sites(&snapshot->copied, session);
        profile->nodes = copy_array(rb_hs_nodes, profile->node_count = rb_hs_node_count, sizeof(*rb_hs_nodes));
        profile->frames = copy_array(rb_hs_frames, profile->frame_count = rb_hs_frame_count, sizeof(*rb_hs_frames));
        profile->texts = copy_array(rb_hs_texts, profile->text_count = rb_hs_text_count, sizeof(*rb_hs_texts));
        describe(&profile->meta, session);
        rb_hs_malloc_describe(&profile->meta.malloc, number);
        if (profile->meta.malloc.state == HS_MALLOC_ON) ok = ok && rb_hs_malloc_copy(&snapshot->malloc_copy, number);
    }
    rb_hs_check_tables();
    snapshot->ok = ok && profile->nodes && profile->frames && profile->texts;
    if (snapshot->ok && snapshot->asked) fork_child(snapshot);
    rb_hs_unlock();
}

/* What is copied and what the child sees are of one moment. */
static void
copy_all_and_fork(struct hs_snapshot *snapshot)
{
    uint64_t begun = rb_hs_steady_ns();
    RB_VM_LOCK_ENTER();
    {
        rb_vm_barrier();
        copy_all(snapshot);
    }
    RB_VM_LOCK_LEAVE();
    snapshot->profile->holders.hold_up_ns = rb_hs_steady_ns() - begun;
}

struct hs_snapshot *
rb_hs_snapshot_begin(int session, unsigned flags, unsigned seconds)
{
    HS_CONTRACT(free);
    struct hs_snapshot *snapshot = rb_hs_calloc(HS_MEM_SNAPSHOTS, 1, sizeof(*snapshot));
    if (!snapshot) return NULL;
    snapshot->session = session;
    snapshot->flags = flags;
    snapshot->profile = rb_hs_calloc(HS_MEM_SNAPSHOTS, 1, sizeof(*snapshot->profile));
    if (!snapshot->profile) {
        rb_hs_free(HS_MEM_SNAPSHOTS, snapshot);
        return NULL;
    }
    make_room(&snapshot->copied);
    snapshot->asked = flags & HS_WITH_HOLDERS && rb_hs_holders_prepare(&snapshot->child, &snapshot->profile->holders, seconds);
    if (snapshot->asked) copy_all_and_fork(snapshot);
    else copy_all(snapshot);
    return snapshot;
}

static bool
make_rows(struct hs_snapshot *snapshot)
{
    struct hs_profile *profile = snapshot->profile;
    look_at_sharing(&snapshot->copied, &profile->meta.inherited);
    if (!add_rows(profile, &snapshot->copied)) return false;
    if (snapshot->flags & HS_WITH_SAMPLES && !list_samples(&profile->samples, &snapshot->copied, profile->meta.gc_count)) return false;
    if (!snapshot->asked) free_copied(&snapshot->copied);
    if (!snapshot->malloc_copy.blocks) return true;
    struct hs_yjit_memory yjit = rb_hs_yjit_memory(snapshot->session);
    return rb_hs_malloc_rows_add(&snapshot->malloc_copy, &yjit, profile);
}

static void
take_account(struct hs_snapshot *snapshot)
{
    struct hs_profile *profile = snapshot->profile;
    struct hs_account_excess excess;
    if (snapshot->session == HS_MAIN) rb_hs_malloc_look_at(&excess, profile);
    else rb_hs_malloc_look(&excess);
    rb_hs_census_take(&profile->meta.census, true);
    rb_hs_account_take(&profile->meta.account, &excess, &profile->meta.census, snapshot->flags & HS_MAY_HOLD_UP);
    rb_hs_who_read(&profile->meta.who);
}

/* The child works meanwhile. */
bool
rb_hs_snapshot_work(struct hs_snapshot *snapshot, const volatile bool *interrupted)
{
    if (!snapshot->worked) {
        snapshot->worked = true;
        snapshot->ok = snapshot->ok && make_rows(snapshot);
        if (snapshot->ok) take_account(snapshot);
    }
    return !snapshot->asked || rb_hs_holders_wait(&snapshot->child, interrupted);
}

void
rb_hs_snapshot_refuse(struct hs_snapshot *snapshot, enum hs_refusal refusal)
{
    snapshot->flags |= HS_WITH_HOLDERS;
    snapshot->profile->holders.refusal = refusal;
}

struct hs_profile *
rb_hs_snapshot_end(struct hs_snapshot *snapshot)
{
    struct hs_profile *profile = snapshot->profile;
    if (snapshot->asked) rb_hs_holders_end(&snapshot->child);
    bool ok = snapshot->worked && snapshot->ok && add_kept(snapshot);
    free_copied(&snapshot->copied);
    rb_hs_malloc_copy_free(&snapshot->malloc_copy);
    rb_hs_free(HS_MEM_SNAPSHOTS, snapshot);
    if (ok) return profile;
    rb_hs_snapshot_free(profile);
    return NULL;
}

struct hs_profile *
rb_hs_snapshot(int session, unsigned flags)
{
    static const volatile bool never;
    struct hs_snapshot *snapshot = rb_hs_snapshot_begin(session, flags, 0);
    if (!snapshot) return NULL;
    rb_hs_snapshot_work(snapshot, &never);
    return rb_hs_snapshot_end(snapshot);
}

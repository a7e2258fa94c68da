/* The slot side of a profile: copies of records as rows, and as samples one by one. */
#include "heap_sampler/mri.h"
#include "heap_sampler/profile/rows.h"
#include "heap_sampler/memory/smaps.h"
#include "heap_sampler/base/contract.h"
#include "heap_sampler/base/memory.h"

#include <string.h>

/* Samples of one site that were allocated in one GC cycle become one row. */
static int
compare_records(const void *left, const void *right)
{
    const struct hs_record *a = &((const struct hs_slot_copy *)left)->record;
    const struct hs_record *b = &((const struct hs_slot_copy *)right)->record;
    if (a->site != b->site) return a->site < b->site ? -1 : 1;
    if (a->allocation_gc != b->allocation_gc) return a->allocation_gc < b->allocation_gc ? -1 : 1;
    return 0;
}

/* The first record of a row, where records are sorted. */
static bool
first_of_row_p(const struct hs_slot_copies *copied, size_t i)
{
    return !i || compare_records(&copied->records[i - 1], &copied->records[i]) != 0;
}

struct hs_row *
rb_hs_row_new(struct hs_profile *profile, struct hs_row row)
{
    profile->rows[profile->row_count] = row;
    return &profile->rows[profile->row_count++];
}

void
rb_hs_totals_row_add(struct hs_profile *profile, struct hs_row row, const struct hs_totals *totals)
{
    if (!hs_totals_row_p(totals)) return;
    row.alloc = totals->alloc;
    row.freed = totals->freed;
    row.freed_gcs = totals->freed_gcs;
    rb_hs_row_new(profile, row);
}

static struct hs_row
row_of_site(const struct hs_slot_copies *copied, uint32_t labels, uint32_t site)
{
    return (struct hs_row){
        .node = copied->sites[site].node,
        .slot_size = copied->sites[site].where,
        .class_name = copied->names[site].class_text,
        .type = copied->names[site].type_text,
        .labels = labels + copied->sites[site].labels,
    };
}

static void
add_to_share(struct hs_share *share, double weight, double bytes)
{
    share->space += weight * bytes;
    share->variance += weight * (weight - 1) * bytes * bytes;
}

/* While records stand in the order of their pages: the kernel is asked once for each. */
static void
look_at_sharing(struct hs_slot_copies *copied, struct hs_inherited *inherited)
{
    struct hs_sharing sharing;
    rb_hs_sharing_begin(&sharing);
    for (size_t i = 0; i < copied->record_count && sharing.sum.known; i++) {
        struct hs_slot_copy *copy = &copied->records[i];
        copy->unshared = rb_hs_unshared_p(&sharing, copy->body, rb_heap_sampler_gc_slot_address(copy->body, copy->record.slot));
    }
    rb_hs_sharing_end(&sharing);
    *inherited = sharing.sum;
}

/* What else is known of a live object. */
static void
add_where_it_lies(struct hs_row *row, const struct hs_slot_copies *copied, const struct hs_slot_copy *copy, double weight)
{
    const struct hs_record *record = &copy->record;
    add_to_share(&row->holds_free, weight, copy->free_share);
    if (record->pinned) row->holds_free_pinned += weight * copy->free_share;
    if (!copy->unshared) return;
    add_to_share(&row->unshared, weight, row->slot_size);
    if (record->id > copied->ids_at_fork) row->unshared_allocated += weight * row->slot_size;
}

size_t
rb_hs_slot_rows_sort(struct hs_slot_copies *copied, struct hs_profile *profile)
{
    size_t count = 0;
    look_at_sharing(copied, &profile->meta.inherited);
    rb_hs_sort(copied->records, copied->record_count, sizeof(*copied->records), compare_records);
    for (size_t i = 0; i < copied->record_count; i++) count += first_of_row_p(copied, i);
    for (uint32_t site = 0; site < copied->totals_count; site++) count += hs_totals_row_p(&copied->totals[site]);
    return count;
}

void
rb_hs_slot_rows_add(struct hs_slot_copies *copied, uint32_t labels, struct hs_profile *profile)
{
    struct hs_row *row = NULL;
    for (size_t i = 0; i < copied->record_count; i++) {
        struct hs_slot_copy *copy = &copied->records[i];
        const struct hs_record *record = &copy->record;
        if (first_of_row_p(copied, i)) {
            row = rb_hs_row_new(profile, row_of_site(copied, labels, record->site));
            row->has_allocation_gc = true;
            row->allocation_gc = record->allocation_gc;
            row->thread = record->thread;
        }
        if (row->thread != record->thread) row->thread = 0;
        copy->row = (uint32_t)(profile->row_count - 1);
        struct hs_estimate one = rb_hs_estimate_one(row->slot_size, copy->interval);
        rb_hs_estimate_add(record->young ? &row->young : &row->inuse, &one);
        if (record->young) continue;
        row->resident += one.space;
        add_where_it_lies(row, copied, copy, one.objects);
    }
    for (uint32_t site = 0; site < copied->totals_count; site++) {
        rb_hs_totals_row_add(profile, row_of_site(copied, labels, site), &copied->totals[site]);
    }
}

bool
rb_hs_live_samples_list(const struct hs_slot_copies *copied, struct hs_profile *profile)
{
    struct hs_live_samples *samples = &profile->samples;
    samples->list = rb_hs_malloc(HS_MEM_SNAPSHOTS, copied->record_count * sizeof(*samples->list) + 1);
    if (!samples->list) return false;
    for (size_t i = 0; i < copied->record_count; i++) {
        const struct hs_slot_copy *copy = &copied->records[i];
        samples->list[samples->count++] = (struct hs_live_sample){
            .id = copy->record.id,
            .young = copy->record.young,
            .thread = copy->record.thread,
            .weight = rb_hs_estimate_one(profile->rows[copy->row].slot_size, copy->interval).objects,
            .row = copy->row,
        };
    }
    return true;
}

_Static_assert(sizeof(struct hs_slot_copy) + sizeof(struct hs_row) + sizeof(struct hs_live_sample) <= HS_SNAPSHOT_RECORD,
               "store/page_table.c reckons with it");
_Static_assert(sizeof(struct hs_site) + sizeof(uint64_t) + sizeof(struct hs_totals) + sizeof(struct hs_row) <= HS_SNAPSHOT_SITE,
               "store/page_table.c reckons with it");

void
rb_hs_slot_copies_free(struct hs_slot_copies *copied)
{
    rb_hs_free(HS_MEM_SNAPSHOTS, copied->records);
    rb_hs_free(HS_MEM_SNAPSHOTS, copied->sites);
    rb_hs_free(HS_MEM_SNAPSHOTS, copied->names);
    rb_hs_free(HS_MEM_SNAPSHOTS, copied->totals);
    *copied = (struct hs_slot_copies){0};
}

void *
rb_hs_copy_array(const void *from, size_t count, size_t size)
{
    void *to = rb_hs_malloc(HS_MEM_SNAPSHOTS, count * size + 1);
    if (to && count) memcpy(to, from, count * size);
    return to;
}

/* Its pages are touched here, since page faults take longer than copying: no lock. */
void
rb_hs_slot_copies_make_room(struct hs_slot_copies *copied)
{
    rb_hs_lock();
    size_t records = rb_hs_pages.records;
    rb_hs_unlock();
    copied->record_capacity = records + records / 16 + 256;
    copied->records = rb_hs_calloc(HS_MEM_SNAPSHOTS, copied->record_capacity, sizeof(*copied->records));
}

static bool
copy_records(struct hs_slot_copies *copied, int session)
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
            copied->records[copied->record_count] = (struct hs_slot_copy){
                *record,
                page->body,
                rb_hs_slot_store.epochs.list[record->epoch].interval[session],
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
copy_sites(struct hs_slot_copies *copied, const struct hs_session *session)
{
    copied->sites = rb_hs_copy_array(rb_hs_slot_store.sites, rb_hs_slot_store.site_count, sizeof(*copied->sites));
    copied->names = rb_hs_malloc(HS_MEM_SNAPSHOTS, rb_hs_slot_store.site_count * sizeof(*copied->names) + 1);
    uint32_t totals = session->totals_count < rb_hs_slot_store.site_count ? session->totals_count : rb_hs_slot_store.site_count;
    copied->totals_count = totals;
    copied->totals = rb_hs_copy_array(session->totals, totals, sizeof(*copied->totals));
    if (!copied->sites || !copied->names || !copied->totals) return false;
    for (uint32_t i = 0; i < rb_hs_slot_store.site_count; i++) {
        uint32_t class_id = rb_hs_slot_store.sites[i].what;
        copied->names[i].class_text = rb_hs_class_text(class_id);
        copied->names[i].type_text = rb_hs_class_type_text(class_id);
    }
    return true;
}

bool
rb_hs_slot_copies_take(struct hs_slot_copies *copied, int session)
{
    copied->ids_at_fork = rb_hs_process()->ids_at_fork;
    return copy_records(copied, session) && copy_sites(copied, rb_hs_session(session));
}

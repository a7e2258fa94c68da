/* See profile/slot_copies.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/profile/slot_copies.h"
#include "heap_sampler/base/locks.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/profile/profile.h"
#include "heap_sampler/sites/sampler.h"
#include "heap_sampler/slots/intervals.h"
#include "heap_sampler/slots/page_table.h"
#include "heap_sampler/stacks/class_table.h"

#include <string.h>

_Static_assert(sizeof(struct hs_slot_copy) + sizeof(struct hs_row) + sizeof(struct hs_live_sample) <= HS_SNAPSHOT_RECORD,
               "slots/intervals.c reckons with it");
_Static_assert(sizeof(struct hs_site) + sizeof(uint64_t) + sizeof(struct hs_totals) + sizeof(struct hs_row) <= HS_SNAPSHOT_SITE,
               "slots/intervals.c reckons with it");

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
copy_sites(struct hs_slot_copies *copied, const struct hs_session *session)
{
    copied->site_count = rb_hs_sampler.site_count;
    copied->sites = rb_hs_copy_array(rb_hs_sampler.sites, rb_hs_sampler.site_count, sizeof(*copied->sites));
    copied->names = rb_hs_malloc(HS_MEM_SNAPSHOTS, rb_hs_sampler.site_count * sizeof(*copied->names) + 1);
    uint32_t totals = session->totals_count < rb_hs_sampler.site_count ? session->totals_count : rb_hs_sampler.site_count;
    copied->totals_count = totals;
    copied->totals = rb_hs_copy_array(session->totals, totals, sizeof(*copied->totals));
    if (!copied->sites || !copied->names || !copied->totals) return false;
    for (uint32_t i = 0; i < rb_hs_sampler.site_count; i++) {
        uint32_t class_id = rb_hs_sampler.sites[i].class_id;
        copied->names[i].class_text = rb_hs_class_text(class_id);
        copied->names[i].type_text = rb_hs_class_type_text(class_id);
    }
    return true;
}

bool
rb_hs_slot_copies_take(struct hs_slot_copies *copied, int session)
{
    copied->moves = rb_hs_sampler.moves;
    copied->ids_at_fork = rb_hs_sampler.ids_at_fork;
    return copy_records(copied, session) && copy_sites(copied, &rb_hs_sampler.session[session]);
}

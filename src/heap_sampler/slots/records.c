/* See slots/records.h. */
#include "heap_sampler/slots/records.h"
#include "heap_sampler/base/must.h"
#include "heap_sampler/estimate/draw.h"
#include "heap_sampler/estimate/epochs.h"
#include "heap_sampler/sites/folding.h"
#include "heap_sampler/sites/sampler.h"
#include "heap_sampler/slots/page_table.h"

struct hs_estimate
rb_hs_estimate_of(const struct hs_record *record, int session)
{
    return rb_hs_estimate_one(rb_hs_sampler.sites[record->site].slot_size, rb_hs_sampler.epochs.list[record->epoch].interval[session]);
}

void
rb_hs_count_off(hs_session_set sessions)
{
    for (int s = 0; s < HS_SESSIONS; s++) {
        if (sessions & (1u << s)) rb_hs_sampler.session[s].samples--;
    }
}

void
rb_hs_drop_record(struct rb_heap_sampler_page *page, uint32_t position)
{
    HS_CONTRACT(write);
    const struct hs_record *record = &page->records[position];
    rb_hs_sampler.epochs.list[record->epoch].records--;
    rb_hs_count_off(record->sessions);
    rb_hs_page_drop(page, position);
}

void
rb_hs_filter_records(bool (*visit)(struct hs_record *record, const struct rb_heap_sampler_page *page, void *data),
                     void *data)
{
    HS_CONTRACT(write);
    for (uint32_t p = rb_hs_pages.count; p-- > 0;) {
        struct rb_heap_sampler_page *page = rb_hs_pages.list[p];
        for (uint32_t i = page->count; i-- > 0;) {
            if (!visit(&page->records[i], page, data)) rb_hs_drop_record(page, i);
        }
        rb_hs_page_release(page);
    }
}

/* -- folding ------------------------------------------------------------------ */

static void
see_sites(bool *alive)
{
    for (uint32_t p = 0; p < rb_hs_pages.count; p++) {
        const struct rb_heap_sampler_page *page = rb_hs_pages.list[p];
        for (uint32_t i = 0; i < page->count; i++) alive[page->records[i].site] = true;
    }
}

static void
renumber_sites(const uint32_t *new_site)
{
    for (uint32_t p = 0; p < rb_hs_pages.count; p++) {
        struct rb_heap_sampler_page *page = rb_hs_pages.list[p];
        for (uint32_t i = 0; i < page->count; i++) page->records[i].site = new_site[page->records[i].site];
    }
}

static const struct hs_user_of_sites user_of_sites = {see_sites, renumber_sites};

__attribute__((constructor)) static void
follow_folding(void)
{
    rb_hs_folding_used_by_sites(&user_of_sites);
}

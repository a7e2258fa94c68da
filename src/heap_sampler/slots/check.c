/*
 * See slots/check.h.
 *
 * Records are compared with the heap by what the GC itself says of a slot, and
 * the other way round: the GC tells which pages hold tables.
 *
 * A check reads heap slots, so it does not hold the sampler's lock: who holds
 * the VM lock, with no other Ractor allocating, is the only writer.
 */
#include "heap_sampler/mri.h"
#include "heap_sampler/slots/check.h"
#include "heap_sampler/base/must.h"
#include "heap_sampler/estimate/epochs.h"
#include "heap_sampler/malloc/table.h"
#include "heap_sampler/sites/sampler.h"
#include "heap_sampler/slots/page_table.h"
#include "heap_sampler/stacks/class_table.h"
#include "heap_sampler/stacks/stack_table.h"

#if HS_CHECKING

#include <stdarg.h>
#include <stdlib.h>

/* -- records, epochs, sites, sessions ----------------------------------------- */

/* How many records refer to each. An array that there is no memory for is not
 * compared with; not from base/memory.c, whose failures and sums tests arrange. */
struct tally {
    uint64_t records, session[HS_SESSIONS];
    uint64_t *epoch;
    uint64_t *site[HS_SESSIONS];
};

static void
check_record(const struct hs_record *record)
{
    const struct hs_sampler *sampler = &rb_hs_sampler;
    unsigned long long id = record->id;
    unsigned long long last = __atomic_load_n(&sampler->next_id, __ATOMIC_RELAXED);
    HS_MUST(id && id <= last, "record %llu, but ids end at %llu", id, last);
    HS_MUST(record->sessions, "record %llu is of no session", id);
    HS_MUST(record->epoch < sampler->epochs.count, "record %llu: epoch %u of %u", id, record->epoch, sampler->epochs.count);
    HS_MUST(record->site < sampler->site_count, "record %llu: site %u of %u", id, record->site, sampler->site_count);
    for (int s = 0; s < HS_SESSIONS; s++) {
        if (!(record->sessions & (1u << s))) continue;
        HS_MUST(sampler->session[s].on, "record %llu: session %d is over", id, s);
        uint64_t interval = sampler->epochs.list[record->epoch].interval[s];
        HS_MUST(interval, "record %llu: epoch %u has no interval of session %d", id, record->epoch, s);
        HS_MUST((double)interval <= record->longest, "record %llu is kept at %llu by session %d, and a sample up to %g", id,
                (unsigned long long)interval, s, (double)record->longest);
    }
}

static void
count_records(struct tally *tally)
{
    for (uint32_t p = 0; p < rb_hs_pages.count; p++) {
        const struct rb_heap_sampler_page *page = rb_hs_pages.list[p];
        for (uint32_t i = 0; i < page->count; i++) {
            const struct hs_record *record = &page->records[i];
            check_record(record);
            tally->records++;
            if (tally->epoch) tally->epoch[record->epoch]++;
            for (int s = 0; s < HS_SESSIONS; s++) {
                if (!(record->sessions & (1u << s))) continue;
                tally->session[s]++;
                if (tally->site[s]) tally->site[s][record->site]++;
            }
        }
    }
}

static void
check_epochs(const struct tally *tally)
{
    for (uint32_t e = 0; tally->epoch && e < rb_hs_sampler.epochs.count; e++) {
        uint64_t records = rb_hs_sampler.epochs.list[e].records;
        HS_MUST(tally->epoch[e] == records, "epoch %u: %llu records, counted %llu", e, (unsigned long long)tally->epoch[e],
                (unsigned long long)records);
    }
}

static void
check_sites(void)
{
    for (uint32_t i = 0; i < rb_hs_sampler.site_count; i++) {
        const struct hs_site *site = &rb_hs_sampler.sites[i];
        HS_MUST(site->node == HS_NODE_EMPTY || site->node < rb_hs_node_count, "site %u: node %u of %u", i, site->node,
                rb_hs_node_count);
        HS_MUST(site->slot_size, "site %u has no slot size", i);
        HS_MUST(rb_hs_class_used_p(site->class_id), "site %u: class %u is free", i, site->class_id);
    }
}

/* A record may go without having died, never come without having been born;
 * but births that there was no memory to count are missing. */
static void
check_totals(const struct hs_session *session, int s, const uint64_t *living)
{
    bool complete = living && !rb_hs_sampler.dropped_samples;
    for (uint32_t i = 0; i < session->totals_count; i++) {
        const struct hs_totals *totals = &session->totals[i];
        uint64_t left = i < rb_hs_sampler.site_count && living ? living[i] : 0;
        HS_MUST(i < rb_hs_sampler.site_count || !totals->alloc.samples, "session %d: births at site %u of %u", s, i,
                rb_hs_sampler.site_count);
        HS_MUST(!complete || totals->alloc.samples >= totals->dead.samples + left,
                "session %d, site %u: %llu births, %llu deaths, %llu live", s, i, (unsigned long long)totals->alloc.samples,
                (unsigned long long)totals->dead.samples, (unsigned long long)left);
    }
}

static void
check_sessions(const struct tally *tally)
{
    bool any = false;
    for (int s = 0; s < HS_SESSIONS; s++) {
        const struct hs_session *session = &rb_hs_sampler.session[s];
        any |= session->on;
        HS_MUST(tally->session[s] == session->samples, "session %d: %llu records, counted %llu", s,
                (unsigned long long)tally->session[s], (unsigned long long)session->samples);
        HS_MUST(session->on || !session->totals, "session %d is over and has totals", s);
        HS_MUST(session->totals_count <= session->totals_capacity, "session %d: %u totals in %u places", s,
                session->totals_count, session->totals_capacity);
        if (session->on) check_totals(session, s, tally->site[s]);
    }
    HS_MUST(rb_heap_sampler_drawing == any, "drawing is %d, sessions are %d", rb_heap_sampler_drawing, any);
}

void
rb_hs_check_tables(void)
{
    struct tally tally = {.epoch = calloc(rb_hs_sampler.epochs.count + 1, sizeof(*tally.epoch))};
    for (int s = 0; s < HS_SESSIONS; s++) {
        if (rb_hs_sampler.session[s].on) tally.site[s] = calloc(rb_hs_sampler.site_count + 1, sizeof(*tally.site[s]));
    }
    rb_hs_pages_check();
    count_records(&tally);
    HS_MUST(tally.records == rb_hs_pages.records, "%llu records, counted %llu", (unsigned long long)tally.records,
            (unsigned long long)rb_hs_pages.records);
    check_epochs(&tally);
    check_sites();
    check_sessions(&tally);
    rb_hs_stacks_check();
    rb_hs_classes_check();
    rb_hs_malloc_check();
    free(tally.epoch);
    for (int s = 0; s < HS_SESSIONS; s++) free(tally.site[s]);
}

/* -- records and the heap ------------------------------------------------------- */

/* A slot that ASan holds to be free tells no type. */
static enum ruby_value_type
type_in_slot(VALUE object)
{
    if (rb_asan_poisoned_object_p(object)) return T_NONE;
    return RB_BUILTIN_TYPE(object);
}

bool
rb_hs_check_in_use(uintptr_t address)
{
    if (!rb_gc_pointer_to_heap_p((VALUE)address)) return false;
    switch (type_in_slot((VALUE)address)) {
    case T_NONE:
    case T_MOVED:
    case T_ZOMBIE: return false;
    default: return true;
    }
}

static bool
marked(uintptr_t address)
{
    return rb_hs_check_in_use(address) && rb_heap_sampler_gc_liveness((VALUE)address);
}

static void
check_slot(const struct rb_heap_sampler_page *page, const struct hs_record *record, enum hs_check_moment moment)
{
    VALUE object = rb_heap_sampler_gc_slot_address(page->body, record->slot);
    unsigned long long id = record->id;
    unsigned int slot;
    HS_MUST(rb_heap_sampler_gc_table_of(object, &slot) == page, "record %llu: slot %u is not of its page %p", id,
            record->slot, (void *)page->body);
    HS_MUST(slot == record->slot, "record %llu: slot %u has mark bit %u", id, record->slot, slot);
    HS_MUST(rb_hs_check_in_use(object), "record %llu: slot %p is not in use (type %d)", id, (void *)object, type_in_slot(object));
    HS_MUST(rb_hs_class_has_type(rb_hs_sampler.sites[record->site].class_id, RBASIC(object)->flags),
            "record %llu: slot %p is now of type %d", id, (void *)object, type_in_slot(object));
    HS_MUST(moment != HS_CHECK_MARKED || hs_page_marked_p(page, record->slot), "record %llu: slot %p is not marked", id,
            (void *)object);
}

/* Each page that the GC knows to have a table. */
static void
check_owner_i(struct rb_heap_sampler_page **owner, uintptr_t body, void *data)
{
    const struct rb_heap_sampler_page *page = *owner;
    ++*(uint32_t *)data;
    HS_MUST(page->owner == owner && page->body == body, "the table of page %p is that of %p", (void *)body,
            (void *)page->body);
    HS_MUST(page->list_index < rb_hs_pages.count && rb_hs_pages.list[page->list_index] == page,
            "the table of page %p is in no list", (void *)body);
}

void
rb_hs_check(enum hs_check_moment moment)
{
    uint32_t owners = 0;
    rb_hs_check_tables();
    rb_heap_sampler_gc_each_table(check_owner_i, &owners);
    HS_MUST(owners == rb_hs_pages.count, "%u pages have tables, %u are listed", owners, rb_hs_pages.count);
    for (uint32_t p = 0; p < rb_hs_pages.count; p++) {
        const struct rb_heap_sampler_page *page = rb_hs_pages.list[p];
        for (uint32_t i = 0; i < page->count; i++) check_slot(page, &page->records[i], moment);
    }
    rb_hs_codes_check_living(moment == HS_CHECK_MARKED ? marked : rb_hs_check_in_use);
    rb_hs_classes_check_living(moment == HS_CHECK_MARKED ? marked : rb_hs_check_in_use);
}

void
rb_hs_check_now(void)
{
    RB_VM_LOCK_ENTER();
    {
        rb_vm_barrier();
        rb_hs_check(HS_CHECK_ANY);
    }
    RB_VM_LOCK_LEAVE();
}
#endif

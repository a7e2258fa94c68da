/*
 * See store/check.h.
 *
 * Records are compared with what the GC has about their slots, and the GC's list
 * of pages with tables is compared with ours.
 *
 * A check reads heap slots, so it does not hold the sampler's lock: the
 * thread that holds the VM lock, while no other Ractor allocates, is the only
 * writer.
 */
#include "heap_sampler/mri.h"
#include "heap_sampler/store/check.h"
#include "heap_sampler/base/contract.h"
#include "heap_sampler/store/epochs.h"
#include "heap_sampler/store/malloc_table.h"
#include "heap_sampler/store/page_table.h"
#include "heap_sampler/store/store.h"
#include "heap_sampler/store/stack_table.h"

#if HS_CHECKING

#include <stdlib.h>

/* -- records, epochs, sites, sessions ----------------------------------------- */

typedef unsigned long long number;      /* as it is printed */

/* How many records refer to each. An array that there is no memory for is not
 * compared with; not from base/memory.c, whose failures and sums tests arrange. */
struct tally {
    const struct hs_store *store;
    const char *name;
    uint64_t session[HS_SESSIONS];
    uint64_t *epoch;
    uint64_t *site[HS_SESSIONS];
};

static bool
check_references(struct hs_record *record, const struct rb_heap_sampler_page *page, void *data)
{
    struct tally *tally = data;
    const struct hs_store *store = tally->store;
    number id = record->id, last = __atomic_load_n(&store->next_id, __ATOMIC_RELAXED);
    HS_ASSERT(id && id <= last, "%s %llu, but ids end at %llu", tally->name, id, last);
    HS_ASSERT(record->epoch < store->epochs.count, "%s %llu: epoch %u of %u", tally->name, id, record->epoch, store->epochs.count);
    HS_ASSERT(record->site < store->site_count, "%s %llu: site %u of %u", tally->name, id, record->site, store->site_count);
    if (tally->epoch) tally->epoch[record->epoch]++;
    return true;
}

static bool
check_record(struct hs_record *record, const struct rb_heap_sampler_page *page, void *data)
{
    struct tally *tally = data;
    number id = record->id;
    check_references(record, page, tally);
    HS_ASSERT(record->sessions, "%s %llu is of no session", tally->name, id);
    for (int s = 0; s < HS_SESSIONS; s++) {
        if (!(record->sessions & (1u << s))) continue;
        number interval = tally->store->epochs.list[record->epoch].interval[s];
        HS_ASSERT(tally->store->session[s].on, "%s %llu: session %d is over", tally->name, id, s);
        HS_ASSERT(interval, "%s %llu: epoch %u has no interval of session %d", tally->name, id, record->epoch, s);
        HS_ASSERT((double)interval <= record->longest, "%s %llu is kept at %llu by session %d, and a sample up to %g", tally->name, id,
                  interval, s, (double)record->longest);
        tally->session[s]++;
        if (tally->site[s]) tally->site[s][record->site]++;
    }
    return true;
}

static void
check_epochs(const struct tally *tally)
{
    for (uint32_t e = 0; tally->epoch && e < tally->store->epochs.count; e++) {
        number records = tally->store->epochs.list[e].records, found = tally->epoch[e];
        HS_ASSERT(found == records, "epoch %u: %llu %ss, counted %llu", e, found, tally->name, records);
    }
}

static void
check_sites(const struct hs_store *store)
{
    for (uint32_t i = 0; i < store->site_count; i++) {
        const struct hs_site *site = &store->sites[i];
        bool known = site->node == HS_NODE_EMPTY || site->node < rb_hs_node_count || (store->malloc && site->node >= HS_NODE_RAW);
        HS_ASSERT(known, "site %u: node %u of %u", i, site->node, rb_hs_node_count);
        HS_ASSERT(store->malloc || site->where, "site %u has no slot size", i);
        HS_ASSERT(store->malloc || rb_hs_class_used_p(site->what), "site %u: class %u is free", i, site->what);
    }
}

/* A record may go without a counted free, but never come without a counted
 * allocation; allocations that there was no memory to count are missing. */
static void
check_totals(const struct hs_store *store, int s, const uint64_t *living)
{
    const struct hs_session *session = &store->session[s];
    bool complete = s < HS_PROFILES && living && !store->dropped;
    for (uint32_t i = 0; i < session->totals_count; i++) {
        number allocated = session->totals[i].alloc.samples, freed = session->totals[i].freed.samples;
        number left = i < store->site_count && living ? living[i] : 0;
        HS_ASSERT(i < store->site_count || !allocated, "session %d: allocations at site %u of %u", s, i, store->site_count);
        HS_ASSERT(!complete || allocated >= freed + left, "session %d, site %u: %llu allocations, %llu frees, %llu live", s, i, allocated, freed, left);
    }
}

static void
check_session(const struct tally *tally, int s)
{
    const struct hs_session *session = &tally->store->session[s];
    number found = tally->session[s], samples = session->samples;
    HS_ASSERT(found == samples, "session %d: %llu %ss, counted %llu", s, found, tally->name, samples);
    HS_ASSERT(session->on || !session->totals, "session %d is over and has totals", s);
    HS_ASSERT(session->totals_count <= session->totals_capacity, "session %d: %u totals in %u places", s, session->totals_count,
              session->totals_capacity);
    if (session->on) check_totals(tally->store, s, tally->site[s]);
}

static void
check_store(const struct hs_store *store, const char *name)
{
    struct tally tally = {.store = store, .name = name, .epoch = calloc(store->epochs.count + 1, sizeof(*tally.epoch))};
    for (int s = 0; s < HS_SESSIONS; s++) {
        if (store->session[s].on) tally.site[s] = calloc(store->site_count + 1, sizeof(*tally.site[s]));
    }
    store->each(check_record, &tally);
    if (store->each_waiting) store->each_waiting(check_references, &tally);
    check_epochs(&tally);
    check_sites(store);
    for (int s = 0; s < HS_SESSIONS; s++) check_session(&tally, s);
    free(tally.epoch);
    for (int s = 0; s < HS_SESSIONS; s++) free(tally.site[s]);
}

void
rb_hs_check_tables(void)
{
    bool any = false;
    for (int s = 0; s < HS_SESSIONS; s++) any |= rb_hs_slot_store.session[s].on;
    HS_ASSERT(rb_heap_sampler_drawing == any, "drawing is %d, sessions are %d", rb_heap_sampler_drawing, any);
    rb_hs_pages_check();
    check_store(&rb_hs_slot_store, "record");
    rb_hs_stacks_check();
    rb_hs_classes_check();
    rb_hs_malloc_lock();
    rb_hs_malloc_check();
    check_store(&rb_hs_malloc_store, "block");
    rb_hs_malloc_unlock();
}

/* -- records and the heap ------------------------------------------------------- */

/* A slot that ASan takes to be free has no type. */
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
    enum ruby_value_type type = type_in_slot((VALUE)address);
    return type != T_NONE && type != T_MOVED && type != T_ZOMBIE;
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
    number id = record->id;
    unsigned int slot;
    HS_ASSERT(rb_heap_sampler_gc_table_of(object, &slot) == page, "record %llu: slot %u is not of its page %p", id,
              record->slot, (void *)page->body);
    HS_ASSERT(slot == record->slot, "record %llu: slot %u has mark bit %u", id, record->slot, slot);
    HS_ASSERT(rb_hs_check_in_use(object), "record %llu: slot %p is not in use (type %d)", id, (void *)object, type_in_slot(object));
    HS_ASSERT(rb_hs_class_has_type(rb_hs_slot_store.sites[record->site].what, RBASIC(object)->flags),
              "record %llu: slot %p is now of type %d", id, (void *)object, type_in_slot(object));
    HS_ASSERT(moment != HS_CHECK_MARKED || hs_page_marked_p(page, record->slot), "record %llu: slot %p is not marked", id,
              (void *)object);
}

/* Each page that the GC knows to have a table. */
static void
check_owner_i(struct rb_heap_sampler_page **owner, uintptr_t body, void *data)
{
    const struct rb_heap_sampler_page *page = *owner;
    ++*(uint32_t *)data;
    HS_ASSERT(page->owner == owner && page->body == body, "the table of page %p belongs to %p", (void *)body,
              (void *)page->body);
    HS_ASSERT(page->list_index < rb_hs_pages.count && rb_hs_pages.list[page->list_index] == page,
              "the table of page %p is in no list", (void *)body);
}

void
rb_hs_check(enum hs_check_moment moment)
{
    uint32_t owners = 0;
    rb_hs_check_tables();
    rb_heap_sampler_gc_each_table(check_owner_i, &owners);
    HS_ASSERT(owners == rb_hs_pages.count, "%u pages have tables, %u are listed", owners, rb_hs_pages.count);
    for (uint32_t p = 0; p < rb_hs_pages.count; p++) {
        const struct rb_heap_sampler_page *page = rb_hs_pages.list[p];
        for (uint32_t i = 0; i < page->count; i++) check_slot(page, &page->records[i], moment);
    }
    bool (*alive)(uintptr_t address) = moment == HS_CHECK_MARKED ? marked : rb_hs_check_in_use;
    rb_hs_codes_check_living(alive);
    rb_hs_classes_check_living(alive);
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

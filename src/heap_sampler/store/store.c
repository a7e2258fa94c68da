/* See store/store.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/store/store.h"
#include "heap_sampler/base/contract.h"
#include "heap_sampler/store/label_sets.h"
#include "heap_sampler/store/probes.h"
#include "heap_sampler/store/stack_table.h"
#include "internal/heap_sampler.h"

bool rb_heap_sampler_drawing;

#define OWNED(store) HS_ASSERT((store)->owned(), "%s: called without the lock of the store", __func__)

void
rb_hs_totals_add(struct hs_totals *sum, const struct hs_totals *more)
{
    rb_hs_estimate_add(&sum->alloc, &more->alloc);
    rb_hs_estimate_add(&sum->freed, &more->freed);
    sum->freed_gcs += more->freed_gcs;
}

/* -- intervals ------------------------------------------------------------------- */

/* The intervals that the sessions ask for now. Free lists that were cut before remember the interval that they were drawn
 * at. false: no memory. */
static bool
enter_epoch(struct hs_store *store)
{
    uint64_t interval[HS_SESSIONS] = {0}, smallest = 0;
    store->on = 0;
    for (int s = 0; s < HS_SESSIONS; s++) {
        const struct hs_session *session = &store->session[s];
        if (!session->on) continue;
        store->on |= (hs_session_set)(1u << s);
        interval[s] = session->interval;
        if (!smallest || session->interval < smallest) smallest = session->interval;
    }
    bool ok = rb_hs_epoch_enter(&store->epochs, interval);
    if (ok || !smallest) {
        store->interval = smallest;
        if (!store->malloc) rb_heap_sampler_drawing = smallest != 0;
    }
    return ok;
}

bool
rb_hs_store_retune(struct hs_store *store, int s, uint64_t interval)
{
    OWNED(store);
    struct hs_session *session = &store->session[s];
    uint64_t was = session->interval;
    session->interval = interval;
    if (!enter_epoch(store)) {
        session->interval = was;
        return false;
    }
    session->interval_changes++;
    return true;
}

/* -- the cap ---------------------------------------------------------------------- */

struct thinning {
    struct hs_store *store;
    hs_session_set changed;     /* the sessions whose samples change */
};

/* Keeps a record at the current intervals, or at longer ones that it has already; false: it is dropped. */
static bool
thin(struct hs_record *record, const struct rb_heap_sampler_page *page, void *data)
{
    struct thinning *thinning = data;
    struct hs_store *store = thinning->store;
    hs_session_set sessions = record->sessions;
    uint32_t epoch = record->epoch;
    bool kept = rb_hs_lengthen(&store->epochs, record->longest, &record->sessions, &record->epoch);
    hs_session_set touched = kept ? rb_hs_epochs_differ(&store->epochs, epoch, record->epoch, sessions) : sessions;
    hs_session_set gone = kept ? sessions & (hs_session_set)~record->sessions : sessions;
    thinning->changed |= touched;
    rb_hs_store_gone(store, record, HS_CHANGE_FORGOTTEN, gone);
    if (touched & ~gone & 1u << HS_MAIN) rb_hs_store_weighed(store, record);
    for (int s = 0; kept && s < HS_SESSIONS; s++) store->session[s].samples -= gone >> s & 1;
    return kept;
}

/* The session that holds the most, of those whose interval can be longer; -1: there is none. */
static int
largest_session(const struct hs_store *store)
{
    int largest = -1;
    for (int s = 0; s < HS_SESSIONS; s++) {
        const struct hs_session *session = &store->session[s];
        if (!session->on || session->interval > HS_INTERVAL_MAX / 2) continue;
        if (largest < 0 || session->samples > store->session[largest].samples) largest = s;
    }
    return largest;
}

/* The session with the most samples takes fewer: a dense block must not make the long session next to it coarse. One
 * doubling leaves it a little over half, since p(2T)/p(T) does; more are needed where p is near 1, or where other sessions
 * have the same samples. Sums stay unbiased, however few samples are left: at each step these count for the others. */
void
rb_hs_store_widen(struct hs_store *store)
{
    OWNED(store);
    bool full = store->full;
    store->full = false;
    if (full) store->sites_left = store->nodes_left = 0;        /* folding once more finds what is thinned here */
    if (!full && !store->crowded(4)) return;
    do {
        int largest = largest_session(store);
        if (largest < 0 || !rb_hs_store_retune(store, largest, store->session[largest].interval * 2)) return;
        struct thinning thinning = {store, 0};
        store->each(thin, &thinning);
        for (int s = 0; s < HS_SESSIONS; s++) store->session[s].thinnings += thinning.changed >> s & 1;
        rb_hs_changes_add(&store->changes, HS_CHANGE_INTERVAL, (hs_session_set)(1u << largest), 0, store->session[largest].interval);
    } while (store->crowded(3));
}

/* -- sessions ------------------------------------------------------------------- */

bool
rb_hs_store_begin(struct hs_store *store, int s, uint64_t interval, uint32_t thread)
{
    OWNED(store);
    struct hs_session *session = &store->session[s];
    *session = (struct hs_session){.on = true, .interval = interval, .first_interval = interval, .thread = thread};
    session->on = enter_epoch(store);
    if (!session->on) store->on ^= (hs_session_set)(1u << s);
    return session->on;
}

struct leaving {
    struct hs_store *store;
    int session;
};

static bool
leave(struct hs_record *record, const struct rb_heap_sampler_page *page, void *data)
{
    const struct leaving *leaving = data;
    unsigned bit = 1u << leaving->session;
    if (record->sessions == bit) return false;
    if (record->sessions & bit) leaving->store->session[leaving->session].samples--;
    record->sessions &= (hs_session_set)~bit;
    return true;
}

void
rb_hs_store_end(struct hs_store *store, int s)
{
    OWNED(store);
    struct hs_session *session = &store->session[s];
    if (!session->on) return;
    struct leaving leaving = {store, s};
    store->each(leave, &leaving);
    rb_hs_free(store->by_key.use, session->totals);
    *session = (struct hs_session){.on = false};
    enter_epoch(store);         /* without memory the others go on in the old one, where their intervals are the same */
}

/* -- records -------------------------------------------------------------------- */

void
rb_hs_store_gone(struct hs_store *store, const struct hs_record *record, enum hs_change_kind kind, hs_session_set sessions)
{
    uint64_t id = hs_sample_id(record->id, store->malloc);
    rb_hs_changes_add(&store->changes, kind, sessions, id, 0);
    if (hs_free_traced_p() && sessions & 1u << HS_MAIN) rb_hs_probe_free(id);
}

void
rb_hs_store_weighed(struct hs_store *store, const struct hs_record *record)
{
    if (!hs_alloc_traced_p()) return;
    uint64_t interval = store->epochs.list[record->epoch].interval[HS_MAIN];
    rb_hs_probe_alloc(hs_sample_id(record->id, store->malloc), store->size_of(record), interval);
}

bool
rb_hs_store_sample(struct hs_store *store, struct hs_record *record, uint64_t size, uint64_t drawn_at, hs_session_set of)
{
    hs_session_set sessions = of & store->on;
    for (int s = 0; sessions >> s; s++) {
        uint32_t thread = sessions >> s & 1 ? store->session[s].thread : 0;
        if (thread && thread != record->thread) sessions ^= (hs_session_set)(1u << s);
    }
    record->longest = rb_hs_longest_interval(&store->random, (double)size, (double)drawn_at);
    record->sessions = rb_hs_sessions_within(store->epochs.list[store->epochs.current].interval, sessions, record->longest);
    return record->sessions != 0;
}

/* What was drawn at a longer interval than is asked for now, as a thread's next block may be, counts at that one. */
bool
rb_hs_store_date(struct hs_store *store, struct hs_record *record, uint64_t drawn_at)
{
    OWNED(store);
    record->epoch = store->epochs.current;
    if (drawn_at <= store->interval) return true;
    uint64_t longer[HS_SESSIONS];
    for (int s = 0; s < HS_SESSIONS; s++) {
        uint64_t interval = store->epochs.list[record->epoch].interval[s];
        longer[s] = interval && interval < drawn_at ? drawn_at : interval;
    }
    record->epoch = rb_hs_epoch_of(&store->epochs, longer);
    return record->epoch != UINT32_MAX;
}

/* What the session has seen of the site; NULL: no memory. */
static struct hs_totals *
totals_of(struct hs_store *store, struct hs_session *session, uint32_t site)
{
    if (site >= session->totals_count) {
        if (!rb_hs_grow(store->by_key.use, (void **)&session->totals, &session->totals_capacity, (uint64_t)site + 1,
                        sizeof(*session->totals))) {
            return NULL;
        }
        memset(session->totals + session->totals_count, 0,
               (session->totals_capacity - session->totals_count) * sizeof(*session->totals));
        session->totals_count = session->totals_capacity;
    }
    return &session->totals[site];
}

static struct hs_estimate
estimate_of(const struct hs_store *store, const struct hs_record *record, int s)
{
    return rb_hs_estimate_one(store->size_of(record), store->epochs.list[record->epoch].interval[s]);
}

void
rb_hs_store_count_allocation(struct hs_store *store, const struct hs_record *record)
{
    OWNED(store);
    store->epochs.list[record->epoch].records++;
    for (int s = 0; record->sessions >> s; s++) {
        if (!(record->sessions & (1u << s))) continue;
        store->session[s].samples++;
        if (s >= HS_PROFILES) continue;
        struct hs_totals *totals = totals_of(store, &store->session[s], record->site);
        if (!totals) {
            store->dropped++;
            continue;
        }
        struct hs_estimate one = estimate_of(store, record, s);
        rb_hs_estimate_add(&totals->alloc, &one);
    }
}

void
rb_hs_store_count_free(struct hs_store *store, const struct hs_record *record, uint32_t gc)
{
    double age = (double)(gc - record->allocation_gc);
    rb_hs_store_gone(store, record, HS_CHANGE_FREED, record->sessions);
    for (int s = 0; s < HS_PROFILES && record->sessions >> s; s++) {
        if (!(record->sessions & (1u << s))) continue;
        struct hs_totals *totals = totals_of(store, &store->session[s], record->site);
        if (!totals) continue;
        struct hs_estimate one = estimate_of(store, record, s);
        rb_hs_estimate_add(&totals->freed, &one);
        totals->freed_gcs += one.objects * age;
    }
}

void
rb_hs_store_count_off(struct hs_store *store, const struct hs_record *record)
{
    OWNED(store);
    store->epochs.list[record->epoch].records--;
    for (int s = 0; record->sessions >> s; s++) store->session[s].samples -= record->sessions >> s & 1;
}

/* -- sites ---------------------------------------------------------------------- */

enum { WHAT_BITS = 18,
       WHERE_BITS = 11,
       LABEL_BITS = 11 };
_Static_assert(HS_LABEL_NUMBERS <= 1 << LABEL_BITS, "a key has its number");

/* All of it in one key. */
static uint64_t
site_key(const struct hs_site *site)
{
    uint64_t key = site->node;
    key = key << WHAT_BITS | (site->what & ((1u << WHAT_BITS) - 1));
    key = key << WHERE_BITS | site->where;
    return (key << LABEL_BITS | site->labels) + 1;
}

static bool
room_for(const struct hs_store *store, const struct hs_site *site)
{
    if (site->node == HS_NODE_EMPTY && site->what == HS_NO_CLASS) return true;
    uint32_t most = store->sites_max();
    /* The malloc mutex does not protect nodes. */
    if (store->malloc || !rb_hs_node_evicted_p(site->node)) most -= most / 16;
    return store->site_count < most;
}

uint32_t
rb_hs_site_in(struct hs_store *store, struct hs_site site, enum hs_site_how how)
{
    OWNED(store);
    uint64_t key = site_key(&site);
    const uint32_t *found = rb_hs_map_find(&store->by_key, key);
    if (found) return *found;
    if (how == HS_SITE_FIND || (how == HS_SITE_ADD && !room_for(store, &site)) ||
        !rb_hs_grow(store->by_key.use, (void **)&store->sites, &store->site_capacity, (uint64_t)store->site_count + 1,
                    sizeof(*store->sites)) ||
        !rb_hs_map_put(&store->by_key, key, store->site_count)) {
        return UINT32_MAX;
    }
    store->sites[store->site_count] = site;
    return store->site_count++;
}

uint32_t
rb_hs_site_of(struct hs_store *store, struct hs_site site)
{
    return rb_hs_site_in(store, site, HS_SITE_ADD);
}

void
rb_hs_sites_clear(struct hs_store *store)
{
    rb_hs_map_clear(&store->by_key);
    store->site_count = 0;
}

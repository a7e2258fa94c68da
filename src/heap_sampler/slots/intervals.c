/* See slots/intervals.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/slots/intervals.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/must.h"
#include "heap_sampler/base/texts.h"
#include "heap_sampler/estimate/epochs.h"
#include "heap_sampler/events/listeners.h"
#include "heap_sampler/events/probes.h"
#include "heap_sampler/labels/label_sets.h"
#include "heap_sampler/malloc/table.h"
#include "heap_sampler/settings/options.h"
#include "heap_sampler/sites/folding.h"
#include "heap_sampler/sites/sampler.h"
#include "heap_sampler/slots/page_table.h"
#include "heap_sampler/slots/records.h"
#include "heap_sampler/stacks/stack_table.h"

bool rb_heap_sampler_drawing;

bool
rb_hs_enter_epoch(void)
{
    HS_CONTRACT(write);
    uint64_t interval[HS_SESSIONS] = {0}, smallest = 0;
    for (int s = 0; s < HS_SESSIONS; s++) {
        const struct hs_session *session = &rb_hs_sampler.session[s];
        if (!session->on) continue;
        interval[s] = session->interval;
        if (!smallest || session->interval < smallest) smallest = session->interval;
    }
    if (!rb_hs_epoch_enter(&rb_hs_sampler.epochs, interval)) return false;
    rb_hs_sampler.interval = smallest;
    rb_heap_sampler_drawing = smallest != 0;
    return true;
}

bool
rb_hs_change_interval(struct hs_session *session, uint64_t interval)
{
    HS_CONTRACT(write);
    uint64_t was = session->interval;
    session->interval = interval;
    if (!rb_hs_enter_epoch()) {
        session->interval = was;
        return false;
    }
    session->interval_changes++;
    return true;
}

/* -- the bounds ------------------------------------------------------------------ */

/* A snapshot copies a record, and each may become a row and a sample of its own;
 * each site may make two rows, one of them with its samples.  profile/snapshot.c
 * asserts that its structs are no larger. */
static size_t
snapshot_bytes(void)
{
    enum { TEXT = sizeof(struct hs_text) + sizeof(uint32_t) };
    return rb_hs_pages.records * HS_SNAPSHOT_RECORD + (size_t)rb_hs_sampler.site_count * HS_SNAPSHOT_SITE +
        rb_hs_node_count * sizeof(struct hs_node) + rb_hs_frame_count * sizeof(struct hs_frame) +
        rb_hs_text_count * TEXT + rb_hs_label_sets_snapshot_bytes() + rb_hs_malloc_snapshot_bytes();
}

/* A tracer learns that it counts more now. */
static void
tell_tracer_of_weight(const struct hs_record *record)
{
    uint64_t interval = rb_hs_sampler.epochs.list[record->epoch].interval[HS_MAIN];
    rb_hs_probe_alloc(hs_slot_id(record->id), rb_hs_sampler.sites[record->site].slot_size, interval);
}

/* At the current intervals, or at longer ones that it is kept at already; *data: the sessions of which something changes. */
static bool
thin_record(struct hs_record *record, const struct rb_heap_sampler_page *page, void *data)
{
    hs_session_set sessions = record->sessions, *changed = data;
    uint32_t epoch = record->epoch;
    bool kept = rb_hs_lengthen(&rb_hs_sampler.epochs, record->longest, &record->sessions, &record->epoch);
    hs_session_set touched = kept ? rb_hs_epochs_differ(&rb_hs_sampler.epochs, epoch, record->epoch, sessions) : sessions;
    *changed |= touched;
    hs_session_set gone = kept ? sessions & (hs_session_set)~record->sessions : sessions;
    if (kept) rb_hs_count_off(gone);
    rb_hs_changes_add(&rb_hs_slot_changes, HS_CHANGE_FORGOTTEN, gone, hs_slot_id(record->id), 0);
    if (hs_free_traced_p() && gone & 1u << HS_MAIN) rb_hs_probe_free(hs_slot_id(record->id));
    if (hs_alloc_traced_p() && touched & ~gone & 1u << HS_MAIN) tell_tracer_of_weight(record);
    return kept;
}

/* What is held at shorter intervals than the present ones is held at these, or goes. */
static void
thin_records(void)
{
    hs_session_set changed = 0;
    rb_hs_filter_records(thin_record, &changed);
    for (int s = 0; s < HS_SESSIONS; s++) rb_hs_sampler.session[s].thinnings += changed >> s & 1;
}

/* Own memory is bounded; for how many samples it does depends on how they lie
 * on their pages, and on what a snapshot of them takes. So few it always has
 * room for. */
enum { ALWAYS_ROOM_FOR = 1 << 14,
       RECORDS_MAX_BYTES = 6 << 20 };

/* Is there more than so many quarters (rounded up) of what there may be? */
static bool
crowded(unsigned quarters)
{
    uint64_t max = rb_hs_options.max_samples, records = rb_hs_pages.records;
    if (max && records > max - max / 4 * (4 - quarters)) return true;
    if (!rb_hs_memory_bound_p() || records < ALWAYS_ROOM_FOR) return false;
    return rb_hs_memory_bytes(HS_MEM_RECORDS) > RECORDS_MAX_BYTES / 4 * quarters ||
        snapshot_bytes() > rb_hs_memory_share(HS_MEM_SNAPSHOTS) / 4 * quarters;
}

/* The session that holds the most, of those whose interval can be longer; NULL:
 * there is none. */
static struct hs_session *
largest_session(void)
{
    struct hs_session *largest = NULL;
    for (int s = 0; s < HS_SESSIONS; s++) {
        struct hs_session *session = &rb_hs_sampler.session[s];
        if (!session->on || session->interval > HS_INTERVAL_MAX / 2) continue;
        if (!largest || session->samples > largest->samples) largest = session;
    }
    return largest;
}

/* It is the session with the most samples that takes fewer from now on:
 * a dense block must not make the long session beside it coarse. One doubling
 * leaves it a little over half, since p(2T)/p(T) does; more are needed where p
 * is near 1 and a doubling changes little, or where others have what it had.
 * Sums stay unbiased, however few are left: at each step what goes is made up
 * for by what stays. */
void
rb_hs_widen_intervals(void)
{
    HS_CONTRACT(write);
    bool sites_full = rb_hs_take_sites_full();
    if (!sites_full && !crowded(4)) return;
    do {
        struct hs_session *session = largest_session();
        if (!session) return;
        if (!rb_hs_change_interval(session, session->interval * 2)) return;
        thin_records();
        rb_hs_changes_add(&rb_hs_slot_changes, HS_CHANGE_INTERVAL, (hs_session_set)(1u << (session - rb_hs_sampler.session)), 0,
                          session->interval);
    } while (crowded(3));
}

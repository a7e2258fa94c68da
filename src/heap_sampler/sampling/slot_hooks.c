/*
 * The sampling heap profiler: what the allocator's and GC's hooks do, and the sessions on whose behalf they do it.
 *
 *   on_install   how far is it to the next sampled slot of a free list
 *   on_take      that slot is taken: record stack, class and page
 *   on_mark_end  marking has ended: records of garbage are dropped, and their sites count them as freed
 *   on_move      GC.compact: the record follows its object
 *
 * A sample is taken at the smallest interval of all sessions, and gets one number: the longest interval at which it is a
 * sample (store/epochs.h). The sessions whose interval is no longer keep it, so each has the samples that it would have
 * alone. Each record refers to the epoch of intervals that it was made in, from which its weights follow.
 *
 * Marks, not sweeps, decide which objects are freed: right after marking, every mark bit of every page is true, and no
 * slot has been given to a newer object.  So their records are dropped there at once.  Between two marks the tables
 * hold just what the last mark found alive and what was allocated since.  In a minor GC old objects keep their mark
 * bits, so the same test serves.  This takes one hook; dropping records in the sweep would take one on each path that
 * sweeps (lazy, immediate, compacting), inside gc_sweep_plane.  The pass takes time for each live sample, not for
 * each slot.
 *
 * on_move may run in the signal handler of the read barrier.  That signal is synchronous, so the thread must not hold
 * the sampler's lock then: nothing under the lock reads a heap page that may be protected.  Without memory for the
 * record's new place the record is dropped, and counted (dropped_moves).
 */
#include "heap_sampler/mri.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/contract.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/report.h"
#include "heap_sampler/sampling/capture.h"
#include "heap_sampler/sampling/gcs.h"
#include "heap_sampler/sampling/listeners.h"
#include "heap_sampler/sampling/malloc_hooks.h"
#include "heap_sampler/sampling/sessions.h"
#include "heap_sampler/store/check.h"
#include "heap_sampler/store/class_table.h"
#include "heap_sampler/store/store.h"
#include "heap_sampler/store/label_sets.h"
#include "heap_sampler/store/malloc_table.h"
#include "heap_sampler/store/page_table.h"
#include "heap_sampler/store/probes.h"

/* A sample, a name or a stack that found no memory is missing for good. A snapshot that found none has reported that itself,
 * and samples of malloc that found none are counted apart (malloc_samples_dropped). */
void
rb_hs_warn_of_gaps(void)
{
    uint64_t failures = 0;
    for (int use = 0; use < HS_MEM_USES; use++) {
        if (use != HS_MEM_SNAPSHOTS && use != HS_MEM_MALLOC) failures += rb_hs_memory_failures((enum hs_memory_use)use);
    }
    if (failures) rb_hs_warn_once("the sampler has no memory; from now on profiles have gaps (GC::SampleProfile.stat counts them)");
}

/* -- hooks of the allocator ------------------------------------------------------ */

unsigned int
rb_heap_sampler_on_install(size_t slot_size, unsigned int slots, uint64_t *drawn_at)
{
    rb_hs_automatic_list();
    *drawn_at = rb_hs_slot_store.interval;
    return rb_hs_draw(&rb_hs_slot_store.random, (double)slot_size, (double)rb_hs_slot_store.interval, slots);
}

/* Listeners are called when the slot is an object. */
static void
report_sample(const struct hs_record *allocated, uint32_t size, uint32_t slot_size, uint32_t node)
{
    if (!(allocated->sessions & HS_LISTENERS) && !hs_alloc_traced_p()) return;
    struct hs_sampled sampled = {
        .id = hs_sample_id(allocated->id, false),
        .listeners = allocated->sessions & HS_LISTENERS,
        .size = size,
        .slot_size = slot_size,
        .thread = allocated->thread,
        .labels = rb_hs_labels_now(),
        .stack = hs_stack_number(node),
        .gc_count = rb_gc_count(),
    };
    const struct hs_epoch *now = &rb_hs_slot_store.epochs.list[rb_hs_slot_store.epochs.current];
    if (hs_alloc_traced_p() && allocated->sessions & 1u << HS_MAIN) rb_hs_probe_alloc(sampled.id, slot_size, now->interval[HS_MAIN]);
    if (!sampled.listeners) return;
    memcpy(sampled.interval, now->interval + HS_PROFILES, sizeof(sampled.interval));
    rb_hs_listeners_sampled(&sampled);
}

/* If there is no room for its stack, it is of the leaf below `(evicted)`, or of no stack; UINT32_MAX: no memory. */
static uint32_t
site_of(struct hs_site wanted)
{
    uint32_t site = rb_hs_site_of(&rb_hs_slot_store, wanted);
    if (site != UINT32_MAX) return site;
    uint32_t leaf = wanted.node == HS_NODE_EMPTY ? UINT32_MAX : rb_hs_nodes[wanted.node].frame;
    rb_hs_fold_slots();
    uint32_t node = rb_hs_node_child(rb_hs_node_evicted(), leaf);
    wanted.node = node == UINT32_MAX ? HS_NODE_EMPTY : node;
    site = rb_hs_site_of(&rb_hs_slot_store, wanted);
    if (site != UINT32_MAX) return site;
    return rb_hs_site_of(&rb_hs_slot_store, (struct hs_site){HS_NODE_EMPTY, HS_NO_CLASS, wanted.where, hs_labels_coarse(wanted.labels)});
}

void
rb_heap_sampler_on_take(struct rb_heap_sampler_page **table, uintptr_t body, const uintptr_t *mark_bits,
                        unsigned int slot, size_t size, size_t slot_size, VALUE klass, VALUE flags, uint64_t drawn_at)
{
    HS_CONTRACT(vm);
    HS_CONTRACT(free);
    struct hs_record allocated = {.thread = rb_hs_capture_thread(), .slot = (uint16_t)slot, .young = true};
    hs_session_set of = rb_hs_listener_called() ? (hs_session_set)~HS_LISTENERS : (hs_session_set)-1;
    if (!rb_hs_store_sample(&rb_hs_slot_store, &allocated, slot_size, drawn_at, of)) return;
    allocated.id = __atomic_add_fetch(&rb_hs_slot_store.next_id, 1, __ATOMIC_RELAXED);
    allocated.allocation_gc = (uint32_t)rb_gc_count();

    uint64_t began = rb_hs_automatic_sample_begins();
    rb_hs_make_room_for_stack(HS_DEPTH_MAX);
    uint32_t node = rb_hs_capture_stack();
    uint32_t class_id = rb_hs_class_of_allocation(klass, flags);

    report_sample(&allocated, (uint32_t)size, (uint32_t)slot_size, node);
    if (allocated.sessions & HS_LISTENERS) allocated.sessions &= (hs_session_set)~HS_LISTENERS | rb_hs_followers;
    if (!allocated.sessions) return;

    rb_hs_lock();
    rb_hs_pages.taken++;
    allocated.site = site_of((struct hs_site){node, class_id, (uint16_t)slot_size, rb_hs_labels_now()});
    struct hs_record *record = NULL;
    if (allocated.site != UINT32_MAX && rb_hs_store_date(&rb_hs_slot_store, &allocated, drawn_at)) record = rb_hs_page_add(table, body, mark_bits, slot);
    if (record) {
        *record = allocated;
        rb_hs_store_count_allocation(&rb_hs_slot_store, record);
    }
    else {
        rb_hs_slot_store.dropped++;
        rb_hs_store_gone(&rb_hs_slot_store, &allocated, HS_CHANGE_FORGOTTEN, allocated.sessions);
    }
    rb_hs_store_widen(&rb_hs_slot_store);
    rb_hs_automatic_sample_ends(began, allocated.sessions);
    rb_hs_unlock();
    if (!record) rb_hs_warn_of_gaps();
}

/* -- hooks of the GC --------------------------------------------------------------- */

static bool
keep_if_live(struct hs_record *record, const struct rb_heap_sampler_page *page, void *gc_count)
{
    if (!hs_page_marked_p(page, record->slot)) {
        rb_hs_store_count_free(&rb_hs_slot_store, record, *(uint32_t *)gc_count);
        return false;
    }
    if (record->young) record->young = false;   /* a forked child shares the others with its parent */
    return true;
}

/* Records, codes and classes outlive the sessions that brought them, so this
 * runs when sampling is off as well. */
void
rb_heap_sampler_on_mark_end(bool full_mark)
{
    HS_CONTRACT(vm);
    HS_CONTRACT(free);
    uint32_t gc_count = (uint32_t)rb_gc_count();
    rb_hs_malloc_name_stacks();
    rb_hs_lock();
    rb_hs_gc_mark_ended(full_mark);
    uint64_t began = rb_hs_thread_cpu_ns();
    rb_hs_slot_store.each(keep_if_live, &gc_count);
    rb_hs_occupancy_look(false, full_mark);
    if (rb_hs_codes_sweep(full_mark)) rb_hs_malloc_forget_addresses();
    rb_hs_automatic_at_mark(began);
    rb_hs_classes_sweep(full_mark);
    rb_hs_unlock();
    rb_hs_classes_rename();
    rb_hs_check(HS_CHECK_MARKED);
    if (rb_hs_slot_store.changes.count || hs_usdt_turn_p()) rb_hs_later();
    rb_hs_warn_of_gaps();
}

void
rb_heap_sampler_on_update_references(void)
{
    /* The new addresses stand in heap slots; every page is readable again by
     * now, so the lock does not stand in the way of a read barrier. */
    rb_hs_lock();
    if (rb_hs_codes_move()) rb_hs_malloc_forget_addresses();
    rb_hs_classes_move();
    rb_hs_occupancy_look(true, false);
    rb_hs_unlock();
    rb_hs_check(HS_CHECK_ANY);
}

void
rb_heap_sampler_on_move(struct rb_heap_sampler_page *from, unsigned int from_slot,
                        struct rb_heap_sampler_page **to, uintptr_t to_body, const uintptr_t *to_mark_bits,
                        unsigned int to_slot)
{
    rb_hs_lock();
    struct hs_record *record = rb_hs_page_find(from, from_slot);
    if (record) {
        struct hs_record moved = *record;
        rb_hs_pages.moves++;
        /* Leave before arriving: it may be the same page. */
        rb_hs_page_drop(from, (uint32_t)(record - from->records));
        struct hs_record *place = rb_hs_page_add(to, to_body, to_mark_bits, to_slot);
        if (place) {
            moved.slot = (uint16_t)to_slot;
            *place = moved;
            rb_hs_changes_add(&rb_hs_slot_store.changes, HS_CHANGE_MOVED, moved.sessions, hs_sample_id(moved.id, false),
                              (uint64_t)rb_heap_sampler_gc_slot_address(to_body, to_slot));
        }
        else {
            rb_hs_pages.dropped_moves++;
            rb_hs_store_count_off(&rb_hs_slot_store, &moved);
            rb_hs_store_gone(&rb_hs_slot_store, &moved, HS_CHANGE_FORGOTTEN, moved.sessions);
        }
        if (from != *to) rb_hs_page_release(from);
    }
    rb_hs_unlock();
}

void
rb_heap_sampler_on_page_free(struct rb_heap_sampler_page *table)
{
    rb_hs_lock();
    for (uint32_t i = table->count; i-- > 0;) rb_hs_page_forget(table, i);
    rb_hs_page_release(table);
    rb_hs_unlock();
}

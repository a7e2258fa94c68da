/*
 * Copies the tables of one session under the locks, and makes a profile of the copy; see profile/snapshot.h.  A thread that
 * allocates waits for the copying only if it draws a sample just then.
 */
#include "heap_sampler/mri.h"
#include "heap_sampler/profile/snapshot.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/contract.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/profile/rows.h"
#include "heap_sampler/settings/options.h"

#include <stdio.h>
#include <unistd.h>

extern const char *rb_dynamic_description;       /* RUBY_DESCRIPTION; version.c */

struct hs_snapshot {
    int session;
    unsigned flags;
    struct hs_profile *profile;
    struct hs_copies copies;
    uint32_t labels;            /* text of label set 0; the texts of the others follow */
    struct hs_walk_child child;
    bool ok;
    bool asked;                 /* the child is to be waited for */
    bool worked;                /* the rows are there */
};

void
rb_hs_describe(struct hs_profile_meta *meta, int number)
{
    const struct hs_session *session = rb_hs_session(number);
    const struct hs_session_start *start = rb_hs_session_started(number);
    const struct hs_limits *limits = &rb_hs_slot_store.limits;
    struct rb_heap_sampler_gc_counts counts;

    rb_heap_sampler_gc_counts(&counts);
    *meta = (struct hs_profile_meta){
        .interval = session->interval,
        .first_interval = session->first_interval,
        .interval_changes = session->interval_changes,
        .thinnings = session->thinnings,
        .interval_auto = number == HS_MAIN && rb_hs_automatic_p(),
        .max_samples = limits->max_samples,
        .only_n = rb_hs_files.only_n,
        .seeded = limits->seeded,
        .seed = limits->seed,
        .process_id = (uint64_t)getpid(),
        .process_start = rb_hs_process()->start,
        .session = start->serial,
        .started_ns = start->ns,
        .taken_ns = rb_hs_now_ns(),
        .gc_count = counts.gc,
        .gc_minor = counts.minor,
        .gc_major = counts.major,
        .objects = counts.objects,
        .gc_ns = counts.gc_ns,
        .gc_timed = counts.timed,
        .cpu_ns = rb_hs_cpu_ns(),
        .last_minor_ns = rb_hs_marks()->minor_ns,
        .last_major_ns = rb_hs_marks()->major_ns,
        .last_major_gc = rb_hs_marks()->major_gc,
        .live_samples = session->samples,
        .drop_samples = rb_hs_slot_store.dropped,
        .drop_stacks = rb_hs_stack_drops.stacks,
        .drop_frames = rb_hs_stack_drops.frames,
        .drop_classes = rb_hs_classes_dropped,
        .drop_moves = rb_hs_pages.dropped_moves,
        .own_bytes = rb_hs_memory_total(),
    };
    memcpy(meta->deploy, rb_hs_files.deploy, sizeof(meta->deploy));
    rb_hs_gc_times_copy(&meta->gc_times);
    rb_hs_majors_copy(&meta->majors);
    rb_hs_gc_log_copy(&meta->gc_log);
    meta->diagnose_ppm = rb_hs_files.diagnose_ppm;
    meta->forced = rb_hs_forced();
    meta->heaps = counts.heap_count < HS_HEAPS_MAX ? counts.heap_count : HS_HEAPS_MAX;
    for (uint32_t i = 0; i < meta->heaps; i++) {
        meta->heap[i] = (struct hs_heap_stat){
            counts.heap[i].slot_size,
            counts.heap[i].total_slots,
            counts.heap[i].live_slots,
            start->live[i],
            *rb_hs_heap_use(i),
        };
    }
    if (number == HS_MAIN && session->on) meta->account_at_start = *rb_hs_account_at_start();
    snprintf(meta->ruby, sizeof(meta->ruby), "%s", rb_dynamic_description);
}

void
rb_hs_snapshot_free(struct hs_profile *profile)
{
    if (!profile) return;
    rb_hs_profile_free(profile);
    rb_hs_free(HS_MEM_SNAPSHOTS, profile);
}

/* Without room for the answer there is a profile all the same. */
static void
add_kept(struct hs_snapshot *snapshot)
{
    struct hs_profile *profile = snapshot->profile;
    if (!(snapshot->flags & HS_WITH_RETAINERS)) return;
    profile->asked_for_kept = true;
    if (!profile->retainers.refusal && !rb_hs_kept_samples_join(profile, &snapshot->copies)) {
        profile->retainers.refusal = HS_REFUSED_NO_ANSWER_ROOM;
        profile->kept_count = profile->pin_count = 0;
    }
    if (profile->retainers.refusal) rb_hs_retainers_free(&profile->retainers);
}

static bool
copy_texts(struct hs_snapshot *snapshot)
{
    struct hs_profile *profile = snapshot->profile;
    uint32_t count = snapshot->labels = rb_hs_text_count;
    profile->texts = rb_hs_malloc(HS_MEM_SNAPSHOTS, ((size_t)count + HS_LABEL_NUMBERS) * sizeof(*profile->texts));
    if (!profile->texts) return false;
    if (count) memcpy(profile->texts, rb_hs_texts, count * sizeof(*profile->texts));
    profile->text_count = count + HS_LABEL_NUMBERS;
    profile->names = rb_hs_texts_hold();
    for (uint32_t i = 0; i < HS_LABEL_NUMBERS; i++) profile->texts[count + i] = rb_hs_label_set_text((uint16_t)i);
    return true;
}

static void
copy_all(struct hs_snapshot *snapshot)
{
    struct hs_profile *profile = snapshot->profile;
    int number = snapshot->session;
    const struct hs_session *session = rb_hs_session(number);
    bool ok = false;
    rb_hs_lock();
    if (session->on) {
        ok = rb_hs_slot_copies_take(&snapshot->copies.slots, number) && copy_texts(snapshot);
        profile->nodes = rb_hs_copy_array(rb_hs_nodes, profile->node_count = rb_hs_node_count, sizeof(*rb_hs_nodes));
        profile->frames = rb_hs_copy_array(rb_hs_frames, profile->frame_count = rb_hs_frame_count, sizeof(*rb_hs_frames));
        rb_hs_describe(&profile->meta, number);
        rb_hs_malloc_describe(&profile->meta.malloc, number);
        if (profile->meta.malloc.state == HS_MALLOC_ON) ok = ok && rb_hs_malloc_copy(&snapshot->copies.malloc, number);
    }
    rb_hs_check_tables();
    snapshot->ok = ok && profile->nodes && profile->frames;
    if (snapshot->ok && snapshot->asked) rb_hs_kept_samples_fork(&snapshot->child, &snapshot->copies);
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
    snapshot->profile->retainers.hold_up_ns = rb_hs_steady_ns() - begun;
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
    snapshot->profile->reason = flags & HS_REASONS;
    rb_hs_slot_copies_make_room(&snapshot->copies.slots);
    snapshot->asked = flags & HS_WITH_RETAINERS && rb_hs_retainers_prepare(&snapshot->child, &snapshot->profile->retainers, seconds, flags & HS_BY_ITSELF);
    if (snapshot->asked) copy_all_and_fork(snapshot);
    else copy_all(snapshot);
    return snapshot;
}

/* All rows are allocated at once. To grow the array would need both sizes, and store/page_table.c keeps room for one. */
static bool
make_rows(struct hs_snapshot *snapshot)
{
    struct hs_profile *profile = snapshot->profile;
    struct hs_malloc_copy *malloced = snapshot->copies.malloc.blocks ? &snapshot->copies.malloc : NULL;
    size_t most = rb_hs_slot_rows_sort(&snapshot->copies.slots, profile) + (malloced ? rb_hs_malloc_rows_sort(malloced) : 0);
    profile->rows = rb_hs_malloc(HS_MEM_SNAPSHOTS, most * sizeof(*profile->rows) + 1);
    if (!profile->rows) return false;
    rb_hs_slot_rows_add(&snapshot->copies.slots, snapshot->labels, profile);
    if (snapshot->flags & HS_WITH_SAMPLES && !rb_hs_live_samples_list(&snapshot->copies.slots, profile)) return false;
    if (!snapshot->asked) rb_hs_slot_copies_free(&snapshot->copies.slots);
    if (!malloced) return true;
    struct hs_yjit_memory yjit = rb_hs_yjit_memory(snapshot->session);
    return rb_hs_malloc_rows_add(malloced, &yjit, snapshot->labels, profile);
}

/* As rb_hs_malloc_look() finds it, from the rows that have just been made. */
static void
look_at_rows(struct hs_account_excess *excess, const struct hs_profile *profile)
{
    double untouched = 0;
    rb_hs_malloc_excess(excess);
    excess->untouched_known = profile->meta.malloc.state == HS_MALLOC_ON;
    for (size_t i = 0; i < profile->row_count; i++) untouched += profile->rows[i].inuse.space - profile->rows[i].resident;
    excess->untouched = (uint64_t)untouched;
}

static void
take_account(struct hs_snapshot *snapshot)
{
    struct hs_profile *profile = snapshot->profile;
    struct hs_account_excess excess;
    bool main = snapshot->session == HS_MAIN;
    if (main) look_at_rows(&excess, profile);
    rb_hs_census_take(&profile->meta.census, true);
    rb_hs_account_take(&profile->meta.account, main ? &excess : NULL, &profile->meta.census, snapshot->flags & HS_MAY_HOLD_UP);
    rb_hs_identity_read(&profile->meta.identity);
}

/* The child works meanwhile. */
bool
rb_hs_snapshot_work(struct hs_snapshot *snapshot, const volatile bool *interrupted)
{
    static const volatile bool never;
    if (!snapshot->worked) {
        snapshot->worked = true;
        snapshot->ok = snapshot->ok && make_rows(snapshot);
        if (snapshot->ok) take_account(snapshot);
    }
    return !snapshot->asked || rb_hs_retainers_wait(&snapshot->child, interrupted ? interrupted : &never);
}

void
rb_hs_snapshot_refuse(struct hs_snapshot *snapshot, enum hs_refusal refusal)
{
    snapshot->flags |= HS_WITH_RETAINERS;
    snapshot->profile->retainers.refusal = refusal;
}

/* What the walk cost. Without an answer all the time counts for which the child was waited for. Where the child was
 * slow, and no mark function ran, its CPU time counts. */
static void
end_walk(struct hs_snapshot *snapshot)
{
    const struct hs_retainers *retainers = &snapshot->profile->retainers;
    rb_hs_retainers_end(&snapshot->child);
    if (!(snapshot->flags & HS_FORCED) || !snapshot->child.pid) return;
    bool slow = retainers->refusal == HS_REFUSED_DEADLINE && !*retainers->type;
    rb_hs_forced_walk(retainers->refusal && !slow ? retainers->ns : retainers->cpu_ns, retainers->hold_up_ns);
    if (!retainers->refusal || retainers->refusal == HS_REFUSED_CRASHED) rb_hs_walk_made(snapshot->flags & (HS_PERIODIC | HS_AT_RSS));
    rb_hs_lock();
    snapshot->profile->meta.forced = rb_hs_forced();
    rb_hs_unlock();
}

struct hs_profile *
rb_hs_snapshot_end(struct hs_snapshot *snapshot)
{
    struct hs_profile *profile = snapshot->profile;
    if (snapshot->asked) end_walk(snapshot);
    bool ok = snapshot->worked && snapshot->ok;
    if (ok) add_kept(snapshot);
    rb_hs_slot_copies_free(&snapshot->copies.slots);
    rb_hs_malloc_copy_free(&snapshot->copies.malloc);
    rb_hs_free(HS_MEM_SNAPSHOTS, snapshot);
    if (ok) return profile;
    rb_hs_snapshot_free(profile);
    return NULL;
}

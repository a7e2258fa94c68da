/* See sampling/gc_log.h. */
#include "heap_sampler/sampling/gc_log.h"

#include <string.h>

enum { OLDER = HS_GC_LOG - HS_GC_LOG_NEWEST };

/* What stays has more than a step from each to the next but one. */
_Static_assert(2 * HS_GC_LOG_STEPS + 2 <= OLDER * 3 / 4, "joining makes room for many");

static void
join(struct hs_gc_entry *entry, const struct hs_gc_entry *next)
{
    entry->gc = next->gc;
    entry->gcs += next->gcs;
    entry->majors += next->majors;
    if (next->took_ns > entry->took_ns) {
        entry->reason = next->reason;
        entry->took_ns = next->took_ns;
    }
    entry->mark_ns += next->mark_ns;
    entry->sweep_ns += next->sweep_ns;
    if (next->pause_ns > entry->pause_ns) entry->pause_ns = next->pause_ns;
    entry->allocated += next->allocated;
    entry->promoted += next->promoted;
    entry->pages = next->pages;
    entry->free_slots = next->free_slots;
    entry->old_objects = next->old_objects;
}

static void
fold(struct hs_gc_log *log)
{
    struct hs_gc_entry *list = log->list;
    uint64_t step = (list[OLDER].ns - list[0].ns) / HS_GC_LOG_STEPS;
    uint32_t kept = 1;
    for (uint32_t i = 1; i < OLDER; i++) {
        if (list[i + 1].ns - list[kept - 1].ns > step) list[kept++] = list[i];
        else join(&list[kept - 1], &list[i]);
    }
    memmove(&list[kept], &list[OLDER], HS_GC_LOG_NEWEST * sizeof(*list));
    log->count = kept + HS_GC_LOG_NEWEST;
}

void
rb_hs_gc_log_add(struct hs_gc_log *log, const struct hs_gc_entry *entry)
{
    if (log->count == HS_GC_LOG) fold(log);
    log->list[log->count++] = *entry;
}

void
rb_hs_gc_log_finish(struct hs_gc_log *log)
{
    struct hs_gc_entry *last = &log->list[log->count - 1];
    struct hs_gc_cause *cause = &log->causes[last->reason];
    last->took_ns = last->mark_ns + last->sweep_ns;
    if (log->inherited) {
        log->inherited = 0;
        return;
    }
    cause->gcs++;
    cause->ns += last->took_ns;
    if (last->pause_ns > cause->pause_ns) cause->pause_ns = last->pause_ns;
}

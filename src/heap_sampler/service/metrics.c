/* See service/metrics.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/service/metrics.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/locks.h"
#include "heap_sampler/malloc/hooks.h"
#include "heap_sampler/malloc/table.h"
#include "heap_sampler/profile/malloc_rows.h"
#include "heap_sampler/service/address.h"
#include "heap_sampler/settings/options.h"
#include "heap_sampler/sites/sampler.h"
#include "heap_sampler/stacks/class_table.h"
#include "heap_sampler/stacks/stack_table.h"

#include <time.h>
#include <unistd.h>

extern const char *rb_dynamic_description;       /* RUBY_DESCRIPTION; version.c */

static uint64_t
clock_ns(clockid_t clock)
{
    struct timespec now;
    if (clock_gettime(clock, &now) != 0) return 0;
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Unix time. The kernel says it in ticks since the machine has started. */
static uint64_t
start_ns(void)
{
    unsigned long long ticks;
    uint64_t up = clock_ns(CLOCK_BOOTTIME), hz = (uint64_t)sysconf(_SC_CLK_TCK);
    if (!rb_hs_start_ticks(&ticks) || !up || !hz) return 0;
    return rb_hs_now_ns() - up + ticks * (1000000000 / hz);
}

static void
look_at_gc(struct hs_metrics *metrics)
{
    struct rb_heap_sampler_gc_counts counts;
    rb_heap_sampler_gc_counts(&counts);
    metrics->gc_minor = counts.minor;
    metrics->gc_major = counts.major;
    metrics->gc_ns = counts.gc_ns;
    metrics->gc_timed = counts.timed;
    metrics->heaps = counts.heap_count < HS_HEAPS_MAX ? counts.heap_count : HS_HEAPS_MAX;
    for (uint32_t i = 0; i < metrics->heaps; i++) {
        metrics->heap[i] = (struct hs_heap_stat){.slot_size = counts.heap[i].slot_size, .total_slots = counts.heap[i].total_slots, .live_slots = counts.heap[i].live_slots};
    }
}

static void
look_at_samples(struct hs_metrics *metrics)
{
    rb_hs_lock();
    const struct hs_session *session = &rb_hs_sampler.session[HS_MAIN];
    metrics->sampling = session->on;
    metrics->interval = session->on ? session->interval : 0;
    metrics->live_samples = session->on ? session->samples : 0;
    metrics->taken = rb_hs_sampler.taken;
    metrics->last_major_ns = rb_hs_sampler.major_ns;
    metrics->dropped_samples = rb_hs_sampler.dropped_samples;
    metrics->dropped_stacks = rb_hs_stack_drops.stacks;
    metrics->dropped_frames = rb_hs_stack_drops.frames;
    metrics->dropped_classes = rb_hs_classes_dropped;
    rb_hs_unlock();
}

static void
look_at_malloc(struct hs_metrics *metrics)
{
    struct hs_malloc_meta meta;
    struct hs_malloc_counts counts;
    struct hs_malloc_table_stat table;
    rb_hs_malloc_describe(&meta, HS_MAIN);
    rb_hs_malloc_counts(&counts);
    rb_hs_malloc_table_stat(&table);
    metrics->malloc_interval = meta.interval;
    metrics->malloc_taken = counts.samples;
    metrics->malloc_live_samples = table.blocks;
    metrics->dropped_samples += table.dropped;
}

static void
look_at_memory(struct hs_metrics *metrics)
{
    struct hs_account_excess excess;
    rb_hs_malloc_look(&excess);
    rb_hs_census_take(&metrics->census, false);
    rb_hs_account_take(&metrics->account, &excess, &metrics->census, false);
    for (int use = 0; use < HS_MEM_USES; use++) metrics->own_bytes[use] = rb_hs_memory_bytes((enum hs_memory_use)use);
    metrics->own_bytes_max = rb_hs_memory_bound_p() ? HS_MEMORY_MAX : 0;
}

void
rb_hs_metrics_take(struct hs_metrics *metrics)
{
    *metrics = (struct hs_metrics){.ruby = rb_dynamic_description, .deploy = rb_hs_options.deploy, .process_id = (uint64_t)getpid(), .start_ns = start_ns()};
    look_at_memory(metrics);
    look_at_gc(metrics);
    look_at_samples(metrics);
    look_at_malloc(metrics);
    rb_hs_who_read(&metrics->who);
    metrics->cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    metrics->service_cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

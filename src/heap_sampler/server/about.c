/* What a process says about itself without a profile: see server/client.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/kernel.h"
#include "heap_sampler/server/client.h"
#include "heap_sampler/memory/account.h"
#include "heap_sampler/memory/threads.h"
#include "heap_sampler/memory/process_info.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/contract.h"
#include "heap_sampler/profile/formats.h"

#include <string.h>
#include <unistd.h>

extern const char *rb_dynamic_description;       /* RUBY_DESCRIPTION; version.c */

static struct hs_account
account_at_start(void)
{
    struct hs_account account = {0};
    rb_hs_lock();
    if (rb_hs_session(HS_MAIN)->on) account = *rb_hs_account_at_start();
    rb_hs_unlock();
    return account;
}

void
rb_hs_answer_hello(struct hs_buffer *out)
{
    char deploy[sizeof(rb_hs_files.deploy)];
    struct hs_about about = {.ruby = rb_dynamic_description, .deploy = deploy, .process_id = (uint64_t)getpid(), .taken_ns = rb_hs_now_ns()};
    rb_hs_lock();
    memcpy(deploy, rb_hs_files.deploy, sizeof(deploy));
    about.every = rb_hs_files.every;
    const struct hs_session *session = rb_hs_session(HS_MAIN);
    about.sampling = session->on;
    about.interval = session->on ? session->interval : 0;
    about.interval_auto = session->on && rb_hs_automatic_p();
    about.started_ns = session->on ? rb_hs_session_started(HS_MAIN)->ns : 0;
    about.process_start = rb_hs_process()->start;
    rb_hs_unlock();
    rb_hs_malloc_describe(&about.malloc, HS_MAIN);
    about.account_at_start = account_at_start();
    rb_hs_account_take(&about.account, NULL, NULL, false);
    rb_hs_who_read(&about.who);
    rb_hs_encode_about(&about, out);
}

static void
look_at_gc(struct hs_memory_now *now)
{
    struct rb_heap_sampler_gc_counts counts;
    rb_heap_sampler_gc_counts(&counts);
    now->gc.count = counts.gc;
    now->gc.minor = counts.minor;
    now->gc.major = counts.major;
    now->gc.ns = counts.gc_ns;
    now->gc.timed = counts.timed;
    now->heaps = counts.heap_count < HS_HEAPS_MAX ? counts.heap_count : HS_HEAPS_MAX;
    for (uint32_t i = 0; i < now->heaps; i++) {
        now->heap[i] = (struct hs_heap_stat){.slot_size = counts.heap[i].slot_size, .total_slots = counts.heap[i].total_slots, .live_slots = counts.heap[i].live_slots};
    }
}

static void
look_at_sampler(struct hs_memory_now *now)
{
    struct hs_malloc_counts counts;
    struct hs_malloc_table_stat table;
    rb_hs_malloc_counts(&counts);
    rb_hs_malloc_table_stat(&table);
    rb_hs_lock();
    const struct hs_session *session = rb_hs_session(HS_MAIN);
    now->gc.last_major_ns = rb_hs_marks()->major_ns;
    now->sampler.live_samples = session->on ? session->samples : 0;
    now->sampler.samples = rb_hs_pages.taken;
    now->sampler.dropped_samples = rb_hs_slot_store.dropped + table.dropped;
    rb_hs_unlock();
    now->sampler.malloc_live_samples = table.blocks;
    now->sampler.malloc_samples = counts.samples;
    for (int use = 0; use < HS_MEM_USES; use++) now->sampler.bytes += rb_hs_memory_bytes((enum hs_memory_use)use);
    now->sampler.bytes_max = rb_hs_memory_bound_p() ? HS_MEMORY_MAX : 0;
    now->sampler.thread_ns = hs_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

void
rb_hs_answer_memory(struct hs_buffer *out)
{
    struct hs_memory_now now = {0};
    rb_hs_census_take(&now.census, true);
    rb_hs_account_take(&now.account, NULL, &now.census, false);
    now.account_at_start = account_at_start();
    look_at_gc(&now);
    look_at_sampler(&now);
    rb_hs_encode_memory(&now, out);
    rb_hs_census_free(&now.census);
}

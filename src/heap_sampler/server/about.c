/* What a process says about itself without a profile: see server/client.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/kernel.h"
#include "heap_sampler/settings/options.h"
#include "heap_sampler/server/client.h"
#include "heap_sampler/memory/account.h"
#include "heap_sampler/memory/threads.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/contract.h"
#include "heap_sampler/profile/formats.h"
#include "heap_sampler/profile/snapshot.h"

void
rb_hs_answer_hello(struct hs_buffer *out)
{
    struct hs_profile_meta meta;
    rb_hs_lock();
    rb_hs_describe(&meta, HS_MAIN);
    bool sampling = rb_hs_session(HS_MAIN)->on;
    uint64_t every = rb_hs_files.every;
    rb_hs_unlock();
    rb_hs_malloc_describe(&meta.malloc, HS_MAIN);
    rb_hs_account_take(&meta.account, NULL, NULL, false);
    rb_hs_identity_read(&meta.identity);
    rb_hs_encode_about(&meta, sampling, every, out);
}

void
rb_hs_answer_memory(struct hs_buffer *out, const struct hs_compaction *compaction)
{
    struct hs_profile_meta meta;
    struct hs_malloc_counts counts;
    struct hs_malloc_table_stat table;
    rb_hs_malloc_counts(&counts);
    rb_hs_malloc_table_stat(&table);
    rb_hs_lock();
    rb_hs_describe(&meta, HS_MAIN);
    struct hs_sampler_now sampler = {
        .live_samples = rb_hs_session(HS_MAIN)->on ? meta.live_samples : 0,
        .samples = rb_hs_pages.taken,
        .malloc_live_samples = table.blocks,
        .malloc_samples = counts.samples,
        .dropped_samples = meta.drop_samples + table.dropped,
        .bytes = meta.own_bytes,
        .bytes_max = rb_hs_memory_bound_p() ? HS_MEMORY_MAX : 0,
    };
    rb_hs_unlock();
    for (uint32_t i = 0; i < meta.heaps && !compaction; i++) meta.heap[i].use.known = false;
    rb_hs_census_take(&meta.census, true);
    rb_hs_account_take(&meta.account, NULL, &meta.census, false);
    sampler.thread_ns = rb_hs_thread_cpu_ns();
    if (compaction) sampler.compaction = *compaction;
    rb_hs_encode_memory(&meta, &sampler, out);
    rb_hs_census_free(&meta.census);
}

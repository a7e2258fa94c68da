/* See slots/automatic.h. */
#include "heap_sampler/slots/automatic.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/must.h"
#include "heap_sampler/estimate/pace.h"
#include "heap_sampler/sites/sampler.h"
#include "heap_sampler/slots/intervals.h"

enum {
    TIMED_EACH = 16,            /* samples: a clock takes as long as a tenth of one */
    LOOKED_AT_EACH = 64,
    GUESSED_SAMPLE_NS = 700     /* until some were timed */
};

static struct hs_pace pace;
static bool automatic;
static uint32_t turn;
static size_t bytes_when_full;

void
rb_hs_automatic(bool on)
{
    automatic = on;
    bytes_when_full = 0;
    pace = (struct hs_pace){.budget = HS_PACE_BUDGET, .sample_ns = GUESSED_SAMPLE_NS};
}

bool
rb_hs_automatic_p(void)
{
    return automatic;
}

static size_t
own_bytes(void)
{
    return rb_hs_memory_total() - rb_hs_memory_bytes(HS_MEM_SNAPSHOTS);
}

/* Stacks and names stay when samples go: what is over the limit once is no reason to take fewer ever again, but what grows
 * further is. */
static bool
full_p(size_t bytes)
{
    if (bytes <= HS_AUTOMATIC_BYTES || bytes <= bytes_when_full + bytes_when_full / 8) return false;
    bytes_when_full = bytes;
    return true;
}

static void
look(bool at_mark)
{
    struct hs_session *session = &rb_hs_sampler.session[HS_MAIN];
    size_t bytes = own_bytes();
    bool full = full_p(bytes);
    uint64_t next = rb_hs_pace_next(&pace, session->interval, rb_hs_cpu_ns(), full, bytes < HS_AUTOMATIC_BYTES / 2);
    if (next == session->interval || (next < session->interval && !at_mark)) return;
    if (rb_hs_change_interval(session, next) && full) rb_hs_thin_records();
}

uint64_t
rb_hs_automatic_sample_begins(void)
{
    return automatic && ++turn % TIMED_EACH == 0 ? rb_hs_steady_ns() : 0;
}

void
rb_hs_automatic_sample_ends(uint64_t began, uint8_t sessions)
{
    HS_CONTRACT(write);
    if (!automatic || !(sessions & 1u << HS_MAIN)) return;
    if (began) rb_hs_pace_cost(&pace, (double)(rb_hs_steady_ns() - began));
    if (++pace.samples % LOOKED_AT_EACH == 0) look(false);
}

void
rb_hs_automatic_at_mark(void)
{
    HS_CONTRACT(write);
    if (automatic && rb_hs_sampler.session[HS_MAIN].on) look(true);
}

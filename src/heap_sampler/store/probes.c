/* See store/probes.h. */
#include "heap_sampler/store/probes.h"
#include "heap_sampler/store/draw.h"

struct hs_usdt rb_hs_usdt;

#ifdef HAVE_SYS_SDT_H
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

/* Where tracers look for them. */
__attribute__((section(".probes"), used)) volatile unsigned short otel_memory_alloc_semaphore;
__attribute__((section(".probes"), used)) volatile unsigned short otel_memory_free_semaphore;
#else
#define STAP_PROBE3(provider, name, id, size, bytes) ((void)(id), (void)(size), (void)(bytes))
#define STAP_PROBE1(provider, name, id) ((void)(id))
#endif

void
rb_hs_probe_alloc(uint64_t id, uint64_t size, uint64_t interval)
{
    uint64_t bytes = (uint64_t)(rb_hs_weight((double)size, (double)interval) * (double)size + 0.5);
    STAP_PROBE3(otel_memory, alloc, id, size, bytes);
}

void
rb_hs_probe_free(uint64_t id)
{
    STAP_PROBE1(otel_memory, free, id);
}

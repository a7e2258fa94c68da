/* See holders/arena.h. */
#include "heap_sampler/holders/arena.h"
#include "heap_sampler/account/survey.h"

#include <sys/mman.h>
#include <unistd.h>

enum { MAPPINGS_MOST = 64 };

static struct mapping {
    uint64_t start, end;
} mappings[MAPPINGS_MOST];
static unsigned mapping_count;

void *
rb_hs_arena_map(size_t bytes)
{
    if (mapping_count == MAPPINGS_MOST) return NULL;
    void *start = mmap(NULL, bytes + !bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) return NULL;
    mappings[mapping_count++] = (struct mapping){(uint64_t)(uintptr_t)start, (uint64_t)(uintptr_t)start + bytes + !bytes};
    return start;
}

uint64_t
rb_hs_arena_resident(void)
{
    uint64_t bytes = 0;
    int pagemap = rb_hs_survey_open_pagemap();
    if (pagemap < 0) return 0;
    for (unsigned i = 0; i < mapping_count; i++) bytes += rb_hs_survey_resident(pagemap, mappings[i].start, mappings[i].end);
    close(pagemap);
    return bytes;
}

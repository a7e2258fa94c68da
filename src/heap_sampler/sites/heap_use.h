#ifndef HEAP_SAMPLER_SITES_HEAP_USE_H
#define HEAP_SAMPLER_SITES_HEAP_USE_H
/* How full the pages of one of the VM's heaps are, as plain data. No MRI header. */
#include <stdbool.h>
#include <stdint.h>

/* As the last major GC, or compaction, left it. */
struct hs_heap_use {
    bool known;                 /* false: no major GC has looked */
    uint64_t pages;             /* with at least one living object */
    uint64_t pinned_pages;      /* of these, with an object that must not be moved */
    uint64_t live_slots;
    uint64_t free_slots;        /* of these pages */
};

/* How many of the pages would be empty if all that can be moved stood as close
 * together as it can: compaction empties no more, as long as each object stays
 * in its heap. */
uint64_t rb_hs_heap_spare_pages(const struct hs_heap_use *use);

#endif

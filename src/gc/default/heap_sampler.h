#ifndef GC_DEFAULT_HEAP_SAMPLER_H                       /*-*-C-*-vi:se ft=c:*/
#define GC_DEFAULT_HEAP_SAMPLER_H
/*
 * What the sampler adds to the structs of gc/default/default.c, and those of its
 * hooks there that come before heap_sampler_cut.inc.  With
 * --disable-heap-sampler all of them are empty.
 */
#include "internal/heap_sampler.h"

#if USE_HEAP_SAMPLER
struct free_slot;

/* Where an installed free list was cut: heap_sampler_cut.inc. */
struct heap_sampler_cut {
    struct free_slot *rest;     /* the sampled slot and all behind it; NULL: no cut */
    struct free_slot *tail;     /* the slot before it, while any of these is left */
    unsigned int rest_slots;
    uint64_t drawn_at;          /* the interval of the draw, bytes */
};

#define HEAP_SAMPLER_CACHE_FIELDS struct heap_sampler_cut cuts[HEAP_COUNT];
#define HEAP_SAMPLER_PAGE_FIELDS struct rb_heap_sampler_page *samples;         /* NULL: it holds none */
#define heap_sampler_page_freed(page) \
    do { \
        if ((page)->samples) rb_heap_sampler_on_page_free((page)->samples); \
    } while (0)
/* The object must not be moved: MRI notes that only where it compacts next. [gc] */
#define heap_sampler_pinned(obj) \
    do { \
        if (rb_heap_sampler_drawing && during_gc) MARK_IN_BITMAP(GET_HEAP_PINNED_BITS(obj), obj); \
    } while (0)
#else
#define HEAP_SAMPLER_CACHE_FIELDS
#define HEAP_SAMPLER_PAGE_FIELDS
#define heap_sampler_page_freed(page) ((void)0)
#define heap_sampler_pinned(obj) ((void)0)
#endif

#endif /* GC_DEFAULT_HEAP_SAMPLER_H */

#ifndef GC_DEFAULT_HEAP_SAMPLER_H                       /*-*-C-*-vi:se ft=c:*/
#define GC_DEFAULT_HEAP_SAMPLER_H
/*
 * What the sampler adds to the structs of gc/default/default.c, and its hooks
 * there, whose functions stand at the end of that file.  With --disable-heap-sampler all of them are empty.
 */
#include "internal/heap_sampler.h"

#if USE_HEAP_SAMPLER
#include "heap_sampler/gc_view.h"

struct free_slot;
struct ractor_newobj_cache;
struct rb_objspace;

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
/* heap_sampler_cut.inc: a list of `slots` slots is in the cache. [vm] */
static void heap_sampler_installed(struct ractor_newobj_cache *cache, size_t heap_idx, unsigned int slots);
/* Undo the cut. */
static void heap_sampler_rejoin(struct ractor_newobj_cache *cache, size_t heap_idx);
/* Allocate the sampled slot, if it is its turn and incremental marking lets it. */
static VALUE heap_sampler_take(struct rb_objspace *objspace, struct ractor_newobj_cache *cache, size_t heap_idx, VALUE klass, VALUE flags, size_t size);
/* Compaction has moved an object. [gc] */
static void heap_sampler_moved(VALUE src, VALUE dest);
#else
#define HEAP_SAMPLER_CACHE_FIELDS
#define HEAP_SAMPLER_PAGE_FIELDS
#define heap_sampler_page_freed(page) ((void)0)
#define heap_sampler_pinned(obj) ((void)0)
#define heap_sampler_take(objspace, cache, heap_idx, klass, flags, size) Qfalse
#define heap_sampler_rejoin(cache, heap_idx) ((void)0)
#define heap_sampler_installed(cache, heap_idx, slots) ((void)(slots))
#define heap_sampler_moved(src, dest) ((void)0)
#endif

#endif /* GC_DEFAULT_HEAP_SAMPLER_H */

#ifndef HEAP_SAMPLER_GC_VIEW_H
#define HEAP_SAMPLER_GC_VIEW_H
/*
 * What the sampler asks of MRI's GC, and of structs that are private to one of its files: accessors of ours,
 * included at the end of these files.  internal/heap_sampler.h has what MRI calls.
 *
 * heap_sampler/base/contract.h defines the contracts.
 */
#include "internal/heap_sampler.h"

/* -- gc/default/default.c: gc/default/heap_sampler_view.inc and heap_sampler_cut.inc ---- */

/* Rejoin every installed free list and, if sampling, cut it afresh. [vm],
 * and no other Ractor runs. */
void rb_heap_sampler_gc_recut(void);
/* [gc], after marking: 0 is garbage, 1 alive, 2 alive until a major GC. */
int rb_heap_sampler_gc_liveness(VALUE obj);
/* The table of the object's page, or NULL, and its slot there. [vm] */
struct rb_heap_sampler_page *rb_heap_sampler_gc_table_of(VALUE obj, unsigned int *slot);
/* The slot's address on a page. */
VALUE rb_heap_sampler_gc_slot_address(uintptr_t body, unsigned int slot);
/* Each page that has a table. [vm], or [gc]. */
void rb_heap_sampler_gc_each_table(void (*visit)(struct rb_heap_sampler_page **table, uintptr_t body, void *data), void *data);
/* How full a page is. */
struct rb_heap_sampler_page_use {
    unsigned int live, free;    /* slots */
    size_t slot_size;
    const uintptr_t *pinned_bits;       /* as its mark bits: what a full mark found that must not be moved */
};
/* Of the page that has this table: by its marks, or, `moved`, after compaction
 * has moved objects. [gc], when marking is complete, or when moving is. */
void rb_heap_sampler_gc_page_use(struct rb_heap_sampler_page *const *table, bool moved, struct rb_heap_sampler_page_use *use);
/* How full the pages of a heap are, those alone that have a living object. */
struct rb_heap_sampler_heap_use {
    uint64_t pages, pinned_pages;       /* with an object that must not be moved */
    uint64_t live_slots, free_slots;
};
/* The same contract. Reads the bits of all pages of the heap. */
void rb_heap_sampler_gc_heap_use(unsigned int heap, bool moved, struct rb_heap_sampler_heap_use *use);
/* Begins a major GC that marks in steps of about so many slots, unless one marks already; 0: makes a whole one now. With Ractors it
 * marks at once. false: GC is disabled, or major GCs are. Raises nothing; no finalizer runs in it. [gvl] */
bool rb_heap_sampler_gc_start_major(size_t step_slots);
/* Moves objects together, in a major GC that marks at once.  false: GC or major GCs are disabled, or this machine has no compaction.
 * Raises nothing; no finalizer runs in it. [gvl] */
struct rb_heap_sampler_gc_moves {
    uint64_t considered, moved;         /* objects */
};
bool rb_heap_sampler_gc_compact(struct rb_heap_sampler_gc_moves *moves);
/* A step of such marking, if there is any. [gvl] */
void rb_heap_sampler_gc_step_major(size_t slots);
struct rb_heap_sampler_gc_counts {
    uint64_t gc, minor, major;
    uint64_t objects;           /* allocated so far; with several Ractors, which count without a lock, a few less */
    uint64_t gc_ns, mark_ns;    /* CPU time of all of them so far; of that, marking */
    uint64_t pages;             /* of all heaps */
    uint64_t marked_slots;      /* of the last mark; not all of them, `marking` */
    uint64_t old_objects;
    uint32_t reason;            /* why the last began: its number: GC.log in doc/heap_sampler.proto */
    bool marking;
    bool no_major;              /* GC is disabled, or major GCs are */
    bool timed;                 /* false: their time is not measured (GC.measure_total_time = false) */
    uint32_t heap_count;
    struct {
        uint32_t slot_size;
        uint64_t total_slots, live_slots;
    } heap[16];
};
/* The heap pages that there are, in the order of their addresses. [vm], or in a child that has only this thread. */
struct rb_heap_sampler_gc_page {
    uintptr_t start;            /* of its first slot */
    uint32_t slot_size, slots;  /* no slots: it is in no heap */
};
size_t rb_heap_sampler_gc_page_count(void);
void rb_heap_sampler_gc_page(size_t number, struct rb_heap_sampler_gc_page *look);
/* While GC compacts, some heap pages cannot be read and some references lead to where objects were: end it. [gvl] */
void rb_heap_sampler_gc_settle(void);
/* Plain loads of counters; [any] */
void rb_heap_sampler_gc_counts(struct rb_heap_sampler_gc_counts *counts);
/* Objects with finalizers, and the array of what ObjectSpace.define_finalizer got for them; allocates nothing. [vm] */
void rb_heap_sampler_gc_each_finalizer(void (*each)(VALUE object, VALUE blocks, void *data), void *data);
VALUE rb_heap_sampler_gc_finalizers(VALUE obj);         /* of one object: that array, or 0. [vm] */

/* -- variable.c: heap_walk/forms.inc -------------------------------------- */

/* The table of global variables, aliases too, and of a value in it the name and the variable's value; 0: it has none of its own. [vm] */
struct rb_id_table *rb_heap_sampler_globals(void);
VALUE rb_heap_sampler_global(VALUE entry, ID *id);

/* -- cont.c: memory/fiber_look.inc ---------------------------------------- */

struct rb_heap_sampler_fiber {
    int state;                  /* enum fiber_status: 0 created, 1 resumed, 2 suspended, 3 terminated */
    uintptr_t stack;            /* the lowest address of both its stacks; 0: it has none */
    size_t stack_size;
};
/* While it is in the list. Plain loads; [any] */
void rb_heap_sampler_fiber_look(const struct rb_heap_sampler_alive *fiber, struct rb_heap_sampler_fiber *look);

/* What a fiber refers to besides its stack; 0: nothing. Plain loads; [vm] */
struct rb_fiber_struct;
struct rb_heap_sampler_fiber_references {
    bool suspended;             /* it has begun, and does not run */
    VALUE block, value, resumed_by;
};
void rb_heap_sampler_fiber_references(const struct rb_fiber_struct *fiber, struct rb_heap_sampler_fiber_references *references);

/* -- thread_sync.c: heap_walk/forms.inc ------------------------------------ */

enum rb_heap_sampler_sync { RB_HEAP_SAMPLER_NO_SYNC,
                            RB_HEAP_SAMPLER_QUEUE,      /* SizedQueue, too */
                            RB_HEAP_SAMPLER_MUTEX,
                            RB_HEAP_SAMPLER_CONDITION };
/* What kind of object threads can wait for this is. Plain loads; [any] */
enum rb_heap_sampler_sync rb_heap_sampler_sync_of(VALUE object);
/* The thread that holds this Mutex; NULL: no thread does, or it is no Mutex. Compare the pointer only: before
 * 3.4.7 a Mutex does not keep its thread alive. Plain loads; [vm] */
const struct rb_thread_struct *rb_heap_sampler_mutex_holder(VALUE object);

#endif

#ifndef INTERNAL_HEAP_SAMPLER_H                          /*-*-C-*-vi:se ft=c:*/
#define INTERNAL_HEAP_SAMPLER_H
/*
 * The hooks of the sampling heap profiler: the only header of it that patched
 * files include.  doc/design.md of the project says how it works.
 *
 * With --disable-heap-sampler each hook is an empty inline function or macro:
 * patched files call them without #if.
 *
 * Contracts are those of heap_sampler/base/must.h.
 */
#include "ruby/internal/config.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "ruby/internal/event.h"
#include "ruby/internal/value.h"
#if USE_HEAP_SAMPLER
#include "ruby/heap_sampler.h"
#include "heap_sampler/base/checking.h"
#endif

struct rb_heap_sampler_page;            /* the samples of one heap page */
struct rb_thread_struct;

/* A thread or a fiber, among all there are: part of its struct.  All zero: it is not in their list. */
struct rb_heap_sampler_alive {
#if USE_HEAP_SAMPLER
    struct rb_heap_sampler_alive *next, *previous;
    uint32_t origin;            /* where it was made: heap_sampler/account/alive.h */
#else
    char unused;
#endif
};

/* What a thread has of ours. */
struct rb_heap_sampler_thread {
    struct rb_heap_sampler_alive alive;
#if USE_HEAP_SAMPLER
    uintptr_t machine_stack;    /* its lowest address; 0: the thread has not run yet */
    size_t machine_stack_size;
    uintptr_t vm_stack;         /* of the main thread, which has it from the beginning */
#endif
};

#if USE_HEAP_SAMPLER

/* True while slots are sampled: the one thing that allocation reads when off. */
extern bool rb_heap_sampler_drawing;

/* -- gc/default/default.c calls these ------------------------------------ */

/* How many slots, of the `slots` of this size that are about to be installed,
 * there are up to and including the next sampled one; 0: none of them is.
 * *drawn_at becomes the interval of the draw. [vm] */
unsigned int rb_heap_sampler_on_install(size_t slot_size, unsigned int slots, uint64_t *drawn_at);

/* A sampled slot has been taken; the object in it is not initialised yet.
 * [vm], not in GC.  `slot` is the index of its mark bit, `size` what was asked
 * of the GC, `slot_size` its heap's, `drawn_at` as on_install gave it. */
void rb_heap_sampler_on_take(struct rb_heap_sampler_page **table, uintptr_t body, const uintptr_t *mark_bits,
                             unsigned int slot, size_t size, size_t slot_size, VALUE klass, VALUE flags, uint64_t drawn_at);

/* An object has been moved from a page with samples. [gc]; may run inside
 * the read barrier's signal handler. */
void rb_heap_sampler_on_move(struct rb_heap_sampler_page *from, unsigned int from_slot,
                             struct rb_heap_sampler_page **to, uintptr_t to_body, const uintptr_t *to_mark_bits,
                             unsigned int to_slot);

/* A GC begins; the count of GCs is already that of this one. [gc] */
void rb_heap_sampler_on_gc_start(bool full_mark);

/* Marking is complete: mark bits tell the living, nothing is swept yet. [gc] */
void rb_heap_sampler_on_mark_end(bool full_mark);

/* Moving is complete: T_MOVED slots tell the new addresses. [gc] */
void rb_heap_sampler_on_update_references(void);

/* A heap page that has a table goes. [gc], or at the end of the process. */
void rb_heap_sampler_on_page_free(struct rb_heap_sampler_page *table);

/* The memory of a heap page has been mapped, or is about to go. From the
 * first page on, sampling or not. [vm]; also before there is a VM. */
void rb_heap_sampler_on_page_body(uintptr_t body, size_t size, bool exists);

/* -- gc.c, vm_trace.c ------------------------------------------------------ */

/* An object has its class and flags, and RUBY_INTERNAL_EVENT_SAMPLED_NEWOBJ
 * was set in ruby_vm_event_flags: tell listeners, if it is sampled. GC is
 * disabled. [vm] */
void rb_heap_sampler_on_newobj(VALUE object);
#if HS_CHECKING
/* vm_insnhelper.c: a frame is about to be pushed: of Ruby code, if it has an iseq. In check builds alone, which see that
 * a listener's `allocated` calls none. [gvl] */
void rb_heap_sampler_on_frame(const void *iseq);
/* gc/default/default.c asserts that no GC goes on while GC is disabled. Here one may: newobj_of disables it in the middle of one
 * that marks or sweeps in steps, and what a listener's `allocated` allocates may take the next step. [vm] */
bool rb_heap_sampler_calling_p(void);
#else
#define rb_heap_sampler_on_frame(iseq) ((void)0)
#define rb_heap_sampler_calling_p() false
#endif
/* Hooks for these events there are now: what ruby_vm_event_flags becomes. [gvl] */
rb_event_flag_t rb_heap_sampler_event_flags(rb_event_flag_t events);

/* -- and offers these ----------------------------------------------------- */

/* Rejoin every installed free list and, if sampling, cut it afresh. [vm],
 * and no other Ractor runs. */
void rb_heap_sampler_gc_recut(void);
/* [gc], after marking: 0 is dead, 1 alive, 2 alive until a major GC. */
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
/* Begins a major GC that marks in steps of about so many slots, unless one marks already; 0: makes a whole one now. false: GC is
 * disabled, or major GCs are. Raises nothing; no finalizer runs in it. [gvl] */
bool rb_heap_sampler_gc_start_major(size_t step_slots);
/* A step of such marking, if there is any. [gvl] */
void rb_heap_sampler_gc_step_major(size_t slots);
struct rb_heap_sampler_gc_counts {
    uint64_t gc, minor, major;
    uint64_t gc_ns;             /* CPU time of all of them so far */
    bool timed;                 /* false: nobody takes their time (GC.measure_total_time = false) */
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

/* -- gc.c: a walk, which asks mark functions for references outside of GC ---- */

/* What a mark function says of the reference that it tells just now: may GC.compact move the object?  MAYBE: what stands there
 * may be no reference at all (a machine stack), so it must not. */
enum rb_heap_sampler_reference { RB_HEAP_SAMPLER_MOVABLE,
                                 RB_HEAP_SAMPLER_PINS,
                                 RB_HEAP_SAMPLER_MAYBE_PINS };
extern enum rb_heap_sampler_reference rb_heap_sampler_reference;
/* [vm], or in a child that has only this thread. */
#define rb_heap_sampler_on_reference(pins, maybe) \
    ((void)(rb_heap_sampler_reference = (maybe) ? RB_HEAP_SAMPLER_MAYBE_PINS : (pins) ? RB_HEAP_SAMPLER_PINS \
                                                                                      : RB_HEAP_SAMPLER_MOVABLE))

/* -- variable.c ----------------------------------------------------------- */

/* Global variables that have a value, aliases too; allocates nothing. [vm] */
void rb_heap_sampler_each_global(void (*each)(ID id, VALUE value, void *data), void *data);

/* -- ruby.c, eval.c, process.c -------------------------------------------- */

/* The texts of --heap-sample in the order in which they were given. */
struct rb_heap_sampler_text;
/* Add a copy of one, "" for an option without settings, at the end. */
void rb_heap_sampler_add_text(struct rb_heap_sampler_text **list, const char *text);
/* Read them over what was read before, setting by setting, and free them. `from` is the option or variable to name in an
 * error: ArgumentError, or a warning if they come from the environment. [gvl] */
void rb_heap_sampler_option(struct rb_heap_sampler_text *list, const char *from, bool environment);
/* All options are read: start if they, or RUBY_HEAP_SAMPLE, ask for it. `script` is the program's, as Ruby names it. [gvl] */
void rb_heap_sampler_boot(const char *script);
/* Ruby code has ended, objects are still there: write the last profile. [gvl] */
void rb_heap_sampler_at_exit(void);
/* fork(2) is about to happen; between these two nothing is sampled and no GC
 * may run. [gvl] */
void rb_heap_sampler_before_fork(void);
/* It has happened; `pid` is what it returned. [gvl] */
void rb_heap_sampler_after_fork(int pid);
/* In the child, once its threads are in order. [gvl] */
void rb_heap_sampler_in_child(void);

/* vm.c: threads and the VM itself are about to be freed. [gvl] */
void rb_heap_sampler_vm_ends(void);
/* thread_pthread.c: this native thread will run no Ruby any more. */
void rb_heap_sampler_native_thread_ends(void);
/* ractor.c, thread.c, vm.c: a thread is among those that live. [gvl] of the thread that made it; of
 * the main thread before there is a GVL.  In a forked child once more, of the thread that is left. */
void rb_heap_sampler_thread_begins(struct rb_thread_struct *th);
/* It runs now, on its own stack. */
void rb_heap_sampler_thread_runs(struct rb_thread_struct *th);
/* It has ended, nobody refers to it any more, and its struct is about to be freed. [gc], or at the end of the process. */
void rb_heap_sampler_thread_goes(struct rb_thread_struct *th);
/* cont.c: a fiber was made that will run `proc`. [gvl] */
void rb_heap_sampler_fiber_begins(struct rb_heap_sampler_alive *fiber, VALUE proc);
/* Its struct is about to be freed. [gc], or at the end of the process. */
void rb_heap_sampler_fiber_goes(struct rb_heap_sampler_alive *fiber);

/* -- cont.c offers: */
struct rb_heap_sampler_fiber {
    int state;                  /* enum fiber_status: 0 created, 1 resumed, 2 suspended, 3 terminated */
    uintptr_t stack;            /* the lowest address of both its stacks; 0: it has none */
    size_t stack_size;
};
/* While it is in the list. Plain loads; [any] */
void rb_heap_sampler_fiber_look(const struct rb_heap_sampler_alive *fiber, struct rb_heap_sampler_fiber *look);
/* Its label set (heap_sampler/labels/label_sets.h), likewise. */
uint16_t rb_heap_sampler_fiber_labels(const struct rb_heap_sampler_alive *fiber);

/* What a fiber refers to beside its stack; 0: nothing. Plain loads; [vm] */
struct rb_fiber_struct;
struct rb_heap_sampler_fiber_kept {
    bool suspended;             /* it has begun, and does not run */
    VALUE block, value, resumed_by;
};
void rb_heap_sampler_fiber_keeps(const struct rb_fiber_struct *fiber, struct rb_heap_sampler_fiber_kept *kept);

/* -- thread_sync.c offers: */
enum rb_heap_sampler_sync { RB_HEAP_SAMPLER_NO_SYNC,
                            RB_HEAP_SAMPLER_QUEUE,      /* SizedQueue, too */
                            RB_HEAP_SAMPLER_MUTEX,
                            RB_HEAP_SAMPLER_CONDITION };
/* What kind of object threads can wait for this is. Plain loads; [any] */
enum rb_heap_sampler_sync rb_heap_sampler_sync_of(VALUE object);
/* The thread that holds this Mutex; NULL: no thread does, or it is no Mutex. Compare the pointer only: a Mutex does not
 * keep its thread alive. Plain loads; [vm] */
const struct rb_thread_struct *rb_heap_sampler_mutex_holder(VALUE object);

/* thread_pthread.c, signal.c, vm.c: what this thread gets from malloc between these two is a stack. */
void rb_heap_sampler_stack_begins(void);
void rb_heap_sampler_stack_ends(void);

/* thread_pthread.c: the timer thread has been woken: open the socket, if a signal asked for that.  `signals` ends a wait for a
 * system call by a signal alone. [any] */
void rb_heap_sampler_attach(void (*signals)(void *));

/* How `ruby --help` lists the option, and its settings. */
#define RB_HEAP_SAMPLER_HELP(M) \
    M("--heap-sample[=settings]", "", "Sample live memory; write a profile at exit. Example:\n" \
                                      "--heap-sample=every=60,output=heap/; see list below."),

/* main.c, from .preinit_array: what jemalloc's malloc_conf is to say; NULL:
 * nothing. Calls no malloc. */
RUBY_FUNC_EXPORTED const char *rb_heap_sampler_malloc_conf(int argc, char **argv, char **envp);
/* main.c, when libraries are initialised: jemalloc has read malloc_conf, and
 * may be called. */
RUBY_FUNC_EXPORTED void rb_heap_sampler_malloc_open(void);
/* main.c, then too: what jemalloc does before fork(2), and after it in the parent and in the child; NULL: there is none. */
RUBY_FUNC_EXPORTED void rb_heap_sampler_malloc_fork(void (*before)(void), void (*parent)(void), void (*child)(void));

/* yjit.c: YJIT's compiler runs between these two. [vm], and no other Ractor runs. */
void rb_heap_sampler_compiler_begins(void);
void rb_heap_sampler_compiler_ends(void);

void Init_heap_sampler(void);

#else

enum { rb_heap_sampler_drawing = 0,
       RUBY_INTERNAL_EVENT_SAMPLED_NEWOBJ = 0 };
#define rb_heap_sampler_on_newobj(object) ((void)0)
#define rb_heap_sampler_on_frame(iseq) ((void)0)
#define rb_heap_sampler_calling_p() false
#define rb_heap_sampler_event_flags(events) (events)
#define rb_heap_sampler_on_reference(pins, maybe) ((void)0)
#define RB_HEAP_SAMPLER_HELP(M)
#define rb_heap_sampler_on_page_body(body, size, exists) ((void)(body), (void)(size), (void)(exists))
#define rb_heap_sampler_attach(signals) ((void)(signals))
#define rb_heap_sampler_on_gc_start(full_mark) ((void)(full_mark))
#define rb_heap_sampler_on_mark_end(full_mark) ((void)(full_mark))
#define rb_heap_sampler_on_update_references() ((void)0)
#define rb_heap_sampler_add_text(list, text) ((void)(list), (void)(text))
#define rb_heap_sampler_option(list, from, environment) ((void)(list), (void)(from), (void)(environment))
#define rb_heap_sampler_vm_ends() ((void)0)
#define rb_heap_sampler_native_thread_ends() ((void)0)
#define rb_heap_sampler_thread_begins(th) ((void)(th))
#define rb_heap_sampler_thread_runs(th) ((void)(th))
#define rb_heap_sampler_thread_goes(th) ((void)(th))
#define rb_heap_sampler_fiber_begins(fiber, proc) ((void)(fiber), (void)(proc))
#define rb_heap_sampler_fiber_goes(fiber) ((void)(fiber))
#define rb_heap_sampler_stack_begins() ((void)0)
#define rb_heap_sampler_stack_ends() ((void)0)
#define rb_heap_sampler_compiler_begins() ((void)0)
#define rb_heap_sampler_compiler_ends() ((void)0)
#define rb_heap_sampler_boot(script) ((void)(script))
#define rb_heap_sampler_at_exit() ((void)0)
#define rb_heap_sampler_before_fork() ((void)0)
#define rb_heap_sampler_after_fork(pid) ((void)(pid))
#define rb_heap_sampler_in_child() ((void)0)
struct rb_heap_sampler_text;
static inline void
Init_heap_sampler(void)
{
}

#endif /* USE_HEAP_SAMPLER */

#endif /* INTERNAL_HEAP_SAMPLER_H */

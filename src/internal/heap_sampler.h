#ifndef INTERNAL_HEAP_SAMPLER_H                          /*-*-C-*-vi:se ft=c:*/
#define INTERNAL_HEAP_SAMPLER_H
/*
 * The hooks of the sampling heap profiler, which MRI calls: the only header of it that patched files include.
 * heap_sampler/gc_view.h has what the sampler asks of them.  doc/design.md of the project says how it works.
 *
 * With --disable-heap-sampler each hook is an empty inline function: patched files call them without #if.
 *
 * heap_sampler/base/contract.h defines the contracts.
 */
#include "ruby/internal/config.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "ruby/internal/event.h"
#include "ruby/internal/value.h"
#if USE_HEAP_SAMPLER
#include "ruby/heap_sampler.h"
#include "heap_sampler/base/contract.h"
#endif

struct rb_heap_sampler_page;            /* the samples of one heap page */
struct rb_thread_struct;

/* A thread or a fiber, among all there are: part of its struct.  All zero: it is not in their list. */
struct rb_heap_sampler_alive {
#if USE_HEAP_SAMPLER
    struct rb_heap_sampler_alive *next, *previous;
    uint32_t origin;            /* where it was made: heap_sampler/memory/threads.h */
#else
    char unused;
#endif
};

/* What a thread has of ours. */
struct rb_heap_sampler_thread {
    struct rb_heap_sampler_alive alive;
#if USE_HEAP_SAMPLER
    /* Written once, by the thread itself, and read by any.  The size is stored last, with release, and loaded first, with
     * acquire: where there is a size there is the address, so the two cannot be of different moments. */
    uintptr_t machine_stack;    /* its lowest address */
    size_t machine_stack_size;  /* 0: the thread has not run yet */
    uintptr_t vm_stack;         /* of the main thread, which has it from the beginning */
#endif
};

/*
 * A hook is declared once:  HOOK(what it returns, name, (parameters), what it does without the sampler, if anything)
 * CHECK_HOOK: a hook that only check builds have.
 */
#define NO_HOOK(type, name, parameters, ...) \
    static inline type name parameters \
    { \
        __VA_ARGS__; \
    }
#if USE_HEAP_SAMPLER
#define HOOK(type, name, parameters, ...) type name parameters;
#else
#define HOOK NO_HOOK
#endif
#if USE_HEAP_SAMPLER && HS_CHECKING
#define CHECK_HOOK HOOK
#else
#define CHECK_HOOK NO_HOOK
#endif

/* -- gc/default/default.c calls these ------------------------------------ */

/* How many slots, of the `slots` of this size that are about to be installed,
 * there are up to and including the next sampled one; 0: none of them is.
 * *drawn_at becomes the interval of the draw. [vm] */
HOOK(unsigned int, rb_heap_sampler_on_install, (size_t slot_size, unsigned int slots, uint64_t *drawn_at), return 0)

/* A sampled slot has been taken; the object in it is not initialised yet.
 * [vm], not in GC.  `slot` is the index of its mark bit, `size` what was asked
 * of the GC, `slot_size` its heap's, `drawn_at` as on_install gave it. */
HOOK(void, rb_heap_sampler_on_take, (struct rb_heap_sampler_page * *table, uintptr_t body, const uintptr_t *mark_bits, unsigned int slot, size_t size, size_t slot_size, VALUE klass, VALUE flags, uint64_t drawn_at))

/* An object has been moved from a page with samples. [gc]; may run inside
 * the read barrier's signal handler. */
HOOK(void, rb_heap_sampler_on_move, (struct rb_heap_sampler_page * from, unsigned int from_slot, struct rb_heap_sampler_page **to, uintptr_t to_body, const uintptr_t *to_mark_bits, unsigned int to_slot))

/* Ruby code stands still between these two: a GC, or a step of one. [gc] */
HOOK(void, rb_heap_sampler_on_gc_enter, (void))
HOOK(void, rb_heap_sampler_on_gc_exit, (void))

/* A GC begins; the count of GCs is already up. [gc] */
HOOK(void, rb_heap_sampler_on_gc_start, (bool full_mark))

/* Marking is complete: mark bits show what is alive, nothing is swept yet. [gc] */
HOOK(void, rb_heap_sampler_on_mark_end, (bool full_mark))
/* The same for a major GC, afterwards. [gc] */
HOOK(void, rb_heap_sampler_on_major_marked, (void))

/* The sweep of a GC has ended. [gc] */
HOOK(void, rb_heap_sampler_on_sweep_end, (void))

/* Moving is complete: T_MOVED slots have the new addresses. [gc] */
HOOK(void, rb_heap_sampler_on_update_references, (void))

/* A heap page that has a table goes. [gc], or at the end of the process. */
HOOK(void, rb_heap_sampler_on_page_free, (struct rb_heap_sampler_page * table))

/* The memory of a heap page has been mapped, or is about to go. From the
 * first page on, sampling or not. [vm]; also before there is a VM. */
HOOK(void, rb_heap_sampler_on_page_body, (uintptr_t body, size_t size, bool exists))

/* -- gc.c, vm_trace.c ------------------------------------------------------ */

/* An object has its class and flags, and RUBY_INTERNAL_EVENT_SAMPLED_NEWOBJ
 * was set in ruby_vm_event_flags: call listeners, if it is sampled. GC is
 * disabled. [vm] */
HOOK(void, rb_heap_sampler_on_newobj, (VALUE object))
/* vm_insnhelper.c: a frame is about to be pushed: of Ruby code, if it has an iseq. In check builds alone, which see that
 * a listener's `allocated` calls none. [gvl] */
CHECK_HOOK(void, rb_heap_sampler_on_frame, (const void *iseq))
/* gc/default/default.c asserts that no GC goes on while GC is disabled. Here one may: newobj_of disables it in the middle of one
 * that marks or sweeps in steps, and what a listener's `allocated` allocates may take the next step. [vm] */
CHECK_HOOK(bool, rb_heap_sampler_calling_p, (void), return false)
/* Hooks for these events there are now: what ruby_vm_event_flags becomes. [gvl] */
HOOK(rb_event_flag_t, rb_heap_sampler_event_flags, (rb_event_flag_t events), return events)

/* -- ruby.c, eval.c, process.c -------------------------------------------- */

/* The texts of --heap-sample in the order in which they were given. */
struct rb_heap_sampler_text;
/* Add a copy of one, "" for an option without settings, at the end. */
HOOK(void, rb_heap_sampler_add_text, (struct rb_heap_sampler_text * *list, const char *text))
/* Read them over what was read before, setting by setting, and free them. `from` is the option or variable to name in an
 * error: ArgumentError, or a warning if they come from the environment. [gvl] */
HOOK(void, rb_heap_sampler_option, (struct rb_heap_sampler_text * list, const char *from, bool environment))
/* All options are read: start if they, or RUBY_HEAP_SAMPLE, ask for it. `script` is the program's, as Ruby names it. [gvl] */
HOOK(void, rb_heap_sampler_boot, (const char *script))
/* Ruby code has ended, objects are still there: write the last profile. [gvl] */
HOOK(void, rb_heap_sampler_at_exit, (void))
/* fork(2) is about to happen; between these two nothing is sampled and no GC
 * may run. [gvl] */
HOOK(void, rb_heap_sampler_before_fork, (void))
/* It has happened; `pid` is what it returned. [gvl] */
HOOK(void, rb_heap_sampler_after_fork, (int pid))
/* In the child, once its threads are in order. [gvl] */
HOOK(void, rb_heap_sampler_in_child, (void))

/* vm.c: threads and the VM itself are about to be freed. [gvl] */
HOOK(void, rb_heap_sampler_vm_ends, (void))
/* thread_pthread.c: this native thread will run no Ruby any more. */
HOOK(void, rb_heap_sampler_native_thread_ends, (void))
/* ractor.c, thread.c, vm.c: a thread is among those that live. [gvl] of the thread that made it; of
 * the main thread before there is a GVL.  In a forked child once more, of the thread that is left. */
HOOK(void, rb_heap_sampler_thread_begins, (struct rb_thread_struct * th))
/* It runs now, on its own stack. */
HOOK(void, rb_heap_sampler_thread_runs, (struct rb_thread_struct * th))
/* It has ended, nothing refers to it any more, and its struct is about to be freed. [gc], or at the end of the
 * process. */
HOOK(void, rb_heap_sampler_thread_goes, (struct rb_thread_struct * th))
/* cont.c: a fiber was made that will run `proc`. [gvl] */
HOOK(void, rb_heap_sampler_fiber_begins, (struct rb_heap_sampler_alive * fiber, VALUE proc))
/* Its struct is about to be freed. [gc], or at the end of the process. */
HOOK(void, rb_heap_sampler_fiber_goes, (struct rb_heap_sampler_alive * fiber))

/* thread_pthread.c, signal.c, vm.c: what this thread gets from malloc between these two is a stack. */
HOOK(void, rb_heap_sampler_stack_begins, (void))
HOOK(void, rb_heap_sampler_stack_ends, (void))

/* thread_pthread.c: the timer thread has been woken: open the socket, if a signal asked for that.  `signals` ends a wait for a
 * system call by a signal alone. [any] */
HOOK(void, rb_heap_sampler_attach, (void (*signals)(void *)))

/* yjit.c: YJIT's compiler runs between these two. [vm], and no other Ractor runs. */
HOOK(void, rb_heap_sampler_compiler_begins, (void))
HOOK(void, rb_heap_sampler_compiler_ends, (void))

HOOK(void, Init_heap_sampler, (void))

#undef HOOK
#undef CHECK_HOOK
#undef NO_HOOK

/* -- what is no function, or only in main.c ------------------------------------- */

#if USE_HEAP_SAMPLER
/* True while slots are sampled: the one thing that allocation reads when off. */
extern bool rb_heap_sampler_drawing;

/* What a mark function says about the reference that it passes on just now: may GC.compact move the object?  MAYBE:
 * what stands there may be no reference at all (a machine stack), so it must not. */
enum rb_heap_sampler_reference { RB_HEAP_SAMPLER_MOVABLE,
                                 RB_HEAP_SAMPLER_PINS,
                                 RB_HEAP_SAMPLER_MAYBE_PINS };
extern enum rb_heap_sampler_reference rb_heap_sampler_reference;
/* [vm], or in a child that has only this thread. */
#define rb_heap_sampler_on_reference(pins, maybe) \
    ((void)(rb_heap_sampler_reference = (maybe) ? RB_HEAP_SAMPLER_MAYBE_PINS : (pins) ? RB_HEAP_SAMPLER_PINS \
                                                                                      : RB_HEAP_SAMPLER_MOVABLE))

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
#else
enum { rb_heap_sampler_drawing = 0,
       RUBY_INTERNAL_EVENT_SAMPLED_NEWOBJ = 0 };
#define rb_heap_sampler_on_reference(pins, maybe) ((void)0)
#define RB_HEAP_SAMPLER_HELP(M)
#endif /* USE_HEAP_SAMPLER */

#endif /* INTERNAL_HEAP_SAMPLER_H */

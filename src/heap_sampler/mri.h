#ifndef HEAP_SAMPLER_MRI_H
#define HEAP_SAMPLER_MRI_H
/*
 * MRI as the sampler knows it: all headers of its that we read, and all that we
 * rely on beyond what they declare.  Read in 3.4.5; a port looks at each point
 * again (doc/rebasing.md).
 *
 * gc/default/default.c (gc/default/heap_sampler_cut.inc, …_view.inc)
 *   - ractor_cache_allocate_slot alone hands out slots, from heap_caches[].freelist.
 *   - Lists enter a cache in ractor_cache_set_page, and leave it unused in
 *     gc_ractor_newobj_cache_clear.  page->free_slots is a list's length until
 *     ractor_cache_set_page sets it to 0.
 *   - In gc_marks_finish, after gc_update_weak_references, each mark bit is true,
 *     nothing is swept, and no slot has been given to a newer object.
 *   - gc_move may run in the read barrier's signal handler, which is synchronous.
 *   - Heap pages are mmapped, and come from and go to heap_page_body_allocate and
 *     heap_page_body_free alone.  A heap's counters are plain words.
 *
 * vm.c, vm_insnhelper.c, thread_pthread.c (sampling/capture.c, sampling/malloc_hooks.c)
 *   - vm_push_frame completes a frame before it stores ec->cfp; vm_pop_frame stores
 *     it once.
 *   - An environment that has moved to the heap leaves its object in place of its
 *     flags on the stack, where blocks may still look for it (vm_make_env_each).
 *   - sched.running is set to a thread by the thread that hands over, or by itself,
 *     never while the thread runs without the GVL.
 *   - Only sweeps free iseqs and method entries.
 *   - rb_postponed_job_trigger consists of atomic operations.
 *   - VM stacks of threads are malloc's; fiber stacks have guards below them.
 *   - ec->machine.stack_start is the upper end of the running thread's or fiber's machine stack, which is
 *     mapped from there down to the stack pointer; stack_maxsize is 0 where MRI does not know its size.
 *
 * ractor.c, thread.c, thread_pthread.c, thread_pthread_mn.c, thread_sync.c, cont.c (memory/threads.c)
 *   - A thread's struct is freed by thread_free alone, after rb_ractor_living_threads_insert
 *     had it; a fiber's by fiber_free.  A thread in a list has a Ractor.
 *   - A block for a Thread or a Fiber is in the struct before that.
 *   - th->status is THREAD_STOPPED while a time is waited for, and THREAD_STOPPED_FOREVER
 *     while another thread is; blocking_region_buffer is set without the GVL.
 *   - sched.malloc_stack: context_stack is the VM stack, and it and nt->altstack are
 *     malloc's till thread_free.  Else (M:N) context_stack is the machine stack, one page
 *     above the VM stack.
 *
 * vm_backtrace.c (sampling/capture.c)
 *   - The rules of labels: named classes only, `Foo#bar`, `Foo.bar`, blocks with
 *     their levels; methods in C, `<internal:` files and c_trace methods have the
 *     place of their caller.
 *
 * gc.c, vm.c, thread_sync.c (heap_walk/walk.c, roots.c, waiters.c)
 *   - rb_objspace_reachable_objects_from and _root run mark functions, allocate nothing, and may be called while
 *     marking or sweeping is unfinished, but not in a step of it.  Weak references do not come.
 *   - A heap page's slots are one behind the other from page->start; heap_pages.sorted is in the order of addresses. -
 *   RCLASS_CONST_TBL has all constants; ractor_mark alone refers to a thread that nothing else refers to. - A thread
 *   that waits for a Queue, SizedQueue, Thread or ConditionVariable without a time has THREAD_STOPPED_FOREVER, and that
 *     object as the self of one of its first frames; ConditionVariable#wait calls Mutex#sleep; th->locking_mutex is set
 *     while a Mutex is waited for.
 *   - A Mutex that is locked has the fiber that holds it, and a fiber its thread.  A thread that ends unlocks them.
 *
 * gc.c, imemo.c, iseq.c, vm.c, proc.c, variable.c (heap_walk/visit.c, names.c)
 *   - rb_gc_mark_children and the mark functions of the VM's own types say what refers to
 *     what; visit.c goes through the same fields, and through what rb_gc_obj_free frees.
 *   - These allocate nothing and raise nothing, and take at most the VM lock, in a forked child
 *     too: rb_id2str, rb_id_table_foreach, st_foreach with a callback that deletes nothing,
 *     rb_hash_stlike_foreach, rb_ivar_foreach, rb_attr_get of a hidden variable, rb_gen_ivtbl_get without an ID,
 *     rb_vm_frame_method_entry, rb_iseq_path, rb_iseq_line_no, rb_class_real.
 *   - Structs and types that are private to nine files are read in these files alone: heap_walk/forms.inc.
 *
 * yjit.c, yjit/src/stats.rs (sampling/malloc_hooks.c)
 *   - YJIT compiles between rb_yjit_vm_lock_then_barrier and rb_yjit_vm_unlock, or
 *     in rb_yjit_compile_iseq, on one thread.
 */
#include "ruby/internal/config.h"
#include "internal.h"
#include "internal/array.h"
#include "internal/bignum.h"
#include "internal/class.h"
#include "internal/complex.h"
#include "internal/cont.h"
#include "internal/gc.h"
#include "internal/hash.h"
#include "internal/heap_sampler.h"
#include "internal/imemo.h"
#include "internal/io.h"
#include "internal/object.h"
#include "internal/rational.h"
#include "internal/re.h"
#include "internal/sanitizers.h"
#include "internal/string.h"
#include "internal/struct.h"
#include "internal/symbol.h"
#include "internal/thread.h"
#include "internal/variable.h"
#include "ruby/debug.h"
#include "ruby/encoding.h"
#include "ruby/onigmo.h"
#include "ruby/ractor.h"
#include "ruby/re.h"
#include "ruby/ruby.h"
#include "ruby/thread.h"
#include "ruby/version.h"
#include "constant.h"
#include "id.h"
#include "id_table.h"
#include "iseq.h"
#include "method.h"
#include "ractor_core.h"
#include "shape.h"
#include "symbol.h"
#include "variable.h"
#include "vm_callinfo.h"
#include "vm_core.h"
#include "vm_sync.h"
#include "heap_sampler/gc_view.h"

/* vm_insnhelper.c, in no header: where the values of a frame of Ruby code begin, which has one before it. */
VALUE *rb_vm_base_ptr(const rb_control_frame_t *cfp);

/* The code that a frame runs; NULL: a C method, or none. */
static inline const rb_iseq_t *
hs_iseq_of(const rb_control_frame_t *cfp)
{
    return cfp->iseq;
}

/* What 4.0 names or stores in another way, here or under the same #if in heap_walk/; test/all/radar compiles both. */
#if RUBY_API_VERSION_MAJOR >= 4
/* Of a class that boxes have changed, what the root box sees: the box of the running thread does not matter. */
#define HS_CLASS_EXT RCLASS_EXT_PRIME
#define HS_VARIABLES_OUTSIDE_P rb_obj_gen_fields_p
#define HS_TOO_COMPLEX_P rb_shape_obj_too_complex_p
#define HS_LOADER rb_box_t
#define HS_UNTIL_4(member) NULL         /* a pointer that 4.0 has no more */
#else
#define HS_CLASS_EXT RCLASS_EXT
#define HS_VARIABLES_OUTSIDE_P(object) FL_TEST(object, FL_EXIVAR)
#define HS_TOO_COMPLEX_P rb_shape_obj_too_complex
#define HS_LOADER rb_vm_t
#define HS_UNTIL_4(member) (member)
/* symbol.c, in no header: its dsymbol_fstr_hash has the name of each symbol that was made from a string and lives. */
extern rb_symbols_t ruby_global_symbols;
#endif

/* mri.c. Is less left of this machine stack than anything of ours needs that is not the hooks? At its end MRI's
 * SystemStackError would jump out of our locks, or leave a walk "under way" for ever; a large frame would leap over the
 * guard page. So a profile, a start, a stop, an account and a save raise SystemStackError before they begin, and jobs at
 * safe points wait for another thread. The hooks need little, and run to the end as MRI's own allocator does. [gvl] */
bool rb_hs_stack_short_p(void);
/* Raises SystemStackError there: before anything is locked or begun. [gvl] */
void rb_hs_need_stack(void);
/* Calls it with all interrupts masked (ec->interrupt_mask): an exception of the program that comes meanwhile is raised later. It
 * raises nothing. [gvl] */
void rb_hs_call_masked(void (*function)(void *data), void *data);

#endif

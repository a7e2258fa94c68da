/*
 * The hooks that jemalloc calls for each of its samples: after a block was
 * allocated and before it is freed, inside malloc and free, on any thread, at
 * any moment.
 *
 * What they may rely on is little.  jemalloc holds no lock and takes no sample
 * of what is allocated meanwhile.  The thread may be one that Ruby does not
 * know, or one that has let go of the GVL; the GVL's holder may be in GC, or in
 * the middle of a change to any table of the VM.  So the hook reads only what
 * is whole at every moment on the thread that runs Ruby: its own control
 * frames.  They get their names later (store/malloc_table.h).  Code cannot be
 * swept, nor its address be used again, before the mark of this GC ends.
 *
 *   prof_backtrace     one address, always the same: jemalloc keeps one stack
 *   prof_sample        after the allocation: where it stood, its native frames, a
 *                      block in the table, an allocation at the stack
 *   prof_sample_free   before the free: the block goes, a free at its stack, with
 *                      the GCs that it survived
 *
 * A stack is Ruby's if the thread is its Ractor's sched.running: then it holds
 * the GVL.  blocking_region_buffer == 0 would not prove that.
 *
 * MALLOC_CONF wins over our settings.  If it alone opens jemalloc's profiler, we
 * leave the profiler alone, and its dumps are whole.  If it says prof:true and we
 * sample as well, jemalloc takes backtraces of its own, at its own cost.
 *
 * Sampled threads wait for each other at the malloc mutex, for each sample and
 * each free of one.
 *
 * What this relies on in MRI stands in mri.h.
 */
#include "heap_sampler/mri.h"
#include "heap_sampler/sampling/malloc_hooks.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/contract.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/sampling/capture.h"
#include "heap_sampler/sampling/sessions.h"
#include "heap_sampler/store/store.h"
#include "heap_sampler/store/malloc_table.h"
#include "heap_sampler/store/stack_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

extern VALUE rb_vm_exec(rb_execution_context_t *ec);      /* vm.c, in no header */

/* The thread-local variables of the hook must not be allocated when first
 * used, as a library's may be. */
#define HOOK_LOCAL static _Thread_local __attribute__((tls_model("initial-exec")))

HOOK_LOCAL bool ruby_has_left;  /* this native thread has run its Ruby thread to the end */
HOOK_LOCAL bool naming;         /* what this thread allocates is for the sampler */
HOOK_LOCAL bool making_stack;   /* what this thread allocates is a stack */

/* Settled before Ruby has a second thread; but `ended` is an atomic flag: when the VM ends, only the main thread has an
 * execution context. */
static bool asked;              /* the settings wanted it when the process began */
static bool off;                /* malloc=off */
static uint64_t interval_at_start;
static bool opened;             /* jemalloc's profiler is open and calls us */
static bool booted, ended;
static rb_postponed_job_handle_t job = POSTPONED_JOB_HANDLE_INVALID;

void
rb_heap_sampler_native_thread_ends(void)
{
    ruby_has_left = true;
}

/* Stacks are large, and hardly touched: the account knows them by address (memory/threads.c), and how
 * much of each is resident. As samples they would be figures of memory that is not used. */
void
rb_heap_sampler_stack_begins(void)
{
    making_stack = true;
}

void
rb_heap_sampler_stack_ends(void)
{
    making_stack = false;
}

/* The VM's data goes; C code may allocate till the end of the process. */
void
rb_heap_sampler_vm_ends(void)
{
#if HS_CHECKING
    rb_hs_note_vm_end();
#endif
    ended = true;
}

/* -- YJIT's compiler -------------------------------------------------------------- */

/* While a program starts, this compiler makes and drops gigabytes of small vectors (10.5 GiB for 1,000 methods).  It
 * made 17,000 of 17,800 samples while Active Record started, each with a page of its own from jemalloc: 2 to 3% of the
 * time.  So jemalloc draws no sample there.  A draw that falls into the compiler is dropped and the next one begins,
 * which makes no byte outside more or less likely.
 *
 * Allocated is what jemalloc's thread.allocated grew by in each compilation; held is what YJIT says. */

/* yjit/src/stats.rs; absent where YJIT is not built. */
extern size_t rb_heap_sampler_yjit_size(void) __attribute__((weak));

static bool compiler_is_hidden = true;  /* jemalloc draws nothing in it */

HOOK_LOCAL struct {
    unsigned depth;             /* compilations that this thread is in */
    bool counted, hidden;       /* the outermost of them */
    uint64_t allocated, held;   /* when it began */
} compiling;

static struct {
    uint32_t thread;
    uint64_t allocated;         /* atomic figure */
    int64_t held;               /* by the thread's own compilations; atomic figure */
    uint64_t held_at_start;
} compiled[HS_SESSIONS];

static uint64_t
compiler_holds(void)
{
    return rb_heap_sampler_yjit_size ? rb_heap_sampler_yjit_size() : 0;
}

/* false: jemalloc has no such setting. */
static bool
set_thread_draws(bool wanted)
{
    return rb_hs_mallctl_write("thread.prof.active", &wanted, sizeof(wanted));
}

void
rb_heap_sampler_compiler_begins(void)
{
    if (compiling.depth++ || !rb_hs_malloc_drawing()) return;
    compiling.counted = true;
    compiling.allocated = rb_hs_allocator_thread_allocated();
    compiling.held = compiler_holds();
    compiling.hidden = compiler_is_hidden && set_thread_draws(false);
}

void
rb_heap_sampler_compiler_ends(void)
{
    if (--compiling.depth || !compiling.counted) return;
    compiling.counted = false;
    if (compiling.hidden) set_thread_draws(true);
    uint64_t allocated = rb_hs_allocator_thread_allocated() - compiling.allocated;
    int64_t held = (int64_t)(compiler_holds() - compiling.held);
    for (int s = 0; s < HS_SESSIONS; s++) {
        if (compiled[s].thread && compiled[s].thread != rb_hs_capture_thread()) continue;
        __atomic_add_fetch(&compiled[s].allocated, allocated, __ATOMIC_RELAXED);
        __atomic_add_fetch(&compiled[s].held, held, __ATOMIC_RELAXED);
    }
}

/* What a thread's compilations have made and YJIT has freed since is no thread's, and not counted. */
struct hs_yjit_memory
rb_hs_yjit_memory(int s)
{
    uint64_t allocated = __atomic_load_n(&compiled[s].allocated, __ATOMIC_RELAXED);
    int64_t held = (int64_t)(compiler_holds() - compiled[s].held_at_start);
    if (compiled[s].thread) held = __atomic_load_n(&compiled[s].held, __ATOMIC_RELAXED);
    uint64_t inuse = held > 0 ? (uint64_t)held : 0;
    /* What was made before the first compilation was not counted as allocated. */
    return (struct hs_yjit_memory){.allocated = allocated > inuse ? allocated : inuse, .inuse = inuse};
}

/* -- where am I ------------------------------------------------------------------- */

/* The thread of Ruby's that this is; NULL: none, or none any more. */
static const rb_execution_context_t *
current_ec(void)
{
    if (!booted || ruby_has_left || ended) return NULL;
    const rb_execution_context_t *ec = rb_current_execution_context(false);
    return ec && rb_ec_thread_ptr(ec) ? ec : NULL;
}

static enum hs_malloc_kind
place_of_malloc(const rb_execution_context_t *ec)
{
    if (rb_hs_locked_p() || naming) return HS_MALLOC_AT_SAMPLER;
    if (!booted) return HS_MALLOC_AT_BOOT;
    const rb_thread_t *th = ec ? rb_ec_thread_ptr(ec) : NULL;
    if (!th || !th->ractor || th->ractor->threads.sched.running != th) return HS_MALLOC_AT_NO_GVL;
    if (rb_during_gc()) return HS_MALLOC_AT_GC;
    if (compiling.depth) return HS_MALLOC_AT_YJIT;
    return ec->vm_stack && ec->cfp ? HS_MALLOC_STACK : HS_MALLOC_AT_NO_FRAME;
}

/* The end of the stack that this runs on; 0: it is not the machine stack of Ruby's current thread or fiber. */
static uintptr_t
stack_end(const rb_execution_context_t *ec)
{
    if (!ec) return 0;
    uintptr_t end = (uintptr_t)ec->machine.stack_start, here = (uintptr_t)&end;
    return here < end && end - here <= ec->machine.stack_maxsize ? end : 0;
}

/* GC's count stays what it was when the VM ends. */
static uint32_t
gc_count(void)
{
    static uint32_t last;       /* atomic figure */
    if (booted && !ended) __atomic_store_n(&last, (uint32_t)rb_gc_count(), __ATOMIC_RELAXED);
    return __atomic_load_n(&last, __ATOMIC_RELAXED);
}

/* -- the hooks ------------------------------------------------------------------------ */

/* jemalloc is to keep no stacks: all are one. */
static void
backtrace_hook(void **frames, unsigned *len, unsigned max)
{
    frames[0] = (void *)(uintptr_t)rb_hs_malloc_open;
    *len = max != 0;
}

static void
sample(uintptr_t address, uint64_t size, uint64_t asked)
{
    uintptr_t native[HS_NATIVE_MAX];
    const rb_execution_context_t *ec = current_ec();
    struct hs_malloc_allocation allocation = {
        .address = address,
        .size = size,
        .asked = asked,
        .drawn_at = rb_hs_allocator_drawn_at(),
        .gc = gc_count(),
        .thread = ec ? rb_th_serial(rb_ec_thread_ptr(ec)) : 0,
        .kind = place_of_malloc(ec),
        .native = native,
        .stack = ec,
        .copy = rb_hs_capture_frames,
    };
    /* Making room for a stack may start a GC. */
    if (making_stack && allocation.kind != HS_MALLOC_AT_GC) return;
    uint64_t samples = rb_hs_malloc_count_sample(allocation.kind);
    if (allocation.kind == HS_MALLOC_AT_YJIT) return;   /* it is counted */
    if (allocation.kind == HS_MALLOC_STACK) {
        allocation.depth = rb_hs_capture_key(ec, &allocation.stack_key, &allocation.truncated);
        allocation.labels = ec->heap_sampler_labels;
        if (!allocation.depth) allocation.kind = HS_MALLOC_AT_NO_FRAME;
    }
    allocation.native_count = rb_hs_unwind(native, stack_end(ec));
    bool wanted = rb_hs_malloc_on_allocation(&allocation) || rb_hs_malloc_automatic_due(samples);
    /* Without a handle for the job the ends of marks must do. */
    if (wanted && allocation.kind == HS_MALLOC_STACK && job != POSTPONED_JOB_HANDLE_INVALID) rb_postponed_job_trigger(job);
}

static void
sample_hook(const void *ptr, size_t size, void **frames, unsigned len, size_t usize)
{
    (void)frames, (void)len;
    int saved_errno = errno;
    rb_hs_malloc_note_excess(usize, 1);
    if (!rb_hs_memory_inside) sample((uintptr_t)ptr, usize, size);
    errno = saved_errno;
}

static void
free_hook(const void *ptr, size_t usize)
{
    int saved_errno = errno;
    rb_hs_malloc_note_excess(usize, -1);
    if (!rb_hs_memory_inside) rb_hs_malloc_on_free((uintptr_t)ptr, gc_count());
    errno = saved_errno;
}

/* -- naming ---------------------------------------------------------------------------- */

void
rb_hs_malloc_name_stacks(void)
{
    HS_CONTRACT(vm);
    HS_CONTRACT(free);
    static struct hs_raw_frame frames[HS_DEPTH_MAX];    /* one at a time: VM lock */
    bool any = false, truncated;
    if (!opened || naming) return;
    naming = true;
    uint64_t began = rb_hs_thread_cpu_ns();
    for (uint32_t depth; (depth = rb_hs_malloc_next_raw(frames, &truncated)); any = true) {
        rb_hs_make_room_for_stack(depth);
        uint32_t node = rb_hs_capture_resolve(frames, depth, truncated);
        rb_hs_malloc_named(node == UINT32_MAX ? HS_NODE_EMPTY : node);
    }
    if (any) rb_hs_join_blocks();
    rb_hs_fold_blocks(false);
    if (any) rb_hs_malloc_automatic_work(rb_hs_thread_cpu_ns() - began);
    rb_hs_malloc_follow_pace();
    rb_hs_malloc_adjust_draws();        /* at the cap the interval was lengthened inside malloc, where mallctl must not be called */
    naming = false;
}

/* What waits for names near the end of a stack waits for the next job. */
static void
name_job(void *unused)
{
    if (rb_hs_stack_short_p()) return;
    rb_hs_unwind_refresh();
    RB_VM_LOCK_ENTER();
    rb_hs_malloc_name_stacks();
    RB_VM_LOCK_LEAVE();
}

bool
rb_hs_malloc_raw_stacks_p(void)
{
    struct hs_malloc_table_stat stat;
    rb_hs_malloc_table_stat(&stat);
    return rb_hs_malloc_drawing() && stat.raw;
}

/* -- on and off -------------------------------------------------------------------------- */

static bool
start_session(int session, uint64_t interval, uint32_t thread)
{
    compiled[session].thread = thread;
    compiled[session].held_at_start = compiler_holds();
    __atomic_store_n(&compiled[session].allocated, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&compiled[session].held, 0, __ATOMIC_RELAXED);
    return rb_hs_malloc_begin(session, interval, thread);
}

bool
rb_hs_malloc_start(int session, uint64_t interval, uint32_t thread)
{
    HS_CONTRACT(gvl);
    HS_CONTRACT(free);
    if (!opened || off) return true;
    /* Begun in rb_hs_malloc_open, it goes on: what was allocated before Ruby began is counted as well. */
    if (rb_hs_malloc_session(session).on) return rb_hs_malloc_retune(session, interval);
    bool ok = start_session(session, interval, thread);
    rb_hs_malloc_adjust_draws();
    return ok;
}

void
rb_hs_malloc_stop(int session)
{
    HS_CONTRACT(gvl);
    HS_CONTRACT(free);
    if (!opened) return;
    rb_hs_malloc_lock();
    rb_hs_store_end(&rb_hs_malloc_store, session);
    rb_hs_malloc_unlock();
    rb_hs_malloc_adjust_draws();
}

static bool
set_hook(const char *name, void (*hook)(void))
{
    return rb_hs_mallctl_write(name, &hook, sizeof(hook));
}

void
rb_hs_malloc_open(uint64_t interval)
{
    asked = true;
    if (!rb_hs_allocator()->sample_hooks || !rb_hs_malloc_open_draws()) return;
    rb_hs_malloc_seed(rb_hs_now_ns());
    rb_hs_unwind_refresh();
    rb_hs_unwind_until((uintptr_t)rb_vm_exec);
    if (rb_hs_malloc_drawing() && !start_session(HS_MAIN, interval, 0)) return;
    /* Where jemalloc's profiler is asked for as well, for its own dumps, it keeps its backtraces, and YJIT's compiler in them. */
    const char *conf = getenv("MALLOC_CONF");
    compiler_is_hidden = !conf || !strstr(conf, "prof:true");
    if (compiler_is_hidden) set_hook("experimental.hooks.prof_backtrace", (void (*)(void))backtrace_hook);
    opened = set_hook("experimental.hooks.prof_sample_free", (void (*)(void))free_hook) &&
        set_hook("experimental.hooks.prof_sample", (void (*)(void))sample_hook);
}

void
rb_hs_malloc_settings(bool is_off, uint64_t interval)
{
    off = is_off;
    interval_at_start = interval;
}

void
rb_hs_malloc_boot(bool wanted)
{
    booted = true;
    if (!opened) return;
    job = rb_postponed_job_preregister(0, name_job, NULL);
    if (!wanted) rb_hs_malloc_stop(HS_MAIN);
}

/* -- reports ------------------------------------------------------------------------------- */

static const char *
why_missing(void)
{
    const struct hs_allocator *allocator = rb_hs_allocator();
    if (!allocator->jemalloc) return "this Ruby was built without jemalloc; build it with jemalloc";
    if (!asked) {
        return "this Ruby was started without malloc sampling; start it with --heap-sample or RUBY_HEAP_SAMPLE, "
               "such as off,malloc=standby";
    }
    if (!allocator->prof_opened) return "jemalloc's profiler is off; remove prof:false from MALLOC_CONF";
    return allocator->sample_hooks ? "not enough memory for malloc samples" : "this jemalloc does not report sampling intervals; use the jemalloc of this Ruby (look at LD_PRELOAD)";
}

void
rb_hs_malloc_describe(struct hs_malloc_meta *meta, int number)
{
    struct hs_session session = rb_hs_malloc_session(number);
    *meta = (struct hs_malloc_meta){.state = HS_MALLOC_MISSING};
    snprintf(meta->allocator, sizeof(meta->allocator), "%s", rb_hs_allocator()->name);
    if (off) {
        meta->state = HS_MALLOC_OFF;
    }
    else if (!opened) {
        snprintf(meta->missing, sizeof(meta->missing), "%s", why_missing());
    }
    else {
        meta->state = session.on ? HS_MALLOC_ON : HS_MALLOC_STANDBY;
        meta->interval = session.on ? session.interval : interval_at_start;
        meta->first_interval = session.first_interval;
        meta->interval_changes = session.interval_changes;
        meta->thinnings = session.thinnings;
        meta->automatic = session.on && number == HS_MAIN && rb_hs_malloc_automatic_p();
        if (!rb_hs_unwind_libc_p()) {
            snprintf(meta->missing, sizeof(meta->missing), "native frames of code that allocates through the C library, which has no unwind tables");
        }
    }
}

/*
 * The hook that jemalloc calls for each of its samples, in place of taking a
 * backtrace: inside a malloc, on any thread, at any moment.
 *
 * What it may rely on is little.  jemalloc holds no lock and takes no sample
 * of what is allocated meanwhile.  The thread may be one that Ruby does not
 * know, or one that has let go of the GVL; the GVL's holder may be in GC, or in
 * the middle of a change to any table of the VM.  So the hook reads only what
 * is whole at every moment on the thread that runs Ruby, its own control
 * frames; takes one mutex, and only if it is free; allocates nothing; and puts
 * off naming (rb_hs_malloc_resolve) until an interrupt check, the end of a
 * mark, or a snapshot, whichever comes first.  Code cannot be swept, nor its
 * address be used again, before the mark ends.
 *
 * What this relies on in MRI 3.4: its scheduler's `running` is the thread that
 * holds its Ractor's GVL, and only that thread can find itself there (it is
 * set by the one that lets go, or by the thread itself, never while the thread
 * runs without the GVL); vm_push_frame and vm_pop_frame change ec->cfp in one
 * store, after the frame is complete; nothing but GC frees iseqs and method
 * entries.
 */
#include "ruby/internal/config.h"
#include "internal.h"
#include "internal/gc.h"
#include "internal/heap_sampler.h"
#include "internal/thread.h"
#include "ruby/debug.h"
#include "ruby/ruby.h"
#include "iseq.h"
#include "ractor_core.h"
#include "vm_core.h"
#include "vm_sync.h"
#include "allocator.h"
#include "capture.h"
#include "malloc_profile.h"
#include "malloc_rows.h"
#include "malloc_sampler.h"
#include "malloc_stacks.h"
#include "sampler.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <unwind.h>

/* The thread-local variables of the hook must not be allocated when first
 * used, as those of a library may be. */
#define HOOK_LOCAL static _Thread_local __attribute__((tls_model("initial-exec")))

HOOK_LOCAL bool ruby_has_left;  /* this native thread has run its Ruby thread to the end */
HOOK_LOCAL bool resolving;      /* what this thread allocates is the sampler's */


static bool booted, ended;
static bool hooked, no_hook;    /* no_hook: it could not be installed */
static bool sampling;           /* jemalloc's profiler is open, hooked and active */
static rb_postponed_job_handle_t job = POSTPONED_JOB_HANDLE_INVALID;

static struct hs_malloc_counts counters;        /* atomics */

static void
count(uint64_t *counter)
{
    __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

void
rb_heap_sampler_native_thread_ends(void)
{
    ruby_has_left = true;
}

/* The VM's data goes; C code may allocate till the end of the process. */
void
rb_heap_sampler_vm_ends(void)
{
    ended = true;
    rb_hs_malloc_stop();
}

/* -- where am I ------------------------------------------------------------------- */

static enum hs_malloc_kind
place_of_malloc(const rb_execution_context_t **found)
{
    if (rb_hs_locked_p() || resolving) return HS_MALLOC_AT_SAMPLER;
    if (!booted) return HS_MALLOC_AT_BOOT;
    if (ruby_has_left || ended) return HS_MALLOC_AT_NO_GVL;

    const rb_execution_context_t *ec = rb_current_execution_context(false);
    const rb_thread_t *th = ec ? rb_ec_thread_ptr(ec) : NULL;
    if (!th || !th->ractor || th->ractor->threads.sched.running != th) return HS_MALLOC_AT_NO_GVL;
    if (rb_during_gc()) return HS_MALLOC_AT_GC;
    if (!ec->vm_stack || !ec->cfp) return HS_MALLOC_AT_NO_FRAME;
    *found = ec;
    return HS_MALLOC_STACK;
}

/* -- native frames ------------------------------------------------------------------ */

/* The code of the allocator: its frames are above those that called it. */
static uintptr_t allocator_start, allocator_end;

static int
find_allocator_i(struct dl_phdr_info *info, size_t size, void *data)
{
    uintptr_t address = *(uintptr_t *)data;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t start = (uintptr_t)(info->dlpi_addr + header->p_vaddr);
        if (header->p_type != PT_LOAD || address < start || address - start >= header->p_memsz) continue;
        allocator_start = start;
        allocator_end = start + header->p_memsz;
        return 1;
    }
    return 0;
}

static void
find_allocator(void)
{
    uintptr_t address = (uintptr_t)dlsym(RTLD_DEFAULT, "mallctl");
    uintptr_t here = (uintptr_t)find_allocator;
    dl_iterate_phdr(find_allocator_i, &address);
    /* linked into the interpreter itself, its frames cannot be told by address */
    if (here >= allocator_start && here < allocator_end) allocator_start = allocator_end = 0;
}

struct unwinding {
    uintptr_t *frames;
    uint32_t count;
};

/* Below the interpreter's loop is Ruby's stack, which is told by other means:
 * unwinding stops there, and costs no more for a deep one. */
extern VALUE rb_vm_exec(rb_execution_context_t *ec);

static void backtrace_hook(void **vec, unsigned *len, unsigned max);
static uint32_t unwind(uintptr_t *frames);

static _Unwind_Reason_Code
unwind_i(struct _Unwind_Context *context, void *data)
{
    struct unwinding *unwinding = data;
    uintptr_t address = (uintptr_t)_Unwind_GetIP(context);
    if (!address) return _URC_END_OF_STACK;
    if (!unwinding->count) {
        if (address >= allocator_start && address < allocator_end) return _URC_NO_REASON;
        uintptr_t function = (uintptr_t)_Unwind_GetRegionStart(context);
        if (function == (uintptr_t)backtrace_hook || function == (uintptr_t)unwind) return _URC_NO_REASON;
    }
    if ((uintptr_t)_Unwind_GetRegionStart(context) == (uintptr_t)rb_vm_exec) return _URC_END_OF_STACK;
    unwinding->frames[unwinding->count++] = address;
    return unwinding->count == HS_NATIVE_MAX ? _URC_END_OF_STACK : _URC_NO_REASON;
}

NOINLINE(static uint32_t unwind(uintptr_t *frames));

static uint32_t
unwind(uintptr_t *frames)
{
    struct unwinding unwinding = { frames, 0 };
    _Unwind_Backtrace(unwind_i, &unwinding);
    return unwinding.count;
}

/* -- the hook ------------------------------------------------------------------------ */

/* The handle of the current stack; false: it could not be had. */
static bool
intern_stack(const rb_execution_context_t *ec, const uintptr_t *native, uint32_t native_count, uint32_t *handle)
{
    struct hs_stack_hash hash;
    bool truncated, known;
    uint32_t depth = rb_hs_capture_hash(ec, &hash, &truncated);
    for (uint32_t i = 0; i < native_count; i++) hs_stack_hash_add(&hash, native[i]);
    rb_hs_stack_hash_end(&hash, depth, truncated);

    if (!rb_hs_malloc_stacks_try_lock()) return false;
    *handle = rb_hs_malloc_stack_take(&hash);
    known = *handle != UINT32_MAX;
    if (!known) {
        uint32_t room;
        struct hs_raw_frame *frames =
            rb_hs_malloc_stack_add(&hash, native, native_count, depth, truncated, handle, &room);
        if (frames) rb_hs_capture_frames(ec, frames, room);
    }
    rb_hs_malloc_stacks_unlock();
    if (!known) rb_postponed_job_trigger(job);          /* to name it, or to make room */
    return *handle != UINT32_MAX;
}

NOINLINE(static void backtrace_hook(void **vec, unsigned *len, unsigned max));

static void
backtrace_hook(void **vec, unsigned *len, unsigned max)
{
    int saved_errno = errno;
    uintptr_t native[HS_NATIVE_MAX];
    uint32_t native_count = unwind(native), handle = 0;
    const rb_execution_context_t *ec;
    enum hs_malloc_kind kind = place_of_malloc(&ec);

    count(&counters.samples);
    if (kind == HS_MALLOC_STACK) {
        if (intern_stack(ec, native, native_count, &handle)) {
            vec[0] = (void *)(uintptr_t)hs_malloc_word(kind, handle);
            *len = 1;
            errno = saved_errno;
            return;
        }
        kind = HS_MALLOC_AT_BUSY;
    }
    switch (kind) {
      case HS_MALLOC_AT_GC: count(&counters.gc); break;
      case HS_MALLOC_AT_NO_GVL: count(&counters.no_gvl); break;
      case HS_MALLOC_AT_BUSY: count(&counters.busy); break;
      case HS_MALLOC_AT_SAMPLER: count(&counters.own); break;
      default: break;
    }
    vec[0] = (void *)(uintptr_t)hs_malloc_word(kind, 0);
    unsigned used = 1;
    for (uint32_t i = 0; i < native_count && used < max; i++) vec[used++] = (void *)native[i];
    *len = used;
    errno = saved_errno;
}

/* -- naming ---------------------------------------------------------------------------- */

void
rb_hs_malloc_resolve(void)
{
    struct hs_malloc_pending pending;
    if (!hooked || resolving) return;
    resolving = true;
    while (rb_hs_malloc_stacks_pending(&pending)) {
        uint32_t node = HS_NODE_EMPTY;
        if (pending.depth) node = rb_hs_capture_resolve(pending.frames, pending.depth, pending.truncated);
        rb_hs_malloc_stack_resolve(&pending, node == UINT32_MAX ? HS_NODE_EMPTY : node);
    }
    resolving = false;
}

void
rb_hs_malloc_forget_addresses(void)
{
    if (hooked) rb_hs_malloc_stacks_forget_addresses();
}

/* A dump for no one: it tells which stacks may be freed. Where all of them live
 * it gains nothing, and takes milliseconds: once a second at most. */
static void
collect_stacks(void)
{
    static uint64_t last_ns;
    struct hs_malloc_rows rows;
    uint64_t now = rb_hs_now_ns();
    if (now >= last_ns && now - last_ns < 1000000000) return;
    last_ns = now;
    if (rb_hs_malloc_rows_begin(&rows) != 0) return;
    rb_hs_lock();
    rb_hs_malloc_rows_copy(&rows);
    rb_hs_unlock();
    rb_hs_malloc_rows_end(&rows);
}

static void
resolve_job(void *unused)
{
    RB_VM_LOCK_ENTER();
    rb_hs_malloc_resolve();
    RB_VM_LOCK_LEAVE();
    resolving = true;
    if (rb_hs_malloc_stacks_make_room()) collect_stacks();
    resolving = false;
}

/* -- on and off -------------------------------------------------------------------------- */

static bool
set_active(bool active)
{
    return rb_hs_mallctl_write("prof.active", &active, sizeof(active));
}

static bool
install_hook(void)
{
    if (hooked) return true;
    if (!rb_hs_allocator()->backtrace_hook || !rb_hs_malloc_stacks_open()) return false;
    if (job == POSTPONED_JOB_HANDLE_INVALID) job = rb_postponed_job_preregister(0, resolve_job, NULL);
    if (job == POSTPONED_JOB_HANDLE_INVALID) return false;
    find_allocator();
    void (*hook)(void **, unsigned *, unsigned) = backtrace_hook;
    hooked = rb_hs_mallctl_write("experimental.hooks.prof_backtrace", &hook, sizeof(hook));
    return hooked;
}

void
rb_hs_malloc_start(bool fresh)
{
    if (!rb_hs_allocator()->prof_opened || rb_hs_sampler.options.malloc_mode == HS_MALLOC_SAY_OFF) return;
    bool was_active = false;
    rb_hs_mallctl_read("prof.active", &was_active, sizeof(was_active));
    if (!install_hook()) {
        no_hook = true;
        return;
    }
    if (fresh && !was_active) rb_hs_mallctl_write("prof.reset", NULL, 0);
    sampling = set_active(true);
}

void
rb_hs_malloc_stop(void)
{
    if (rb_hs_allocator()->prof_opened) set_active(false);
    sampling = false;
}

void
rb_hs_malloc_boot(void)
{
    const struct hs_options *options = &rb_hs_sampler.options;
    booted = true;
    /* What MALLOC_CONF says beside us must not sample what nobody asked for. */
    if (rb_hs_allocator()->prof_opened && options->on && options->malloc_mode != HS_MALLOC_SAY_ON) set_active(false);
}

/* -- telling ------------------------------------------------------------------------------- */

/* What a process can do whose malloc cannot be sampled, in words. */
static void
describe_missing(struct hs_malloc_meta *meta)
{
    const struct hs_allocator *allocator = rb_hs_allocator();
    const char *text;
    if (!allocator->jemalloc) {
        text = "it is not jemalloc's; build Ruby --with-jemalloc, or run it with LD_PRELOAD=libjemalloc.so.2 and "
               "--heap-sample";
    }
    else if (!allocator->prof_built) {
        text = "this jemalloc was built without its profiler (--enable-prof), as Debian's is on all but amd64 and i386";
    }
    else if (!allocator->prof_opened) {
        text = "it must be asked for when Ruby starts: --heap-sample, or --heap-sample=off,malloc=standby (in RUBYOPT and "
               "RUBY_HEAP_SAMPLE as well), or MALLOC_CONF=prof:true,prof_active:false";
    }
    else if (!allocator->backtrace_hook) {
        text = "this jemalloc takes no hook for backtraces; 5.3.0 and later do";
    }
    else {
        text = "no memory for its stacks, or no postponed job was left";
    }
    snprintf(meta->missing, sizeof(meta->missing), "%s", text);
}

void
rb_hs_malloc_describe(struct hs_malloc_meta *meta)
{
    const struct hs_allocator *allocator = rb_hs_allocator();
    *meta = (struct hs_malloc_meta){ .state = HS_MALLOC_MISSING };
    snprintf(meta->allocator, sizeof(meta->allocator), "%s", allocator->name);
    if (rb_hs_sampler.options.malloc_mode == HS_MALLOC_SAY_OFF) {
        meta->state = HS_MALLOC_OFF;
        return;
    }
    if (!allocator->prof_opened || !allocator->backtrace_hook || no_hook) {
        describe_missing(meta);
        return;
    }
    size_t lg_sample = allocator->lg_sample;
    rb_hs_mallctl_read("prof.lg_sample", &lg_sample, sizeof(lg_sample));
    rb_hs_mallctl_read("opt.prof_accum", &meta->alloc_known, sizeof(meta->alloc_known));
    meta->state = sampling ? HS_MALLOC_ON : HS_MALLOC_STANDBY;
    meta->interval = UINT64_C(1) << lg_sample;
    if (sampling && !meta->alloc_known) {
        snprintf(meta->missing, sizeof(meta->missing), "what was freed again (MALLOC_CONF=prof_accum:true tells)");
    }
}

void
rb_hs_malloc_excess(struct hs_account_excess *excess)
{
    struct hs_malloc_profile profile = { .count = 0 };
    *excess = (struct hs_account_excess){ 0, 0 };
    if (!sampling || rb_hs_malloc_profile_take(&profile) != 0) return;
    *excess = profile.excess;
    rb_hs_malloc_profile_free(&profile);
}

void
rb_hs_malloc_counts(struct hs_malloc_counts *counts)
{
    struct hs_malloc_stack_stat stat;
    rb_hs_malloc_stacks_stat(&stat);
    counts->samples = __atomic_load_n(&counters.samples, __ATOMIC_RELAXED);
    counts->gc = __atomic_load_n(&counters.gc, __ATOMIC_RELAXED);
    counts->no_gvl = __atomic_load_n(&counters.no_gvl, __ATOMIC_RELAXED);
    counts->busy = __atomic_load_n(&counters.busy, __ATOMIC_RELAXED);
    counts->own = __atomic_load_n(&counters.own, __ATOMIC_RELAXED);
    counts->stacks = stat.stacks;
    counts->pending = stat.pending;
}

#ifndef HEAP_SAMPLER_SAMPLING_MALLOC_HOOKS_H
#define HEAP_SAMPLER_SAMPLING_MALLOC_HOOKS_H
/*
 * Sampling of malloc: jemalloc draws the samples and calls our hooks where a block of one is allocated and freed;
 * store/malloc_table.c has the blocks.  jemalloc's profiler must have been opened when the process began (settings/before_main.c).
 *
 * No MRI header.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where a malloc stood. */
enum hs_malloc_kind {
    HS_MALLOC_STACK,            /* on a stack of Ruby's */
    HS_MALLOC_AT_BOOT,          /* before there was a Ruby to ask */
    HS_MALLOC_AT_GC,
    HS_MALLOC_AT_YJIT,          /* in YJIT's compiler: not in the table */
    HS_MALLOC_AT_NO_GVL,        /* on a thread that does not hold it, or that Ruby does not know */
    HS_MALLOC_AT_SAMPLER,       /* in what the sampler calls */
    HS_MALLOC_AT_NO_FRAME,      /* Ruby has begun, no frame has */
    HS_MALLOC_EVICTED,          /* there was no room for its frames */
    HS_MALLOC_KINDS
};

/* What the malloc side can do here. */
enum hs_malloc_state {
    HS_MALLOC_MISSING,          /* it cannot be sampled: `missing` says why */
    HS_MALLOC_OFF,              /* the settings say so */
    HS_MALLOC_STANDBY,          /* it can be started */
    HS_MALLOC_ON
};

struct hs_malloc_meta {
    enum hs_malloc_state state;
    uint64_t interval;          /* bytes, now; 0 unless on */
    uint64_t first_interval;    /* bytes, when the session began to sample malloc; 0 unless on */
    uint64_t interval_changes;
    uint64_t thinnings;         /* how often blocks that were held went, or got other weights, since there were too many */
    bool automatic;             /* malloc=auto */
    char allocator[48];         /* "jemalloc 5.3.1-0-g…", "glibc 2.36", … */
    char missing[256];          /* why malloc is not sampled, and what would change it; or what its stacks lack */
};

/* Before main(): if the profiler is open, sample from now on, at this interval. */
void rb_hs_malloc_open(uint64_t interval);
/* What malloc= says: never, or at which interval once it starts. [gvl] */
void rb_hs_malloc_settings(bool is_off, uint64_t interval);
/* All options are read: go on, or stop if they say so. [gvl] */
void rb_hs_malloc_boot(bool wanted);

/* A session begins to sample malloc: an interval in bytes, and the serial of the only thread that it is of, 0: all.
 * Without effect where malloc cannot be sampled.  false: no memory. [gvl] [free] */
bool rb_hs_malloc_start(int session, uint64_t interval, uint32_t thread);
void rb_hs_malloc_stop(int session);

/* Name the stacks that were met since. In GC only when marking is complete and nothing is swept. [vm] [free] */
void rb_hs_malloc_name_stacks(void);
/* Are there any? [any] */
bool rb_hs_malloc_raw_stacks_p(void);

/* State, interval, allocator, and why it is missing, of a session. [any] */
void rb_hs_malloc_describe(struct hs_malloc_meta *meta, int session);

/* What YJIT's compiler has allocated, and holds: it is counted, nothing of it is sampled. */
struct hs_yjit_memory {
    uint64_t allocated, inuse;  /* bytes, since the session began */
};
/* [any] */
struct hs_yjit_memory rb_hs_yjit_memory(int session);

/* -- draws: malloc_draws.c ----------------------------------------------------------- */

/* What the hooks have seen. */
struct hs_malloc_counts {
    uint64_t samples;           /* that jemalloc drew */
    uint64_t gc, no_gvl;        /* of these, by where they were */
    uint64_t drawn_interval;    /* at which it draws now, bytes */
    uint64_t pages_bytes;       /* of the pages that it gives to small blocks that it samples, less the blocks */
};

/* What the sampler knows of jemalloc's figures. */
struct hs_account_excess {
    int64_t allocated, resident;        /* by how much they are too high because it samples; negative: too low */
    bool untouched_known;
    uint64_t untouched;         /* of what is allocated: never touched, so that it is not resident; an estimate */
};

/* The largest power of two up to the interval: its logarithm, as jemalloc has it. */
static inline unsigned
hs_lg(uint64_t interval)
{
    return 63 - (unsigned)__builtin_clzll(interval | 1);
}
/* jemalloc's profiler is looked at. false: there is none. */
bool rb_hs_malloc_open_draws(void);
/* Does jemalloc draw samples? [malloc] */
bool rb_hs_malloc_drawing(void);
/* jemalloc draws at what sessions ask for now. [vm] [free] */
void rb_hs_malloc_adjust_draws(void);
/* false: no memory, the interval is what it was. [vm] [free] */
bool rb_hs_malloc_retune(int session, uint64_t interval);
/* A sample was taken; how many there were, with this one. [malloc] */
uint64_t rb_hs_malloc_count_sample(enum hs_malloc_kind kind);
/* A block of so many bytes is sampled from now on (1), or no longer (-1). [malloc] */
void rb_hs_malloc_note_excess(uint64_t size, int sign);
/* What sampling adds to jemalloc's figures now. [malloc] */
void rb_hs_malloc_excess(struct hs_account_excess *excess);
/* [malloc] */
void rb_hs_malloc_counts(struct hs_malloc_counts *counts);

/* -- which malloc(3) this process has: allocator.c ------------------------------------- */

/* Found at run time: it may have been linked, or preloaded. */
struct hs_allocator {
    bool jemalloc;
    bool prof_opened;           /* opt.prof: decided when jemalloc starts */
    bool sample_hooks;          /* it reports its samples and their intervals: ours, and opt.prof */
    char name[48];              /* "jemalloc 5.3.1", "glibc 2.36", "malloc" */
};

/* [any]; looks when it is first called, which takes jemalloc 300,000 instructions: a Ruby that samples nothing does not
 * call it. */
const struct hs_allocator *rb_hs_allocator(void);

/* jemalloc's mallctl(3): reads into `value`, or writes.  False: no jemalloc, no such name, or another size. [any] */
bool rb_hs_mallctl_read(const char *name, void *value, size_t size);
bool rb_hs_mallctl_write(const char *name, const void *new_value, size_t size);

/* Does the address lie in memory that jemalloc has, as far as it knows? For any address. */
bool rb_hs_allocator_has_p(const void *pointer);
/* In the hook of a sample, before anything is allocated there: the interval at which the sample was drawn, bytes. */
uint64_t rb_hs_allocator_drawn_at(void);
/* Bytes that the calling thread has ever got from jemalloc; 0: not known. */
uint64_t rb_hs_allocator_thread_allocated(void);
/* Returns to the system what the calling thread has freed, if its jemalloc arena is its alone.  An arena ages its free
 * pages while some thread allocates there: the pages of a thread that sleeps would stay. */
void rb_hs_allocator_give_back(void);

/* malloc(3) around a clone(2), for which the handlers of pthread_atfork(3) do not run, which keep its locks out of a fork.
 * main.c sets the functions of our jemalloc.  With another malloc, or in a program that has libruby and no main.c of Ruby's, these
 * do nothing: the child may wait for a lock for ever. */
struct hs_malloc_fork {
    void (*before)(void), (*in_parent)(void), (*in_child)(void);
};
extern struct hs_malloc_fork rb_hs_malloc_fork;

/* -- native frames: unwind.c ----------------------------------------------------------- */

/*
 * The native frames that called malloc(3), from inside malloc, by .eh_frame, with a cache.
 *
 * Unwinding ends where .eh_frame has no rule (generated code, a stripped or unloaded library) or more than a rule can
 * hold (a signal's frame).  libgcc's unwinder is never called: it reads code at a return address without a rule.
 * Once a JIT compiler has registered frames it calls malloc under a lock.
 *
 * Memory is read between the stack pointer and the stack's end.  The end may be unknown: a thread that is not Ruby's,
 * a coroutine of a library, a signal stack.  Then the frames up to malloc's are read, since they were called; what is
 * above them is copied by process_vm_readv(2), which fails where a read would crash.  Without that call the stack
 * ends at malloc's caller.
 *
 * The rules of a library are copied in the same way, since a return address may be stale or wrong and another thread may
 * unload the library.  Malloc's caller, libc and Ruby have theirs read; without that call a stack ends before others.
 *
 * x86-64 and arm64; elsewhere there are no native frames.  A stack ends at code without unwind tables.  [malloc]
 */

enum { HS_NATIVE_MAX = 24 };    /* native frames of a stack */

/* Unwinding ends at this function's frame, which is left out: below it is the interpreter's stack.  Before the first call
 * of the next. */
void rb_hs_unwind_until(uintptr_t function);
/* Return addresses, leaf first, of what called the allocator; their number.  `stack_end`: the highest address of the
 * current stack, 0: not known. */
uint32_t rb_hs_unwind(uintptr_t *frames, uintptr_t stack_end);
/* Empties the cache if a library was loaded or unloaded since the last time: frames could be wrong where another one was
 * mapped in its place.  Not inside malloc. */
void rb_hs_unwind_refresh(void);
/* Has the C library unwind tables?  musl has none.  Not inside malloc. */
bool rb_hs_unwind_libc_p(void);

#endif

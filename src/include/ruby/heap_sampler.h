#ifndef RUBY_HEAP_SAMPLER_H                              /*-*-C-*-vi:se ft=c:*/
#define RUBY_HEAP_SAMPLER_H 1
/**
 * @file
 * @brief      Sampled allocations, for profilers.
 *
 * Ruby samples what it allocates, slots of its heap and blocks of malloc alike.
 * A *listener* is called for samples: for each allocation, and for what becomes of
 * the sample later.  Allocations that are no samples cost nothing, and a sample
 * says how many allocations it stands for, so that sums are unbiased:
 *
 * ```c
 * #include "ruby/ruby.h"
 * #include "ruby/heap_sampler.h"
 *
 * static double bytes;
 *
 * static void
 * allocated(const rb_heap_sampler_allocation_t *allocation, void *data)
 * {
 *     bytes += allocation->weight * allocation->slot_size;
 * }
 *
 * static const rb_heap_sampler_listener_type_t type = {
 *     .struct_size = sizeof(type),
 *     .interval = 512 * 1024,
 *     .allocated = allocated,
 * };
 *
 * rb_heap_sampler_listener_t listener = rb_heap_sampler_listen(&type, NULL);
 * ```
 *
 * Each listener has an interval of its own, and its samples are what they
 * would be if it were alone.
 *
 * Where there is no sampler (other Rubies, `--disable-heap-sampler`, systems
 * other than Linux), this header cannot be included: `have_header` of mkmf
 * says so.
 *
 * What may be called where is said at each function in these words:
 *
 *   - *with the GVL*: by a thread that runs Ruby code;
 *   - *in a call*: in a function of a listener that we call.
 *
 * A Ruby that was built to check itself (`cppflags=-DRGENGC_CHECK_MODE=2`)
 * asserts this, and ends the process with a message that names the function.
 * Others do not look.
 */
#include "ruby/internal/config.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "ruby/internal/dllexport.h"
#include "ruby/internal/event.h"
#include "ruby/internal/value.h"

#if !defined(USE_HEAP_SAMPLER) || !USE_HEAP_SAMPLER
#error "this Ruby has no heap sampler"
#endif

struct rb_trace_arg_struct;

RBIMPL_SYMBOL_EXPORT_BEGIN()

/** Counts up when something is added.  A changed meaning gets other names. */
#define RUBY_HEAP_SAMPLER_API_VERSION 1

/** So many listeners there may be at once. */
#define RUBY_HEAP_SAMPLER_LISTENERS_MAX 8

/** Bytes: the longest interval of a listener; the shortest is 1. */
#define RUBY_HEAP_SAMPLER_INTERVAL_MAX (UINT64_C(1) << 30)

/**
 * The event of a sampled allocation, next to #RUBY_INTERNAL_EVENT_NEWOBJ: for
 * rb_tracepoint_new().  rb_tracearg_object() is the object, and
 * rb_heap_sampler_tracearg() says the rest.  All trace points of this event
 * together are one listener.
 */
#define RUBY_INTERNAL_EVENT_SAMPLED_NEWOBJ 0x080000

/** Where memory comes from. */
typedef enum {
    RB_HEAP_SAMPLER_SLOT = 0,       /**< A slot of Ruby's heap. */
    RB_HEAP_SAMPLER_MALLOC = 1      /**< A block of malloc(3). */
} rb_heap_sampler_memory_t;

/** A sampled allocation. */
typedef struct {
    /** Size of this struct as the VM knows it; fields beyond are not there. */
    size_t struct_size;
    /** Never 0, never used again in this process, the same when the object is
     *  moved.  No other sample has it, of slots or malloc. */
    uint64_t id;
    rb_heap_sampler_memory_t memory;
    /** The object, in rb_heap_sampler_listener_type_t::allocated; 0 elsewhere.
     *  Its class and flags are set.  Its fields may not be yet: do not read
     *  them, do not change it, and do not keep it. */
    VALUE object;
    /** Its class; 0: it is an object of the VM's own, or malloc's. */
    VALUE klass;
    /** Its `enum ruby_value_type`; 0: malloc's. */
    int type;
    /** Bytes that were asked for.  Of malloc: what its caller wanted.  Of a
     *  slot: what the VM wanted of the GC, which is the header of the object
     *  and what is embedded in it (the characters of a short string, the
     *  instance variables that its class is known to have).  What the object
     *  gets from malloc later is not in it, and not known yet. */
    uint64_t size;
    /** Bytes that it takes: of its slot, or of malloc's size class. */
    uint64_t slot_size;
    /** So many allocations of this kind it stands for: 1 / p, where p = 1 -
     *  exp(-slot_size / interval) is the probability to be a sample. */
    double weight;
    /** `weight * slot_size`. */
    double weight_bytes;
    /** The mean bytes between samples of this listener, as this sample was
     *  kept at.  It is longer than what was asked for where there were too
     *  many samples. */
    uint64_t interval;
    /** Serial number of the thread; 0: none of Ruby's. */
    uint32_t thread;
    /** Number of the label set of its fiber, for rb_heap_sampler_labels(); 0: it has none. */
    uint32_t labels;
    /** Its stack: for rb_heap_sampler_stack_frames().  0: none of Ruby's. */
    uint64_t stack;
    /** GC.count at its allocation. */
    uint64_t gc_count;
} rb_heap_sampler_allocation_t;

/** What becomes of a sample. */
typedef enum {
    /** A mark of the GC has found it to be garbage, or it was freed. */
    RB_HEAP_SAMPLER_FREED = 0,
    /** It is not followed any more, live or not: there were too many samples.
     *  An `INTERVAL` that follows makes up for it.  (Without memory for an
     *  object's new place it comes alone.) */
    RB_HEAP_SAMPLER_FORGOTTEN = 1,
    /** GC.compact has moved it; `value` is the address that it had then. */
    RB_HEAP_SAMPLER_MOVED = 2,
    /** `value` is the interval from now on.  It is of those that are still
     *  followed as well, unless theirs is longer: each of them counts
     *  rb_heap_sampler_weight() at it.  `id` is 0. */
    RB_HEAP_SAMPLER_INTERVAL = 3
} rb_heap_sampler_change_kind_t;

/** See rb_heap_sampler_change_kind_t. */
typedef struct {
    rb_heap_sampler_change_kind_t kind;
    rb_heap_sampler_memory_t memory;
    uint64_t id;
    uint64_t value;
} rb_heap_sampler_change_t;

/** What a listener wants, and its functions; what is 0 it does not want. */
typedef struct {
    /** `sizeof(rb_heap_sampler_listener_type_t)`. */
    size_t struct_size;
    /** Mean bytes of slots between two samples; 0: no slots. */
    uint64_t interval;
    /** Mean bytes of malloc between two samples; 0: no malloc.  malloc can be
     *  sampled only where that was asked for when Ruby started
     *  (`--heap-sample`, or `malloc=standby`): rb_heap_sampler_interval() says. */
    uint64_t malloc_interval;
    /**
     * A slot was sampled.  It is called at once, on the thread that allocates,
     * before the object has its contents, as for #RUBY_INTERNAL_EVENT_NEWOBJ: the
     * stack is the stack of the allocation.  The GVL and the VM lock are held, and GC
     * is disabled: none begins, though one that marks in steps may go on where it
     * allocates.  It may allocate objects (no listener is called for them), raise,
     * fork, and unlisten.  It must call no Ruby code (blocks, methods that Ruby
     * code defines): an object or a table of the program may be in the middle of a
     * change; it must not change the object, nor enable GC, nor wait for anything,
     * and should be short: all Ractors and threads wait, and so do signals and
     * finalizers.  TracePoints of Ruby code see nothing of it.  What it raises is
     * not raised (see rb_heap_sampler_listen()).
     */
    void (*allocated)(const rb_heap_sampler_allocation_t *allocation, void *data);
    /**
     * Blocks were sampled, which may have been freed since.  It is called at a
     * safe point of the main Ractor, with the GVL: it may do what any method
     * may.
     */
    void (*malloced)(const rb_heap_sampler_allocation_t *allocations, size_t count, void *data);
    /**
     * What became of samples, oldest first.  It is called as `malloced`, after
     * the allocations of all that it names, at the first safe point after a mark.
     * Samples of a listener without this function are not followed: they take
     * no memory, and there are never too many of them.
     */
    void (*changed)(const rb_heap_sampler_change_t *changes, size_t count, void *data);
} rb_heap_sampler_listener_type_t;

/** A listener; 0: none.  Never used again. */
typedef uint64_t rb_heap_sampler_listener_t;

/**
 * A frame of Ruby code.  Texts end in no NUL.  They may be freed when the call of
 * the listener returns; outside of a call, when the next Ruby object is allocated.
 * Copy what you keep.
 */
typedef struct {
    const char *label;              /**< As Thread::Backtrace::Location#label. */
    const char *path;               /**< As its #path; empty: it has none. */
    size_t label_length, path_length;
    int line;                       /**< 0: none. */
} rb_heap_sampler_frame_t;

/**
 * Listens from now on.
 *
 * What a function of it raises is not raised: an exception that is a
 * StandardError, SystemStackError or NoMemoryError is counted
 * (`GC::SampleProfile.stat[:listener_errors]`) and reported once; others, such
 * as Interrupt, SystemExit and Thread#kill, take effect at the thread's next
 * safe point.
 *
 * A forked child inherits the listeners, what they follow, and the events that
 * wait for them; ids go on from the parent's, so that a child and its parent give
 * the same ids to different samples.  A listener that does not want to listen in
 * children calls rb_heap_sampler_unlisten() there.
 *
 * @param[in]  type  Copied.
 * @param[in]  data  Passed to its functions.  It is not marked.
 * @return     The listener; 0: none, and `errno` says why.
 * @retval     EINVAL  An interval is out of its range, or the struct's size is.
 * @retval     EAGAIN  There are ::RUBY_HEAP_SAMPLER_LISTENERS_MAX already.
 * @retval     ENOMEM  There is no memory.
 * @retval     EDEADLK In a call of `allocated`.
 * @pre        With the GVL.
 */
rb_heap_sampler_listener_t rb_heap_sampler_listen(const rb_heap_sampler_listener_type_t *type, void *data);

/**
 * Listens no more: after it returns no function of the listener is begun.
 *
 * @return     false: it does not listen (any more).
 * @pre        With the GVL; also in a call, of this listener or another.
 */
bool rb_heap_sampler_unlisten(rb_heap_sampler_listener_t listener);

/**
 * The interval now, in bytes.
 *
 * @return     0: it does not listen to this memory, or it cannot be sampled.
 * @pre        With the GVL; also in a call.
 */
uint64_t rb_heap_sampler_interval(rb_heap_sampler_listener_t listener, rb_heap_sampler_memory_t memory);

/**
 * Calls all listeners now for what waits for a safe point.  For the end of a
 * measurement: call GC.start, then this.
 *
 * @pre        With the GVL.  In a call it does nothing.
 */
void rb_heap_sampler_flush(void);

/**
 * How many events no listener was called for since the process began: for want
 * of memory, or of machine stack, where the program is within 16 KiB of its end.
 *
 * @pre        With the GVL; also in a call.
 */
uint64_t rb_heap_sampler_missed(void);

/**
 * The frames of a stack, innermost first.
 *
 * Numbers of stacks are good for comparing: two samples with one number have
 * one stack.  They may be renumbered when there are very many stacks, so ask
 * for the frames in the call that has the number.
 *
 * @param[in]   stack   rb_heap_sampler_allocation_t::stack.
 * @param[out]  frames  Room for `most` of them.  May be NULL if `most` is 0.
 * @return      How many frames the stack has, which may be more than `most`;
 *              0: it has none, or the number is not known any more.
 * @pre         With the GVL; also in a call.
 */
size_t rb_heap_sampler_stack_frames(uint64_t stack, rb_heap_sampler_frame_t *frames, size_t most);

/**
 * A set of labels as text: lines `key=value` in the order of their keys, UTF-8,
 * with no NUL at the end.  See GC::SampleProfile.with_labels.
 *
 * The number stands for this set as long as the process lives.
 *
 * @param[in]   labels  rb_heap_sampler_allocation_t::labels.
 * @param[out]  text    Room for `size` bytes; what does not fit is left out.
 *                      May be NULL if `size` is 0.
 * @return      Bytes of the text, which may be more than `size`; 0: there is none.
 * @pre         With the GVL; also in a call.
 */
size_t rb_heap_sampler_labels(uint32_t labels, char *text, size_t size);

/**
 * How many allocations a sample stands for: 1 / (1 - exp(-size / interval)).
 *
 * @pre        None.
 */
double rb_heap_sampler_weight(uint64_t size, uint64_t interval);

/**
 * What the event ::RUBY_INTERNAL_EVENT_SAMPLED_NEWOBJ is about.
 *
 * @return     NULL: it is another event.
 * @pre        In the function of the trace point.
 */
const rb_heap_sampler_allocation_t *rb_heap_sampler_tracearg(const struct rb_trace_arg_struct *trace_arg);

/**
 * Sets the interval of ::RUBY_INTERNAL_EVENT_SAMPLED_NEWOBJ, in bytes: 512 KiB
 * unless this says otherwise.
 *
 * @return     false: it is out of range, or there is no memory; nothing has
 *             changed.
 * @pre        With the GVL.  In a call of `allocated` it returns false.
 */
bool rb_heap_sampler_tracepoint_interval(uint64_t interval);

RBIMPL_SYMBOL_EXPORT_END()

#endif /* RUBY_HEAP_SAMPLER_H */

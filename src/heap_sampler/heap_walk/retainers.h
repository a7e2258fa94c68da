#ifndef HEAP_SAMPLER_HEAP_WALK_RETAINERS_H
#define HEAP_SAMPLER_HEAP_WALK_RETAINERS_H
/*
 * What retains memory: the tree of chains that a heap walk found (heap_walk/launch.h),
 * or why there is none.  Plain data; no MRI header.  [any]
 */
#include <stdint.h>
#include "heap_sampler/base/table.h"
#include "heap_sampler/memory/smaps.h"

/* Why there is no answer. */
#define HS_REFUSALS(REFUSAL) \
    REFUSAL(NONE, "") \
    REFUSAL(NOT_ASKED, "no heap walk was requested") \
    REFUSAL(UNDER_WAY, "another heap walk is running; try again when it has ended") \
    REFUSAL(AT_EXIT, "the process is ending") \
    REFUSAL(IN_GC, "a GC was running; try again") \
    REFUSAL(NO_SAFE_POINT, "Ruby code did not reach a safe point in time; try again") \
    REFUSAL(SHORT_OF_MEMORY, "too little memory is left; raise the memory limit, or try again when less is used") \
    REFUSAL(KILLS_GROUP, "at the memory limit the kernel would kill the whole cgroup (memory.oom.group); raise the limit until this process fits twice") \
    REFUSAL(RAN_SHORT, "the walk was stopped before memory ran out; raise the memory limit, or try again when the program writes less") \
    REFUSAL(KILLED, "the child process was killed (SIGKILL), probably because memory ran out; raise the memory limit") \
    REFUSAL(AFTER_KILL, "the last walk ran out of memory, so automatic walks are off; run heapsample why PID") \
    REFUSAL(LONG_STOP, "a heap walk would stop the program for more than 50 ms; run heapsample why PID") \
    REFUSAL(NO_CHILD, "the child process could not be started; check the limits of memory and processes") \
    REFUSAL(NO_ROOM, "the child process had no address space for its tables; raise ulimit -v") \
    REFUSAL(DEADLINE, "the walk took longer than its deadline") \
    REFUSAL(CRASHED, "the child process ended early") \
    REFUSAL(BROKEN, "the result of the child process could not be read") \
    REFUSAL(CANCELLED, "the thread that requested the walk was interrupted; try again") \
    REFUSAL(NO_ANSWER_ROOM, "the result did not fit into the sampler's memory")

enum hs_refusal {
#define HS_REFUSAL(refusal, text) HS_REFUSED_##refusal,
    HS_REFUSALS(HS_REFUSAL)
#undef HS_REFUSAL
        HS_REFUSAL_COUNT
};
const char *rb_hs_refusal_text(enum hs_refusal refusal);

/* The first nodes of the tree, in this order: the roots. The last ones are for what has no chain, and for references that pin (walk.h). */
#define HS_TOPS(TOP) \
    TOP(CONSTANTS, "(constants)")       /* Object, whose constants all named modules are: so that chains begin with a constant */ \
    TOP(GLOBALS, "(global variables)") \
    TOP(AT_EXIT, "(at_exit)") \
    TOP(FINALIZERS, "(finalizers)")     /* blocks of ObjectSpace.define_finalizer */ \
    TOP(VM, "(VM)") \
    TOP(THREADS, "(threads)") \
    TOP(MACHINE_STACK, "(machine stack)") \
    TOP(CACHES, "(VM caches)") \
    TOP(STUCK, "(threads that can never wake)") \
    TOP(NOT_REACHED, "(not reached)") \
    TOP(NOT_WALKED, "(not walked)") \
    TOP(EVICTED, "(evicted)") \
    TOP(PINS, "(pins)") \
    TOP(NO_PIN, "(no pin any more)")

enum hs_top {
#define HS_TOP(top, name) HS_TOP_##top,
    HS_TOPS(HS_TOP)
#undef HS_TOP
        HS_TOP_COUNT
};
extern const char *const rb_hs_top_names[HS_TOP_COUNT];

/* Limits of the tree of chains. */
enum { HS_NODES_MOST = 1 << 16,
       HS_TEXTS_MOST = 1 << 16,
       HS_TEXT_BYTES_MOST = 8 << 20 };

/* Bytes of a name, with a NUL; longer ones are cut. */
enum { HS_EDGE_TEXT_MAX = 512 };

/* One reference by its name, as a node of the tree of chains. */
struct hs_retainer {
    uint32_t parent;            /* a lower number; of a root its own */
    uint32_t kind, name, klass, path;   /* texts; the kind is a word of edge.h, the class the referred object's */
    uint32_t line;
    uint32_t objects;           /* that are on chains, here */
    uint32_t folded;            /* of these, those that were folded into it */
    uint32_t entries;           /* of the container, where one object on the chains is a container; else HS_NO_ENTRIES */
    uint32_t bound;             /* text: the variable that limits that container */
};
#define HS_NO_ENTRIES UINT32_MAX

/* What would be freed if what the reference of a node leads to were emptied, and gone. */
enum { HS_FREED_MOST = 8 };
struct hs_freed {
    uint32_t node;
    double objects, space, variance;
};

/* What prevents GC.compact from moving an object: a node below HS_TOP_PINS, which is the reference by its name, and the
 * node of the object that has the reference; or HS_TOP_NO_PIN twice. */
struct hs_pin_nodes {
    uint32_t pin, holder;
};

struct hs_walk_figures {
    uint64_t objects, edges;    /* gone through; also of a walk that did not end */
    uint64_t walk_ns, name_ns, without_ns;      /* of the child's time */
    uint64_t child_bytes;       /* of its tables, in memory */
    uint64_t slots;
    uint64_t evicted;           /* names for which there was no room */
};

/*
 * What a walk found, in memory that the child shares with its parent, at the same
 * address.  The kernel has only those pages that the child has written.
 */
struct hs_found {
    char type[96];              /* of the T_DATA whose mark function runs, which may hang or crash; "": none does */
    struct hs_memory_room room; /* that was left when the child ended for want of it */
    struct hs_walk_figures figures;
    uint32_t node_count, text_count, byte_count, freed_count;
    struct hs_freed freed[HS_FREED_MOST];
    struct hs_retainer nodes[HS_NODES_MOST];
    struct hs_text texts[HS_TEXTS_MOST];       /* in `bytes`; text 0 is empty */
    char bytes[HS_TEXT_BYTES_MOST];
    struct hs_found_sample {
        uint32_t node;
        struct hs_pin_nodes pins;
    } samples[];                /* by position */
};

struct hs_retainers {
    enum hs_refusal refusal;
    char type[96];              /* in whose mark function the child ended; "" */
    int signal;                 /* that ended it; 0 */
    uint64_t hold_up_ns;        /* for which Ruby code stood still */
    uint64_t stop_estimate_ns;  /* of a walk that begins by itself */
    uint64_t ns;                /* from the fork to the answer */
    uint64_t cpu_ns;            /* of the child */
    uint64_t estimate;          /* the most bytes that the walk can cost: tables, and copies of all that the program can write to */
    uint64_t demand;            /* that had to be left */
    struct hs_memory_room room; /* of the group that had less */
    struct hs_walk_figures figures;
    struct hs_found *found;     /* NULL: there is no answer */
    uint32_t samples;           /* in it */
    struct hs_retainer *nodes;    /* its nodes */
    uint32_t node_count;
};

/* Memory for what a walk finds of so many samples. NULL: there is none. */
struct hs_found *rb_hs_found_map(uint32_t samples);
void rb_hs_found_unmap(struct hs_found *found, uint32_t samples);
/* The child has ended, and says that this is complete.  It is not trusted: an extension may have written over the memory.  Sets
 * into->refusal; where that is none, `found` belongs to `into`. */
void rb_hs_found_check(struct hs_found *found, uint32_t samples, struct hs_retainers *into);
void rb_hs_retainers_free(struct hs_retainers *retainers);

#endif

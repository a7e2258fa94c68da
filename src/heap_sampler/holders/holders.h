#ifndef HEAP_SAMPLER_HOLDERS_HOLDERS_H
#define HEAP_SAMPLER_HOLDERS_HOLDERS_H
/*
 * Who keeps what: the tree of chains that a walk found (holders/ask.h), or why
 * there is none.  Plain data; no MRI header.  [any]
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why there is no answer. */
#define HS_REFUSALS(REFUSAL) \
    REFUSAL(NONE, "") \
    REFUSAL(NOT_ASKED, "nobody asked") \
    REFUSAL(UNDER_WAY, "another walk is under way; ask again when it has ended") \
    REFUSAL(AT_EXIT, "the process is ending") \
    REFUSAL(IN_GC, "a GC was running") \
    REFUSAL(NO_SAFE_POINT, "Ruby code did not reach a safe point in time") \
    REFUSAL(SHORT_OF_MEMORY, "the walk may need half of the memory that is left, or more; see kept.estimate_bytes") \
    REFUSAL(NO_CHILD, "the kernel made no child process") \
    REFUSAL(NO_ROOM, "the child found no addresses for its tables; look at ulimit -v") \
    REFUSAL(DEADLINE, "the walk took longer than its deadline") \
    REFUSAL(CRASHED, "the child ended early") \
    REFUSAL(BROKEN, "the child's answer could not be read") \
    REFUSAL(CANCELLED, "the thread that asked was interrupted") \
    REFUSAL(NO_ANSWER_ROOM, "the answer did not fit into the profiler's own memory")

enum hs_refusal {
#define HS_REFUSAL(refusal, text) HS_REFUSED_##refusal,
    HS_REFUSALS(HS_REFUSAL)
#undef HS_REFUSAL
        HS_REFUSAL_COUNT
};
const char *rb_hs_refusal_text(enum hs_refusal refusal);

/* The first nodes of the tree of holders (chains.h), in this order, and as rb_hs_root_edge knows what lies below
 * them (edge.h). The last ones are of what has no chain, and of references that pin (pins.h). */
#define HS_TOPS(TOP) \
    TOP(CONSTANTS, "(constants)", HS_ROOT_CONSTANTS) \
    TOP(GLOBALS, "(global variables)", "global_tbl") \
    TOP(AT_EXIT, "(at_exit)", "end_proc") \
    TOP(FINALIZERS, "(finalizers)", HS_ROOT_FINALIZERS) \
    TOP(VM, "(VM)", "vm") \
    TOP(THREADS, "(threads)", "vm") \
    TOP(MACHINE_STACK, "(machine stack)", "machine_context") \
    TOP(CACHES, "(VM caches)", "YJIT") \
    TOP(STUCK, "(threads that can never wake)", "vm") \
    TOP(NOT_REACHED, "(not reached)", "") \
    TOP(NOT_WALKED, "(not walked)", "") \
    TOP(EVICTED, "(evicted)", "") \
    TOP(PINS, "(pins)", "") \
    TOP(NO_PIN, "(no pin any more)", "")

enum hs_top {
#define HS_TOP(top, name, category) HS_TOP_##top,
    HS_TOPS(HS_TOP)
#undef HS_TOP
        HS_TOP_COUNT
};

/* Of the tree. */
enum { HS_NODES_MOST = 1 << 16,
       HS_TEXTS_MOST = 1 << 16,
       HS_TEXT_BYTES_MOST = 8 << 20 };

/* Bytes of a name, with a NUL; longer ones are cut. */
enum { HS_EDGE_TEXT_MAX = 512 };

/* One reference by its name, as a node of the tree of chains: chains.h. */
struct hs_holder {
    uint32_t parent;            /* a lower number; of a root its own */
    uint32_t kind, name, klass, path;   /* texts; the kind is a word of holders/edge.h */
    uint32_t line;
    uint32_t objects, folded;
};

/* What would be freed if what the reference of a node leads to were emptied, and gone. */
enum { HS_FREED_MOST = 8 };
struct hs_freed {
    uint32_t node;
    double objects, space, variance;
};

/* A text of the tree: bytes in one run. */
struct hs_holder_text {
    uint32_t at, len;
};

/* What keeps GC.compact from moving an object: a node below HS_TOP_PINS, the reference by its name, and that of what has the
 * reference; or HS_TOP_NO_PIN twice. */
struct hs_pin_nodes {
    uint32_t pin, holder;
};

struct hs_holder_figures {
    uint64_t objects, edges;    /* gone through */
    uint64_t walk_ns, name_ns, without_ns;      /* of the child's time */
    uint64_t child_bytes;       /* of its tables, in memory */
    uint64_t slots;
    uint64_t evicted;           /* names for which there was no room */
};

struct hs_holders {
    enum hs_refusal refusal;
    char type[96];              /* in whose mark function the child ended; "" */
    int signal;                 /* that ended it; 0 */
    uint64_t hold_up_ns;        /* for which Ruby code stood still */
    uint64_t ns;                /* from the fork to the answer */
    uint64_t cpu_ns;            /* of the child */
    uint64_t estimate;          /* bytes that the child was expected to take */
    struct hs_holder_figures figures;
    struct hs_holder *nodes;
    uint32_t node_count;
    struct hs_holder_text *texts;
    uint32_t text_count;
    char *bytes;                /* of the texts */
    uint32_t byte_count;
    uint32_t *object_nodes, *block_nodes;       /* by position: a node */
    struct hs_pin_nodes *object_pins;   /* by position, too */
    uint32_t object_count, block_count;
    struct hs_freed freed[HS_FREED_MOST];
    uint32_t freed_count;
};

void rb_hs_holders_free(struct hs_holders *holders);

#endif

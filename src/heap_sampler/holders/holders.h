#ifndef HEAP_SAMPLER_HOLDERS_HOLDERS_H
#define HEAP_SAMPLER_HOLDERS_HOLDERS_H
/*
 * Who keeps what: the tree of chains that a walk found (holders/ask.h), or why
 * there is none.  Plain data; no MRI header.  [any]
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "heap_sampler/account/cgroup.h"

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

/* The first nodes of the tree of holders (chains.h), in this order, and as rb_hs_root_edge knows what lies below
 * them (edge.h). The last ones are of what has no chain, and of references that pin (chains.h). */
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
    uint64_t estimate;          /* the most bytes that the walk can cost: tables, and copies of all that the program can write to */
    uint64_t demand;            /* that had to be left */
    struct hs_memory_room room; /* of the group that had less */
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

/*
 * The child's answer as bytes in memory that both processes share: a head, then
 * its arrays one behind the other.  The reader trusts nothing of it: the child may
 * have ended half-way, or an extension may have written over its memory.  Plain
 * data; no MRI header, tested alone.
 */

struct hs_child_answer {
    const void *tree;           /* of the nodes */
    struct hs_holder (*node)(const void *tree, uint32_t number);
    const struct hs_holder_text *texts;
    const char *bytes;
    uint32_t node_count, text_count, byte_count;
    const uint32_t *object_nodes, *block_nodes;
    const struct hs_pin_nodes *object_pins;
    uint32_t object_count, block_count;
    struct hs_holder_figures figures;
    struct hs_freed freed[HS_FREED_MOST];
    uint32_t freed_count;
};

struct hs_answer_room {
    char *start;                /* all zero at first */
    size_t size, at;
    bool full;                  /* there was no room, here or for a copy */
};

/* The most bytes that an answer has. */
size_t rb_hs_answer_size_most(uint32_t objects, uint32_t blocks);
/* In the child. False: it had no room. */
bool rb_hs_answer_write(struct hs_answer_room *room, const struct hs_child_answer *answer);
/* What an answer must have: as many objects and blocks as were asked for. Sets into->refusal. The child has ended. [any] */
void rb_hs_answer_read(struct hs_answer_room *room, uint32_t objects, uint32_t blocks, struct hs_holders *into);

#endif

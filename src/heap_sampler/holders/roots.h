#ifndef HEAP_SAMPLER_HOLDERS_ROOTS_H
#define HEAP_SAMPLER_HOLDERS_ROOTS_H
/*
 * Where a walk begins, and in which order: named constants first, since a
 * constant's name says more than any other.
 *
 *   Object's constants, theirs, and so on: all modules that have a name
 *   global variables
 *   blocks of at_exit, finalizers
 *   what the VM has, and libraries have registered; then its Ractors, and so their threads
 *   (in the pass of the running) the machine stack of the thread that asked
 *   (in the pass of caches) compiled code
 *
 * In the child.
 */
#include "heap_sampler/holders/edge.h"
#include "heap_sampler/holders/walk.h"

/* The first nodes of the tree of holders (chains.h), in this order; the last three are of what has no chain. */
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
    TOP(EVICTED, "(evicted)", "")

enum hs_root {
#define HS_TOP(root, name, category) HS_TOP_##root,
    HS_TOPS(HS_TOP)
#undef HS_TOP
        HS_TOP_COUNT
};

/* As rb_hs_root_edge knows the roots of that kind. */
const char *rb_hs_root_category(enum hs_root root);
/* False: no memory. */
bool rb_hs_roots_read(struct hs_walk *walk);
/* All passes, from what was read. */
void rb_hs_roots_walk(struct hs_walk *walk);

#endif

#ifndef HEAP_SAMPLER_NATIVE_NAMES_H
#define HEAP_SAMPLER_NATIVE_NAMES_H
/*
 * Names for native code: from an address to the function and the file that it
 * is in, as far as the file's symbol tables tell (.symtab, else .dynsym).
 *
 * What was found is remembered, so that a second profile costs little.  Texts
 * stay for as long as the reading is open that found them.
 *
 * No MRI header.  Threads: any, without the GVL; one opened reading is one
 * thread's.  A mutex of its own guards what is remembered: it is a leaf.
 */
#include <stdbool.h>
#include <stdint.h>
#include "heap_sampler/base/texts.h"

/* One reading of /proc/self/maps. NULL: it cannot be read, or no memory. */
struct hs_native;
struct hs_native *rb_hs_native_open(void);
void rb_hs_native_close(struct hs_native *native);

/* A file with code in memory; the vDSO counts as one. */
struct hs_native_mapping {
    uint64_t start, end, offset;
    struct hs_text path;
    struct hs_text build_id;    /* hexadecimal digits, or "" */
};
/* Those that rb_hs_native_find met so far, in that order. */
const struct hs_native_mapping *rb_hs_native_mappings(const struct hs_native *native, uint32_t *count);

struct hs_native_place {
    uint32_t mapping;           /* index of the above; UINT32_MAX: no file's code */
    struct hs_text function;    /* "": the file has no symbol for it */
    struct hs_text file;        /* base name of the mapping's path, or "" */
};
/* Where an address is in. Of a return address give the address - 1. */
void rb_hs_native_find(struct hs_native *native, uint64_t address, struct hs_native_place *place);

/* For fork. Hold no lock of the sampler between the two but its own. */
void rb_hs_native_before_fork(void);
void rb_hs_native_after_fork(bool child);

#endif

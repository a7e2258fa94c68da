#ifndef HEAP_SAMPLER_PROFILE_NATIVE_NAMES_H
#define HEAP_SAMPLER_PROFILE_NATIVE_NAMES_H
/*
 * Names for native code: from an address to the function and the file that it
 * is in, as far as the file's symbol tables tell (.symtab, else .dynsym).
 *
 * What was found is remembered, so that a second profile costs little.
 *
 * No MRI header, no lock.  Threads: any, without the GVL; one opened reading is
 * one thread's.
 */
#include <stdbool.h>
#include <stdint.h>
#include "heap_sampler/base/table.h"

/* Where these return addresses lead. NULL: /proc/self/maps cannot be read, or there is no memory. */
struct hs_native;
struct hs_native *rb_hs_native_open(const uintptr_t *addresses, uint32_t count);
/* Mappings end with it, and texts that are not held. */
void rb_hs_native_close(struct hs_native *native);
/* The bytes of all its texts; rb_hs_texts_release() is the caller's. */
struct hs_text_bytes *rb_hs_native_hold_texts(const struct hs_native *native);

/* A file with code in memory; the vDSO counts as one. */
struct hs_native_mapping {
    uint64_t start, end, offset;
    struct hs_text path;        /* with a NUL behind it */
    struct hs_text build_id;    /* hexadecimal digits, or "" */
    /* The rest is native_names.c's. */
    uint64_t device, inode;
    uint64_t head_start, head_end;      /* where the file's first page is mapped; 0: it is not */
    bool met;                           /* there is a place in it */
};
/* The first from this number on that has a place, by address; *number is that behind it. NULL: there is none. */
const struct hs_native_mapping *rb_hs_native_mapping(const struct hs_native *native, uint32_t *number);

/* What a function does, by its name. */
enum hs_native_role {
    HS_NATIVE_CODE,
    HS_NATIVE_PASSES_ON,        /* of a C library: a request for memory comes from its caller */
    HS_NATIVE_XMALLOC,          /* of the interpreter: the family of xmalloc, through which all of Ruby's own memory comes */
    HS_NATIVE_CALLS_C,          /* of the interpreter: between a call of a method and the C function */
};

struct hs_native_place {
    struct hs_text path;        /* of the mapping; "": no file's code */
    struct hs_text file;        /* its base name, or "" */
    struct hs_text function;    /* "": the file has no symbol for it */
    enum hs_native_role role;
};
/* Of one of the addresses. */
struct hs_native_place rb_hs_native_place(const struct hs_native *native, uintptr_t address);
/* The base name of the file that the interpreter is in. */
struct hs_text rb_hs_native_ruby_file(const struct hs_native *native);

#endif

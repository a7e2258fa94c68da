#ifndef HEAP_SAMPLER_PROFILE_NATIVE_NAMES_H
#define HEAP_SAMPLER_PROFILE_NATIVE_NAMES_H
/*
 * Names for native code: from an address to the function and the file that it
 * is in, as far as the file's symbol tables say (.symtab, else .dynsym).
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
/* The place of one of the addresses, or of HS_IN_RUBY, which is in the interpreter. */
struct hs_native_place rb_hs_native_place(const struct hs_native *native, uintptr_t address);
#define HS_IN_RUBY ((uintptr_t)rb_hs_native_open + 1)

/* -- elf_symbols.c ---------------------------------------------------------------------- */

/*
 * The functions that an ELF file names, by their place in the file, and its build id.
 *
 * The file is not trusted: it may be cut, damaged, or change while it is read.  It is read with pread(2) only, never mapped.
 * What is wrong with it ends in fewer names.  Of the word size and byte order of this process only; no state between calls.
 */

/* The file is bytes `at` to `at + size` of what `fd` reads: of itself, or of
 * /proc/self/mem where its first page is mapped. */
struct hs_elf_source {
    int fd;
    uint64_t at, size;
};

enum { HS_BUILD_ID_MAX = 64 };          /* bytes; what linkers write has 8 to 32 */

/* Hexadecimal digits and a NUL into `text`, which has room for
 * 2 * HS_BUILD_ID_MAX + 1; returns how many digits, 0: the file has none. */
size_t rb_hs_elf_build_id(const struct hs_elf_source *source, char *text);

struct hs_elf_function {
    uint64_t start, end;                /* where the file was linked for */
    uint32_t name;                      /* in the string table */
    uint8_t rank;                       /* a global name before a weak one, and that before a local one */
};

/* Code whose function is wanted. */
struct hs_elf_place {
    uint64_t offset;                    /* in the file */
    struct hs_text name;                /* of the function; "": none is known */
    /* The rest is elf_symbols.c's. */
    uint64_t address;                   /* where the file was linked for */
    struct hs_elf_function covering;    /* start 0: none yet */
    struct hs_elf_function before;      /* the last that starts at or before the address, and behind the place before this one */
};

/* Looks at the functions of .symtab, else of .dynsym, once, and gives each place that one of them covers its name, stored in
 * `bytes`. The places are sorted by offset, all 0 but for that, and in one mapping. */
void rb_hs_elf_name(const struct hs_elf_source *source, struct hs_elf_place *places, uint32_t count, struct hs_text_bytes *bytes);

#endif

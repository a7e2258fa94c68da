#ifndef HEAP_SAMPLER_PROFILE_ELF_SYMBOLS_H
#define HEAP_SAMPLER_PROFILE_ELF_SYMBOLS_H
/*
 * The functions that an ELF file names, by their place in the file, and its
 * build id.
 *
 * The file is not trusted: it may be cut, damaged, or change while it is read.
 * It is read with pread(2) only, never mapped.  What is wrong with it ends in
 * fewer names.
 *
 * Of the word size and byte order of this process only.  No MRI header, no
 * lock, no GVL; it keeps no state between calls.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "heap_sampler/base/table.h"

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

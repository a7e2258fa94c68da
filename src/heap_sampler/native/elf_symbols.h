#ifndef HEAP_SAMPLER_NATIVE_ELF_SYMBOLS_H
#define HEAP_SAMPLER_NATIVE_ELF_SYMBOLS_H
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
#include <stddef.h>
#include <stdint.h>

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

/* The functions of .symtab, else of .dynsym, sorted.  NULL: no memory; a file
 * that is no ELF file has no functions. */
struct hs_elf_symbols;
struct hs_elf_symbols *rb_hs_elf_symbols_read(const struct hs_elf_source *source);
void rb_hs_elf_symbols_free(struct hs_elf_symbols *symbols);

/* The name of the function whose code is at `offset` of the file, cut to
 * `room` bytes, into `name`; returns its length, 0: no symbol covers it.  Reads
 * the name from `source`, the same file. */
size_t rb_hs_elf_function_at(const struct hs_elf_symbols *symbols, const struct hs_elf_source *source,
                             uint64_t offset, char *name, size_t room);

#endif

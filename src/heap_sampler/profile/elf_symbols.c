/*
 * Functions of an ELF file: one pass over its symbol table, which looks for the
 * places whose names are wanted.  So no list of all functions is made.  A place
 * has the name of the symbol whose size covers it, never of the nearest one: a
 * function that a stripped library does not export has no name.  C++ names are
 * left as they are; the command heapsample demangles them.
 *
 * Addresses here are those that the file was linked for.  The executable
 * PT_LOAD segment that holds a place in the file leads to its address.  Where
 * the file is mapped (shared library, PIE or not) does not matter.
 */
#include "heap_sampler/profile/native_names.h"
#include "heap_sampler/base/memory.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

enum {
    HEADERS_MAX = 1024,                 /* program headers; a dozen is usual */
    NOTES_MAX = 64 * 1024,              /* bytes of notes in one segment */
    CHUNK_SYMBOLS = 256,                /* read at once */
    NAME_ROOM = 2049,                   /* C++ has longer names: cut */
};
#define TABLE_MAX (UINT64_C(64) << 20)  /* bytes of a symbol table */

/* What st_info holds is packed alike in both classes. */
#define SYMBOL_TYPE(symbol) ((symbol)->st_info & 0xf)
#define SYMBOL_BINDING(symbol) ((symbol)->st_info >> 4)

static bool
read_at(const struct hs_elf_source *source, uint64_t offset, void *into, size_t size)
{
    char *to = into;

    if (offset > source->size || size > source->size - offset) return false;
    while (size) {
        ssize_t got = pread(source->fd, to, size, (off_t)(source->at + offset));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        to += got;
        offset += (uint64_t)got;
        size -= (size_t)got;
    }
    return true;
}

static bool
read_header(const struct hs_elf_source *source, ElfW(Ehdr) *header)
{
    if (!read_at(source, 0, header, sizeof(*header))) return false;
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return false;
    if (header->e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32)) return false;
    return header->e_ident[EI_DATA] == (__BYTE_ORDER == __LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB);
}

static bool
read_segment(const struct hs_elf_source *source, const ElfW(Ehdr) *header, uint32_t i, ElfW(Phdr) *segment)
{
    if (header->e_phentsize != sizeof(*segment) || i >= header->e_phnum || i >= HEADERS_MAX) return false;
    if (header->e_phoff > source->size) return false;
    return read_at(source, header->e_phoff + (uint64_t)i * sizeof(*segment), segment, sizeof(*segment));
}

/* -- build id --------------------------------------------------------------- */

static size_t
align4(size_t size)
{
    return (size + 3) & ~(size_t)3;
}

static size_t
build_id_of_notes(const unsigned char *notes, size_t size, char *text)
{
    static const char digits[] = "0123456789abcdef";
    ElfW(Nhdr) note;

    for (size_t at = 0; at <= size && size - at >= sizeof(note);) {
        memcpy(&note, notes + at, sizeof(note));
        at += sizeof(note);
        if (note.n_namesz > size || note.n_descsz > size) return 0;
        if (align4(note.n_namesz) + note.n_descsz > size - at) return 0;
        const unsigned char *name = notes + at, *id = name + align4(note.n_namesz);
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(name, "GNU", 4) == 0) {
            if (!note.n_descsz || note.n_descsz > HS_BUILD_ID_MAX) return 0;
            for (uint32_t i = 0; i < note.n_descsz; i++) {
                text[2 * i] = digits[id[i] >> 4];
                text[2 * i + 1] = digits[id[i] & 15];
            }
            text[2 * note.n_descsz] = '\0';
            return 2 * note.n_descsz;
        }
        at += align4(note.n_namesz) + align4(note.n_descsz);
    }
    return 0;
}

size_t
rb_hs_elf_build_id(const struct hs_elf_source *source, char *text)
{
    ElfW(Ehdr) header;
    ElfW(Phdr) segment;
    size_t length = 0;

    text[0] = '\0';
    if (!read_header(source, &header)) return 0;
    for (uint32_t i = 0; !length && read_segment(source, &header, i, &segment); i++) {
        if (segment.p_type != PT_NOTE || segment.p_filesz > NOTES_MAX) continue;
        unsigned char *notes = rb_hs_malloc(HS_MEM_SNAPSHOTS, segment.p_filesz + 1);
        if (notes && read_at(source, segment.p_offset, notes, segment.p_filesz)) {
            length = build_id_of_notes(notes, segment.p_filesz, text);
        }
        rb_hs_free(HS_MEM_SNAPSHOTS, notes);
    }
    return length;
}

/* -- names ------------------------------------------------------------------------ */

struct table {
    const struct hs_elf_source *source;
    const ElfW(Shdr) *sections;
    uint32_t section_count;
    const ElfW(Shdr) *symbols, *names;  /* two of the sections */
};

/* Into `name`, which has NAME_ROOM bytes, with a NUL. Without the version that a linker may have put behind:
 * malloc@@GLIBC_2.2.5. */
static size_t
read_name(const struct table *table, uint32_t at, char *name)
{
    uint64_t size = table->source->size, start = table->names->sh_offset;
    size_t room = NAME_ROOM - 1;
    name[0] = '\0';
    if (at >= table->names->sh_size || start > size || at >= size - start) return 0;
    if (room > table->names->sh_size - at) room = (size_t)(table->names->sh_size - at);
    if (room > size - start - at) room = (size_t)(size - start - at);   /* the table may be said to be longer than the file is */
    if (!read_at(table->source, start + at, name, room)) return 0;
    name[room] = '\0';
    char *version = *name ? strchr(name + 1, '@') : NULL;
    if (version) *version = '\0';
    return strlen(name);
}

/* The name that callers use, where a function has several: write, not __write or __libc_write. */
static bool
better_p(const struct table *table, const struct hs_elf_function *function, const struct hs_elf_function *than)
{
    char name[NAME_ROOM], other[NAME_ROOM];
    size_t length = read_name(table, function->name, name), other_length = read_name(table, than->name, other);
    if (!length || !other_length) return length > 0;
    size_t marks = strspn(name, "_"), other_marks = strspn(other, "_");
    if (marks != other_marks) return marks < other_marks;
    if (function->rank != than->rank) return function->rank < than->rank;
    if (length != other_length) return length < other_length;
    return strcmp(name, other) < 0;
}

/* The innermost of the functions that cover a place starts last. */
static void
offer(const struct table *table, struct hs_elf_function *best, const struct hs_elf_function *function)
{
    if (function->start < best->start) return;
    if (function->start > best->start || better_p(table, function, best)) *best = *function;
}

static uint32_t
first_place_from(const struct hs_elf_place *places, uint32_t count, uint64_t address)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (places[middle].address < address) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Sizes may be left out in .symtab (hand-written assembly), whose next symbol bounds the function; .dynsym lists too few for
 * that. */
static void
look_at(const struct table *table, const ElfW(Sym) *symbol, struct hs_elf_place *places, uint32_t count)
{
    int type = SYMBOL_TYPE(symbol), binding = SYMBOL_BINDING(symbol);
    uint64_t start = symbol->st_value, size = symbol->st_size;
    if (type != STT_FUNC && type != STT_GNU_IFUNC) return;
    if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= table->section_count || !symbol->st_name) return;
    if (!start || (!size && table->symbols->sh_type != SHT_SYMTAB) || size > UINT64_MAX - start) return;

    const ElfW(Shdr) *section = &table->sections[symbol->st_shndx];
    uint64_t end = size || section->sh_size > UINT64_MAX - section->sh_addr ? start + size : section->sh_addr + section->sh_size;
    uint8_t rank = binding == STB_GLOBAL ? 0 : (binding == STB_WEAK ? 1 : 2);
    struct hs_elf_function function = {start, end, symbol->st_name, rank};
    uint32_t i = first_place_from(places, count, start);
    for (uint32_t n = i; size && n < count && places[n].address < end; n++) offer(table, &places[n].covering, &function);
    if (i < count && start > places[i].before.start) places[i].before = size ? (struct hs_elf_function){.start = start} : function;
}

static void
look_at_all(const struct table *table, struct hs_elf_place *places, uint32_t count)
{
    ElfW(Sym) chunk[CHUNK_SYMBOLS];
    uint64_t left = table->symbols->sh_size / sizeof(*chunk), at = table->symbols->sh_offset;
    while (left) {
        size_t some = left < CHUNK_SYMBOLS ? (size_t)left : CHUNK_SYMBOLS;
        if (!read_at(table->source, at, chunk, some * sizeof(*chunk))) return;
        for (size_t i = 0; i < some; i++) look_at(table, &chunk[i], places, count);
        left -= some;
        at += some * sizeof(*chunk);
    }
}

/* The table of symbols of this type, and the table of their names. */
static bool
choose(struct table *table, uint32_t type)
{
    for (uint32_t i = 0; i < table->section_count; i++) {
        const ElfW(Shdr) *symbols = &table->sections[i];
        if (symbols->sh_type != type || symbols->sh_entsize != sizeof(ElfW(Sym)) || symbols->sh_size > TABLE_MAX) continue;
        if (symbols->sh_link >= table->section_count || table->sections[symbols->sh_link].sh_type != SHT_STRTAB) continue;
        table->symbols = symbols;
        table->names = &table->sections[symbols->sh_link];
        return true;
    }
    return false;
}

/* Sets the addresses of places that are in one segment of code. */
static void
find_addresses(const struct hs_elf_source *source, const ElfW(Ehdr) *header, struct hs_elf_place **places, uint32_t *count)
{
    ElfW(Phdr) segment;
    for (uint32_t i = 0; *count && read_segment(source, header, i, &segment); i++) {
        if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X)) continue;
        uint32_t first = 0, end;
        while (first < *count && (*places)[first].offset < segment.p_offset) first++;
        for (end = first; end < *count && (*places)[end].offset - segment.p_offset < segment.p_filesz; end++) {
            (*places)[end].address = segment.p_vaddr + ((*places)[end].offset - segment.p_offset);
        }
        if (end == first) continue;
        *places += first;
        *count = end - first;
        return;
    }
    *count = 0;
}

void
rb_hs_elf_name(const struct hs_elf_source *source, struct hs_elf_place *places, uint32_t count, struct hs_text_bytes *bytes)
{
    ElfW(Ehdr) header;
    char name[NAME_ROOM];
    if (!read_header(source, &header) || header.e_shentsize != sizeof(ElfW(Shdr))) return;
    find_addresses(source, &header, &places, &count);
    ElfW(Shdr) *sections = rb_hs_malloc(HS_MEM_SNAPSHOTS, header.e_shnum * sizeof(*sections) + 1);
    struct table table = {.source = source, .sections = sections, .section_count = header.e_shnum};
    struct hs_elf_function before = {0};
    bool readable = sections && count && read_at(source, header.e_shoff, sections, header.e_shnum * sizeof(*sections));
    if (readable && (choose(&table, SHT_SYMTAB) || choose(&table, SHT_DYNSYM))) look_at_all(&table, places, count);
    for (uint32_t i = 0; table.symbols && i < count; i++) {
        const struct hs_elf_function *function = &places[i].covering;
        if (places[i].before.start > before.start) before = places[i].before;
        if (before.name && before.start > function->start && places[i].address < before.end) function = &before;
        size_t length = function->name ? read_name(&table, function->name, name) : 0;
        const char *copy = length ? rb_hs_text_store(bytes, name, length) : NULL;
        if (copy) places[i].name = (struct hs_text){copy, (uint32_t)length};
    }
    rb_hs_free(HS_MEM_SNAPSHOTS, sections);
}

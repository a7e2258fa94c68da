/*
 * Symbols of an ELF file: a sorted array of its functions' addresses, without
 * their names, which are read one by one when they are asked for: few are, and
 * a string table may be large.
 *
 * Addresses here are those that the file was linked for.  A place in the file
 * leads to one through the executable PT_LOAD segment that holds it, so that
 * where the file is mapped (shared library, PIE or not) does not matter.
 */
#include "heap_sampler/native/elf_symbols.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/table.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

enum {
    SEGMENTS_MAX = 16,                  /* executable ones; one is usual */
    HEADERS_MAX = 1024,                 /* program headers; a dozen is usual */
    NOTES_MAX = 64 * 1024,              /* bytes of notes in one segment */
    CHUNK_SYMBOLS = 256,                /* read at once */
    OVERLAPS_MAX = 64,                  /* symbols looked at for one that covers an address */
    ALIASES_MAX = 16,                   /* names of one function that are compared */
};
#define TABLE_MAX (UINT64_C(64) << 20)  /* bytes of a symbol table */

/* What st_info holds is packed alike in both classes. */
#define SYMBOL_TYPE(symbol) ((symbol)->st_info & 0xf)
#define SYMBOL_BINDING(symbol) ((symbol)->st_info >> 4)

struct function {
    uint64_t start, end;                /* addresses; end 0 while the size is not known */
    uint32_t name;                      /* in the string table */
    uint16_t section;
    uint8_t binding;
};

struct segment {
    uint64_t offset, size, address;
};

struct hs_elf_symbols {
    struct segment segment[SEGMENTS_MAX];
    uint32_t segment_count;
    struct function *functions;         /* by start */
    uint32_t count, capacity;
    uint64_t names_at, names_size;      /* the string table, in the file */
};

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

/* -- reading the table --------------------------------------------------------- */

static void
read_segments(struct hs_elf_symbols *symbols, const struct hs_elf_source *source, const ElfW(Ehdr) *header)
{
    ElfW(Phdr) segment;

    for (uint32_t i = 0; read_segment(source, header, i, &segment); i++) {
        if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X)) continue;
        if (symbols->segment_count == SEGMENTS_MAX) return;
        symbols->segment[symbols->segment_count++] =
            (struct segment){segment.p_offset, segment.p_filesz, segment.p_vaddr};
    }
}

static const struct segment *
segment_of_address(const struct hs_elf_symbols *symbols, uint64_t address)
{
    for (uint32_t i = 0; i < symbols->segment_count; i++) {
        const struct segment *segment = &symbols->segment[i];
        if (address >= segment->address && address - segment->address < segment->size) return segment;
    }
    return NULL;
}

/* Sizes may be left out in .symtab (hand-written assembly), whose next symbol
 * bounds the function; .dynsym lists too few for that.  Without room for any
 * it is counted only. */
static void
add_function(struct hs_elf_symbols *symbols, const ElfW(Sym) *symbol, bool all_listed)
{
    int type = SYMBOL_TYPE(symbol);
    uint64_t start = symbol->st_value, size = symbol->st_size;

    if (type != STT_FUNC && type != STT_GNU_IFUNC) return;
    if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= SHN_LORESERVE) return;
    if (!symbol->st_name || symbol->st_name >= symbols->names_size) return;
    if ((!size && !all_listed) || size > UINT64_MAX - start) return;
    if (!segment_of_address(symbols, start)) return;
    if (symbols->functions) {
        if (symbols->count == symbols->capacity) return;        /* there are more than were counted */
        symbols->functions[symbols->count] = (struct function){
            start,
            size ? start + size : 0,
            (uint32_t)symbol->st_name,
            symbol->st_shndx,
            SYMBOL_BINDING(symbol),
        };
    }
    symbols->count++;
}

static void
go_through(struct hs_elf_symbols *symbols, const struct hs_elf_source *source, const ElfW(Shdr) *table)
{
    ElfW(Sym) chunk[CHUNK_SYMBOLS];
    uint64_t left = table->sh_size / sizeof(*chunk), at = table->sh_offset;

    symbols->count = 0;
    while (left) {
        size_t count = left < CHUNK_SYMBOLS ? (size_t)left : CHUNK_SYMBOLS;
        if (!read_at(source, at, chunk, count * sizeof(*chunk))) return;
        for (size_t i = 0; i < count; i++) add_function(symbols, &chunk[i], table->sh_type == SHT_SYMTAB);
        left -= count;
        at += count * sizeof(*chunk);
    }
}

/* They are counted first: a list that grew would need three times the room of
 * a large table. False: no memory. */
static bool
add_functions(struct hs_elf_symbols *symbols, const struct hs_elf_source *source, const ElfW(Shdr) *table)
{
    go_through(symbols, source, table);
    if (!symbols->count) return true;
    symbols->capacity = symbols->count;
    symbols->functions = rb_hs_malloc(HS_MEM_SNAPSHOTS, symbols->capacity * sizeof(*symbols->functions));
    if (!symbols->functions) {
        symbols->count = 0;
        return false;
    }
    go_through(symbols, source, table);
    return true;
}

static int
compare_functions(const void *left, const void *right)
{
    const struct function *a = left, *b = right;
    if (a->start != b->start) return a->start < b->start ? -1 : 1;
    if (a->end != b->end) return a->end < b->end ? -1 : 1;
    return a->name < b->name ? -1 : a->name > b->name;
}

/* Functions without a size end at the next one, and where their section does. */
static void
close_functions(struct hs_elf_symbols *symbols, const ElfW(Shdr) *sections, uint32_t section_count)
{
    uint64_t next = UINT64_MAX, same = UINT64_MAX;      /* starts after this one's, and this one's */

    for (uint32_t i = symbols->count; i-- > 0;) {
        struct function *function = &symbols->functions[i];
        if (function->start != same) {
            next = same;
            same = function->start;
        }
        if (function->end) continue;
        function->end = function->start;                /* covers nothing */
        if (function->section >= section_count) continue;
        const ElfW(Shdr) *section = &sections[function->section];
        uint64_t end = section->sh_size > UINT64_MAX - section->sh_addr ? UINT64_MAX : section->sh_addr + section->sh_size;
        if (function->start < section->sh_addr) continue;
        if (end > next) end = next;
        if (end > function->start) function->end = end;
    }
}

static bool
usable_table(const ElfW(Shdr) *sections, uint32_t count, const ElfW(Shdr) *table)
{
    return table->sh_entsize == sizeof(ElfW(Sym)) && table->sh_size <= TABLE_MAX &&
        table->sh_link < count && sections[table->sh_link].sh_type == SHT_STRTAB;
}

static bool
read_table(struct hs_elf_symbols *symbols, const struct hs_elf_source *source, const ElfW(Shdr) *sections,
           uint32_t count, uint32_t type)
{
    for (uint32_t i = 0; i < count; i++) {
        const ElfW(Shdr) *table = &sections[i];
        if (table->sh_type != type || !usable_table(sections, count, table)) continue;
        symbols->names_at = sections[table->sh_link].sh_offset;
        symbols->names_size = sections[table->sh_link].sh_size;
        return add_functions(symbols, source, table);
    }
    return true;
}

static bool
read_sections(struct hs_elf_symbols *symbols, const struct hs_elf_source *source, const ElfW(Ehdr) *header)
{
    uint32_t count = header->e_shnum;
    size_t size = count * sizeof(ElfW(Shdr));
    bool ok = true;

    if (!count || header->e_shentsize != sizeof(ElfW(Shdr))) return true;
    ElfW(Shdr) *sections = rb_hs_malloc(HS_MEM_SNAPSHOTS, size);
    if (!sections) return false;
    if (read_at(source, header->e_shoff, sections, size)) {
        ok = read_table(symbols, source, sections, count, SHT_SYMTAB);
        if (ok && !symbols->count) ok = read_table(symbols, source, sections, count, SHT_DYNSYM);
        if (symbols->count) rb_hs_sort(symbols->functions, symbols->count, sizeof(*symbols->functions), compare_functions);
        close_functions(symbols, sections, count);
    }
    rb_hs_free(HS_MEM_SNAPSHOTS, sections);
    return ok;
}

struct hs_elf_symbols *
rb_hs_elf_symbols_read(const struct hs_elf_source *source)
{
    ElfW(Ehdr) header;
    struct hs_elf_symbols *symbols = rb_hs_calloc(HS_MEM_SNAPSHOTS, 1, sizeof(*symbols));
    if (!symbols) return NULL;
    if (!read_header(source, &header)) return symbols;
    read_segments(symbols, source, &header);
    if (!read_sections(symbols, source, &header)) {
        rb_hs_elf_symbols_free(symbols);
        return NULL;
    }
    return symbols;
}

void
rb_hs_elf_symbols_free(struct hs_elf_symbols *symbols)
{
    if (!symbols) return;
    rb_hs_free(HS_MEM_SNAPSHOTS, symbols->functions);
    rb_hs_free(HS_MEM_SNAPSHOTS, symbols);
}

/* -- lookup ------------------------------------------------------------------------ */

/* Without the version that a linker may have put behind: malloc@@GLIBC_2.2.5. */
static size_t
read_name(const struct hs_elf_symbols *symbols, const struct hs_elf_source *source, uint32_t at, char *name, size_t room)
{
    uint64_t left = symbols->names_size - at;           /* add_function() saw that it is less */

    if (symbols->names_at > UINT64_MAX - at) return 0;
    if (room > left) room = (size_t)left;
    /* the table may be said to be longer than the file is */
    if (symbols->names_at + at >= source->size) return 0;
    if (room > source->size - symbols->names_at - at) room = (size_t)(source->size - symbols->names_at - at);
    if (!read_at(source, symbols->names_at + at, name, room)) return 0;
    size_t length = strnlen(name, room);
    const char *version = length > 1 ? memchr(name + 1, '@', length - 1) : NULL;
    return version ? (size_t)(version - name) : length;
}

static int
binding_rank(uint8_t binding)
{
    return binding == STB_GLOBAL ? 0 : binding == STB_WEAK ? 1
                                                           : 2;
}

/* Of a function's names that which its callers use: write, not __write or
 * __libc_write. */
static bool
better_name(const char *name, size_t length, uint8_t binding, const char *best, size_t best_length, uint8_t best_binding)
{
    size_t marks = 0, best_marks = 0;

    while (marks < length && name[marks] == '_') marks++;
    while (best_marks < best_length && best[best_marks] == '_') best_marks++;
    if (marks != best_marks) return marks < best_marks;
    if (binding_rank(binding) != binding_rank(best_binding)) return binding_rank(binding) < binding_rank(best_binding);
    if (length != best_length) return length < best_length;
    return memcmp(name, best, length) < 0;
}

static const struct function *
covering(const struct hs_elf_symbols *symbols, uint64_t address)
{
    uint32_t low = 0, high = symbols->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (symbols->functions[middle].start <= address) low = middle + 1;
        else high = middle;
    }
    for (uint32_t i = low, steps = 0; i-- > 0 && steps < OVERLAPS_MAX; steps++) {
        if (address < symbols->functions[i].end) return &symbols->functions[i];
    }
    return NULL;
}

size_t
rb_hs_elf_function_at(const struct hs_elf_symbols *symbols, const struct hs_elf_source *source, uint64_t offset,
                      char *name, size_t room)
{
    const struct segment *segment = NULL;
    char other[256];                    /* longer names have no aliases worth a look */
    size_t length = 0;

    for (uint32_t i = 0; !segment && i < symbols->segment_count; i++) {
        const struct segment *one = &symbols->segment[i];
        if (offset >= one->offset && offset - one->offset < one->size) segment = one;
    }
    if (!segment) return 0;
    uint64_t address = segment->address + (offset - segment->offset);
    const struct function *function = covering(symbols, address), *best = function;
    if (!function) return 0;

    length = read_name(symbols, source, function->name, name, room);
    const struct function *alias = function;
    for (int i = 0; i < ALIASES_MAX && alias > symbols->functions && alias[-1].start == function->start; i++) {
        alias--;
        if (address >= alias->end) continue;
        size_t other_length = read_name(symbols, source, alias->name, other, sizeof(other));
        if (!other_length || other_length == sizeof(other) || other_length > room) continue;
        if (length && !better_name(other, other_length, alias->binding, name, length, best->binding)) continue;
        memcpy(name, other, other_length);
        length = other_length;
        best = alias;
    }
    return length;
}

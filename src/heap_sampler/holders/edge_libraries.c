/*
 * Which library an address lies in, and which variable, from what the dynamic
 * linker has mapped.  dladdr(3) takes the linker's lock, which a thread that
 * the child does not have may hold; _dl_find_object (glibc 2.35) takes none.
 * Without it no library is named.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "heap_sampler/holders/edge_visit.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>

#ifdef DLFO_STRUCT_HAS_EH_DBASE
static const struct link_map *
libraries_map(const void *address)
{
    struct dl_find_object object;
    return _dl_find_object((void *)address, &object) == 0 ? object.dlfo_link_map : NULL;
}
#else
static const struct link_map *
libraries_map(const void *address)
{
    return NULL;
}
#endif

/* What the dynamic section of a library says about its symbols. */
struct libraries_symbols {
    const ElfW(Sym) *symbols;
    const char *names;
    const uint32_t *hash;       /* DT_GNU_HASH: how many symbols there are */
};

/* glibc has made addresses of most entries; others are offsets from the library's begin. */
static const void *
libraries_pointer(const struct link_map *map, const ElfW(Dyn) *entry)
{
    ElfW(Addr) address = entry->d_un.d_ptr;
    return (const void *)(address < map->l_addr ? map->l_addr + address : address);
}

static bool
libraries_read(const struct link_map *map, struct libraries_symbols *symbols)
{
    *symbols = (struct libraries_symbols){NULL};
    for (const ElfW(Dyn) *entry = map->l_ld; entry && entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_SYMTAB) symbols->symbols = libraries_pointer(map, entry);
        if (entry->d_tag == DT_STRTAB) symbols->names = libraries_pointer(map, entry);
        if (entry->d_tag == DT_GNU_HASH) symbols->hash = libraries_pointer(map, entry);
    }
    return symbols->symbols && symbols->names && symbols->hash;
}

/* The last chain of the hash table ends with the last symbol. */
static uint32_t
libraries_symbol_count(const uint32_t *hash)
{
    uint32_t bucket_count = hash[0], first = hash[1], bloom_size = hash[2], last = 0;
    const uint32_t *buckets = hash + 4 + (size_t)bloom_size * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    for (uint32_t i = 0; i < bucket_count; i++) {
        if (buckets[i] > last) last = buckets[i];
    }
    if (last < first) return first;
    const uint32_t *chains = buckets + bucket_count;
    while (!(chains[last - first] & 1)) last++;
    return last + 1;
}

static struct hs_text
libraries_symbol(const struct link_map *map, const void *address)
{
    struct libraries_symbols symbols;
    if (!libraries_read(map, &symbols)) return (struct hs_text){"", 0};
    ElfW(Addr) offset = (ElfW(Addr))address - map->l_addr;
    uint32_t count = libraries_symbol_count(symbols.hash);
    for (uint32_t i = 0; i < count; i++) {
        const ElfW(Sym) *symbol = &symbols.symbols[i];
        if (symbol->st_shndx == SHN_UNDEF || (symbol->st_info & 0xf) != STT_OBJECT) continue;
        if (offset < symbol->st_value || offset - symbol->st_value >= symbol->st_size) continue;
        const char *name = symbols.names + symbol->st_name;
        return (struct hs_text){name, (uint32_t)strlen(name)};
    }
    return (struct hs_text){"", 0};
}

void
rb_hs_library_place(const void *address, struct hs_library_place *place)
{
    *place = (struct hs_library_place){{"", 0}, {"", 0}};
    const struct link_map *map = libraries_map(address);
    if (!map) return;
    const char *path = map->l_name && map->l_name[0] ? map->l_name : "ruby";    /* the executable has no name */
    const char *slash = strrchr(path, '/');
    if (slash) path = slash + 1;
    place->library = (struct hs_text){path, (uint32_t)strlen(path)};
    place->symbol = libraries_symbol(map, address);
}

bool
rb_hs_same_library_p(const void *one, const void *other)
{
    return libraries_map(one) == libraries_map(other);
}

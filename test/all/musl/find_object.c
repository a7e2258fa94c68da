/* _dl_find_object of glibc, which the libgcc of a compiler for glibc calls, for a program with musl. It has what libgcc reads. */
#define _GNU_SOURCE
#include <link.h>
#include <stdint.h>

struct found {
    unsigned long long flags;
    void *start, *end, *map, *eh_frame;
};

struct wanted {
    uintptr_t address;
    struct found *found;
};

static int
look_i(struct dl_phdr_info *info, size_t size, void *data)
{
    const struct wanted *wanted = data;
    uintptr_t table = 0;
    int inside = 0;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_LOAD && wanted->address - start < part->p_memsz) inside = 1;
        if (part->p_type == PT_GNU_EH_FRAME) table = start;
    }
    if (!inside || !table) return 0;
    wanted->found->eh_frame = (void *)table;
    return 1;
}

int
_dl_find_object(void *address, struct found *found)
{
    struct wanted wanted = {(uintptr_t)address, found};
    return dl_iterate_phdr(look_i, &wanted) ? 0 : -1;
}

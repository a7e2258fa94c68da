/* See base/libraries.h. */
#define _GNU_SOURCE 1           /* _dl_find_object, dl_iterate_phdr */
#include "heap_sampler/base/libraries.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#if defined(DLFO_STRUCT_HAS_EH_DBASE) && !defined(HS_OWN_LIBRARIES)     /* a test of the table defines it */
#define HAVE_FIND_OBJECT 1
static int (*find_object)(void *, struct dl_find_object *);     /* written once, before there are threads */
#endif

/* musl maps a library until the process ends. */
#ifdef __GLIBC__
enum { NEVER_UNLOADED = false };
#else
enum { NEVER_UNLOADED = true };
#endif

enum { ENTRIES = 1024,          /* libraries beyond that are not known */
       NAME_BYTES = 48 };

static struct entry {
    struct hs_library library;  /* `end` is atomic */
    struct link_map map;
    char name[NAME_BYTES];      /* the end of its path, from the last slash on at most */
    unsigned round;             /* the refresh that has met it last */
} entries[ENTRIES];
static uint32_t entry_count;    /* atomic: the entries below are complete */

/* -- refresh: one thread at a time ----------------------------------------------------- */

static pid_t refreshing;        /* the process that refreshes, 0: none. A child may inherit a parent's. */
static unsigned long long table_changes = UINT64_MAX;   /* at which the table was filled */
static unsigned round_now;

static void
set_name(struct entry *entry, const struct dl_phdr_info *info)
{
    const char *name = info->dlpi_name ? info->dlpi_name : "", *slash = strrchr(name, '/');
    if ((uintptr_t)info->dlpi_phdr == getauxval(AT_PHDR)) name = "";
    else if (slash) name = slash + 1;
    strncpy(entry->name, name, NAME_BYTES - 1);
}

static struct entry
entry_of(const struct dl_phdr_info *info)
{
    struct entry entry = {.library = {.start = UINTPTR_MAX, .current = NEVER_UNLOADED}, .map.l_addr = info->dlpi_addr};
    set_name(&entry, info);
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + part->p_vaddr, end = start + part->p_memsz;
        if (part->p_type == PT_GNU_EH_FRAME) entry.library.unwind_table = start;
        if (part->p_type == PT_DYNAMIC) entry.map.l_ld = (void *)start;
        if (part->p_type != PT_LOAD) continue;
        if (start < entry.library.start) entry.library.start = start;
        if (end > entry.library.end) entry.library.end = end;
    }
    return entry;
}

static int
add_i(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    struct entry new = entry_of(info);
    uint32_t i = 0;
    for (; i < entry_count; i++) {
        const struct hs_library *old = &entries[i].library;
        bool same = old->start == new.library.start && old->unwind_table == new.library.unwind_table &&
            (!old->end || old->end == new.library.end) && entries[i].map.l_ld == new.map.l_ld;
        if (same && strcmp(entries[i].name, new.name) == 0) break;
    }
    if (i == ENTRIES) return 1;
    struct entry *entry = &entries[i];
    if (i == entry_count) {
        *entry = new;
        entry->map.l_name = entry->name;
        entry->library.map = &entry->map;
        __atomic_store_n(&entry_count, i + 1, __ATOMIC_RELEASE);
    }
    entry->round = round_now;
    __atomic_store_n(&entry->library.end, new.library.end, __ATOMIC_RELAXED);
    return 0;
}

static void
fill_table(void)
{
    round_now++;
    dl_iterate_phdr(add_i, NULL);
    for (uint32_t i = 0; i < entry_count; i++) {
        if (entries[i].round != round_now) __atomic_store_n(&entries[i].library.end, 0, __ATOMIC_RELAXED);
    }
}

static int
changes_i(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    *(unsigned long long *)data = info->dlpi_adds + info->dlpi_subs;
    return 1;
}

unsigned long long
rb_hs_libraries_refresh(void)
{
    unsigned long long changes = 0;
    pid_t owner = __atomic_load_n(&refreshing, __ATOMIC_RELAXED), self = getpid();
    dl_iterate_phdr(changes_i, &changes);
#ifdef HAVE_FIND_OBJECT
    static bool looked;
    if (!looked) {
        *(void **)&find_object = dlsym(RTLD_DEFAULT, "_dl_find_object");
        looked = true;
    }
    if (find_object) return changes;
#endif
    if (owner == self) return changes;
    bool mine = __atomic_compare_exchange_n(&refreshing, &owner, self, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
    if (!mine) return changes;
    if (table_changes != changes) fill_table();
    table_changes = changes;
    __atomic_store_n(&refreshing, 0, __ATOMIC_RELEASE);
    return changes;
}

/* -- reading ---------------------------------------------------------------------------- */

/* What has this code, and libc, is never unloaded. */
static bool
stays_p(uintptr_t start, uintptr_t end)
{
    uintptr_t size = end - start;
    return NEVER_UNLOADED || (uintptr_t)rb_hs_library_of - start < size || (uintptr_t)getauxval - start < size;
}

bool
rb_hs_library_of(uintptr_t address, struct hs_library *library)
{
#ifdef HAVE_FIND_OBJECT
    struct dl_find_object found;
    if (find_object) {
        if (find_object((void *)address, &found) != 0) return false;
        *library = (struct hs_library){
            .start = (uintptr_t)found.dlfo_map_start,
            .end = (uintptr_t)found.dlfo_map_end,
            .unwind_table = (uintptr_t)found.dlfo_eh_frame,
            .map = found.dlfo_link_map,
            .current = true,
            .stays = stays_p((uintptr_t)found.dlfo_map_start, (uintptr_t)found.dlfo_map_end),
        };
        return true;
    }
#endif
    uint32_t count = __atomic_load_n(&entry_count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < count; i++) {
        const struct hs_library *entry = &entries[i].library;
        uintptr_t end = __atomic_load_n(&entry->end, __ATOMIC_RELAXED);
        if (address < entry->start || address >= end) continue;
        *library = *entry;
        library->end = end;
        library->stays = stays_p(library->start, end);
        return true;
    }
    return false;
}

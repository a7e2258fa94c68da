#ifndef HEAP_SAMPLER_BASE_LIBRARIES_H
#define HEAP_SAMPLER_BASE_LIBRARIES_H
/*
 * Which library, or the executable, an address lies in.
 *
 * glibc 2.35 and later have _dl_find_object, which takes no lock.  It is looked up at run time, so that the sampler needs
 * no symbol of that glibc.  Without it, as with musl, dl_iterate_phdr(3) fills a table of our own.  That takes the loader's
 * lock, so only rb_hs_libraries_refresh does it.
 *
 * *The table* is read without a lock.  A new library is complete before the count covers it.  An unloaded library has end
 * 0, and only the same library at the same place uses its entry again.  So a fork at any moment leaves a whole table.
 *
 * No MRI header.
 */
#include <stdbool.h>
#include <stdint.h>
#include <link.h>

struct hs_library {
    uintptr_t start, end;       /* where it is mapped */
    uintptr_t unwind_table;     /* its .eh_frame_hdr; 0: none */
    const struct link_map *map; /* of it l_addr, l_name and l_ld; the executable has the name "" */
    bool current;               /* false: it may have been unloaded since the last refresh */
    bool stays;                 /* false: another thread may unload it at any moment, unless its code is running */
};

/* false: none, or it is not known. [malloc] */
bool rb_hs_library_of(uintptr_t address, struct hs_library *library);

/* Finds the libraries that are loaded; returns how often one was loaded or unloaded so far. The first call is made while the
 * process has one thread. [any], but with no lock of ours held. */
unsigned long long rb_hs_libraries_refresh(void) __attribute__((visibility("default")));        /* for a test's extension */

#endif

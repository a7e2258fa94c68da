#ifndef HEAP_SAMPLER_MEMORY_ACCOUNT_H
#define HEAP_SAMPLER_MEMORY_ACCOUNT_H
/*
 * The account of the process: where every byte of its resident memory is.
 *
 * Plain data, no MRI header.
 */
#include <stdbool.h>
#include <stdint.h>
#include "heap_sampler/memory/fields.h"
#include <stddef.h>

/* In bytes.  From slots_live to unattributed each byte of `rss` is in one
 * field and their sum is `rss`; the fields after these are not part of the sum. */
struct hs_account {
    uint64_t taken_ns;          /* Unix time; 0: no account was taken */
    uint64_t cost_ns;           /* what taking it took */
    uint64_t rss;               /* 0: /proc cannot be read, so that stacks, code_and_files, jit and
                                 * unattributed are not known, and the others may not be resident */
    uint64_t slots_live;        /* allocated and not yet swept */
    uint64_t slots_free;        /* what else of heap pages is resident: free slots, page headers */
    uint64_t malloc_live;       /* in use by callers of malloc(3), except the sampler */
    uint64_t malloc_waste;      /* resident and held by malloc(3): fragmentation, caches */
    uint64_t malloc_metadata;   /* jemalloc's own, its profiler's included; 0: not known apart */
    uint64_t stacks;            /* of threads and fibers, the VM stacks that malloc(3) gave to threads included */
    uint64_t code_and_files;
    uint64_t jit;               /* executable memory that is no file's */
    uint64_t sampler;
    uint64_t unattributed;

    uint64_t pss;               /* 0: not read */
    uint64_t threads, fibers;   /* that live: as many */
    bool stacks_known;          /* how much of whose stacks is resident: */
    uint64_t thread_stacks, fiber_stacks;       /* of `stacks` */
    bool malloc_known;          /* else malloc's memory is in `unattributed` */
    bool jemalloc;              /* its own virtual figures: */
    uint64_t je_allocated, je_active, je_resident, je_dirty, je_retained, je_metadata;
    char allocator[48];
};

/* The fields that are numbers, by name: rss, what adds up to it, and the others; and those of jemalloc.  fields.c. */
struct hs_account_field {
    enum hs_field field;
    uint64_t value;             /* bytes; threads and fibers: as many */
    bool known;
};
enum { HS_ACCOUNT_FIELDS = 16,
       HS_JEMALLOC_FIELDS = 6 };
void rb_hs_account_fields(const struct hs_account *account, struct hs_account_field fields[HS_ACCOUNT_FIELDS]);
void rb_hs_jemalloc_fields(const struct hs_account *account, struct hs_account_field fields[HS_JEMALLOC_FIELDS]);

struct hs_census;
struct hs_account_excess;       /* sampling/malloc_hooks.h */

/* [any] [free] It allocates nothing, except a copy of malloc's samples where `excess` is NULL: then it is looked for here.
 * `census` NULL: threads and fibers are counted here.  `may_hold_up`: threads that map or
 * unmap memory may wait, 10 ms per resident gigabyte, so that Pss is known, and better what each mapping is for; else they wait
 * half a millisecond at most. */
void rb_hs_account_take(struct hs_account *account, const struct hs_account_excess *excess, const struct hs_census *census,
                        bool may_hold_up);

/* What sampling adds to jemalloc's figures, and what of malloc's blocks was never touched. [any] [free] */
void rb_hs_malloc_look(struct hs_account_excess *excess);

/* The main session begins, with this account of just before, or one that is taken now. [gvl] [free] */
void rb_hs_account_begin(const struct hs_account *account);
/* The account with which the main session began. [tables] */
const struct hs_account *rb_hs_account_at_start(void);

/* What identifies a process among several: its title, its folder, its host, its parent.  No MRI header. */

/* Texts are cut where they are longer, and empty where they are not known. */
struct hs_who {
    uint64_t parent_id;
    char title[128];            /* the one that it set, "puma: cluster worker 0"; else its program and script, "ruby app.rb" */
    char directory[512];        /* its working directory */
    char gemfile[512];          /* the folder of the Gemfile that BUNDLE_GEMFILE named when it started */
    char host[65];              /* the machine's name, or the container's */
};

/* The script, as Ruby names it: "-e" and "-" too. Called once, when Ruby starts; NULL: none. */
void rb_hs_who_boot(const char *path);

/* [any] [free] It reads /proc and allocates nothing. */
void rb_hs_who_read(struct hs_who *who);

/* The title in `text`, which is `length` bytes of /proc/PID/cmdline: for rb_hs_who_read, and tests. */
void rb_hs_title_of(const char *text, size_t length, struct hs_who *who);

/* The folder of the Gemfile, from `fd`, which is /proc/PID/environ: for rb_hs_who_read, and tests. What Ruby code sets later
 * is not there; to ask getenv(3) while Ruby code calls setenv(3) would be a race. */
void rb_hs_gemfile_of(int fd, struct hs_who *who);

/* How much of its memory is resident, as the kernel counts it just now, a few pages too low; 0: not known. [any] [free] */
uint64_t rb_hs_resident_bytes(void);

#endif

#ifndef HEAP_SAMPLER_MEMORY_ACCOUNT_H
#define HEAP_SAMPLER_MEMORY_ACCOUNT_H
/*
 * The account of the process: where every byte of its resident memory is.
 *
 * Plain data, no MRI header.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>
#include "heap_sampler/memory/smaps.h"

/*
 * Names of the properties of a profile, and their numbers in a file: doc/heap_sampler.proto has the messages.  A
 * name has the same number in all of them.  Numbers stay as they are; a new name gets the next one.
 */

/* clang-format would indent each line of these lists further. */
/* clang-format off */
#define HS_META_FIELDS(FIELD) \
    FIELD(format, 1) FIELD(generator, 2) FIELD(ruby, 3) FIELD(process_id, 4) FIELD(process_start, 5) FIELD(parent_id, 6) \
    FIELD(title, 7) FIELD(directory, 8) FIELD(gemfile, 9) FIELD(host, 10) FIELD(deploy, 11) FIELD(session, 12) \
    FIELD(started_ns, 13) FIELD(taken_ns, 14) FIELD(gc, 15) FIELD(settings, 16) FIELD(live_samples, 17) FIELD(drops, 18) \
    FIELD(own_bytes, 19) FIELD(heaps, 20) FIELD(malloc, 21) FIELD(memsize, 22) FIELD(account, 23) FIELD(account_at_start, 24) \
    FIELD(alive, 25) FIELD(inherited, 26) FIELD(inherited_missing, 27) FIELD(kept, 28) FIELD(merged, 29) FIELD(count, 30) \
    FIELD(minor, 31) FIELD(major, 32) FIELD(last_minor_ns, 33) FIELD(last_major_ns, 34) FIELD(last_major_gc, 35) \
    FIELD(times, 36) FIELD(forced, 37) FIELD(limit_ppm, 38) FIELD(ns, 39) FIELD(of_ns, 40) FIELD(last, 41) FIELD(interval, 42) \
    FIELD(first_interval, 43) FIELD(interval_changes, 44) FIELD(thinnings, 45) FIELD(interval_auto, 46) FIELD(max_samples, 47) \
    FIELD(only_n, 49) FIELD(seed, 50) FIELD(samples, 51) FIELD(stacks, 52) FIELD(frames, 53) \
    FIELD(classes, 54) FIELD(moves, 55) FIELD(slot_size, 56) FIELD(total_slots, 57) FIELD(live_slots, 58) \
    FIELD(live_at_start, 59) FIELD(pages, 60) FIELD(pinned_pages, 61) FIELD(held_slots, 62) FIELD(compact_bytes, 63) \
    FIELD(state, 64) FIELD(allocator, 65) FIELD(missing, 66) FIELD(cost_ns, 67) FIELD(rss, 68) FIELD(slots_live, 69) \
    FIELD(slots_free, 70) FIELD(malloc_live, 71) FIELD(malloc_waste, 72) FIELD(malloc_metadata, 73) FIELD(code_and_files, 74) \
    FIELD(jit, 75) FIELD(sampler, 76) FIELD(unattributed, 77) FIELD(pss, 78) FIELD(threads, 79) FIELD(fibers, 80) \
    FIELD(thread_stacks, 81) FIELD(fiber_stacks, 82) FIELD(jemalloc, 83) FIELD(allocated, 84) FIELD(active, 85) \
    FIELD(resident, 86) FIELD(dirty, 87) FIELD(retained, 88) FIELD(metadata, 89) FIELD(running, 90) FIELD(runnable, 91) \
    FIELD(sleeping, 92) FIELD(waiting, 93) FIELD(blocked, 94) FIELD(created, 95) FIELD(resumed, 96) FIELD(suspended, 97) \
    FIELD(ended, 98) FIELD(made, 99) FIELD(path, 100) FIELD(line, 101) FIELD(bytes, 102) FIELD(unshared, 103) \
    FIELD(refused, 104) FIELD(ended_in, 105) FIELD(signal, 106) FIELD(objects, 107) FIELD(edges, 108) FIELD(slots, 109) \
    FIELD(freed, 110) FIELD(stuck, 111) FIELD(pins, 112) FIELD(without_ns, 113) FIELD(hold_up_ns, 114) FIELD(walk_ns, 115) \
    FIELD(name_ns, 116) FIELD(room_bytes, 117) FIELD(limit_bytes, 118) FIELD(cgroup, 119) FIELD(demand_bytes, 120) \
    FIELD(estimate_bytes, 121) FIELD(child_bytes, 122) FIELD(evicted, 123) FIELD(chain, 124) FIELD(space, 125) FIELD(var, 126) \
    FIELD(name, 127) FIELD(kind, 128) FIELD(class, 129) FIELD(holder, 130) FIELD(made_in, 131) FIELD(made_path, 132) \
    FIELD(made_line, 133) FIELD(free, 134) FIELD(processes, 135) FIELD(profiles, 136) FIELD(evicted_rows, 137) \
    FIELD(gcs, 138) FIELD(gc_ns, 139) FIELD(walks, 140) FIELD(longest_stop_ns, 141) FIELD(majors, 142) FIELD(reason, 143) \
    FIELD(limit_used, 144) FIELD(limit_machine, 145) FIELD(stop_estimate_ns, 150) \
    FIELD(log, 151) FIELD(causes, 152) FIELD(cpu_ns, 153)

/* Of answers of the control socket, which are JSON: no file has them. */
#define HS_ANSWER_FIELDS(FIELD) \
    FIELD(protocol, 10001) FIELD(sampling, 10002) FIELD(every, 10003) FIELD(malloc_live_samples, 10004) FIELD(malloc_samples, 10005) \
    FIELD(dropped_samples, 10006) FIELD(bytes_max, 10007) FIELD(thread_ns, 10008) FIELD(compaction, 10009) FIELD(considered, 10010) \
    FIELD(moved, 10011)
/* clang-format on */

enum hs_field {
#define HS_FIELD(name, number) HS_F_##name = number,
    HS_META_FIELDS(HS_FIELD)
        HS_ANSWER_FIELDS(HS_FIELD)
#undef HS_FIELD
};

const char *rb_hs_field_name(enum hs_field field);

/* In bytes.  From slots_live to unattributed each byte of `rss` is in one
 * field and their sum is `rss`; the fields after these are not part of the sum. */
struct hs_account {
    uint64_t taken_ns;          /* Unix time; 0: no account was taken */
    uint64_t cost_ns;           /* what taking it took */
    uint64_t rss;               /* 0: /proc cannot be read, so that stacks, code_and_files, jit and
                                 * unattributed are not known, and the others may not be resident */
    uint64_t slots_live;        /* allocated and not yet swept */
    uint64_t slots_free;        /* what else of heap pages is resident: free slots, page headers */
    uint64_t malloc_live;       /* used by callers of malloc(3), except the sampler */
    uint64_t malloc_waste;      /* resident and held by malloc(3): fragmentation, caches */
    uint64_t malloc_metadata;   /* jemalloc's own, its profiler's included; 0: not known apart */
    uint64_t stacks;            /* of threads and fibers, the VM stacks that malloc(3) gave to threads included */
    uint64_t code_and_files;
    uint64_t jit;               /* executable memory that is no file's */
    uint64_t sampler;
    uint64_t unattributed;

    uint64_t pss;               /* 0: not read */
    struct hs_memory_limit limit; /* the nearest; 0 bytes: not known */
    uint64_t threads, fibers;   /* that live: as many */
    bool stacks_known;          /* how much of their stacks is resident, below: */
    uint64_t thread_stacks, fiber_stacks;       /* of `stacks` */
    bool malloc_known;          /* else malloc's memory is in `unattributed` */
    bool jemalloc;              /* its own virtual figures: */
    uint64_t je_allocated, je_active, je_resident, je_dirty, je_retained, je_metadata;
    char allocator[48];
};

/* The numbers of an account by name, rss first, and behind them the numbers of jemalloc: fields.c. */
struct hs_account_field {
    enum hs_field field;
    uint64_t value;             /* bytes; threads and fibers: as many */
    bool known;
};
enum { HS_ACCOUNT_FIELDS = 16,
       HS_JEMALLOC_FIELDS = 6 };
void rb_hs_account_fields(const struct hs_account *account, struct hs_account_field fields[HS_ACCOUNT_FIELDS + HS_JEMALLOC_FIELDS]);

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

/* Bytes that are allocated from malloc(3), touched or not, except the sampler's; 0: not known. It allocates nothing. [any] */
uint64_t rb_hs_malloc_allocated(void);

/* The main session begins, with this account of just before, or one that is taken now. [gvl] [free] */
void rb_hs_account_begin(const struct hs_account *account);
/* The account with which the main session began. [tables] */
const struct hs_account *rb_hs_account_at_start(void);

/* What identifies a process among several: its title, its folder, its host, its parent.  No MRI header. */

/* Texts are cut where they are longer, and empty where they are not known. */
struct hs_identity {
    uint64_t parent_id;
    char title[128];            /* as the program set it, "puma: cluster worker 0"; else "ruby app.rb" */
    char directory[512];        /* its working directory */
    char gemfile[512];          /* the folder of the Gemfile that BUNDLE_GEMFILE named when it started */
    char host[65];              /* the machine's name, or the container's */
};

/* The script, as Ruby names it: "-e" and "-" too. Called once, when Ruby starts; NULL: none. */
void rb_hs_identity_boot(const char *path);

/* [any] [free] It reads /proc and allocates nothing. */
void rb_hs_identity_read(struct hs_identity *identity);

/* The title in `text`, which is `length` bytes of /proc/PID/cmdline: for rb_hs_identity_read, and tests. */
void rb_hs_title_of(const char *text, size_t length, struct hs_identity *identity);

/* The folder of the Gemfile, from a file like /proc/PID/environ: for rb_hs_identity_read, and tests. What Ruby code sets later
 * is not there; to ask getenv(3) while Ruby code calls setenv(3) would be a race. */
void rb_hs_gemfile_of(const char *environ, struct hs_identity *identity);

#endif

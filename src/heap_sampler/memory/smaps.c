/*
 * The kernel reports what is resident in each mapping (/proc/self/smaps, or
 * maps and pagemap where that would hold up others).  What a mapping is for
 * follows from its properties and from what lies below it:
 *
 *   a file, [vdso]                            files
 *   executable, no file                       jit
 *   [stack]; above a guard page               stacks
 *   above a file, up to where it ends         files (its .bss)
 *   any other                                 other
 *
 * Heap pages lie anywhere among the last (the kernel merges neighbours), so
 * each is known by its address; /proc/self/pagemap has what of it is
 * resident, where not all of the mapping is (the "present" bit needs no
 * privilege).
 *
 * A stack lies above a guard of 64 KiB at most that is no heap page, or is
 * MAP_STACK (`nh`, Linux 6.7).  Before 6.7 the kernel may merge it with what is
 * above; then the largest stack that Ruby makes is counted.  By default that
 * overstates a fiber's stack by a third of a MiB at worst.  It does not find a
 * library's thread with an unusual stack size.
 */
#include "heap_sampler/mri.h"
#include "heap_sampler/memory/smaps.h"
#include "heap_sampler/base/libraries.h"
#include "heap_sampler/base/proc.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* -- /proc/self/smaps, or maps with pagemap ----------------------------------------- */

enum { READ_PAGES = 4 << 20 };  /* of 4 KiB through pagemap: 16 GiB of addresses, some 40 ms */

struct region {
    uint64_t start, end;
    bool readable, writable, executable;
    bool file;                  /* or what the kernel brings along: [vdso] */
    bool main_stack;
    bool noreserve;             /* mmap(2) with MAP_NORESERVE */
    bool no_huge;               /* with MAP_STACK, since Linux 6.7 */
    uint64_t rss, pss;
};

struct reading {
    struct hs_survey sum;
    int pagemap;                /* -1: cannot be read */
    bool by_pages;              /* residency is counted page by page, see rb_hs_survey_take */
    uint64_t pages_read;
    uint64_t page_size;
    uint64_t ruby_stack;        /* size of the largest stack that Ruby makes */
    uint64_t default_stack;     /* of one that a C library makes */
    struct region below;        /* the region before */
};

static uint64_t
resident(const struct reading *reading, uint64_t start, uint64_t end)
{
    if (reading->by_pages && reading->pages_read > READ_PAGES) return 0;  /* it is given up */
    return rb_hs_survey_resident(reading->pagemap, start, end);
}

static uint64_t
heap_pages_in(const struct reading *reading, const struct region *region)
{
    uint64_t bytes = 0, end, start = (region->start + HS_BODY_BYTES - 1) & ~(HS_BODY_BYTES - 1);
    bool whole = region->rss == region->end - region->start;
    if (!region->rss) return 0;
    while ((start = rb_hs_next_body(start, region->end, true)) < region->end) {
        end = rb_hs_next_body(start, region->end, false);
        bytes += whole ? end - start : resident(reading, start, end);
        start = end;
    }
    return hs_smaller(bytes, region->rss);
}

/* A guard is a few pages at most; what malloc or a JIT reserves is larger, and
 * a heap page that compaction protects is known. */
static bool
guard_p(const struct region *region)
{
    return !region->readable && !region->writable && !region->executable && !region->file &&
        region->end - region->start <= HS_BODY_BYTES && rb_hs_next_body(region->start, region->end, true) == region->end;
}

/* A fiber has its VM stack next to the machine's, and a page for rounding. */
static uint64_t
ruby_stack_size(void)
{
    const rb_vm_t *vm = GET_VM();
    uint64_t thread = vm->default_params.thread_machine_stack_size;
    uint64_t fiber = vm->default_params.fiber_machine_stack_size + vm->default_params.fiber_vm_stack_size +
        (uint64_t)sysconf(_SC_PAGESIZE);
    return thread > fiber ? thread : fiber;
}

/* How much of the `left` resident bytes of a region is a stack.  A stack lies
 * above its guard and ends where its mapping ends, unless the kernel has merged
 * that with what is above: then a stack of Ruby's is taken to be there. */
static uint64_t
stack_in(const struct reading *reading, const struct region *region, uint64_t left)
{
    uint64_t size = region->end - region->start;
    bool guarded = reading->below.end == region->start && guard_p(&reading->below);
    if (!region->writable || region->noreserve) return 0;
    if (region->no_huge) return left;           /* never merged with what is no stack */
    if (!guarded) return 0;
    if (size <= reading->ruby_stack || (size <= reading->default_stack && size + HS_BODY_BYTES >= reading->default_stack)) {
        return left;
    }
    return hs_smaller(left, resident(reading, region->start, region->start + reading->ruby_stack));
}

/* Memory that cannot be read is not used, or it is a heap page that GC protects for a while. */
static void
count_pages(struct reading *reading, struct region *region)
{
    uint64_t size = region->end - region->start;
    bool reserved = !region->readable && !region->executable && size > HS_BODY_BYTES * 16;
    reading->pages_read += reserved ? 0 : size / reading->page_size;    /* before: one mapping may be too much */
    region->rss = reserved ? 0 : resident(reading, region->start, region->end);
}

/* How much of the `left` resident bytes of a region is the .bss of the file
 * below it, by where the loader put that file.  The kernel may have merged it
 * with what is above. */
static uint64_t
bss_in(const struct reading *reading, const struct region *region, uint64_t left)
{
    const struct region *below = &reading->below;
    struct hs_library image;
    if (!left || !below->file || !below->writable || below->end != region->start) return 0;
    if (!rb_hs_library_of((uintptr_t)region->start - 1, &image)) return 0;
    uint64_t end = (image.end + reading->page_size - 1) & ~(reading->page_size - 1);
    if (end <= region->start) return 0;
    return end >= region->end ? left : hs_smaller(left, resident(reading, region->start, end));
}

static void
add_region(struct reading *reading, struct region *region)
{
    struct hs_survey *sum = &reading->sum;
    if (reading->by_pages) count_pages(reading, region);
    sum->rss += region->rss;
    sum->pss += region->pss;
    if (region->file) {
        sum->files += region->rss;
    }
    else if (region->main_stack) {
        sum->stacks += region->rss;
    }
    else if (region->executable) {
        sum->jit += region->rss;
    }
    else {
        uint64_t heap = heap_pages_in(reading, region), left = region->rss - heap;
        uint64_t stack = stack_in(reading, region, left);
        uint64_t bss = bss_in(reading, region, left - stack);
        sum->heap += heap;
        sum->stacks += stack;
        sum->files += bss;
        *(region->noreserve ? &sum->noreserve : &sum->other) += left - stack - bss;
    }
    reading->below = *region;
}

static void
skip_word(const char **text)
{
    while (**text && **text != ' ') (*text)++;
    while (**text == ' ') (*text)++;
}

static uint64_t
kilobytes(const char *text)
{
    skip_word(&text);
    return strtoull(text, NULL, 10) * 1024;
}

static struct region
region_of(const struct hs_mapping *mapping)
{
    const char *path = mapping->path;
    struct region region = {
        .start = mapping->start,
        .end = mapping->end,
        .readable = mapping->readable,
        .writable = mapping->writable,
        .executable = mapping->executable,
        .main_stack = strncmp(path, "[stack", 6) == 0,
    };
    /* "[anon:…]": a name that the process gave it */
    region.file = mapping->inode || (*path && !region.main_stack && strncmp(path, "[heap]", 6) != 0 && strncmp(path, "[anon:", 6) != 0);
    return region;
}

static bool
flag_p(const char *flags, const char *flag)
{
    for (skip_word(&flags); *flags; skip_word(&flags)) {
        if (strncmp(flags, flag, 2) == 0) return true;
    }
    return false;
}

static void
read_line(struct reading *reading, struct region *region, char *line)
{
    struct hs_mapping mapping;
    if ((*line >= '0' && *line <= '9') || (*line >= 'a' && *line <= 'f')) {
        if (region->end) add_region(reading, region);
        *region = rb_hs_mapping_read(line, &mapping) ? region_of(&mapping) : (struct region){.end = 0};
    }
    else if (strncmp(line, "Rss:", 4) == 0) {
        region->rss = kilobytes(line);
    }
    else if (strncmp(line, "Pss:", 4) == 0) {
        region->pss = kilobytes(line);
    }
    else if (strncmp(line, "VmFlags:", 8) == 0) {
        region->noreserve = flag_p(line, "nr");
        region->no_huge = flag_p(line, "nh");
    }
}

/* Where the buffer cannot hold a line, the end of its path is lost. */
static void
read_smaps(struct reading *reading, struct hs_lines *lines)
{
    struct region region = {.end = 0};
    char *line;
    while ((line = rb_hs_next_line(lines))) read_line(reading, &region, line);
    if (region.end) add_region(reading, &region);
}

/* The kernel holds its lock on the address space while it walks a mapping for smaps, some 40 ns a page: 0.5 ms at 12
 * MiB and 150 mappings, 5 ms a GiB, 2 us a mapping. A thread that maps or unmaps memory meanwhile, as GC does for a
 * new heap page, waits for the walk of one mapping: 1.3 to 2.8 ms with 2 million strings (benchmark/run snapshot).
 * pagemap gives the lock back after each 2 MiB: above this size it is read, with maps. Then no wait is measured, at
 * the same cost (187.44 MB of RSS against 187.38, no part further off than 0.1 MB). This way has no Pss and no
 * VmFlags. */
static const uint64_t walk_bytes = 48 << 20;     /* 0.5 ms */

static bool
survey_once(struct reading *reading, bool by_pages)
{
    struct rlimit limit;
    struct hs_lines lines;
    char text[8192];
    if (!rb_hs_lines_open(&lines, by_pages ? "/proc/self/maps" : "/proc/self/smaps", text, sizeof(text))) return false;
    *reading = (struct reading){
        .pagemap = rb_hs_survey_open_pagemap(),
        .by_pages = by_pages,
        .page_size = (uint64_t)sysconf(_SC_PAGESIZE),
        .ruby_stack = ruby_stack_size(),
    };
    bool readable = !by_pages || reading->pagemap >= 0;
    if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) reading->default_stack = limit.rlim_cur;
    if (readable) read_smaps(reading, &lines);
    close(lines.fd);
    if (reading->pagemap >= 0) close(reading->pagemap);
    /* For vast mappings that are nearly empty smaps is quicker. */
    return readable && reading->sum.rss > 0 && reading->pages_read <= READ_PAGES;
}

bool
rb_hs_survey_take(struct hs_survey *survey, bool may_hold_up)
{
    struct reading reading;
    rb_hs_libraries_refresh();
    bool done = !may_hold_up && rb_hs_memory_status("", "VmRSS") > walk_bytes && survey_once(&reading, true);
    if (!done) done = survey_once(&reading, false);
    if (done) *survey = reading.sum;
    return done;
}

/*
 * Where every byte of resident memory is.
 *
 * The kernel says what is resident in each mapping (/proc/self/smaps, or maps
 * and pagemap where that would hold up others).  What a
 * mapping is for follows from what it looks like and from what lies below it:
 *
 *   a file, [vdso]                            code_and_files
 *   executable, no file                       jit
 *   [stack]; above a guard page               stacks
 *   just above a file's last mapping          code_and_files (its .bss)
 *   any other                                 malloc, or unattributed
 *
 * Heap pages lie anywhere among the last (the kernel merges neighbours), so
 * each is known by its address; /proc/self/pagemap tells what of it is
 * resident, where the mapping is not so as a whole.
 *
 * What malloc(3) says about itself is virtual: a buffer that was never touched
 * is allocated, but not resident.  So malloc's figures only divide what the
 * kernel found, and what is missing from it was taken to be untouched memory
 * of the living: free memory has been used before.
 */
#include "ruby/internal/config.h"
#include "internal/heap_sampler.h"
#include "ruby/ruby.h"
#include "vm_core.h"
#include "allocator.h"
#include "memory.h"
#include "sampler.h"

#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#ifdef __GLIBC__
# include <malloc.h>
#endif

/* -- which addresses are heap pages ------------------------------------------ */

/*
 * One bit for each 64 KiB, in two levels: a table by the upper bits of a 48-bit
 * address, whose entries are made when a page there first comes (8 KiB for
 * each 4 GiB that heap pages are in).  Written under the VM lock, read by
 * anyone; entries stay.
 */
enum { GRANULE_BITS = 16, WORDS = 1 << (32 - GRANULE_BITS - 6) };
#define GRANULE (UINT64_C(1) << GRANULE_BITS)
#define TOP (UINT64_C(1) << (48 - 32))

static uint64_t *bodies[TOP];

static uint64_t *
bodies_at(uint64_t address)
{
    return address >> 32 < TOP ? __atomic_load_n(&bodies[address >> 32], __ATOMIC_ACQUIRE) : NULL;
}

static uint64_t *
make_bodies_at(uint64_t address)
{
    uint64_t *words = bodies_at(address);
    if (words || address >> 32 >= TOP) return words;
    words = rb_hs_calloc(HS_MEM_RECORDS, WORDS, sizeof(*words));
    uint64_t *expected = NULL;
    if (!words || __atomic_compare_exchange_n(&bodies[address >> 32], &expected, words, false,
                                              __ATOMIC_RELEASE, __ATOMIC_ACQUIRE)) {
        return words;
    }
    rb_hs_free(HS_MEM_RECORDS, words);
    return expected;
}

void
rb_heap_sampler_on_page_body(uintptr_t body, size_t size, bool exists)
{
    for (uint64_t address = body; address < (uint64_t)body + size; address += GRANULE) {
        uint64_t *words = exists ? make_bodies_at(address) : bodies_at(address);
        if (!words) continue;
        uint64_t *word = &words[(address >> (GRANULE_BITS + 6)) % WORDS];
        uint64_t bit = UINT64_C(1) << ((address >> GRANULE_BITS) % 64);
        if (exists) {
            __atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
        }
        else {
            __atomic_fetch_and(word, ~bit, __ATOMIC_RELAXED);
        }
    }
}

/* The first granule from `from` (a granule's address) on that is, or is not,
 * a heap page; `to` if there is none before it. */
static uint64_t
next_body(uint64_t from, uint64_t to, bool wanted)
{
    while (from < to) {
        const uint64_t *words = bodies_at(from);
        uint64_t word = words ? __atomic_load_n(&words[(from >> (GRANULE_BITS + 6)) % WORDS], __ATOMIC_RELAXED) : 0;
        unsigned in_word = (from >> GRANULE_BITS) % 64;
        word = (wanted ? word : ~word) >> in_word;
        if (word) {
            from += (uint64_t)__builtin_ctzll(word) << GRANULE_BITS;
            break;
        }
        from = (from | ((UINT64_C(1) << (words ? GRANULE_BITS + 6 : 32)) - 1)) + 1;
    }
    return from < to ? from : to;
}

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

struct survey {
    int pagemap;                /* -1: cannot be read */
    bool by_pages;              /* residency is counted page by page, see take_survey */
    uint64_t pages_read;
    uint64_t page_size;
    uint64_t thread_stack, default_stack;       /* sizes */
    struct region below;        /* the region before */
    uint64_t rss, pss, heap, stacks, files, jit;
    uint64_t noreserve;         /* what is left of mappings with MAP_NORESERVE, */
    uint64_t other;             /* and of the others */
};

static uint64_t
smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t
resident(const struct survey *survey, uint64_t start, uint64_t end)
{
    uint64_t entries[512], bytes = 0;
    uint64_t page = start / survey->page_size, last = end / survey->page_size;
    if (survey->by_pages && survey->pages_read > READ_PAGES) return 0;  /* it is given up */
    while (page < last) {
        size_t want = (size_t)smaller(last - page, sizeof(entries) / sizeof(*entries)) * sizeof(*entries);
        ssize_t got = survey->pagemap < 0 ? -1 :
            pread(survey->pagemap, entries, want, (off_t)(page * sizeof(*entries)));
        /* Unknown: the caller knows how much it is at most. */
        if (got < (ssize_t)sizeof(*entries)) return bytes + (last - page) * survey->page_size;
        size_t count = (size_t)got / sizeof(*entries);
        for (size_t i = 0; i < count; i++) bytes += entries[i] >> 63 ? survey->page_size : 0;
        page += count;
    }
    return bytes;
}

static uint64_t
heap_pages_in(const struct survey *survey, const struct region *region)
{
    uint64_t bytes = 0, end, start = (region->start + GRANULE - 1) & ~(GRANULE - 1);
    bool whole = region->rss == region->end - region->start;
    if (!region->rss) return 0;
    while ((start = next_body(start, region->end, true)) < region->end) {
        end = next_body(start, region->end, false);
        bytes += whole ? end - start : resident(survey, start, end);
        start = end;
    }
    return smaller(bytes, region->rss);
}

/* A guard is a few pages at most; what malloc or a JIT reserves is larger, and
 * a heap page that compaction protects is known. */
static bool
guard_p(const struct region *region)
{
    return !region->readable && !region->writable && !region->executable && !region->file &&
        region->end - region->start <= GRANULE && next_body(region->start, region->end, true) == region->end;
}

/* How much of the `left` resident bytes of a region is a stack.  A stack lies
 * above its guard and ends where its mapping ends, unless the kernel has merged
 * that with what is above: then a stack of Ruby's is taken to be there. */
static uint64_t
stack_in(const struct survey *survey, const struct region *region, uint64_t left)
{
    uint64_t size = region->end - region->start;
    bool guarded = survey->below.end == region->start && guard_p(&survey->below);
    if (!region->writable || region->noreserve) return 0;
    if (region->no_huge) return left;           /* never merged with what is no stack */
    if (!guarded) return 0;
    if (size <= survey->thread_stack || (size <= survey->default_stack && size + GRANULE >= survey->default_stack)) {
        return left;
    }
    return smaller(left, resident(survey, region->start, region->start + survey->thread_stack));
}

/* What cannot be read is no memory in use, or a page that GC protects for a while. */
static void
count_pages(struct survey *survey, struct region *region)
{
    uint64_t size = region->end - region->start;
    bool reserved = !region->readable && !region->executable && size > GRANULE * 16;
    survey->pages_read += reserved ? 0 : size / survey->page_size;      /* before: one mapping may be too much */
    region->rss = reserved ? 0 : resident(survey, region->start, region->end);
}

/* No library's .bss that was met is larger; jemalloc's has 2 MiB. */
enum { BSS_MAX = 4 * 1024 * 1024 };

static void
add_region(struct survey *survey, struct region *region)
{
    if (survey->by_pages) count_pages(survey, region);
    survey->rss += region->rss;
    survey->pss += region->pss;
    if (region->file) {
        survey->files += region->rss;
    }
    else if (region->main_stack) {
        survey->stacks += region->rss;
    }
    else if (region->executable) {
        survey->jit += region->rss;
    }
    else {
        uint64_t heap = heap_pages_in(survey, region), left = region->rss - heap;
        uint64_t stack = stack_in(survey, region, left);
        survey->heap += heap;
        survey->stacks += stack;
        left -= stack;
        if (region->noreserve) {
            survey->noreserve += left;
        }
        else if (survey->below.file && survey->below.writable && survey->below.end == region->start &&
                 region->end - region->start <= BSS_MAX) {
            survey->files += left;
        }
        else {
            survey->other += left;
        }
    }
    survey->below = *region;
}

static uint64_t
number(const char **text, unsigned base)
{
    uint64_t value = 0;
    for (;; (*text)++) {
        char c = **text;
        unsigned digit = c >= '0' && c <= '9' ? (unsigned)(c - '0') : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : 16;
        if (digit >= base) return value;
        value = value * base + digit;
    }
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
    return number(&text, 10) * 1024;
}

/* "7f5c00200000-7f5c00400000 rw-p 00000000 00:00 0     [name]" */
static struct region
read_header(const char *line)
{
    struct region region = { .start = number(&line, 16) };
    if (*line == '-') line++;
    region.end = number(&line, 16);
    skip_word(&line);
    for (; *line && *line != ' '; line++) {
        region.readable |= *line == 'r';
        region.writable |= *line == 'w';
        region.executable |= *line == 'x';
    }
    skip_word(&line);           /* the blank before the offset */
    skip_word(&line);
    skip_word(&line);
    bool inode = number(&line, 10) != 0;
    skip_word(&line);
    region.main_stack = strncmp(line, "[stack", 6) == 0;
    /* "[anon:…]": a name that the process gave it */
    region.file = inode || (*line && !region.main_stack && strncmp(line, "[heap]", 6) != 0 && strncmp(line, "[anon:", 6) != 0);
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
read_line(struct survey *survey, struct region *region, const char *line)
{
    if ((*line >= '0' && *line <= '9') || (*line >= 'a' && *line <= 'f')) {
        if (region->end) add_region(survey, region);
        *region = read_header(line);
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

static void
read_smaps(struct survey *survey, int fd)
{
    char buffer[8192];
    size_t len = 0;
    struct region region = { .end = 0 };
    bool skipping = false;      /* the rest of a line that the buffer cannot hold, a path's end */
    for (;;) {
        ssize_t got = read(fd, buffer + len, sizeof(buffer) - 1 - len);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        len += (size_t)got;
        char *line = buffer, *end;
        while ((end = memchr(line, '\n', len - (size_t)(line - buffer)))) {
            *end = '\0';
            if (!skipping) read_line(survey, &region, line);
            skipping = false;
            line = end + 1;
        }
        len -= (size_t)(line - buffer);
        if (len == sizeof(buffer) - 1) {
            buffer[len] = '\0';
            if (!skipping) read_line(survey, &region, line);
            skipping = true;
            len = 0;
        }
        memmove(buffer, line, len);
    }
    if (region.end) add_region(survey, &region);
}

/* -- malloc(3) -------------------------------------------------------------------- */

/* What it says about itself; virtual bytes. */
struct malloc_says {
    bool known;
    uint64_t live;
    uint64_t held;              /* live, waste and metadata */
    uint64_t metadata;
    uint64_t sparse_metadata;   /* of `metadata`, and */
    uint64_t sparse_live;       /* of `live`: no more of it can be untouched */
};

static uint64_t
statistic(const char *name)
{
    size_t value = 0;
    return rb_hs_mallctl_read(name, &value, sizeof(value)) ? value : 0;
}

/* 4096 is MALLCTL_ARENAS_ALL: jemalloc.h may not be there. */
#define ALL_ARENAS(name) statistic("stats.arenas.4096." name)

/* jemalloc finds a page's owner in a tree whose leaves are 2 MiB for each GiB of
 * addresses; hardly any of a leaf is touched, but all of it counts as resident.
 * A small process has two or three: where it is loaded decides. */
enum { LEAF = 2 * 1024 * 1024 };

static uint64_t
sparse_metadata(const struct hs_account *account)
{
    uint64_t leaves = 3 + ((account->je_resident + account->je_retained) >> 30);
    return smaller(account->je_metadata / LEAF, leaves) * LEAF;
}

static struct malloc_says
ask_jemalloc(struct hs_account *account)
{
    uint64_t epoch = 1, page = statistic("arenas.page");
    rb_hs_mallctl_write("epoch", &epoch, sizeof(epoch));
    account->jemalloc = true;
    account->je_allocated = statistic("stats.allocated");
    account->je_active = statistic("stats.active");
    account->je_resident = statistic("stats.resident");
    account->je_retained = statistic("stats.retained");
    account->je_metadata = statistic("stats.metadata");
    account->je_dirty = ALL_ARENAS("pdirty") * page;
    /* What threads keep in their caches counts as allocated, but nobody uses it. */
    uint64_t cached = ALL_ARENAS("tcache_bytes");
    uint64_t live = account->je_allocated - smaller(cached, account->je_allocated);
    return (struct malloc_says){
        .known = account->je_allocated > 0, .live = live, .held = account->je_resident + ALL_ARENAS("pmuzzy") * page,
        .metadata = account->je_metadata, .sparse_metadata = sparse_metadata(account), .sparse_live = live,
    };
}

static struct malloc_says
ask_libc(void)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
    struct mallinfo2 info = mallinfo2();
    uint64_t held = (uint64_t)info.arena + info.hblkhd;
    /* Free memory may be untouched, or given back, here too; so only large
     * blocks, which have mappings of their own, are taken to be untouched.
     * Nothing held: another malloc has taken the place of glibc's. */
    return (struct malloc_says){
        .known = held > 0, .live = (uint64_t)info.uordblks + info.hblkhd, .held = held, .sparse_live = info.hblkhd,
    };
#else
    return (struct malloc_says){ .known = false };
#endif
}

/* Divide what is `resident` of memory that may be malloc's. */
static void
divide_malloc(struct hs_account *account, const struct malloc_says *says, uint64_t resident)
{
    uint64_t all = smaller(resident, says->held), untouched = says->held - all;
    uint64_t metadata = smaller(untouched, says->sparse_metadata);
    uint64_t live = smaller(untouched - metadata, says->sparse_live);
    account->malloc_known = true;
    account->malloc_metadata = smaller(says->metadata - metadata, all);
    account->malloc_live = smaller(says->live - live, all - account->malloc_metadata);
    account->malloc_waste = all - account->malloc_metadata - account->malloc_live;
}

/* -- all of it ----------------------------------------------------------------------- */

static uint64_t
resident_pages(void)
{
    char text[64];
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0) close(fd);
    if (len <= 0) return 0;
    text[len] = '\0';
    const char *at = text;
    skip_word(&at);
    return number(&at, 10);
}

/*
 * The kernel holds its lock on the address space while it walks a mapping for
 * smaps, some 40 ns a page: a thread that maps memory just then, as GC does for
 * a new heap page, waits for 10 ms where a mapping has a gigabyte.  pagemap
 * gives the lock back after each 2 MiB.  So what is large is counted through
 * pagemap, mapping by mapping of maps; Pss and the mappings' flags stay unknown.
 */
enum { WALK_PAGES = 12 << 10 };  /* 0.5 ms */

static bool
read_survey(struct survey *survey, bool by_pages)
{
    struct rlimit limit;
    int fd = open(by_pages ? "/proc/self/maps" : "/proc/self/smaps", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    *survey = (struct survey){
        .pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC),
        .by_pages = by_pages, .page_size = (uint64_t)sysconf(_SC_PAGESIZE),
        .thread_stack = GET_VM()->default_params.thread_machine_stack_size,
    };
    bool readable = !by_pages || survey->pagemap >= 0;
    if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) survey->default_stack = limit.rlim_cur;
    if (readable) read_smaps(survey, fd);
    close(fd);
    if (survey->pagemap >= 0) close(survey->pagemap);
    /* Of vast mappings that are nearly empty smaps is the quicker reading. */
    return readable && survey->rss > 0 && survey->pages_read <= READ_PAGES;
}

static bool
take_survey(struct survey *survey, bool may_hold_up)
{
    if (!may_hold_up && resident_pages() > WALK_PAGES && read_survey(survey, true)) return true;
    return read_survey(survey, false);
}

static void
count_slots(struct hs_account *account, const struct survey *survey)
{
    struct rb_heap_sampler_gc_counts counts;
    uint64_t live = 0, total = 0;
    rb_heap_sampler_gc_counts(&counts);
    for (uint32_t i = 0; i < counts.heap_count; i++) {
        live += counts.heap[i].live_slots * counts.heap[i].slot_size;
        total += counts.heap[i].total_slots * counts.heap[i].slot_size;
    }
    uint64_t pages = survey ? survey->heap : total;
    account->slots_live = smaller(live, pages);
    account->slots_free = pages - account->slots_live;
}

static uint64_t
monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void
rb_hs_account_take(struct hs_account *account, const struct hs_account_excess *excess, bool may_hold_up)
{
    uint64_t began = monotonic_ns();
    const struct hs_allocator *allocator = rb_hs_allocator();
    struct survey survey;
    bool surveyed = take_survey(&survey, may_hold_up);

    *account = (struct hs_account){ .taken_ns = rb_hs_now_ns() };
    memcpy(account->allocator, allocator->name, sizeof(account->allocator));
    count_slots(account, surveyed ? &survey : NULL);

    struct malloc_says says = allocator->jemalloc ? ask_jemalloc(account) : ask_libc();
    if (excess) {
        says.live -= smaller(excess->allocated, says.live);
        says.held -= smaller(excess->resident, says.held);
        says.sparse_live = smaller(says.sparse_live, says.live);
    }
    uint64_t own = rb_hs_memory_total();
    if (surveyed) {
        account->rss = survey.rss;
        account->pss = survey.pss;
        account->stacks = survey.stacks;
        account->code_and_files = survey.files;
        account->jit = survey.jit;
        /* jemalloc maps with MAP_NORESERVE, unless the system does not overcommit. */
        uint64_t mine = allocator->jemalloc && survey.noreserve ? survey.noreserve : survey.other + survey.noreserve;
        if (says.known) divide_malloc(account, &says, mine);
        account->unattributed = survey.other + survey.noreserve - account->malloc_live - account->malloc_waste -
            account->malloc_metadata;
    }
    else if (says.known) {
        divide_malloc(account, &says, UINT64_MAX);
    }
    uint64_t *holder = account->malloc_known ? &account->malloc_live : &account->unattributed;
    account->sampler = surveyed ? smaller(own, *holder) : own;
    *holder -= smaller(account->sampler, *holder);
    account->cost_ns = monotonic_ns() - began;
}

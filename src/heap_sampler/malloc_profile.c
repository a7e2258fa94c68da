/*
 * jemalloc dumps its profile into a memfd, which we read as text (heap_v2):
 *
 *   heap_v2/524288
 *     t*: 28106: 56637512 [0: 0]             totals, then each thread's
 *     t3: …
 *   @ 0xa5f1000000000007 0x7f3a…             a stack
 *     t*: 13: 6688 [0: 0]                    its counts: objects: bytes [ever: ever]
 *     t3: …
 *
 * The counts are not what was sampled, nor what is alive.  jemalloc weighs each
 * sample by its own size, w = 1/(1 - e^(-s/R)), and sums that; then it prints
 * such c and b as give these sums after the correction that jeprof makes with
 * the mean size x = b/c: sums = c/(1 - e^(-x/R)), b/(1 - e^(-x/R)) (see
 * prof_do_unbias in its source).  So that correction, made stack by stack, is
 * unbiased whatever the sizes; the line of totals is not of that kind.
 *
 * c is rounded.  It is the number of samples where all have one size, and more
 * where sizes differ (1 - e^(-x/R) is concave); so is the variance that follows
 * from c samples of size x, c w(w-1) x^2: exact for one size, too wide for many.
 */
#define _GNU_SOURCE             /* memfd_create */
#include "malloc_profile.h"
#include "allocator.h"
#include "malloc_stacks.h"
#include "memory.h"
#include "signals.h"
#include "table.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* -- lines of a file ------------------------------------------------------------ */

enum {
    CHUNK_BYTES = 1 << 14,
    LINE_BYTES = 4096           /* 128 addresses of 19 bytes each: the longest stack of jemalloc's */
};

struct lines {
    int fd;
    size_t len, at;
    char chunk[CHUNK_BYTES];
    char line[LINE_BYTES];
};

/* The next line without its newline; a longer one is cut. NULL: no more. */
static const char *
next_line(struct lines *lines)
{
    size_t len = 0;
    bool any = false;
    for (;;) {
        if (lines->at == lines->len) {
            ssize_t got = read(lines->fd, lines->chunk, sizeof(lines->chunk));
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) break;
            lines->len = (size_t)got;
            lines->at = 0;
        }
        any = true;
        char c = lines->chunk[lines->at++];
        if (c == '\n') break;
        if (len < sizeof(lines->line) - 1) lines->line[len++] = c;
    }
    lines->line[len] = '\0';
    return any ? lines->line : NULL;
}

/* -- figures --------------------------------------------------------------------- */

static struct hs_estimate
estimate(uint64_t objects, uint64_t bytes, uint64_t interval)
{
    if (!objects || !bytes) return (struct hs_estimate){ 0 };
    double size = (double)bytes / (double)objects, samples = (double)objects;
    double weight = 1 / -expm1(-size / (double)interval);
    return (struct hs_estimate){
        .samples = objects, .objects = samples * weight, .space = (double)bytes * weight,
        .variance = samples * weight * (weight - 1) * size * size,
    };
}

/* jemalloc gives a small block that it samples an extent of its own, of the
 * smallest large size and perhaps one page more: that counts as allocated, and
 * as resident, though no more of it is touched than the block's own pages. */
struct large {
    uint64_t size, extent;
};

enum { PAGE = 4096 };

static struct large
smallest_large(void)
{
    size_t size = 0;
    bool padded = false;
    rb_hs_mallctl_read("arenas.lextent.0.size", &size, sizeof(size));
    rb_hs_mallctl_read("opt.cache_oblivious", &padded, sizeof(padded));
    return (struct large){ size, size + (padded ? PAGE : 0) };
}

static void
add_excess(struct hs_account_excess *excess, uint64_t objects, uint64_t bytes, const struct large *large)
{
    if (!objects || bytes / objects >= large->size) return;
    uint64_t size = bytes / objects, pages = (size + PAGE - 1) / PAGE * PAGE;
    excess->allocated += objects * (large->size - size);
    excess->resident += objects * (large->extent - pages);
}

/* "13: 6688 [0: 0]" */
static bool
read_counts(const char *text, uint64_t counts[4])
{
    return sscanf(text, "%" SCNu64 ": %" SCNu64 " [%" SCNu64 ": %" SCNu64 "]", &counts[0], &counts[1], &counts[2],
                  &counts[3]) == 4;
}

static bool
read_stack(struct hs_malloc_profile *profile, const char *text, struct hs_malloc_live *live)
{
    *live = (struct hs_malloc_live){ .native_at = profile->native_count };
    for (;;) {
        char *end;
        uint64_t word = strtoull(text, &end, 16);
        if (end == text) return true;
        text = end;
        enum hs_malloc_kind kind;
        uint32_t handle;
        if (!live->word && !live->native_count && hs_malloc_word_read(word, &kind, &handle)) {
            live->word = word;
            continue;
        }
        if (live->native_count == HS_NATIVE_MAX) continue;
        if (!rb_hs_grow(HS_MEM_SNAPSHOTS, (void **)&profile->natives, &profile->native_capacity,
                        (uint64_t)profile->native_count + 1, sizeof(*profile->natives))) {
            return false;
        }
        profile->natives[profile->native_count++] = word;
        live->native_count++;
    }
}

static bool
add_live(struct hs_malloc_profile *profile, const struct hs_malloc_live *live)
{
    if (!rb_hs_grow(HS_MEM_SNAPSHOTS, (void **)&profile->list, &profile->capacity, (uint64_t)profile->count + 1,
                    sizeof(*profile->list))) {
        return false;
    }
    profile->list[profile->count++] = *live;
    return true;
}

int
rb_hs_malloc_profile_read(struct hs_malloc_profile *profile, int fd)
{
    int error = 0;
    struct lines *lines = rb_hs_malloc(HS_MEM_SNAPSHOTS, sizeof(*lines));
    if (!lines) return ENOMEM;
    lines->fd = fd;
    lines->len = lines->at = 0;

    const char *line = next_line(lines);
    if (!line || sscanf(line, "heap_v2/%" SCNu64, &profile->interval) != 1 || !profile->interval) error = EINVAL;

    struct hs_malloc_live live;
    const struct large large = smallest_large();
    bool in_stack = false;
    while (!error && (line = next_line(lines)) && *line) {      /* a blank line ends the counts */
        uint64_t counts[4];
        if (*line == '@') {
            in_stack = true;
            if (!read_stack(profile, line + 1, &live)) error = ENOMEM;
        }
        else if (in_stack && strncmp(line, "  t*: ", 6) == 0 && read_counts(line + 6, counts)) {
            in_stack = false;
            live.inuse = estimate(counts[0], counts[1], profile->interval);
            add_excess(&profile->excess, counts[0], counts[1], &large);
            if (profile->alloc_known) live.alloc = estimate(counts[2], counts[3], profile->interval);
            if (!add_live(profile, &live)) error = ENOMEM;
        }
    }
    rb_hs_free(HS_MEM_SNAPSHOTS, lines);
    return error;
}

/* -- the dump --------------------------------------------------------------------- */

/* One dump at a time; a child that is forked meanwhile has its file, and no
 * one who would close it. */
static pthread_mutex_t dumping = PTHREAD_MUTEX_INITIALIZER;
static int dump_fd = -1;

void
rb_hs_malloc_profile_in_child(void)
{
    pthread_mutex_init(&dumping, NULL);
    if (dump_fd >= 0) close(dump_fd);
    dump_fd = -1;
}

static int
dump(struct hs_malloc_profile *profile)
{
    char path[64];
    const char *name = path;
    struct hs_signal_guard guard;
    dump_fd = memfd_create("ruby-heap-sample", MFD_CLOEXEC);
    if (dump_fd < 0) return errno;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", dump_fd);
    rb_hs_guard_signals(&guard);
    int error = rb_hs_mallctl_write("prof.dump", &name, sizeof(name)) ? rb_hs_malloc_profile_read(profile, dump_fd) : EIO;
    rb_hs_unguard_signals(&guard);
    close(dump_fd);
    dump_fd = -1;
    return error;
}

int
rb_hs_malloc_profile_take(struct hs_malloc_profile *profile)
{
    memset(profile, 0, sizeof(*profile));
    rb_hs_mallctl_read("opt.prof_accum", &profile->alloc_known, sizeof(profile->alloc_known));
    pthread_mutex_lock(&dumping);
    int error = dump(profile);
    pthread_mutex_unlock(&dumping);
    if (error) rb_hs_malloc_profile_free(profile);
    return error;
}

void
rb_hs_malloc_profile_free(struct hs_malloc_profile *profile)
{
    rb_hs_free(HS_MEM_SNAPSHOTS, profile->list);
    rb_hs_free(HS_MEM_SNAPSHOTS, profile->natives);
    profile->list = NULL;
    profile->natives = NULL;
    profile->count = profile->capacity = profile->native_count = profile->native_capacity = 0;
}

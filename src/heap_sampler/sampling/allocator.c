/*
 * Which malloc(3) this process has.  Ours is in the executable (tool/jemalloc),
 * where ELF looks a symbol up first.  So it serves Ruby, libc and each C
 * extension, with --enable-shared too.  A malloc that LD_PRELOAD names is loaded
 * and never called.  A Ruby that was built without ours may run with a preloaded
 * jemalloc.  The account is divided by its figures then, and malloc is not
 * sampled unless it has the hooks.
 */
#define _GNU_SOURCE 1           /* RTLD_DEFAULT */
#include "heap_sampler/sampling/malloc_hooks.h"
#include "internal/heap_sampler.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

typedef int (*mallctl_function)(const char *name, void *old, size_t *old_size, void *new, size_t new_size);

/* Found by the linker, so that it can be called before libraries are initialised. */
extern int mallctl(const char *name, void *old, size_t *old_size, void *new, size_t new_size) __attribute__((weak));

/* A pointer to lg_prof_sample as it was when the calling thread's next sample was drawn: patches/jemalloc. */
static const char DRAWN_AT[] = "thread.prof.lg_samplep";

static mallctl_function mallctl_of_process;
static struct hs_allocator allocator;

static bool
control(const char *name, void *value, size_t size, const void *new_value, size_t new_size)
{
    size_t got = size;
    if (!mallctl_of_process) return false;
    return mallctl_of_process(name, value, value ? &got : NULL, (void *)new_value, new_size) == 0 && got == size;
}

bool
rb_hs_mallctl_read(const char *name, void *value, size_t size)
{
    return control(name, value, size, NULL, 0);
}

bool
rb_hs_mallctl_write(const char *name, const void *new_value, size_t size)
{
    return control(name, NULL, 0, new_value, size);
}

bool
rb_hs_allocator_has_p(const void *pointer)
{
    unsigned arena;
    return control("arenas.lookup", &arena, sizeof(arena), &pointer, sizeof(pointer));
}

uint64_t
rb_hs_allocator_drawn_at(void)
{
    /* Inside malloc a thread-local variable must not be allocated when first used, as one of a library may be. */
    static _Thread_local __attribute__((tls_model("initial-exec"))) const size_t *lg;
    if (!lg) rb_hs_mallctl_read(DRAWN_AT, &lg, sizeof(lg));
    return UINT64_C(1) << *lg;
}

uint64_t
rb_hs_allocator_thread_allocated(void)
{
    static _Thread_local const uint64_t *allocated;
    if (!allocated) rb_hs_mallctl_read("thread.allocatedp", &allocated, sizeof(allocated));
    return allocated ? *allocated : 0;
}

void
rb_hs_allocator_give_back(void)
{
    unsigned arena, threads;
    char name[64];
    if (!rb_hs_mallctl_read("thread.arena", &arena, sizeof(arena))) return;
    snprintf(name, sizeof(name), "stats.arenas.%u.nthreads", arena);
    uint64_t epoch = 1;         /* statistics are of the last epoch */
    rb_hs_mallctl_write("epoch", &epoch, sizeof(epoch));
    if (!rb_hs_mallctl_read(name, &threads, sizeof(threads)) || threads != 1) return;
    control("thread.tcache.flush", NULL, 0, NULL, 0);
    snprintf(name, sizeof(name), "arena.%u.purge", arena);
    control(name, NULL, 0, NULL, 0);
}

static void
look(void)
{
    const char *version;
    void *hook, *lg;
    mallctl_of_process = mallctl;
    if (!mallctl_of_process) *(void **)&mallctl_of_process = dlsym(RTLD_DEFAULT, "mallctl");
    allocator.jemalloc = rb_hs_mallctl_read("version", &version, sizeof(version));
    if (allocator.jemalloc) {
        /* "5.3.0-0-g54eaed1…": what follows the first dash says nothing to a user */
        snprintf(allocator.name, sizeof(allocator.name), "jemalloc %.*s", (int)strcspn(version, "-"), version);
        rb_hs_mallctl_read("opt.prof", &allocator.prof_opened, sizeof(allocator.prof_opened));
        allocator.sample_hooks = rb_hs_mallctl_read("experimental.hooks.prof_sample_free", &hook, sizeof(hook)) &&
            rb_hs_mallctl_read(DRAWN_AT, &lg, sizeof(lg));
        return;
    }
#ifdef __GLIBC__
    snprintf(allocator.name, sizeof(allocator.name), "glibc %s", gnu_get_libc_version());
#else
    snprintf(allocator.name, sizeof(allocator.name), "malloc");
#endif
}

const struct hs_allocator *
rb_hs_allocator(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, look);
    return &allocator;
}

/* -- fork ---------------------------------------------------------------------------- */

static void
nothing(void)
{
}

struct hs_malloc_fork rb_hs_malloc_fork = {nothing, nothing, nothing};

void
rb_heap_sampler_malloc_fork(void (*before)(void), void (*parent)(void), void (*child)(void))
{
    if (before && parent && child) rb_hs_malloc_fork = (struct hs_malloc_fork){before, parent, child};
}

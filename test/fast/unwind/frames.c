/*
 * Native frames as sampling/unwind.c finds them, against glibc's backtrace(3).
 *
 * Calls go through functions of many shapes: frames that move the stack by an
 * amount known at run time, large and aligned ones, callbacks of libc, other
 * threads, recursion.  At the bottom stands a function in a section of its
 * own, in jemalloc's place: both ways of unwinding must agree from its caller
 * up to `interpreter`, where they end.
 */
#define _GNU_SOURCE
#include "heap_sampler/sampling/malloc_hooks.h"
#include "tap.h"

#include <alloca.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#include <unwind.h>

enum { FRAMES = 256 };

static unsigned seed = 1;
static unsigned long stacks, frames_compared, wrong;
static bool kernel_reads;               /* process_vm_readv works: not under qemu, and not in every container */
static __thread uintptr_t stack_end;
static __thread volatile char keep;

static unsigned
draw(unsigned below)
{
    seed = seed * 1103515245 + 12345;
    return (seed >> 16) % below;
}

void interpreter(int depth);

static void
compare(const uintptr_t *ours, uint32_t count, void *const *theirs, int their_count)
{
    int from = 0;
    while (from < their_count && (uintptr_t)theirs[from] != ours[0]) from++;
    __atomic_add_fetch(&stacks, 1, __ATOMIC_RELAXED);
    uint32_t same = 0;
    while (same < count && from + (int)same < their_count && (uintptr_t)theirs[from + same] == ours[same]) same++;
    /* The next of theirs, where ours end before the array is full, is in the interpreter. */
    bool at_end = count == HS_NATIVE_MAX ||
        (from + (int)count < their_count &&
         _Unwind_FindEnclosingFunction((char *)theirs[from + count] - 1) == (void *)(uintptr_t)interpreter);
    if (!stack_end && !kernel_reads) at_end = count == 1;
    __atomic_add_fetch(&frames_compared, same, __ATOMIC_RELAXED);
    if (same == count && count && at_end) return;
    if (__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED) > 2) return;
    printf("# %u frames, %u the same; then %p, backtrace has %p\n", count, same,
           same < count ? (void *)ours[same] : NULL, from + (int)same < their_count ? theirs[from + same] : NULL);
}

static __thread void *theirs[FRAMES];
static __thread int their_count;

/* In the place of jemalloc's code (its bounds: the linker's __start_, __stop_). */
__attribute__((section("fake_jemalloc"), noinline)) void
fake_malloc(void)
{
    uintptr_t ours[HS_NATIVE_MAX];
    uint32_t count = rb_hs_unwind(ours, stack_end);
    their_count = backtrace(theirs, FRAMES);
    compare(ours, count, theirs, their_count);
    keep = 1;
}

typedef void (*shape)(int depth);
__attribute__((noinline)) static void go(int depth);

#define SHAPE(name, ...) \
    __attribute__((noinline)) static void name(int depth) \
    { \
        __VA_ARGS__; \
        keep = 1; \
    }
SHAPE(plain, go(depth))
SHAPE(large, char room[70000]; room[depth] = 1; keep = room[depth]; go(depth))
SHAPE(moved, char *room = alloca(16 + draw(4000)); room[0] = 1; keep = room[0]; go(depth))
SHAPE(aligned, char room[64] __attribute__((aligned(64))); room[depth % 64] = 1; keep = room[depth % 64]; go(depth))
SHAPE(variable, char room[1 + draw(300)]; room[0] = 1; keep = room[0]; go(depth))
/* All registers that a callee must save are used. */
SHAPE(busy, long a = draw(9), b = draw(9), c = draw(9), d = draw(9), e = draw(9), f = draw(9);
      go(depth); keep = (char)(a * b + c * d + e * f))

static __thread int depth_of_callback;
static int
by_qsort(const void *left, const void *right)
{
    int depth = depth_of_callback;
    if (depth >= 0) {
        depth_of_callback = -1;
        go(depth);
    }
    return *(const int *)left - *(const int *)right;
}
SHAPE(through_qsort, int list[3] = {3, 1, 2}; depth_of_callback = depth; qsort(list, 3, sizeof(*list), by_qsort))

static const shape shapes[] = {plain, large, moved, aligned, variable, busy, through_qsort};

static void
go(int depth)
{
    if (depth > 0) shapes[draw(sizeof(shapes) / sizeof(*shapes))](depth - 1);
    else fake_malloc();
    keep = 1;
}

__attribute__((noinline)) void
interpreter(int depth)
{
    go(depth);
    keep = 1;
}

static void
try_all(void *end, int times)
{
    stack_end = (uintptr_t)end;
    for (int i = 0; i < times; i++) interpreter((int)draw(40));
}

static void *
thread(void *unused)
{
    pthread_attr_t attr;
    void *low;
    size_t size;
    (void)unused;
    pthread_getattr_np(pthread_self(), &attr);
    pthread_attr_getstack(&attr, &low, &size);
    pthread_attr_destroy(&attr);
    try_all((char *)low + size, 3000);
    return NULL;
}

int
main(int argc, char **argv)
{
    void *first[1];
    struct iovec local = {first, sizeof(first)}, remote = {argv, sizeof(first)};
    backtrace(first, 1);                /* loads libgcc */
    kernel_reads = process_vm_readv(getpid(), &local, 1, &remote, 1, 0) > 0;
    if (argc > 1) seed = (unsigned)atoi(argv[1]);
    rb_hs_unwind_refresh();
    rb_hs_unwind_until((uintptr_t)interpreter);
    note("seed %u", seed);
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, thread, NULL);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    thread(NULL);
    unsigned long fast = frames_compared;
    ok(!wrong, "with the cache: %lu stacks, %lu frames, %lu wrong", stacks, fast, wrong);
    /* Where the end of the stack is not known, the kernel reads it. */
    stacks = wrong = 0;
    try_all(NULL, 500);
    ok(!wrong, "on a stack with an unknown end: %lu stacks, %lu frames, %lu wrong", stacks, frames_compared - fast, wrong);
    return tap_finish();
}

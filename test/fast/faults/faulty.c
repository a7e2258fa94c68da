/*
 * Makes calls of the sampler fail, when preloaded: its alone, since who calls
 * is known by the return address.  The program next to it has the memory and the
 * files that it had before.
 *
 * FAULTY_CODE     a file of lines "START END", hexadecimal: the sampler's functions in the executable
 * FAULTY_CONTROL  a file of a struct control, mapped: a test writes what is to fail, and reads what was counted
 *
 * A call is named by its kind and its chain: the sampler's functions from where
 * the program entered the sampler to the call, by their return addresses.  Which
 * number a call has differs from run to run, its chain does not.
 *
 * What can fail: realloc(3), which is all that base/memory.c calls; and the calls
 * that files and threads are made with.  realloc is the executable's own, which
 * no library can stand in front of: the calls of it in the sampler's code are
 * written over (x86-64).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <unwind.h>

enum kind { MEMORY,
            FILES,
            KINDS };

enum { CHAINS_MAX = 8192 };     /* of these a power of two */

struct control {
    int64_t kind, chain;        /* which calls may fail; chain 0: none */
    int64_t at;                 /* the call of this chain that fails, counted from 1 */
    int64_t and_all_after;      /* of this kind */
    int64_t error;              /* errno of a file's call that fails */
    int64_t list_chains;        /* fill the table below */
    int64_t calls;              /* of the chain, so far */
    int64_t begun;              /* the call that fails has come */
    int64_t failed;
    struct {
        int64_t chain, kind, calls;
    } chains[CHAINS_MAX];       /* by hash; 0: free */
};

enum { RANGES_MAX = 2048 };

static struct {
    uintptr_t start, end;
} ranges[RANGES_MAX];
static int range_count;
static uintptr_t base;
static struct control *control;

static int
find_base_i(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    *(uintptr_t *)data = (uintptr_t)info->dlpi_addr;
    return 1;                   /* the executable comes first */
}

static void *next(const char *name);

static void *(*own_realloc)(void *, size_t);
static bool fails(enum kind kind, const void *caller);

#define CALLER __builtin_return_address(0)

static void *
failing_realloc(void *ptr, size_t size)
{
    return fails(MEMORY, CALLER) ? NULL : own_realloc(ptr, size);
}

/* A call reaches 2 GiB, and libraries are further away: it goes to a page next to the executable, which jumps here. */
static uint8_t *
make_step(void)
{
    uint8_t *step = mmap((void *)(base - (64 << 20)), 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (step == MAP_FAILED) _exit(122);
    uint64_t target = (uint64_t)(uintptr_t)failing_realloc;
    memcpy(step, "\x48\xb8", 2);            /* mov rax, target */
    memcpy(step + 2, &target, 8);
    memcpy(step + 10, "\xff\xe0", 2);       /* jmp rax */
    return step;
}

static void
redirect_calls(void)
{
#ifdef __x86_64__
    uint8_t *step = NULL;
    *(void **)&own_realloc = dlsym(RTLD_DEFAULT, "realloc");
    Dl_info info;
    if (!dladdr((void *)(uintptr_t)own_realloc, &info) || (uintptr_t)info.dli_fbase != base) return;  /* ours is called by name */
    for (int i = 0; i < range_count; i++) {
        for (uint8_t *at = (uint8_t *)ranges[i].start; at + 5 <= (uint8_t *)ranges[i].end; at++) {
            int32_t distance;
            memcpy(&distance, at + 1, 4);
            if ((*at != 0xe8 && *at != 0xe9) || at + 5 + distance != (uint8_t *)(uintptr_t)own_realloc) continue;
            if (!step) step = make_step();
            distance = (int32_t)(step - (at + 5));
            uint8_t *page = (uint8_t *)((uintptr_t)at & ~(uintptr_t)4095);
            if (mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC)) _exit(123);
            memcpy(at + 1, &distance, 4);
            mprotect(page, 8192, PROT_READ | PROT_EXEC);
        }
    }
    if (!step) _exit(124);
#endif
}

/* Files are read with open(2) and read(2): stdio would allocate. */
__attribute__((constructor)) static void
open_control(void)
{
    static char text[RANGES_MAX * 40];
    const char *code = getenv("FAULTY_CODE"), *path = getenv("FAULTY_CONTROL");
    int (*real_open)(const char *, int, ...) = next("open");
    if (!code || !path) return;
    dl_iterate_phdr(find_base_i, &base);

    int fd = real_open(code, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (len < 0) _exit(120);
    close(fd);
    for (char *at = text, *end; range_count < RANGES_MAX; at = end) {
        uintptr_t start = strtoull(at, &end, 16);
        if (end == at) break;
        ranges[range_count].start = base + start;
        ranges[range_count++].end = base + strtoull(end, &end, 16);
    }
    fd = real_open(path, O_RDWR | O_CLOEXEC);
    void *map = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) _exit(121);
    close(fd);
    control = map;
    redirect_calls();
}

static bool
from_sampler(const void *caller)
{
    uintptr_t address = (uintptr_t)caller;
    for (int i = 0; i < range_count; i++) {
        if (address >= ranges[i].start && address < ranges[i].end) return true;
    }
    return false;
}

struct chain {
    uint64_t hash;
    bool inside;
};

static _Unwind_Reason_Code
add_frame(struct _Unwind_Context *context, void *ptr)
{
    struct chain *chain = ptr;
    uintptr_t address = _Unwind_GetIP(context);
    bool inside = from_sampler((void *)address);
    if (chain->inside && !inside) return _URC_END_OF_STACK;
    chain->inside = inside;
    if (inside) chain->hash = (chain->hash ^ (address - base)) * 0x100000001b3;
    return _URC_NO_REASON;
}

/* From where the sampler was entered to the call. The same in each process, wherever the executable is loaded. */
static int64_t
chain_of(enum kind kind)
{
    struct chain chain = {0xcbf29ce484222325 + kind, false};
    _Unwind_Backtrace(add_frame, &chain);
    return (int64_t)(chain.hash | 1);
}

static void
count_chain(enum kind kind, int64_t chain)
{
    for (uint64_t i = (uint64_t)chain >> 20;; i++) {
        int64_t *place = &control->chains[i % CHAINS_MAX].chain, none = 0;
        if (!__atomic_compare_exchange_n(place, &none, chain, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) && none != chain) continue;
        __atomic_store_n(&control->chains[i % CHAINS_MAX].kind, kind, __ATOMIC_RELAXED);
        __atomic_add_fetch(&control->chains[i % CHAINS_MAX].calls, 1, __ATOMIC_RELAXED);
        return;
    }
}

static bool
fails(enum kind kind, const void *caller)
{
    if (!control || !from_sampler(caller)) return false;
    if (control->list_chains) count_chain(kind, chain_of(kind));
    if (!control->chain || control->kind != (int64_t)kind) return false;
    if (__atomic_load_n(&control->begun, __ATOMIC_RELAXED)) {
        if (!control->and_all_after) return false;
    }
    else {
        if (chain_of(kind) != control->chain) return false;
        if (__atomic_add_fetch(&control->calls, 1, __ATOMIC_RELAXED) != control->at) return false;
        __atomic_store_n(&control->begun, 1, __ATOMIC_RELAXED);
    }
    __atomic_add_fetch(&control->failed, 1, __ATOMIC_RELAXED);
    if (kind == FILES) errno = (int)control->error;
    return true;
}

static void *
next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

void *
realloc(void *ptr, size_t size)
{
    static void *(*real)(void *, size_t);
    if (!real) real = next("realloc");
    return fails(MEMORY, CALLER) ? NULL : real(ptr, size);
}

int
open(const char *path, int flags, ...)
{
    static int (*real)(const char *, int, ...);
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    if (!real) real = next("open");
    return fails(FILES, CALLER) ? -1 : real(path, flags, mode);
}

int
openat(int folder, const char *path, int flags, ...)
{
    static int (*real)(int, const char *, int, ...);
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    if (!real) real = next("openat");
    return fails(FILES, CALLER) ? -1 : real(folder, path, flags, mode);
}

#define FAILING_CALL(result, name, parameters, arguments) \
    result name parameters \
    { \
        static result(*real) parameters; \
        if (!real) real = next(#name); \
        return fails(FILES, CALLER) ? (result) - 1 : real arguments; \
    }

FAILING_CALL(ssize_t, read, (int fd, void *ptr, size_t len), (fd, ptr, len))
FAILING_CALL(ssize_t, pread, (int fd, void *ptr, size_t len, off_t at), (fd, ptr, len, at))
FAILING_CALL(int, fsync, (int fd), (fd))
FAILING_CALL(int, fchmod, (int fd, mode_t mode), (fd, mode))
FAILING_CALL(int, renameat, (int folder, const char *from, int other, const char *to), (folder, from, other, to))
FAILING_CALL(int, fstatat, (int folder, const char *path, struct stat *stat, int flags), (folder, path, stat, flags))
FAILING_CALL(int, lstat, (const char *path, struct stat *stat), (path, stat))
FAILING_CALL(int, fstat, (int fd, struct stat *stat), (fd, stat))

/* What the sampler says on stderr has to be seen. */
ssize_t
write(int fd, const void *ptr, size_t len)
{
    static ssize_t (*real)(int, const void *, size_t);
    if (!real) real = next("write");
    return fd != STDERR_FILENO && fails(FILES, CALLER) ? -1 : real(fd, ptr, len);
}

int
pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *data)
{
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (!real) real = next("pthread_create");
    return fails(FILES, CALLER) ? EAGAIN : real(thread, attr, run, data);
}

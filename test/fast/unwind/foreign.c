/*
 * malloc is sampled on stacks, and called by code, that a library made itself.
 *
 * Each act ends in `probe`, on a stack that may end anywhere: above it is a
 * page that cannot be read, or memory that AddressSanitizer watches. The words
 * at the bottom are what a careless library leaves there: nothing, noise,
 * addresses of code, of data, of a library that was closed. Nothing but the
 * stack may be read, and the frames that have a rule must be found.
 *
 * With -DIN_RUBY `probe` calls malloc, and Ruby calls `foreign` (run). Without
 * it `probe` stands in jemalloc's place, as in frames.c.
 */
#define _GNU_SOURCE
#ifndef IN_RUBY
#include "heap_sampler/sampling/malloc_hooks.h"
#include "tap.h"
#else
enum { HS_NATIVE_MAX = 24 };
#endif

#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define ASAN 1
#else
#define ASAN 0
#define __asan_unpoison_memory_region(at, size) ((void)(at), (void)(size))
#endif

enum { PAGE = 4096,
       STACK = 128 * 1024,
       KEPT = 64 };

/* Of the thread. */
static __thread struct {
    unsigned seed, depth, wanted;
    void *back, *gone;
    char *mapped, *allocated, *signal_stack;    /* each STACK large; a page that cannot be read is above the mapped ones */
    unsigned char *code;
    uintptr_t end;              /* of the thread's own stack, or 0 */
} its;
static __thread volatile char keep;

static uintptr_t kept[KEPT];    /* return addresses that were found, atomics */
static void (*through[3])(void (*)(void));     /* functions of libraries without rules */
static const char *folder;
static bool kernel_reads;
static int only;                /* this act; -1: all */
static unsigned long unwinds;

static unsigned
draw(unsigned below)
{
    its.seed = its.seed * 1103515245 + 12345;
    return (its.seed >> 16) % below;
}

/* -- the leaf ---------------------------------------------------------------------- */

#ifdef IN_RUBY
__attribute__((noinline)) static void
probe(void)
{
    void *volatile block = malloc(1000);
    __atomic_add_fetch(&unwinds, 1, __ATOMIC_RELAXED);
    if (draw(8)) free(block);           /* the others are in the profile */
}
#else
static unsigned long frames_found, wrong;

__attribute__((section("fake_jemalloc"), noinline)) static void
probe(void)
{
    uintptr_t frames[HS_NATIVE_MAX], caller = (uintptr_t)__builtin_return_address(0);
    uint32_t count = rb_hs_unwind(frames, its.end);
    unsigned wanted = !kernel_reads && !its.end ? 1 : its.wanted < HS_NATIVE_MAX ? its.wanted
                                                                                 : HS_NATIVE_MAX;
    __atomic_add_fetch(&unwinds, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&frames_found, count, __ATOMIC_RELAXED);
    if (count < wanted || !count || frames[0] != caller) {
        if (__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED) < 3) {
            printf("# %u frames, not %u; malloc's caller is %#lx, not %#lx\n", count, wanted, count ? frames[0] : 0, caller);
        }
        return;
    }
    __atomic_store_n(&kept[draw(KEPT)], frames[draw(count)], __ATOMIC_RELAXED);
    keep = 1;
}
#endif

typedef void (*shape)(unsigned depth);
__attribute__((noinline)) static void go(unsigned depth);

#define SHAPE(name, ...) \
    __attribute__((noinline)) static void name(unsigned depth) \
    { \
        __VA_ARGS__; \
        keep = 1; \
    }
SHAPE(plain, go(depth))
SHAPE(moved, char *room = alloca(16 + draw(2000)); room[0] = 1; keep = room[0]; go(depth))
SHAPE(aligned, char room[64] __attribute__((aligned(64))); room[depth % 64] = 1; keep = room[depth % 64]; go(depth))

static const shape shapes[] = {plain, moved, aligned};

static void
go(unsigned depth)
{
    if (depth) shapes[draw(sizeof(shapes) / sizeof(*shapes))](depth - 1);
    else probe();
    keep = 1;
}

__attribute__((noinline)) static void
go_its_depth(void)
{
    go(its.depth);
    keep = 1;
}

/* go_its_depth, go, and two frames for each level. */
static void
choose_depth(void)
{
    its.depth = draw(8);
    its.wanted = 2 + 2 * its.depth;
}

/* -- what stands at the bottom of a stack ------------------------------------------- */

static uintptr_t
noise(void)
{
    return (uintptr_t)draw(65536) << 48 | (uintptr_t)draw(65536) << 32 | (uintptr_t)draw(65536) << 16 | draw(65536);
}

static uintptr_t
left_there(void)
{
    switch (draw(12)) {
    case 0: return 0;
    case 1: return 0xdeadbeef;
    case 2: return noise();
    case 3: return noise() >> 17;
    case 4: return (uintptr_t)its.mapped + STACK + draw(PAGE);           /* cannot be read */
    case 5: return (uintptr_t)its.mapped + draw(STACK / 8) * 8;
    case 6: return (uintptr_t)go + draw(200);
    case 7: return (uintptr_t)qsort + draw(2000);
    case 8: return (uintptr_t)its.code + draw(20);
    case 9: return (uintptr_t)through[draw(3)] + draw(20);
    default: return __atomic_load_n(&kept[draw(KEPT)], __ATOMIC_RELAXED);
    }
}

/* -- acts ------------------------------------------------------------------------------ */

/* The switch of a coroutine library: without .eh_frame, as Boost's. */
void foreign_switch(void **from, void *to);
void foreign_call_with_frame_pointer(uintptr_t frame_pointer, void (*function)(void));
__asm__(".text\n"
        ".globl foreign_switch\n.hidden foreign_switch\n.type foreign_switch, @function\n"
        "foreign_switch:\n"
        "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
        "mov %rsp, (%rdi)\nmov %rsi, %rsp\n"
        "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n"
        /* Its .eh_frame says that rbp leads to the caller. It does not. */
        ".globl foreign_call_with_frame_pointer\n.hidden foreign_call_with_frame_pointer\n"
        ".type foreign_call_with_frame_pointer, @function\n"
        "foreign_call_with_frame_pointer:\n"
        ".cfi_startproc\npush %rbp\n.cfi_def_cfa rbp, 16\n.cfi_offset rbp, -16\n"
        "mov %rdi, %rbp\ncall *%rsi\npop %rbp\n.cfi_def_cfa rsp, 8\nret\n.cfi_endproc\n");

static void
coroutine(void)
{
    go_its_depth();
    foreign_switch(&its.gone, its.back);
}

/* Words above the entry's return address: 0 if that is the last of the stack. */
static void
run_coroutine(char *low, size_t size, unsigned above)
{
    __asan_unpoison_memory_region(low, size);
    uintptr_t *sp = (uintptr_t *)(low + size);
    for (unsigned i = 0; i <= above; i++) *--sp = left_there();
    *--sp = (uintptr_t)coroutine;
    for (int i = 0; i < 6; i++) *--sp = left_there();
    its.wanted++;
    foreign_switch(&its.back, sp);
}

static void
on_mapped(void)
{
    run_coroutine(its.mapped, STACK, draw(8) * 2);
}

static void
on_allocated(void)
{
    run_coroutine(its.allocated, STACK + 8, draw(8) * 2 + 1);
}

static void
on_thread_own(void)
{
    char room[32 * 1024 + 8] __attribute__((aligned(16)));
    if (its.depth > 3) choose_depth();
    if (its.depth > 3 || ASAN) return go_its_depth();
    run_coroutine(room, sizeof(room), draw(8) * 2 + 1);
}

static __thread ucontext_t here, there;

static void
on_context(void)
{
    __asan_unpoison_memory_region(its.mapped, STACK);
    getcontext(&there);
    there.uc_stack.ss_sp = its.mapped;
    there.uc_stack.ss_size = STACK;
    there.uc_link = &here;
    makecontext(&there, go_its_depth, 0);
    swapcontext(&here, &there);
}

static void
handler(int signal)
{
    (void)signal;
    go_its_depth();
}

static void
on_signal_stack(void)
{
    stack_t ours = {.ss_sp = its.signal_stack, .ss_size = STACK}, before;
    __asan_unpoison_memory_region(its.signal_stack, STACK);
    sigaltstack(&ours, &before);
    pthread_kill(pthread_self(), SIGRTMIN + 5);
    sigaltstack(&before, NULL);
}

/* push rbp; mov rbp, noise; call rdi; pop rbp; ret */
static void
from_generated_code(void)
{
    static const unsigned char code[] = {0x55, 0x48, 0xbd, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xd7, 0x5d, 0xc3};
    uintptr_t rbp = left_there();
    memcpy(its.code, code, sizeof(code));
    memcpy(its.code + 3, &rbp, sizeof(rbp));
    ((void (*)(void (*)(void)))its.code)(go_its_depth);
}

static void
with_wrong_rules(void)
{
    uintptr_t end = its.end;
    if (ASAN) its.end = 0;      /* between two variables of the thread's stack is poison */
    foreign_call_with_frame_pointer(left_there(), go_its_depth);
    its.end = end;
}

static void
from_stripped_library(void)
{
    through[draw(3)](go_its_depth);
}

/* Bytes of the rules that a library has become others. */
static void
damage_rules(void *function)
{
    struct dl_find_object object;
    if (_dl_find_object(function, &object) || !object.dlfo_eh_frame) return;
    unsigned char *rules = object.dlfo_eh_frame;
    if (mprotect(rules - (uintptr_t)rules % PAGE, PAGE, PROT_READ | PROT_WRITE)) return;
    size_t room = PAGE - (uintptr_t)rules % PAGE;
    for (unsigned i = draw(6); i < 6; i++) rules[draw(room < 200 ? (unsigned)room : 200)] = (unsigned char)draw(256);
}

/* Return addresses into it, and the cache's rules for them, outlive it. */
static void
from_closed_library(void)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/closed.so", folder);
    void *library = dlopen(path, RTLD_NOW);
    if (!library) return go_its_depth();
    void (*function)(void (*)(void)) = (void (*)(void (*)(void)))dlsym(library, "through");
    if (draw(2)) damage_rules((void *)function);
    function(go_its_depth);
    __atomic_store_n(&kept[draw(KEPT)], (uintptr_t)function + draw(30), __ATOMIC_RELAXED);
    dlclose(library);
#ifndef IN_RUBY
    rb_hs_unwind_refresh();
#endif
}

/* Another thread unloads it: the loader still has it, its first page is gone, and a wrong rule leads there. */
static void
into_vanishing_library(void)
{
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    char path[512];
    struct dl_find_object object;
    snprintf(path, sizeof(path), "%s/vanishing.so", folder);
    pthread_mutex_lock(&one_at_a_time);
    void *library = dlopen(path, RTLD_NOW), *function = library ? dlsym(library, "through") : NULL;
    uintptr_t frame[2] = {0, (uintptr_t)function + 1};
    if (!function || _dl_find_object(function, &object) || mprotect(object.dlfo_map_start, PAGE, PROT_NONE)) abort();
    foreign_call_with_frame_pointer((uintptr_t)frame, go_its_depth);
    if (mprotect(object.dlfo_map_start, PAGE, PROT_READ)) abort();
    dlclose(library);
    pthread_mutex_unlock(&one_at_a_time);
}

/* What a JIT compiler registers. libgcc's lookup locks, and calls malloc. */
extern void __register_frame(void *), __deregister_frame(void *);
extern void *_Unwind_FindEnclosingFunction(void *);

static void
registered_code(void)
{
    struct {
        uint32_t common_size, id;
        unsigned char common[12];       /* version 1, no augmentation, alignments, rip; the frame ends 8 bytes above rsp */
        uint32_t size, to_common;
        uintptr_t begin, len;
        uint32_t end;
    } __attribute__((packed)) frames = {16, 0, {1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1}, 20, 24, (uintptr_t)its.code, PAGE, 0};
    __register_frame(&frames);
    if (_Unwind_FindEnclosingFunction(its.code + 8) != its.code) abort();
    from_generated_code();
    __deregister_frame(&frames);
}

#ifdef WITH_BOOST
/* boost/context/detail/fcontext.hpp */
struct transfer {
    void *context, *data;
};
struct transfer jump_fcontext(void *to, void *data);
void *make_fcontext(void *stack, size_t size, void (*entry)(struct transfer));

static void
boost_entry(struct transfer from)
{
    go_its_depth();
    jump_fcontext(from.context, NULL);
}

static void
on_boost(void)
{
    __asan_unpoison_memory_region(its.mapped, STACK);
    jump_fcontext(make_fcontext(its.mapped + STACK, STACK, boost_entry), NULL);
}
#endif

/* Go's code has no .eh_frame. C that it calls runs on the stack of the thread, or on one that Go made. */
static void (*call_from_go)(void (*)(void));

static void
from_go(void)
{
    if (call_from_go) call_from_go(go_its_depth);
    else go_its_depth();
}

static const struct act {
    const char *name;
    void (*run)(void);
    unsigned rarely;            /* of so many draws one: it takes long */
} acts[] = {
    {"a coroutine on a mapping", on_mapped, 1},
    {"a coroutine on the heap", on_allocated, 1},
    {"a coroutine on a local variable", on_thread_own, 1},
    {"makecontext", on_context, 4},
    {"a signal stack", on_signal_stack, 8},
    {"generated code", from_generated_code, 1},
    {"registered code", registered_code, 8},
    {"wrong rules", with_wrong_rules, 1},
    {"a stripped library", from_stripped_library, 1},
    {"a library that is damaged, and closed", from_closed_library, 100},
#ifndef HS_OWN_LIBRARIES        /* its table is filled from that page */
    {"a library that vanishes", into_vanishing_library, 100},
#endif
#ifdef WITH_BOOST
    {"Boost.Context", on_boost, 1},
#endif
    {"Go", from_go, 8},
};
enum { ACTS = sizeof(acts) / sizeof(*acts) };

/* -- threads ----------------------------------------------------------------------------- */

static char *
map_stack(void)
{
    char *low = mmap(NULL, STACK + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (low == MAP_FAILED || mprotect(low + STACK, PAGE, PROT_NONE)) abort();
    return low;
}

static void
run_acts(unsigned long times, unsigned seed, uintptr_t end)
{
    its.seed = seed;
    its.mapped = map_stack();
    its.signal_stack = map_stack();
    its.allocated = malloc(STACK + 8);
    its.code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (unsigned long i = 0; i < times;) {
        const struct act *act = &acts[only < 0 ? draw(ACTS) : (unsigned)only];
        if (only < 0 && draw(act->rarely)) continue;
        choose_depth();
        /* Only here does the hook know the stack's end. */
        bool own = act->run == from_generated_code || act->run == registered_code || act->run == with_wrong_rules ||
            act->run == into_vanishing_library || act->run == from_stripped_library;
        its.end = own && draw(2) ? end : 0;
        act->run();
        i++;
    }
    munmap(its.mapped, STACK + PAGE);
    munmap(its.signal_stack, STACK + PAGE);
    munmap(its.code, PAGE);
    free(its.allocated);
}

struct share {
    pthread_t thread;
    unsigned long times;
    unsigned seed;
};

static void *
foreign_thread(void *data)
{
    const struct share *share = data;
    pthread_attr_t attr;
    void *low;
    size_t size;
    pthread_getattr_np(pthread_self(), &attr);
    pthread_attr_getstack(&attr, &low, &size);
    pthread_attr_destroy(&attr);
    run_acts(share->times, share->seed, (uintptr_t)low + size);
    return NULL;
}

static void *
open_library(const char *name, const char *function)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    void *library = dlopen(path, RTLD_NOW);
    return library ? dlsym(library, function) : NULL;
}

const char *
foreign_act(unsigned number)
{
    return number < ACTS ? acts[number].name : NULL;
}

/* By `threads` that are made here, and by the caller. The number of unwinds. */
unsigned long
foreign(unsigned long times, unsigned seed, unsigned threads, const char *libraries, int act)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    uintptr_t word = 1, copy = 0;
    struct iovec local = {&copy, sizeof(copy)}, remote = {&word, sizeof(word)};
    struct share shares[8];
    folder = libraries;
    only = act;
    kernel_reads = process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == sizeof(word);
    static const char *const stripped[] = {"stripped.so", "no-sections.so", "no-rules.so"};
    for (int i = 0; i < 3; i++) {
        *(void **)&through[i] = open_library(stripped[i], "through");
        if (!through[i]) return 0;
    }
    *(void **)&call_from_go = open_library("go.so", "CallFromGo");
    sigaction(SIGRTMIN + 5, &action, NULL);
    for (unsigned i = 0; i < threads; i++) {
        shares[i] = (struct share){.times = times / (threads + 1), .seed = seed * 8 + i};
        if (pthread_create(&shares[i].thread, NULL, foreign_thread, &shares[i])) abort();
    }
    run_acts(times / (threads + 1), seed * 8 + 7, 0);
    for (unsigned i = 0; i < threads; i++) pthread_join(shares[i].thread, NULL);
    return unwinds;
}

#ifndef IN_RUBY
/* As a container's seccomp profile does. */
static void
refuse_process_vm_readv(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {4, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) abort();
}

int
main(int argc, char **argv)
{
    if (argc < 4) return 2;
    if (argc > 4) refuse_process_vm_readv();
    rb_hs_unwind_refresh();
    rb_hs_unwind_until((uintptr_t)foreign);
    foreign(strtoul(argv[1], NULL, 10), (unsigned)atoi(argv[2]), 2, argv[3], -1);
    note("%lu unwinds, %lu frames, %lu wrong%s", unwinds, frames_found, wrong, kernel_reads ? "" : "; process_vm_readv fails");
    ok(!wrong && unwinds, "only stacks are read, and frames with rules are found");
    return tap_finish();
}
#endif

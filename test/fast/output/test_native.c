/*
 * Names of native code: of this program, of libraries with and without
 * symbols, loaded and unloaded, replaced, cut and damaged.  The libraries are
 * libraries/named.c, which test/fast/output/run builds into FOLDER/libraries.
 */
#define _GNU_SOURCE
#include "tap.h"
#include "tests.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/profile/native_names.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *folder;

static void
path_of(char *path, const char *name)
{
    snprintf(path, 512, "%s/libraries/%s", folder, name);
}

static void
copy_file(const char *from, const char *to, size_t most)
{
    char from_path[512], to_path[512];
    char *bytes = malloc(most);

    path_of(from_path, from);
    path_of(to_path, to);
    FILE *in = fopen(from_path, "rb"), *out = fopen(to_path, "wb");
    if (!in || !out || !bytes) abort();
    size_t len = fread(bytes, 1, most, in);
    if (fwrite(bytes, 1, len, out) != len) abort();
    fclose(in);
    fclose(out);
    free(bytes);
}

static const size_t WHOLE = 1 << 22;

static __attribute__((noinline)) int
static_function_of_the_program(int x)
{
    __asm__ volatile("" : "+r"(x));
    return x + 1;
}

/* Names the code at an address. */
static struct hs_native *
native_of(const void *address)
{
    const uintptr_t behind = (uintptr_t)address + 1;
    return rb_hs_native_open(&behind, 1);
}

static struct hs_native_place
place_of(const struct hs_native *native, const void *address)
{
    return rb_hs_native_place(native, (uintptr_t)address + 1);
}

/* "function (file)" of an address, in a buffer that the next call uses again. */
static const char *
named_in(const struct hs_native *native, const void *address)
{
    static char text[512];
    struct hs_native_place place = place_of(native, address);
    if (!place.path.len) return "nowhere";
    snprintf(text, sizeof(text), "%.*s (%.*s)", (int)place.function.len, place.function.ptr,
             (int)place.file.len, place.file.ptr);
    return text;
}

static const char *
named(const void *address)
{
    struct hs_native *native = native_of(address);
    const char *text = native ? named_in(native, address) : "no reading";
    rb_hs_native_close(native);
    return text;
}

typedef void *(*addresses_function)(int which);

static void *
load(const char *name, addresses_function *addresses)
{
    char path[512];

    path_of(path, name);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    *addresses = library ? (addresses_function)dlsym(library, "addresses") : NULL;
    if (*addresses) return library;
    note("%s", dlerror());
    abort();
}

static void
test_places(void)
{
    addresses_function whole, stripped, no_id;
    void *library = load("named.so", &whole), *other = load("stripped.so", &stripped), *plain = load("no-id.so", &no_id);
    static int data;

    ok(strncmp(named((char *)(void *)static_function_of_the_program + 1),
               "static_function_of_the_program (test-", 37) == 0,
       "a static function of the program");
    is_text(named(whole(0)), "exported_function (named.so)", "a function of a library");
    is_text(named((char *)whole(1) + 1), "hidden_function (named.so)", "a static function of a library");
    is_text(named(stripped(0)), "exported_function (stripped.so)", "an exported function of a stripped library");
    is_text(named(stripped(1)), " (stripped.so)", "a static function of it has no name");
    is_text(named(stripped(2)), " (stripped.so)", "nor that of the function before");
    is_text(named(no_id(1)), "hidden_function (no-id.so)", "a library without a build id");
    is_text(named(dlsym(RTLD_DEFAULT, "gnu_get_libc_version")), "gnu_get_libc_version (libc.so.6)", "a function of libc");
    is_text(named(&data), "nowhere", "data is in no file's code");
    is_text(named(NULL), "nowhere", "nor is 0");
    is_text(named((void *)(UINTPTR_MAX - 1)), "nowhere", "nor the last address");
    void *vdso = (void *)getauxval(AT_SYSINFO_EHDR);
    if (vdso) is_text(named((char *)vdso + 0x100), " ([vdso])", "the vDSO is a file without names");
    else skip("there is none", "the vDSO is a file without names");

    const uintptr_t both[] = {(uintptr_t)whole(1) + 1, (uintptr_t)whole(0) + 1, (uintptr_t)whole(1) + 1};
    struct hs_native *native = rb_hs_native_open(both, 3);
    is_text(named_in(native, whole(0)), "exported_function (named.so)", "several addresses in any order: the first");
    is_text(named_in(native, whole(1)), "hidden_function (named.so)", "several addresses in any order: the second");
    const struct hs_native_mapping *mapping;
    uint32_t number = 0, found = 0;
    while ((mapping = rb_hs_native_mapping(native, &number))) {
        if (mapping->start > (uintptr_t)whole(0) || mapping->end <= (uintptr_t)whole(0)) continue;
        found += mapping->path.ptr[0] == '/' && mapping->build_id.len == 40;
    }
    is_number(found, 1, "addresses of one mapping share it; it has its addresses, path and build id");
    struct hs_text ruby = rb_hs_native_place(native, HS_IN_RUBY).file;
    ok(ruby.len > 5 && memcmp(ruby.ptr, "test-", 5) == 0, "the file that the interpreter is in");
    rb_hs_native_close(native);
    dlclose(library);
    dlclose(other);
    dlclose(plain);
}

static void
test_reuse(void)
{
    addresses_function addresses;
    void *library = load("named.so", &addresses);
    for (int i = 0; i < 4; i++) named((char *)addresses(0) + i);
    size_t before = rb_hs_memory_bytes(HS_MEM_NAMES);
    for (int i = 0; i < 200; i++) named((char *)addresses(0) + i % 4);
    is_number((long long)rb_hs_memory_bytes(HS_MEM_NAMES), (long long)before, "asking again costs no more memory");
    is_number((long long)rb_hs_memory_bytes(HS_MEM_SNAPSHOTS), 0, "a reading that is closed holds none");
    dlclose(library);
}

/* Where a library was, another is: mapped there by hand, as dlopen(3) may. */
static void
test_other_file_at_the_same_place(void)
{
    char path[512];
    struct stat file;
    enum { ROOM = 1 << 20 };
    char *place = mmap(NULL, ROOM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const char *const names[] = {"named.so", "stripped.so", "version2.so", "named.so"};
    const char *const expected[] = {"exported_function (named.so)", " (stripped.so)", "another_function (version2.so)",
                                    "exported_function (named.so)"};
    addresses_function addresses;
    bool passed = true;

    for (int i = 0; i < 4; i++) {
        path_of(path, names[i]);
        void *library = load(names[i], &addresses);
        void *function = i == 2 ? dlsym(library, "another_function") : i == 1 ? addresses(1)
                                                                              : addresses(0);
        Dl_info info;
        if (!dladdr(function, &info)) abort();
        size_t offset = (size_t)((char *)function - (char *)info.dli_fbase);   /* .text is mapped where it was linked */
        int fd = open(path, O_RDONLY);
        if (fd < 0 || fstat(fd, &file) != 0 || file.st_size > ROOM) abort();
        if (mmap(place, (size_t)file.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0) != place) abort();
        close(fd);
        const char *got = named(place + offset);
        if (strcmp(got, expected[i]) != 0) {
            note("%s: got %s, not %s", names[i], got, expected[i]);
            passed = false;
        }
        dlclose(library);
    }
    munmap(place, ROOM);
    ok(passed, "another file at the same addresses has its own names");
}

static void
test_replaced(void)
{
    char path[512], moved[512];
    addresses_function addresses;

    copy_file("named.so", "upgraded.so", WHOLE);
    void *library = load("upgraded.so", &addresses);
    is_text(named(addresses(1)), "hidden_function (upgraded.so)", "before its file is replaced");
    path_of(path, "upgraded.so");
    path_of(moved, "version2-copy.so");
    copy_file("version2.so", "version2-copy.so", WHOLE);
    rename(moved, path);
    is_text(named(addresses(1)), " (upgraded.so)", "of a file that was replaced no names, not those of the new one");
    copy_file("named.so", "version2-copy.so", WHOLE);
    rename(moved, path);
    is_text(named(addresses(1)), "hidden_function (upgraded.so)", "if the same build was installed again, its names");
    is_text(named(addresses(0)), "exported_function (upgraded.so)", "and those of other functions");
    unlink(path);
    is_text(named(addresses(2)), " (upgraded.so)", "of a deleted file no names");
    dlclose(library);

    copy_file("no-id.so", "upgraded.so", WHOLE);
    library = load("upgraded.so", &addresses);
    is_text(named(addresses(1)), "hidden_function (upgraded.so)", "the same without build ids: before");
    copy_file("no-id.so", "version2-copy.so", WHOLE);
    rename(moved, path);
    is_text(named(addresses(1)), " (upgraded.so)", "then another inode is another file");
    dlclose(library);
    unlink(path);

    copy_file("named.so", "in two\nlines (deleted)", WHOLE);
    library = load("in two\nlines (deleted)", &addresses);
    is_text(named(addresses(1)), "hidden_function (in two\nlines (deleted))", "a path with a newline, blanks and (deleted)");
    dlclose(library);
}

static long long
bytes_read(void)
{
    char line[128];
    long long bytes = -1;
    FILE *io = fopen("/proc/self/io", "r");

    while (io && fgets(line, sizeof(line), io)) sscanf(line, "rchar: %lld", &bytes);
    if (io) fclose(io);
    return bytes;
}

/* 600,000 functions of one instruction each: their table is read once, whether or not there is room for much else. */
static void
test_big_table(void)
{
    enum { ASKED = 100,
           FUNCTIONS = 600000 };
#ifdef __aarch64__
    enum { RETURN = 4 };        /* bytes of the instruction */
#else
    enum { RETURN = 1 };
#endif
    char path[512], expected[64];
    struct stat file;
    uintptr_t addresses[ASKED];
    path_of(path, "big.so");
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    char *first = library ? dlsym(library, "first") : NULL;
    if (!first || stat(path, &file) != 0) {
        note("%s", dlerror());
        abort();
    }
    rb_hs_memory_bound(true);
    for (int little = 0; little < 2; little++) {
        /* what a large profile leaves of the share */
        size_t taken = little ? rb_hs_memory_share(HS_MEM_SNAPSHOTS) - (1 << 20) : 0;
        void *of_others = rb_hs_malloc(HS_MEM_SNAPSHOTS, taken + 1);
        long long before = bytes_read();
        int right = 0;
        for (int i = 0; i < ASKED; i++) addresses[i] = (uintptr_t)(first + (i * (FUNCTIONS / ASKED) + little) * RETURN) + 1;   /* others than those that are remembered */
        struct hs_native *native = rb_hs_native_open(addresses, ASKED);
        long long after = bytes_read();
        for (int i = 0; i < ASKED; i++) {
            snprintf(expected, sizeof(expected), "pad%d (big.so)", i * (FUNCTIONS / ASKED) + little);
            right += strcmp(named_in(native, (void *)(addresses[i] - 1)), expected) == 0;
        }
        rb_hs_native_close(native);
        rb_hs_free(HS_MEM_SNAPSHOTS, of_others);
        is_number(right, ASKED, little ? "and where there is little room" : "a table of 600,000 functions gives names");
        if (before < 0) skip("no /proc/self/io", "the table is read once");
        else ok(after - before < 2 * (long long)file.st_size, "the table is read once: %lld of %lld bytes", after - before, (long long)file.st_size);
    }
    dlclose(library);
}

/* All that a file gives: build id and the function at every 16th byte. */
static unsigned
exercise(const char *path, uint64_t size)
{
    char text[2 * HS_BUILD_ID_MAX + 1];
    unsigned found = 0;
    uint32_t count = (uint32_t)((size + 15) / 16);
    struct hs_elf_place *places = calloc(count + 1, sizeof(*places));
    int fd = open(path, O_RDONLY);
    if (fd < 0 || !places) abort();
    struct hs_elf_source source = {fd, 0, size};

    rb_hs_elf_build_id(&source, text);
    for (uint32_t i = 0; i < count; i++) places[i].offset = 16 * (uint64_t)i;
    struct hs_text_bytes *bytes = rb_hs_text_bytes_new();
    if (!bytes) abort();
    rb_hs_elf_name(&source, places, count, bytes);
    for (uint32_t i = 0; i < count; i++) {
        if (places[i].name.len && memchr(places[i].name.ptr, '\0', places[i].name.len)) abort();
        found += places[i].name.len > 0;
    }
    rb_hs_texts_release(bytes);
    free(places);
    close(fd);
    return found;
}

static void
test_damaged(void)
{
    char path[512], from[512];
    struct stat file;
    unsigned whole;

    path_of(from, "named.so");
    if (stat(from, &file) != 0) abort();
    whole = exercise(from, (uint64_t)file.st_size);
    ok(whole > 3, "the file itself has functions");

    /* cut, and said to be longer than it is: both as a file may be */
    path_of(path, "damaged.so");
    bool fewer = true;
    for (long size = 0; size < file.st_size; size += size < 1024 ? 1 : 97) {
        copy_file("named.so", "damaged.so", (size_t)size + 1);
        if (truncate(path, size) != 0) abort();
        if (exercise(path, (uint64_t)size) > whole || exercise(path, (uint64_t)file.st_size) > whole) fewer = false;
    }
    ok(fewer, "cut at any length, a file gives no more names than it has");

    copy_file("named.so", "damaged.so", WHOLE);
    int fd = open(path, O_RDWR);
    unsigned seed = 1, runs = 4000;
    for (unsigned run = 0; run < runs; run++) {
        unsigned char old, random;
        /* the headers, half of the time: they lead to all else */
        seed = seed * 1103515245 + 12345;
        unsigned high = seed >> 8;
        off_t at = run % 2 ? (off_t)(high % 1024) : (off_t)(high % (unsigned)file.st_size);
        if (run % 4 == 2) at = file.st_size - 1 - (off_t)(high % 4096);         /* section headers */
        seed = seed * 1103515245 + 12345;
        random = (unsigned char)(seed >> 16);
        if (run % 3 == 0) random = 0xff;
        if (pread(fd, &old, 1, at) != 1 || pwrite(fd, &random, 1, at) != 1) abort();
        exercise(path, (uint64_t)file.st_size);
        if (run % 8 && pwrite(fd, &old, 1, at) != 1) abort();           /* some damage adds up */
        if (run % 256 == 255) copy_file("named.so", "damaged.so", WHOLE);
    }
    close(fd);
    ok(true, "%u damaged files do no harm", runs);
    ok(exercise("/dev/null", 1 << 20) == 0, "what is no ELF file has no functions");
}

static void
test_truncated_under_mapping(void)
{
    char path[512];
    addresses_function addresses;

    copy_file("named.so", "shrinking.so", WHOLE);
    path_of(path, "shrinking.so");
    pid_t pid = fork();
    if (pid == 0) {                     /* no destructor may run any more */
        load("shrinking.so", &addresses);
        void *function = addresses(1);
        if (truncate(path, 100) != 0) _exit(2);
        _exit(strcmp(named(function), " (shrinking.so)") != 0);
    }
    int status;
    waitpid(pid, &status, 0);
    ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a file cut short while it is mapped does no harm");
}

static void
test_no_memory(void)
{
    addresses_function addresses;
    void *library = load("version2.so", &addresses);
    long countdown = 0;
    bool passed = true;
    struct hs_native *native;
    const char *got = "";

    do {
        fail_after(countdown++);
        native = native_of(dlsym(library, "another_function"));
        got = native ? named_in(native, dlsym(library, "another_function")) : "no reading";
        rb_hs_native_close(native);
        fail_after(-1);
        if (rb_hs_memory_bytes(HS_MEM_SNAPSHOTS)) passed = false;
    } while (strcmp(got, "another_function (version2.so)") != 0 && countdown < 1000);
    ok(passed && countdown > 3 && countdown < 1000, "no memory, at each of %ld allocations: fewer names, nothing kept",
       countdown - 1);
    dlclose(library);
}

static void *
find_in_thread(void *address)
{
    struct hs_native *native = native_of(address);
    rb_hs_native_close(native);
    return NULL;
}

/* In a program without sanitizers: a thread that is in malloc while its process forks leaves AddressSanitizer's locks
 * taken in the child, which malloc(3) takes care not to do. */
void
test_native_fork(void)
{
    pthread_t thread;

    for (int i = 0; i < 20; i++) {
        pthread_create(&thread, NULL, find_in_thread, (char *)(void *)find_in_thread + i);
        pid_t pid = fork();
        if (pid == 0) {
            alarm(10);
            find_in_thread((void *)test_no_memory);
            _exit(0);
        }
        int status = 0;
        waitpid(pid, &status, 0);
        pthread_join(thread, NULL);
        if (!WIFEXITED(status) || WEXITSTATUS(status)) {
            ok(false, "a forked child finds names");
            return;
        }
    }
    ok(true, "a forked child finds names");
}

void
test_native(const char *where)
{
    folder = where;
    test_places();
    test_reuse();
    test_other_file_at_the_same_place();
    test_replaced();
    test_big_table();
    test_damaged();
    test_truncated_under_mapping();
    test_no_memory();
}

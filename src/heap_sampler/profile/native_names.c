/*
 * From a code address to the mapping (/proc/self/maps), the file and the function (elf_symbols.c).
 *
 * By now the path may lead to another file.  So the build id in the first mapped page, read through /proc/self/mem, is
 * compared with the file's; where a file has none, device and inode decide.  If they differ there are no names.  Some
 * file systems (btrfs, overlayfs) report another device to stat(2) than in maps: there only files with a build id have
 * names.
 *
 * What was found stays for the next profile, by address, as long as no mapping of code changes.  Beyond PLACES_MAX or
 * BYTES_MAX everything is looked up again.  A reading takes what is remembered away, adds to it, and puts it back at
 * its end.  So two readings at a time share nothing, and a fork needs no lock.
 */
#define _GNU_SOURCE 1           /* memmem */
#include "heap_sampler/profile/native_names.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/proc.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LINE_MAX_BYTES = 20 * 1024,         /* PATH_MAX, every byte of it escaped, and the numbers */
    PLACES_MAX = 1 << 15,               /* remembered */
    BYTES_MAX = 3 << 20,                /* likewise, of names */
};

struct place {
    uint32_t mapping;
    struct hs_text function;
    enum hs_native_role role;
};

struct hs_native {
    struct hs_native_mapping *mappings; /* by address */
    uint32_t mapping_count, mapping_capacity;
    uint64_t fingerprint;               /* of all mappings */
    bool passing;                       /* a path leads to another file now: it is looked at again each time */
    struct hs_map by_address;           /* places */
    struct place *places;
    uint32_t place_count, place_capacity;
    struct hs_text_bytes *bytes;        /* of the texts; as many: */
    size_t byte_count;
};

/* What the reading before has found, or NULL: atomic, publishes it.  The thread that takes it has it alone. */
static struct hs_native *remembered;

/* -- mappings ------------------------------------------------------------------------ */

/* The kernel writes a newline in a path as \012, and nothing else so. */
static size_t
unescape(char *path)
{
    for (char *at = path; (at = strstr(at, "\\012")); at++) {
        *at = '\n';
        memmove(at + 1, at + 4, strlen(at + 4) + 1);
    }
    return strlen(path);
}

/* A copy; "": no memory. */
static struct hs_text
store(struct hs_native *native, const char *text, size_t len)
{
    const char *copy = rb_hs_text_store(native->bytes, text, len);
    native->byte_count += len;
    return (struct hs_text){copy ? copy : "", copy ? (uint32_t)len : 0};
}

/* False: no memory. */
static bool
add_mapping(struct hs_native *native, const struct hs_mapping *line, const struct hs_mapping *head, size_t path_len)
{
    struct hs_native_mapping mapping = {.start = line->start, .end = line->end, .offset = line->offset, .device = line->device, .inode = line->inode};
    const uint64_t all[] = {line->start, line->end, line->offset, line->device, line->inode, rb_hs_hash(line->path, path_len)};
    if (head->inode == line->inode && head->device == line->device) {
        mapping.head_start = head->start;
        mapping.head_end = head->end;
    }
    mapping.build_id = (struct hs_text){"", 0};
    mapping.path = store(native, line->path, path_len + 1);
    if (!mapping.path.len--) return false;
    if (!rb_hs_grow(HS_MEM_NAMES, (void **)&native->mappings, &native->mapping_capacity, (uint64_t)native->mapping_count + 1, sizeof(mapping))) {
        return false;
    }
    native->mappings[native->mapping_count++] = mapping;
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) native->fingerprint = hs_mix(native->fingerprint + all[i]);
    return true;
}

/* False: no memory, or it cannot be read. A line too long for the buffer is left out. */
static bool
read_mappings(struct hs_native *native)
{
    struct hs_lines lines;
    struct hs_mapping mapping, head = {.inode = 0};
    char *buffer = rb_hs_malloc(HS_MEM_SNAPSHOTS, LINE_MAX_BYTES);
    if (!buffer) return false;
    bool ok = rb_hs_lines_open(&lines, "/proc/self/maps", buffer, LINE_MAX_BYTES);
    for (char *line; ok && (line = rb_hs_next_line(&lines));) {
        if (lines.cut || !rb_hs_mapping_read(line, &mapping)) continue;
        size_t path_len = unescape(mapping.path);
        if (mapping.path[0] != '/' && strcmp(mapping.path, "[vdso]") != 0) continue;
        if (mapping.inode && !mapping.offset) head = mapping;
        if (mapping.executable) ok = add_mapping(native, &mapping, &head, path_len);
    }
    if (lines.fd >= 0) close(lines.fd);
    rb_hs_free(HS_MEM_SNAPSHOTS, buffer);
    return ok;
}

/* -- files ------------------------------------------------------------------------- */

/* -1: it is no regular file, or cannot be read. */
static int
open_regular(const char *path, struct stat *file)
{
    if (stat(path, file) != 0 || !S_ISREG(file->st_mode)) return -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 && fstat(fd, file) == 0 && S_ISREG(file->st_mode)) return fd;
    if (fd >= 0) close(fd);
    return -1;
}

/* Read through /proc/self/mem, as the mapping may go away meanwhile. */
static void
build_id_in_memory(const struct hs_native_mapping *mapping, char *text)
{
    int fd = mapping->head_end ? open("/proc/self/mem", O_RDONLY | O_CLOEXEC) : -1;
    text[0] = '\0';
    if (fd < 0) return;
    struct hs_elf_source source = {fd, mapping->head_start, mapping->head_end - mapping->head_start};
    rb_hs_elf_build_id(&source, text);
    close(fd);
}

/* The file that the path leads to, if it is the one in memory; else its fd is -1. */
static struct hs_elf_source
open_same(const struct hs_native_mapping *mapping, const char *path, char build_id[2 * HS_BUILD_ID_MAX + 1])
{
    char in_file[2 * HS_BUILD_ID_MAX + 1];
    struct stat file;
    struct hs_elf_source source = {open_regular(path, &file), 0, 0};
    build_id_in_memory(mapping, build_id);
    if (source.fd < 0) return source;
    source.size = (uint64_t)file.st_size;
    rb_hs_elf_build_id(&source, in_file);
    bool same = *build_id && *in_file ? strcmp(build_id, in_file) == 0 : file.st_dev == mapping->device && file.st_ino == mapping->inode;
    if (same) {
        strcpy(build_id, in_file);
        return source;
    }
    close(source.fd);
    source.fd = -1;
    return source;
}

static struct hs_elf_source
open_file(struct hs_native *native, struct hs_native_mapping *mapping)
{
    static const char deleted[] = " (deleted)";
    char build_id[2 * HS_BUILD_ID_MAX + 1] = "";
    struct hs_elf_source source = {-1, 0, 0};
    if (mapping->path.ptr[0] != '/') return source;
    source = open_same(mapping, mapping->path.ptr, build_id);
    size_t tail = sizeof(deleted) - 1, len = mapping->path.len;
    if (source.fd < 0 && len > tail && strcmp(mapping->path.ptr + len - tail, deleted) == 0) {
        mapping->path.len = (uint32_t)(len - tail);
        ((char *)mapping->path.ptr)[len - tail] = '\0';    /* in our own copy */
        source = open_same(mapping, mapping->path.ptr, build_id);
    }
    native->passing |= source.fd < 0;
    if (!mapping->met) mapping->build_id = store(native, build_id, strlen(build_id));
    return source;
}

/* -- names ------------------------------------------------------------------------------ */

static struct hs_text
base_name(const struct hs_native_mapping *mapping)
{
    const char *slash = strrchr(mapping->path.ptr, '/');
    return hs_text_of(slash ? slash + 1 : mapping->path.ptr);
}

static bool
within_p(const struct hs_native_mapping *mapping, uint64_t address)
{
    return address >= mapping->start && address < mapping->end;
}

static bool
starts_with_any(struct hs_text text, const char *const *starts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t len = strlen(starts[i]);
        if (text.len >= len && memcmp(text.ptr, starts[i], len) == 0) return true;
    }
    return false;
}

static enum hs_native_role
role_of(struct hs_text file, struct hs_text function, bool interpreter)
{
    static const char *const c_libraries[] = {"libc.so", "libc-", "libstdc++.so", "ld-linux"};
    static const char *const xmalloc[] = {"xmalloc", "xcalloc", "xrealloc", "gc_impl_malloc", "gc_impl_calloc", "gc_impl_realloc"};
    static const char *const calls[] = {"vm_", "rb_vm_", "ractor_safe_call_cfunc"};
    if (starts_with_any(file, c_libraries, sizeof(c_libraries) / sizeof(*c_libraries))) return HS_NATIVE_PASSES_ON;
    for (size_t i = 0; interpreter && i < sizeof(xmalloc) / sizeof(*xmalloc); i++) {
        if (memmem(function.ptr, function.len, xmalloc[i], strlen(xmalloc[i]))) return HS_NATIVE_XMALLOC;
    }
    if (interpreter && starts_with_any(function, calls, sizeof(calls) / sizeof(*calls))) return HS_NATIVE_CALLS_C;
    return HS_NATIVE_CODE;
}

/* What gcc puts behind a name for its own copies of a function goes. */
static struct hs_text
without_clone_suffix(struct hs_text name)
{
    static const char *const suffixes[] = {".part.", ".isra.", ".constprop.", ".cold", ".lto_priv."};
    for (uint32_t at = 1; at < name.len; at++) {
        const struct hs_text tail = {name.ptr + at, name.len - at};
        if (starts_with_any(tail, suffixes, sizeof(suffixes) / sizeof(*suffixes))) return (struct hs_text){name.ptr, at};
    }
    return name;
}

static struct place *
place_at(const struct hs_native *native, uint64_t address)
{
    const uint32_t *found = rb_hs_map_find(&native->by_address, address);
    return found ? &native->places[*found] : NULL;
}

/* `addresses` are those within the mapping. */
static void
name_mapping(struct hs_native *native, uint32_t number, const uint64_t *addresses, uint32_t count)
{
    struct hs_native_mapping *mapping = &native->mappings[number];
    struct hs_elf_source source = open_file(native, mapping);
    struct hs_elf_place *found = rb_hs_calloc(HS_MEM_SNAPSHOTS, count, sizeof(*found));
    bool interpreter = within_p(mapping, (uintptr_t)rb_hs_native_open);
    for (uint32_t i = 0; found && i < count; i++) found[i].offset = addresses[i] - mapping->start + mapping->offset;
    if (found && source.fd >= 0) rb_hs_elf_name(&source, found, count, native->bytes);
    bool room = found && rb_hs_grow(HS_MEM_NAMES, (void **)&native->places, &native->place_capacity, (uint64_t)native->place_count + count, sizeof(struct place));
    for (uint32_t i = 0; room && i < count && rb_hs_map_put(&native->by_address, addresses[i], native->place_count); i++) {
        struct hs_text function = found[i].name.len ? without_clone_suffix(found[i].name) : (struct hs_text){"", 0};
        native->places[native->place_count++] = (struct place){number, function, role_of(base_name(mapping), function, interpreter)};
        native->byte_count += found[i].name.len;
    }
    mapping->met = true;
    if (source.fd >= 0) close(source.fd);
    rb_hs_free(HS_MEM_SNAPSHOTS, found);
}

static int
compare_addresses(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* Addresses that have no place yet, sorted, each once; among them the interpreter's, which is always wanted. */
static uint32_t
list_new(const struct hs_native *native, const uintptr_t *addresses, uint32_t count, uint64_t *list)
{
    uint32_t all = 0, kept = 0;
    for (uint32_t i = 0; i <= count; i++) {
        uint64_t address = i < count ? addresses[i] - 1 : (uintptr_t)rb_hs_native_open;        /* within the call, not behind it */
        if (!place_at(native, address)) list[all++] = address;
    }
    rb_hs_sort(list, all, sizeof(*list), compare_addresses);
    for (uint32_t i = 0; i < all; i++) {
        if (!i || list[i] != list[i - 1]) list[kept++] = list[i];
    }
    return kept;
}

/* Addresses in no mapping get no place. */
static void
name_all(struct hs_native *native, const uintptr_t *addresses, uint32_t count)
{
    uint64_t *list = rb_hs_malloc(HS_MEM_SNAPSHOTS, ((size_t)count + 1) * sizeof(*list));
    uint32_t all = list ? list_new(native, addresses, count, list) : 0, first = 0, end;
    for (uint32_t i = 0; i < native->mapping_count && first < all; i++, first = end) {
        while (first < all && list[first] < native->mappings[i].start) first++;
        for (end = first; end < all && within_p(&native->mappings[i], list[end]);) end++;
        if (end > first) name_mapping(native, i, list + first, end - first);
    }
    rb_hs_free(HS_MEM_SNAPSHOTS, list);
}

/* -- a reading ---------------------------------------------------------------------- */

static void
free_native(struct hs_native *native)
{
    if (!native) return;
    rb_hs_map_free(&native->by_address);
    rb_hs_free(HS_MEM_NAMES, native->places);
    rb_hs_free(HS_MEM_NAMES, native->mappings);
    rb_hs_texts_release(native->bytes);
    rb_hs_free(HS_MEM_NAMES, native);
}

struct hs_native *
rb_hs_native_open(const uintptr_t *addresses, uint32_t count)
{
    struct hs_native *known = __atomic_exchange_n(&remembered, NULL, __ATOMIC_ACQ_REL);
    struct hs_native *native = rb_hs_calloc(HS_MEM_NAMES, 1, sizeof(*native));
    if (native && (!(native->bytes = rb_hs_text_bytes_new()) || !read_mappings(native))) {
        free_native(native);
        native = NULL;
    }
    if (native && known && !known->passing && known->fingerprint == native->fingerprint) {
        free_native(native);
        native = known;
        known = NULL;
    }
    free_native(known);
    if (!native) return NULL;
    native->by_address.use = HS_MEM_NAMES;
    name_all(native, addresses, count);
    return native;
}

void
rb_hs_native_close(struct hs_native *native)
{
    bool large = native && (native->place_count > PLACES_MAX || native->byte_count > BYTES_MAX);
    if (native && !large) native = __atomic_exchange_n(&remembered, native, __ATOMIC_ACQ_REL);
    free_native(native);
}

struct hs_text_bytes *
rb_hs_native_hold_texts(const struct hs_native *native)
{
    return rb_hs_text_bytes_hold(native->bytes);
}

const struct hs_native_mapping *
rb_hs_native_mapping(const struct hs_native *native, uint32_t *number)
{
    while (*number < native->mapping_count) {
        const struct hs_native_mapping *mapping = &native->mappings[(*number)++];
        if (mapping->met) return mapping;
    }
    return NULL;
}

struct hs_native_place
rb_hs_native_place(const struct hs_native *native, uintptr_t address)
{
    const struct place *place = place_at(native, address - 1);
    if (!place) return (struct hs_native_place){.path = {"", 0}, .file = {"", 0}, .function = {"", 0}};
    const struct hs_native_mapping *mapping = &native->mappings[place->mapping];
    return (struct hs_native_place){mapping->path, base_name(mapping), place->function, place->role};
}

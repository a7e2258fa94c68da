/*
 * Where a code address is in: the mapping, from /proc/self/maps; the file, from
 * the mapping; the function, from the file's symbols (native/elf_symbols.c).
 *
 * A reading lists the executable mappings once and looks at a file when the
 * first address in it is asked for.  A path may lead to another file by then
 * than to the one that is in memory: an upgrade replaced it.  Names of another
 * file would be wrong, so the two are compared by build id, that in memory
 * against that in the file, or where one is missing by device and inode.
 *
 * What is remembered between readings is keyed by file and offset, not by
 * address: after dlclose(3) another library may be at the same address.  A file
 * is what fstat(2) calls it, times included.
 */
#include "heap_sampler/native/names.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/proc.h"
#include "heap_sampler/base/table.h"
#include "heap_sampler/base/texts.h"
#include "heap_sampler/native/elf_symbols.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LINE_MAX_BYTES = 20 * 1024,         /* PATH_MAX, every byte of it escaped, and the numbers */
    FUNCTIONS_MAX = 1 << 15,            /* remembered; then all is forgotten */
    FILES_MAX = 1024,                   /* likewise */
    TEXTS_MAX = 1 << 15,                /* likewise; while they are used, functions beyond have no names */
    NAME_MAX_BYTES = 2048,              /* C++ has longer ones: cut */
};
#define TEXT_BYTES_MAX (UINT64_C(3) << 20)

/* -- what is remembered ----------------------------------------------------------- */

struct file_identity {
    uint64_t device, inode, size;       /* fstat(2)'s */
    int64_t modified_s, modified_ns, changed_s, changed_ns;
};

struct known_file {
    struct file_identity identity;
    uint64_t serial;                    /* from 1, never given twice */
};

/* Guards the rest of this section. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct hs_map functions = {.use = HS_MEM_NAMES};      /* file and offset to a text */
static struct known_file *files;
static uint32_t file_count, file_capacity;
static uint64_t file_serial;
static struct hs_map texts_by_hash = {.use = HS_MEM_NAMES};
static struct hs_text *texts;           /* text 0 is "" */
static uint32_t text_count, text_capacity;
static uint64_t text_bytes;
static uint32_t readings;               /* that are open, and use texts */

/* UINT32_MAX: no memory, or no room for another text. */
static uint32_t
intern(const char *ptr, size_t len)
{
    uint64_t hash;
    if (!text_count) {
        if (!rb_hs_grow(HS_MEM_NAMES, (void **)&texts, &text_capacity, 1, sizeof(*texts))) return UINT32_MAX;
        texts[text_count++] = (struct hs_text){"", 0};
    }
    if (!len) return 0;
    uint32_t known = rb_hs_text_find(&texts_by_hash, texts, (struct hs_text){ptr, (uint32_t)len}, &hash);
    if (known) return known;
    if (text_count >= TEXTS_MAX || text_bytes + len > TEXT_BYTES_MAX) return UINT32_MAX;
    if (!rb_hs_grow(HS_MEM_NAMES, (void **)&texts, &text_capacity, (uint64_t)text_count + 1, sizeof(*texts))) return UINT32_MAX;
    char *copy = rb_hs_malloc(HS_MEM_NAMES, len);
    if (!copy || !rb_hs_map_put(&texts_by_hash, hash, text_count)) {
        rb_hs_free(HS_MEM_NAMES, copy);
        return UINT32_MAX;
    }
    texts[text_count] = (struct hs_text){memcpy(copy, ptr, len), (uint32_t)len};
    text_bytes += len;
    return text_count++;
}

/* A reading begins: if no other goes on, what fills most of the room for texts goes. */
static void
enter_reading(void)
{
    pthread_mutex_lock(&lock);
    if (!readings++ && (text_count > TEXTS_MAX / 4 * 3 || text_bytes > TEXT_BYTES_MAX / 4 * 3)) {
        for (uint32_t i = 1; i < text_count; i++) rb_hs_free(HS_MEM_NAMES, (char *)texts[i].ptr);
        rb_hs_map_clear(&texts_by_hash);
        rb_hs_map_clear(&functions);
        text_count = 1;
        text_bytes = 0;
    }
    pthread_mutex_unlock(&lock);
}

static void
leave_reading(void)
{
    pthread_mutex_lock(&lock);
    readings--;
    pthread_mutex_unlock(&lock);
}

/* The serial of a file; 0: no memory. */
static uint64_t
remember_file(const struct file_identity *identity)
{
    uint64_t serial = 0;

    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; !serial && i < file_count; i++) {
        if (memcmp(&files[i].identity, identity, sizeof(*identity)) == 0) serial = files[i].serial;
    }
    if (!serial) {
        if (file_count == FILES_MAX) {
            file_count = 0;
            rb_hs_map_clear(&functions);
        }
        if (rb_hs_grow(HS_MEM_NAMES, (void **)&files, &file_capacity, (uint64_t)file_count + 1, sizeof(*files))) {
            serial = ++file_serial;
            files[file_count++] = (struct known_file){*identity, serial};
        }
    }
    pthread_mutex_unlock(&lock);
    return serial;
}

enum { OFFSET_BITS = 40 };

/* 0: too large to be remembered. */
static uint64_t
function_key(uint64_t serial, uint64_t offset)
{
    if (!serial || serial >> (64 - OFFSET_BITS) || offset >> OFFSET_BITS) return 0;
    return serial << OFFSET_BITS | offset;
}

static bool
recall_function(uint64_t key, struct hs_text *function)
{
    if (!key) return false;
    pthread_mutex_lock(&lock);
    const uint32_t *index = rb_hs_map_find(&functions, key);
    if (index) *function = texts[*index];
    pthread_mutex_unlock(&lock);
    return index != NULL;
}

static struct hs_text
remember_function(uint64_t key, const char *name, size_t length)
{
    pthread_mutex_lock(&lock);
    uint32_t index = intern(name, length);
    struct hs_text text = index == UINT32_MAX ? (struct hs_text){"", 0} : texts[index];
    if (key && index != UINT32_MAX) {
        if (functions.count >= FUNCTIONS_MAX) rb_hs_map_clear(&functions);
        rb_hs_map_put(&functions, key, index);
    }
    pthread_mutex_unlock(&lock);
    return text;
}

/* A text for as long as the reading is open; "" if there is no room for it. */
static struct hs_text
lasting_text(const char *ptr, size_t len)
{
    return remember_function(0, ptr, len);
}

void
rb_hs_native_before_fork(void)
{
    pthread_mutex_lock(&lock);
}

void
rb_hs_native_after_fork(bool child)
{
    if (child) readings = 0;            /* they were other threads' */
    pthread_mutex_unlock(&lock);
}

/* -- a reading ---------------------------------------------------------------------- */

struct mapped_file {
    uint64_t device, inode;
    uint32_t path_at, path_len;         /* in `paths` */
    uint64_t head_start, head_end;      /* where its first page is mapped; 0: it is not */
    /* from here on once an address in it was asked for */
    bool met;
    bool same;                          /* the path leads to this file, and it can be read */
    struct file_identity identity;
    uint64_t serial;
    struct hs_text path, base, build_id;
    bool read;                          /* its symbols were, once */
    struct hs_elf_symbols *symbols;     /* NULL: there was no memory for them */
};

struct range {
    uint64_t start, end, offset;
    uint32_t file;
    uint32_t mapping;                   /* UINT32_MAX: not met */
};

struct hs_native {
    struct range *ranges;               /* executable, by address */
    uint32_t range_count, range_capacity;
    struct mapped_file *files;
    uint32_t file_count, file_capacity;
    char *paths;
    uint32_t paths_length, paths_capacity;
    struct hs_native_mapping *mappings;
    uint32_t mapping_count, mapping_capacity;
};

/* The kernel writes a newline in a path as \012, and nothing else so. */
static size_t
unescape(char *path)
{
    size_t to = 0, len = strlen(path);

    for (size_t from = 0; from < len;) {
        if (len - from >= 4 && memcmp(path + from, "\\012", 4) == 0) {
            path[to++] = '\n';
            from += 4;
        }
        else {
            path[to++] = path[from++];
        }
    }
    return to;
}

static bool
vdso_p(const char *path, size_t len)
{
    return len == 6 && memcmp(path, "[vdso]", 6) == 0;
}

static bool
add_file(struct hs_native *native, const struct hs_mapping *line, size_t path_len)
{
    if (native->file_count) {           /* a file's mappings follow each other */
        const struct mapped_file *last = &native->files[native->file_count - 1];
        if (line->offset && last->device == line->device && last->inode == line->inode &&
            last->path_len == path_len && memcmp(native->paths + last->path_at, line->path, path_len) == 0) {
            return true;
        }
    }
    if (!rb_hs_grow(HS_MEM_SNAPSHOTS, (void **)&native->files, &native->file_capacity,
                    (uint64_t)native->file_count + 1, sizeof(*native->files))) {
        return false;
    }
    if (!rb_hs_grow(HS_MEM_SNAPSHOTS, (void **)&native->paths, &native->paths_capacity,
                    (uint64_t)native->paths_length + path_len, 1)) {
        return false;
    }
    struct mapped_file *file = &native->files[native->file_count++];
    *file = (struct mapped_file){
        .device = line->device,
        .inode = line->inode,
        .path_at = native->paths_length,
        .path_len = (uint32_t)path_len,
    };
    memcpy(native->paths + native->paths_length, line->path, path_len);
    native->paths_length += (uint32_t)path_len;
    if (!line->offset && line->inode) {
        file->head_start = line->start;
        file->head_end = line->end;
    }
    return true;
}

/* False: no memory. */
static bool
add_line(struct hs_native *native, const struct hs_mapping *line)
{
    size_t path_len = unescape(line->path);
    if (!path_len || (line->path[0] != '/' && !vdso_p(line->path, path_len))) return true;
    if (!line->executable && line->offset) return true;
    if (!add_file(native, line, path_len)) return false;
    if (!line->executable) return true;

    uint32_t file = native->file_count - 1;
    if (native->range_count) {
        struct range *last = &native->ranges[native->range_count - 1];
        if (last->file == file && last->end == line->start && last->offset + (last->end - last->start) == line->offset) {
            last->end = line->end;
            return true;
        }
    }
    if (!rb_hs_grow(HS_MEM_SNAPSHOTS, (void **)&native->ranges, &native->range_capacity,
                    (uint64_t)native->range_count + 1, sizeof(*native->ranges))) {
        return false;
    }
    native->ranges[native->range_count++] = (struct range){line->start, line->end, line->offset, file, UINT32_MAX};
    return true;
}

/* False: no memory. A line too long for the buffer is left out. */
static bool
read_maps(struct hs_native *native, char *buffer)
{
    struct hs_lines lines;
    struct hs_mapping mapping;
    bool ok = rb_hs_lines_open(&lines, "/proc/self/maps", buffer, LINE_MAX_BYTES);
    for (char *line; ok && (line = rb_hs_next_line(&lines));) {
        if (!lines.cut && rb_hs_mapping_read(line, &mapping)) ok = add_line(native, &mapping);
    }
    if (lines.fd >= 0) close(lines.fd);
    return ok;
}

struct hs_native *
rb_hs_native_open(void)
{
    struct hs_native *native = rb_hs_calloc(HS_MEM_SNAPSHOTS, 1, sizeof(*native));
    if (native) enter_reading();
    char *buffer = rb_hs_malloc(HS_MEM_SNAPSHOTS, LINE_MAX_BYTES);
    bool ok = native && buffer && read_maps(native, buffer);
    rb_hs_free(HS_MEM_SNAPSHOTS, buffer);
    if (ok) return native;
    rb_hs_native_close(native);
    return NULL;
}

void
rb_hs_native_close(struct hs_native *native)
{
    if (!native) return;
    leave_reading();
    for (uint32_t i = 0; i < native->file_count; i++) rb_hs_elf_symbols_free(native->files[i].symbols);
    rb_hs_free(HS_MEM_SNAPSHOTS, native->ranges);
    rb_hs_free(HS_MEM_SNAPSHOTS, native->files);
    rb_hs_free(HS_MEM_SNAPSHOTS, native->paths);
    rb_hs_free(HS_MEM_SNAPSHOTS, native->mappings);
    rb_hs_free(HS_MEM_SNAPSHOTS, native);
}

const struct hs_native_mapping *
rb_hs_native_mappings(const struct hs_native *native, uint32_t *count)
{
    *count = native->mapping_count;
    return native->mappings;
}

/* -- files ------------------------------------------------------------------------- */

/* -1: it is no regular file, or cannot be read. */
static int
open_regular(struct hs_text path, struct file_identity *identity)
{
    char name[4096];
    struct stat stat_buffer;

    if (!path.len || path.len >= sizeof(name)) return -1;
    memcpy(name, path.ptr, path.len);
    name[path.len] = '\0';
    if (stat(name, &stat_buffer) != 0 || !S_ISREG(stat_buffer.st_mode)) return -1;
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return -1;
    if (fstat(fd, &stat_buffer) != 0 || !S_ISREG(stat_buffer.st_mode)) {
        close(fd);
        return -1;
    }
    memset(identity, 0, sizeof(*identity));     /* it is compared with memcmp */
    *identity = (struct file_identity){
        stat_buffer.st_dev,
        stat_buffer.st_ino,
        (uint64_t)stat_buffer.st_size,
        stat_buffer.st_mtim.tv_sec,
        stat_buffer.st_mtim.tv_nsec,
        stat_buffer.st_ctim.tv_sec,
        stat_buffer.st_ctim.tv_nsec,
    };
    return fd;
}

/* Read through /proc/self/mem, as the mapping may go away meanwhile. */
static size_t
build_id_in_memory(const struct mapped_file *file, char *text)
{
    text[0] = '\0';
    if (!file->head_end) return 0;
    int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    struct hs_elf_source source = {fd, file->head_start, file->head_end - file->head_start};
    size_t length = rb_hs_elf_build_id(&source, text);
    close(fd);
    return length;
}

static struct hs_text
base_of(struct hs_text path)
{
    for (uint32_t i = path.len; i-- > 0;) {
        if (path.ptr[i] == '/') return (struct hs_text){path.ptr + i + 1, path.len - i - 1};
    }
    return path;
}

/* Compare the file that the path leads to with the one in memory. */
static void
look_at_file(struct mapped_file *file, struct hs_text path)
{
    char in_memory[2 * HS_BUILD_ID_MAX + 1], in_file[2 * HS_BUILD_ID_MAX + 1] = "";
    size_t length = build_id_in_memory(file, in_memory);
    int fd = open_regular(path, &file->identity);

    file->same = false;
    if (fd >= 0) {
        struct hs_elf_source source = {fd, 0, file->identity.size};
        size_t file_length = rb_hs_elf_build_id(&source, in_file);
        close(fd);
        if (length && file_length) {
            file->same = length == file_length && memcmp(in_memory, in_file, length) == 0;
        }
        else {
            file->same = file->identity.device == file->device && file->identity.inode == file->inode;
        }
        if (file->same && !length) {
            memcpy(in_memory, in_file, file_length);
            length = file_length;
        }
    }
    file->build_id = lasting_text(in_memory, length);
}

static void
meet_file(struct hs_native *native, struct mapped_file *file)
{
    static const char deleted[] = " (deleted)";
    const size_t tail = sizeof(deleted) - 1;
    const char *ptr = native->paths + file->path_at;
    struct hs_text path = {ptr, file->path_len};

    file->met = true;
    if (vdso_p(path.ptr, path.len)) {
        file->path = file->base = lasting_text(path.ptr, path.len);
        return;
    }
    look_at_file(file, path);
    if (!file->same && path.len > tail && memcmp(ptr + path.len - tail, deleted, tail) == 0) {
        path.len -= (uint32_t)tail;
        look_at_file(file, path);
    }
    file->path = lasting_text(path.ptr, path.len);
    file->base = base_of(file->path);
    if (file->same && !(file->serial = remember_file(&file->identity))) file->same = false;
}

static struct hs_text
find_function(struct mapped_file *file, uint64_t offset)
{
    struct hs_text function = {"", 0};
    struct file_identity identity;
    char name[NAME_MAX_BYTES];
    uint64_t key = function_key(file->serial, offset);

    if (!file->same || recall_function(key, &function)) return function;
    int fd = open_regular(file->path, &identity);
    if (fd < 0) return function;
    if (memcmp(&identity, &file->identity, sizeof(identity)) != 0) {
        file->same = false;             /* it was replaced just now */
        close(fd);
        return function;
    }
    struct hs_elf_source source = {fd, 0, identity.size};
    if (!file->read) file->symbols = rb_hs_elf_symbols_read(&source);
    file->read = true;
    if (file->symbols) {
        size_t length = rb_hs_elf_function_at(file->symbols, &source, offset, name, sizeof(name));
        function = remember_function(key, name, length);
    }
    close(fd);
    return function;
}

/* -- finding ------------------------------------------------------------------------- */

static struct range *
range_of(struct hs_native *native, uint64_t address)
{
    uint32_t low = 0, high = native->range_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (native->ranges[middle].end <= address) low = middle + 1;
        else high = middle;
    }
    if (low == native->range_count || address < native->ranges[low].start) return NULL;
    return &native->ranges[low];
}

void
rb_hs_native_find(struct hs_native *native, uint64_t address, struct hs_native_place *place)
{
    *place = (struct hs_native_place){.mapping = UINT32_MAX, .function = {"", 0}, .file = {"", 0}};
    struct range *range = range_of(native, address);
    if (!range) return;

    struct mapped_file *file = &native->files[range->file];
    if (!file->met) meet_file(native, file);
    if (range->mapping == UINT32_MAX) {
        if (!rb_hs_grow(HS_MEM_SNAPSHOTS, (void **)&native->mappings, &native->mapping_capacity,
                        (uint64_t)native->mapping_count + 1, sizeof(*native->mappings))) {
            return;
        }
        native->mappings[native->mapping_count] = (struct hs_native_mapping){
            range->start,
            range->end,
            range->offset,
            file->path,
            file->build_id,
        };
        range->mapping = native->mapping_count++;
    }
    place->mapping = range->mapping;
    place->file = file->base;
    place->function = find_function(file, address - range->start + range->offset);
}

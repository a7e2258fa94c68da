#ifndef HEAP_SAMPLER_BASE_PROC_H
#define HEAP_SAMPLER_BASE_PROC_H
/*
 * Reads files of /proc and /sys (whole, or line by line), lines of maps, and folders.  Nothing is
 * allocated.  No MRI header. [any]
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads the file with one read(2) and ends the text with a NUL. Returns its length, 0 if it cannot be read. */
size_t rb_hs_proc_read(const char *path, char *text, size_t size);

/* Threads of the machine that want a processor, for each processor; at least 1. [any] */
double rb_hs_demand_for_processors(void);

/* A file's lines, one after the other. */
struct hs_lines {
    int fd;
    char separator;
    bool cut;                   /* the last line is only its beginning: the buffer has no room for more */
    char *text;
    size_t size, next, end;     /* of `text`; what was read and not given yet */
};
/* The caller closes lines->fd. false: the file cannot be read. */
bool rb_hs_lines_open(struct hs_lines *lines, const char *path, char *text, size_t size);
/* The next line, without its end; NULL: there is none. */
char *rb_hs_next_line(struct hs_lines *lines);

/* Calls `each` with each name in a folder, and the folder's descriptor. false: it cannot be read, or not to its end. */
bool rb_hs_each_name(const char *folder, void (*each)(const char *name, int folder, void *data), void *data);

/* A line of maps, or the first of a mapping in smaps. */
struct hs_mapping {
    uint64_t start, end, offset, device, inode;
    bool readable, writable, executable;
    char *path;                 /* as the kernel escapes it; in the line */
};
/* false: it is no such line. */
bool rb_hs_mapping_read(char *line, struct hs_mapping *mapping);

#endif

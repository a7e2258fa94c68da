#ifndef HEAP_SAMPLER_MEMORY_PROCESS_INFO_H
#define HEAP_SAMPLER_MEMORY_PROCESS_INFO_H
/* What identifies a process among several: its title, its folder, its host, its parent.  No MRI header. */
#include <stddef.h>
#include <stdint.h>

/* Texts are cut where they are longer, and empty where they are not known. */
struct hs_who {
    uint64_t parent_id;
    char title[128];            /* the one that it set, "puma: cluster worker 0"; else its program and script, "ruby app.rb" */
    char directory[512];        /* its working directory */
    char gemfile[512];          /* the folder of the Gemfile that BUNDLE_GEMFILE named when it started */
    char host[65];              /* the machine's name, or the container's */
};

/* The script, as Ruby names it: "-e" and "-" too. Called once, when Ruby starts; NULL: none. */
void rb_hs_who_boot(const char *path);

/* [any] [free] It reads /proc and allocates nothing. */
void rb_hs_who_read(struct hs_who *who);

/* The title in `text`, which is `length` bytes of /proc/PID/cmdline: for rb_hs_who_read, and tests. */
void rb_hs_title_of(const char *text, size_t length, struct hs_who *who);

/* The folder of the Gemfile, from `fd`, which is /proc/PID/environ: for rb_hs_who_read, and tests. What Ruby code sets later
 * is not there; to ask getenv(3) while Ruby code calls setenv(3) would be a race. */
void rb_hs_gemfile_of(int fd, struct hs_who *who);

/* How much of its memory is resident, as the kernel counts it just now, a few pages too low; 0: not known. [any] [free] */
uint64_t rb_hs_resident_bytes(void);

#endif

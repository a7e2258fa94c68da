/* See account/resident.h. */
#include "heap_sampler/account/resident.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

uint64_t
rb_hs_resident_bytes(void)
{
    char text[128];
    unsigned long long size, resident;
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    ssize_t len = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (len <= 0) return 0;
    text[len] = '\0';
    if (sscanf(text, "%llu %llu", &size, &resident) != 2) return 0;
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

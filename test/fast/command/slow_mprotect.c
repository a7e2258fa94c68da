/* LD_PRELOAD: a kernel that needs 2 ms to protect a heap page, as a busy virtual machine may. */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int
mprotect(void *memory, size_t bytes, int protection)
{
    if (bytes == 64 * 1024 && protection == PROT_NONE) usleep(2000);
    return (int)syscall(SYS_mprotect, memory, bytes, protection);
}

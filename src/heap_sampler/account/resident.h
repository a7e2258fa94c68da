#ifndef HEAP_SAMPLER_ACCOUNT_RESIDENT_H
#define HEAP_SAMPLER_ACCOUNT_RESIDENT_H
/* How much memory of this process is resident.  No MRI header. */
#include <stdint.h>

/* As the kernel counts it just now, a few pages too low; 0: not known. [any] [free] */
uint64_t rb_hs_resident_bytes(void);

#endif

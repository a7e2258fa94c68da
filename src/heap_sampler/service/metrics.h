#ifndef HEAP_SAMPLER_SERVICE_METRICS_H
#define HEAP_SAMPLER_SERVICE_METRICS_H
/* What profile/encode_metrics.h writes, taken now. The service's thread; no GVL. [free] */
#include <stdint.h>
#include "heap_sampler/profile/encode_metrics.h"

void rb_hs_metrics_take(struct hs_metrics *metrics);
/* Resident memory as /proc has it at once, bytes; 0: not known. */
uint64_t rb_hs_rss(void);

#endif

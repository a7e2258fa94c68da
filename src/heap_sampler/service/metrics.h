#ifndef HEAP_SAMPLER_SERVICE_METRICS_H
#define HEAP_SAMPLER_SERVICE_METRICS_H
/* What profile/encode_metrics.h writes, taken now. The service's thread; no GVL. [free] */
#include "heap_sampler/profile/encode_metrics.h"

void rb_hs_metrics_take(struct hs_metrics *metrics);

#endif

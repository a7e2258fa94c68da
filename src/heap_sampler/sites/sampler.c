#include "heap_sampler/sites/sampler.h"
#include "heap_sampler/base/memory.h"

struct hs_sampler rb_hs_sampler = {.epochs.use = HS_MEM_TOTALS};

#ifndef HEAP_SAMPLER_KERNEL_H
#define HEAP_SAMPLER_KERNEL_H
/*
 * All that stands above the wall may use of the kernel, besides base/: what memory/, heap_walk/, profile/, server/ and
 * ruby/ read of its tables, and what they may ask it to do.  The kernel calls nothing of them.  tool/check-modules holds that.
 */
#include "heap_sampler/process/process.h"
#include "heap_sampler/sampling/gcs.h"
#include "heap_sampler/sampling/malloc_hooks.h"
#include "heap_sampler/sampling/sessions.h"
#include "heap_sampler/store/changes.h"
#include "heap_sampler/store/check.h"
#include "heap_sampler/store/draw.h"
#include "heap_sampler/store/epochs.h"
#include "heap_sampler/store/pace.h"
#include "heap_sampler/store/page_table.h"
#include "heap_sampler/store/stack_table.h"
#include "heap_sampler/store/store.h"

#ifndef HEAP_SAMPLER_STANDALONE /* these need MRI's headers */
#include "heap_sampler/sampling/capture.h"
#include "heap_sampler/sampling/listeners.h"
#include "heap_sampler/store/class_table.h"
#include "heap_sampler/store/label_sets.h"
#include "heap_sampler/store/malloc_table.h"
#include "heap_sampler/store/probes.h"
#endif

#endif

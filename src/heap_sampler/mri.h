#ifndef HEAP_SAMPLER_MRI_H
#define HEAP_SAMPLER_MRI_H
/* MRI_DOC */
#include "ruby/internal/config.h"
#include "internal.h"
#include "internal/class.h"
#include "internal/gc.h"
#include "internal/heap_sampler.h"
#include "internal/imemo.h"
#include "internal/object.h"
#include "internal/sanitizers.h"
#include "internal/string.h"
#include "internal/thread.h"
#include "ruby/debug.h"
#include "ruby/encoding.h"
#include "ruby/ractor.h"
#include "ruby/ruby.h"
#include "ruby/thread.h"
#include "iseq.h"
#include "ractor_core.h"
#include "vm_core.h"
#include "vm_sync.h"

#endif

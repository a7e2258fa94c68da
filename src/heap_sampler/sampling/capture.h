#ifndef HEAP_SAMPLER_SAMPLING_CAPTURE_H
#define HEAP_SAMPLER_SAMPLING_CAPTURE_H
/*
 * Stacks of Ruby code, in three steps, since not every place that has one may
 * name it:
 *
 *   hash     one word a frame: is the stack known?
 *   frames   what identifies the frames, copied; plain loads
 *   resolve  frames to a node of the prefix tree; reads heap slots and symbols
 *
 * The first two are for a thread that runs Ruby, of its own stack, outside of
 * GC; they take no lock and allocate nothing.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "ruby/internal/value.h"
#include "heap_sampler/store/stack_table.h"

struct rb_callable_method_entry_struct;
struct rb_execution_context_struct;
struct rb_iseq_struct;

enum { HS_DEPTH_MAX = 512 };    /* frames of a stack that are recorded, from the innermost */

/* How many frames are recorded; *truncated: there are more. 0: no stack. */
uint32_t rb_hs_capture_key(const struct rb_execution_context_struct *ec, uint64_t *key, bool *truncated);
/* As many as the above returned, leaf first; `ec`: the same. */
void rb_hs_capture_frames(const void *ec, struct hs_raw_frame *frames, uint32_t depth);
/* [vm] [free]; in GC if marking is complete and nothing is swept yet.  What the frames point to must not have been swept since they were
 * copied. UINT32_MAX: no memory. */
uint32_t rb_hs_capture_resolve(const struct hs_raw_frame *frames, uint32_t depth, bool truncated);

/* All three for the current thread: [vm] [free], not in GC. */
uint32_t rb_hs_capture_stack(void);        /* a node */
uint32_t rb_hs_capture_thread(void);       /* the serial of the current thread */

/*
 * What code is called, and its lines: after the rules of vm_backtrace.c on the
 * version at hand.  Named classes only, `Foo#bar`, `Foo.bar`, blocks with their
 * levels.
 *
 * [vm]  They read heap slots and symbols; they allocate nothing, and take no
 * lock but the VM lock.
 */

enum { HS_LABEL_MAX = 512 };    /* bytes; longer labels are cut, and have no NUL */

/* Into `buffer`, which has room for HS_LABEL_MAX; they return the length. */
size_t rb_hs_label_of_method(char *buffer, const struct rb_callable_method_entry_struct *me);
/* `me` is the method entry of the frame or environment, which has the class.  NULL: not known. */
size_t rb_hs_label_of_code(char *buffer, const struct rb_iseq_struct *iseq, const struct rb_callable_method_entry_struct *me);

/* pc as in a control frame; NULL: where the code begins. */
int rb_hs_line_of(const struct rb_iseq_struct *iseq, const VALUE *pc);

#endif

#ifndef HEAP_SAMPLER_STACKS_LABELS_H
#define HEAP_SAMPLER_STACKS_LABELS_H
/*
 * What code is called, and its lines: after the rules of vm_backtrace.c on the
 * version at hand.  Named classes only, `Foo#bar`, `Foo.bar`, blocks with their
 * levels.
 *
 * [vm]  They read heap slots and symbols; they allocate nothing, and take no
 * lock but the VM lock.
 */
#include <stddef.h>
#include "heap_sampler/mri.h"

enum { HS_LABEL_MAX = 512 };    /* bytes; longer labels are cut, and have no NUL */

/* Into `buffer`, which has room for HS_LABEL_MAX; they return the length. */
size_t rb_hs_label_of_method(char *buffer, const rb_callable_method_entry_t *me);
/* `me` is that of the frame or environment: it says the class.  NULL: not known. */
size_t rb_hs_label_of_code(char *buffer, const rb_iseq_t *iseq, const rb_callable_method_entry_t *me);

/* pc as in a control frame; NULL: where the code begins. */
int rb_hs_line_of(const rb_iseq_t *iseq, const VALUE *pc);

#endif

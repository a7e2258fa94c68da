#ifndef HEAP_SAMPLER_MALLOC_ROWS_H
#define HEAP_SAMPLER_MALLOC_ROWS_H
/*
 * The malloc side of a profile.  In this order, all on one thread, any, without
 * the GVL:
 *
 *   begin   no lock      what jemalloc says is alive
 *   copy    the lock     which stacks these are
 *   add     no lock      rows, with native frames named, are added to the profile
 *   end     no lock
 */
#include "malloc_profile.h"

struct hs_malloc_rows {
    struct hs_malloc_profile live;
    struct hs_malloc_stack *stacks;     /* by entry of `live`; native_count is set for all */
    uint32_t dump;              /* 0: none is open */
    bool told;                  /* it was copied */
};

/* 0, or an errno value. */
int rb_hs_malloc_rows_begin(struct hs_malloc_rows *rows);
void rb_hs_malloc_rows_copy(struct hs_malloc_rows *rows);
/* False: no memory. */
bool rb_hs_malloc_rows_add(struct hs_malloc_rows *rows, struct hs_profile *profile);
void rb_hs_malloc_rows_end(struct hs_malloc_rows *rows);
/* About what all of it would take at most now. Any thread. */
size_t rb_hs_malloc_rows_bytes(void);

#endif

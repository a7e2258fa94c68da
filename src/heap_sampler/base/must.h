#ifndef HEAP_SAMPLER_BASE_MUST_H
#define HEAP_SAMPLER_BASE_MUST_H
/*
 * What must hold, asserted in check builds: those with RGENGC_CHECK_MODE or
 * RUBY_DEBUG.  In other builds none of this is compiled: a process in
 * production is never ended by its profiler.
 *
 * *Contracts* say from where a function may be called.  They stand in square
 * brackets at its declaration, in these words only, and HS_CONTRACT asserts
 * them where the function begins:
 *
 *   [any]     any thread, at any moment, with or without the GVL
 *   [malloc]  as [any], inside malloc(3) too: it allocates nothing there, and
 *             takes no lock but the malloc mutex
 *   [gvl]     a thread of Ruby's that holds the GVL
 *   [vm]      the VM lock is held; or the GVL, while there is one Ractor
 *   [gc]      [vm], while a GC runs: no Ruby object may be allocated
 *   [tables]  the sampler's lock is held
 *   [free]    the sampler's lock is not held: the function takes it
 *   [read]    [tables], or [vm]: it reads the tables
 *   [write]   [tables] and [vm]: it changes the tables
 *
 * Two that stand together, such as [vm] [free], both hold.  A tag at the head of
 * a header is of all its functions that have none of their own.
 */
#include <stdbool.h>
#include "heap_sampler/base/checking.h"
#include "heap_sampler/base/locks.h"

#if HS_CHECKING
/* Ends the process: says what does not hold, with the figures. */
void rb_hs_fault(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
#define HS_MUST(holds, ...) \
    do { \
        if (!(holds)) rb_hs_fault(__VA_ARGS__); \
    } while (0)
#else
#define HS_MUST(holds, ...) ((void)(holds))
#endif

/* HS_CONTRACT(tables): the function's contract holds here. */
#define HS_CONTRACT(contract) HS_MUST(hs_contract_##contract##_p(), "%s: called against its contract [%s]", __func__, #contract)

/* mri.c; a test without a VM has its own. */
bool rb_hs_gvl_p(void);
bool rb_hs_vm_locked_p(void);
bool rb_hs_in_gc_p(void);
/* mri.c: from here on the VM is being freed. [gvl] */
void rb_hs_note_vm_end(void);
/* base/locks.c */
bool rb_hs_locked_p(void);

static inline bool
hs_contract_gvl_p(void)
{
    return !HS_CHECKING || rb_hs_gvl_p();
}
static inline bool
hs_contract_vm_p(void)
{
    return !HS_CHECKING || rb_hs_vm_locked_p();
}
static inline bool
hs_contract_gc_p(void)
{
    return !HS_CHECKING || rb_hs_in_gc_p();
}
static inline bool
hs_contract_tables_p(void)
{
    return !HS_CHECKING || rb_hs_locked_p();
}
static inline bool
hs_contract_read_p(void)
{
    return !HS_CHECKING || rb_hs_locked_p() || rb_hs_vm_locked_p();
}
static inline bool
hs_contract_write_p(void)
{
    return !HS_CHECKING || (rb_hs_locked_p() && rb_hs_vm_locked_p());
}
static inline bool
hs_contract_free_p(void)
{
    return !HS_CHECKING || !rb_hs_locked_p();
}

#endif

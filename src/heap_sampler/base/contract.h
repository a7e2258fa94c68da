#ifndef HEAP_SAMPLER_BASE_CONTRACT_H
#define HEAP_SAMPLER_BASE_CONTRACT_H
/*
 * What must hold, asserted in check builds: those with RGENGC_CHECK_MODE or
 * RUBY_DEBUG.  In other builds none of this is compiled: a process in
 * production is never ended by its profiler.
 *
 * *Contracts* state from where a function may be called.  They stand in square
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
#include <pthread.h>
#include <stdbool.h>

#ifndef HS_CHECKING             /* a test of tables without a VM may define it */
#if (defined(RGENGC_CHECK_MODE) && RGENGC_CHECK_MODE + 0 > 0) || (defined(RUBY_DEBUG) && RUBY_DEBUG + 0 > 0)
#define HS_CHECKING 1
#else
#define HS_CHECKING 0
#endif
#endif

#if HS_CHECKING
/* Ends the process, and reports what does not hold, with the figures. */
void rb_hs_fault(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
#define HS_ASSERT(holds, ...) \
    do { \
        if (!(holds)) rb_hs_fault(__VA_ARGS__); \
    } while (0)
#else
#define HS_ASSERT(holds, ...) ((void)(0 && (holds)))
#endif

/* HS_CONTRACT(tables): the function's contract holds here. */
#define HS_CONTRACT(contract) HS_ASSERT(hs_contract_##contract##_p(), "%s: called against its contract [%s]", __func__, #contract)

/* mri.c; a test without a VM has its own. */
bool rb_hs_gvl_p(void);
bool rb_hs_vm_locked_p(void);
bool rb_hs_in_gc_p(void);
/* mri.c: from here on the VM is being freed. [gvl] */
void rb_hs_note_vm_end(void);
/* The thread holds the sampler's lock: base/locks.c. Also inside malloc. */
bool rb_hs_locked_p(void);

#define hs_contract_gvl_p() rb_hs_gvl_p()
#define hs_contract_vm_p() rb_hs_vm_locked_p()
#define hs_contract_gc_p() rb_hs_in_gc_p()
#define hs_contract_tables_p() rb_hs_locked_p()
#define hs_contract_free_p() (!rb_hs_locked_p())
#define hs_contract_read_p() (rb_hs_locked_p() || rb_hs_vm_locked_p())
static inline bool
hs_contract_write_p(void)       /* store/page_table.c has its address */
{
    return !HS_CHECKING || (rb_hs_locked_p() && rb_hs_vm_locked_p());
}

/* -- locks ------------------------------------------------------------------------ */

/*
 * All locks, and their order. A thread takes them from the top to the bottom, and may leave out any. Of
 * one rank it holds one at a time. Check builds assert this for our own locks.
 *
 *                        VM lock                 MRI's: the GVL, while there is one Ractor
 *     HS_LOCK_TABLES     the sampler's lock      base/locks.c: the tables of store/, except malloc's
 *     HS_LOCK_THREADS    `mutex`                 memory/thread_list.c: the lists of threads and fibers, whose structs it
 *                                                keeps from being freed
 *     HS_LOCK_STATE      `mutex`                 process/safe_point.c: the list of calls
 *                        periodic.mutex          server/periodic.c: the state of the thread of every=
 *                        job.mutex               server/within.c: one job, which is waited for
 *                        service.mutex           server/service.c: the state of the service's thread
 *     HS_LOCK_MALLOC     the malloc mutex        store/malloc_table.c: malloc's blocks
 *                        jemalloc's locks
 *
 * *The sampler's lock*: a thread that writes to the tables holds the VM lock as well.  So code that holds
 * the VM lock may read them without this one.  A thread without the GVL only reads, and holds this lock.
 * Its holder reads no Ruby heap slot: compaction may protect the page, and the handler of the read
 * barrier takes this lock.  It raises nothing, allocates no Ruby object and calls no xmalloc, which may
 * start a GC.
 *
 * *The malloc mutex* is taken inside malloc(3), on any thread, at any moment. *The lock of the lists* is
 * taken where a thread or a fiber begins and where it is freed, in GC too.
 *
 * The VM forks with the sampler's lock, the lock of the lists and the malloc mutex held
 * (lifecycle.c, store/malloc_table.c), so that the child finds whole tables.
 */

enum hs_lock { HS_LOCK_TABLES,
               HS_LOCK_THREADS,
               HS_LOCK_STATE,
               HS_LOCK_MALLOC };

#if HS_CHECKING
/* This thread is about to take a lock of that rank, or has left it. [malloc] */
void rb_hs_lock_taken(enum hs_lock rank);
void rb_hs_lock_left(enum hs_lock rank);
#else
#define rb_hs_lock_taken(rank) ((void)(rank))
#define rb_hs_lock_left(rank) ((void)(rank))
#endif

/* Each of our mutexes is taken and left by these. */
static inline void
hs_lock(pthread_mutex_t *mutex, enum hs_lock rank)
{
    rb_hs_lock_taken(rank);
    pthread_mutex_lock(mutex);
}

static inline void
hs_unlock(pthread_mutex_t *mutex, enum hs_lock rank)
{
    pthread_mutex_unlock(mutex);
    rb_hs_lock_left(rank);
}

/*
 * *Without a lock.*  arm64 reorders loads and stores that x86-64 does not.  So what is read without a lock is of one of
 * these kinds, which its declaration names:
 *
 *     atomic figure      relaxed.  No other memory is read because of its value, and an older value does no harm
 *     atomic flag        relaxed, or volatile: as a figure.  What it begins or ends may begin or end a moment later
 *     atomic, publishes  stored with release when the memory that it leads to is complete, loaded with acquire: a reader
 *                        of the new value finds that memory complete
 *     settled            plain: written before the threads that read it exist
 */

/* The sampler's lock. */
void rb_hs_lock(void);
void rb_hs_unlock(void);

#endif

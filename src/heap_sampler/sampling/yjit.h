#ifndef HEAP_SAMPLER_SAMPLING_YJIT_H
#define HEAP_SAMPLER_SAMPLING_YJIT_H
/*
 * What YJIT's compiler allocates, counted: nothing of it is sampled.
 *
 * While a program starts, this compiler makes and drops gigabytes of small
 * vectors: it made 17,000 of 17,800 samples while Active Record started.  A
 * line of Ruby's has no part in them but that it was compiled.  So jemalloc
 * draws no sample there.  A draw that falls into the compiler is dropped and
 * the next one begins, which makes no byte outside more or less likely.
 *
 * Born is what jemalloc's thread.allocated grew by between two calls; in use is
 * what YJIT says that it holds.
 *
 * No MRI header.
 */
#include <stdint.h>

/* A session begins at 0; `thread`: the serial of its only thread, 0: all. [gvl] */
void rb_hs_yjit_session_start(int session, uint32_t thread);

/* The thread that compiles, outermost calls only; `thread`: its serial. */
void rb_hs_yjit_begins(void);
void rb_hs_yjit_ends(uint32_t thread);

struct hs_yjit_memory {
    uint64_t born, inuse;       /* bytes, since the session began */
};
/* [any] */
struct hs_yjit_memory rb_hs_yjit_memory(int session);

#endif

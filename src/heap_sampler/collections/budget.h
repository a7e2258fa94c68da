#ifndef HEAP_SAMPLER_COLLECTIONS_BUDGET_H
#define HEAP_SAMPLER_COLLECTIONS_BUDGET_H
/*
 * When a share of the run time pays for work that is forced on the program.
 *
 *     spent by GCs and walks + price of the next  <=  share * run time
 *
 * There is one account, whatever asks: the periodic profiles, and each client
 * with a share of its own.  So all together never take more than the largest share
 * that was named.  A client that demands a GC or a walk gets it as soon as all
 * before it are paid for, without its own price: a person who asks is not told to wait
 * for what has not cost anything yet.  Where a profile asks for both, GCs leave half of the share to walks,
 * each of which costs as much as several GCs.
 *
 * The run time that counts is the last hour, so that a process which was left
 * alone for days owes nobody hours of work at once: when work is forced, what is
 * older is forgotten, the time and what was spent in it alike.
 *
 * Plain data; no MRI header.  Contract: the owner's.
 */
#include <stdbool.h>
#include <stdint.h>

struct hs_budget {
    uint64_t since_ns;          /* of a clock that does not go back */
    double gc_ns, walk_ns;      /* spent since then */
};

/* How long until the share (in millionths) pays for this; 0: it does now. INT64_MAX: never, since the share is 0. */
uint64_t rb_hs_budget_wait(const struct hs_budget *budget, uint64_t now_ns, uint32_t ppm, double price_ns);
/* Does the share pay for a GC, and half of it for all GCs? */
bool rb_hs_budget_gc_due_p(const struct hs_budget *budget, uint64_t now_ns, uint32_t ppm, double price_ns);
/* Work was forced: what is older than an hour is forgotten. */
void rb_hs_budget_forget(struct hs_budget *budget, uint64_t now_ns);

#endif

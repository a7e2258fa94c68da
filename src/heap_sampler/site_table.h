#ifndef HEAP_SAMPLER_SITE_TABLE_H
#define HEAP_SAMPLER_SITE_TABLE_H
/*
 * Sites, where and as what an object was born, and what each session has seen
 * of them since it began.
 *
 * Sites, and the stacks they stand on, would pile up in a process that runs
 * for months.  When there are too many, those without a live sample are
 * folded: their totals go to the site of their leaf frame alone, below
 * `(evicted)`, and the stacks that nobody stands on any more are forgotten.
 * So totals by line, method, class and type stay whole, and memory bounded.
 *
 * Threads: as stack_table.h; all of it under the lock.
 */
#include "sampler.h"

/* The site's number; UINT32_MAX: there is no room. A little room is kept for
 * sites of evicted stacks, and for those of no stack and no class some always. */
uint32_t rb_hs_site_of(uint32_t node, uint32_t class_id, uint32_t slot_size);

/* What the session has seen of the site; NULL: no memory. */
struct hs_totals *rb_hs_totals_of(struct hs_session *session, uint32_t site);

/* Adds one to the other. No lock of its own; any thread. */
void rb_hs_totals_add(struct hs_totals *sum, const struct hs_totals *more);

/* Which of the dead keep their names when others are folded: those that have
 * allocated most often, since they will again. */
struct hs_spared { uint32_t by_bits[65]; };     /* how many have so many significant bits in their number of samples */
void rb_hs_spared_count(struct hs_spared *spared, uint64_t samples);
/* The least number of samples that spares one, if `room` may be spared; never
 * 1, or none would be folded. UINT64_MAX: none is. */
uint64_t rb_hs_spared_from(const struct hs_spared *spared, uint32_t room);

/* Fold what has no live sample, unless that was done just before. Numbers of
 * sites and nodes change: whoever holds one asks again. Without memory nothing
 * happens. */
void rb_hs_fold_sites(void);
/* Have the living filled the table, or most of it, so that folding does not
 * help?  Asking takes the answer: no, until that happens again. */
bool rb_hs_take_sites_full(void);

#endif

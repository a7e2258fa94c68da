#ifndef HEAP_SAMPLER_SITES_SITE_TABLE_H
#define HEAP_SAMPLER_SITES_SITE_TABLE_H
/*
 * Sites, where, as what and for whom an object was born, and what each session has seen
 * of them since it began.
 *
 * Sites, and the stacks they stand on, would pile up in a process that runs
 * for months.  When there are too many, those without a live sample are
 * folded: their totals go to the site of their leaf frame alone, below
 * `(evicted)`, and the stacks that nobody stands on any more are forgotten.
 * So totals by line, method, class and type stay whole, and memory bounded.
 *
 * [write]
 */
#include <stdint.h>
#include "heap_sampler/sites/sampler.h"

/* The site's number; UINT32_MAX: there is no room. A little room is kept for
 * sites of evicted stacks, and for those of no stack and no class some always. */
uint32_t rb_hs_site_of(struct hs_site site);

/* How many sites there may be. */
uint32_t rb_hs_sites_max(void);

/* For folding: all sites go, and come again, whatever room there is. */
#define HS_NO_CLASS UINT32_MAX
void rb_hs_sites_clear(void);
uint32_t rb_hs_site_anyway(struct hs_site site);

/* What the session has seen of the site; NULL: no memory. */
struct hs_totals *rb_hs_totals_of(struct hs_session *session, uint32_t site);

#endif

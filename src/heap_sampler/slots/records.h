#ifndef HEAP_SAMPLER_SLOTS_RECORDS_H
#define HEAP_SAMPLER_SLOTS_RECORDS_H
/*
 * Records as samples of sessions: what each counts for, and how they go.
 * [write]
 */
#include <stdbool.h>
#include <stdint.h>
#include "heap_sampler/estimate/draw.h"
#include "heap_sampler/slots/page_table.h"

/* What the record stands for in a session, by its slot's size at birth. */
struct hs_estimate rb_hs_estimate_of(const struct hs_record *record, int session);
/* These sessions have one sample less. */
void rb_hs_count_off(hs_session_set sessions);
void rb_hs_drop_record(struct rb_heap_sampler_page *page, uint32_t position);
/* Visit all records; `visit` says whether to keep one. Tables left empty go. */
void rb_hs_filter_records(bool (*visit)(struct hs_record *record, const struct rb_heap_sampler_page *page, void *data),
                          void *data);

#endif

#ifndef HEAP_SAMPLER_LABELS_LABEL_SETS_H
#define HEAP_SAMPLER_LABELS_LABEL_SETS_H
/*
 * Labels say for whom a program works just now: controller=orders, tenant=acme.
 *
 *     fiber --> label set, by number          ec->heap_sampler_labels, two bytes
 *     site, stack of malloc --> label set     part of what tells them apart
 *
 * Each set is stored once, as text of our own: lines "key=value" in the order
 * of their keys.  There are at most HS_LABEL_SETS_MAX sets.  Sets are freed only
 * when there is no room for one more (ruby_api/given_labels.c).  A number then
 * stands for another text, so whoever stored a number also stores the era: it
 * ends when sets are freed.  No MRI header.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "heap_sampler/base/texts.h"

enum {
    HS_LABELS_NONE = 0,
    HS_LABEL_SETS_MAX = 1024,
    HS_LABELS_OTHER = HS_LABEL_SETS_MAX + 1,    /* there was no room for the set; "labels=(other)" */
    HS_LABEL_NUMBERS
};

/* No program may set this key. */
#define HS_LABELS_OTHER_KEY "labels"

/* What is left of a set where there is room for no more. */
static inline uint16_t
hs_labels_coarse(uint16_t number)
{
    return number == HS_LABELS_NONE ? HS_LABELS_NONE : HS_LABELS_OTHER;
}

extern uint32_t rb_hs_label_set_count;  /* [read] */
extern uint32_t rb_hs_label_sets_era;   /* changes while no other Ractor runs: [gvl] */

/* The number of the set with this text, "" has HS_LABELS_NONE; HS_LABELS_OTHER: it is a new one, and there is no
 * room. [write] */
uint16_t rb_hs_label_set(const char *text, size_t len);
/* Empty for a number that is free. [read] */
struct hs_text rb_hs_label_set_text(uint16_t number);
/* All other sets are freed; how many they were. [write] */
uint32_t rb_hs_label_sets_keep(const bool used[HS_LABEL_NUMBERS]);

/* The texts of all numbers at one moment. They point into *bytes. false: no memory. [read] */
bool rb_hs_label_sets_copy(struct hs_text texts[HS_LABEL_NUMBERS], char **bytes);
/* What that takes in a snapshot. [read] */
size_t rb_hs_label_sets_snapshot_bytes(void);

#endif

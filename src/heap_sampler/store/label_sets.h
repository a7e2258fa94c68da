#ifndef HEAP_SAMPLER_STORE_LABEL_SETS_H
#define HEAP_SAMPLER_STORE_LABEL_SETS_H
/*
 * Labels say what a program works on just now: controller=orders, tenant=acme.
 * A fiber has the number of a label set (ec->heap_sampler_labels), and so has each site.  The two bytes are where
 * rb_execution_context_t has padding, so the struct is no larger.
 *
 * Each set is stored once, as text of our own: lines "key=value" in the order of their keys.  The number and
 * the text stay for the life of the process.  There are at most HS_LABEL_SETS_MAX sets; one more is
 * HS_LABELS_OTHER.  No MRI header.
 */
#include <stddef.h>
#include <stdint.h>
#include "heap_sampler/base/table.h"

enum {
    HS_LABELS_NONE = 0,
    HS_LABEL_SETS_MAX = 1024,
    HS_LABELS_OTHER = HS_LABEL_SETS_MAX + 1,    /* there was no room for the set; "labels=(other)" */
    HS_LABEL_NUMBERS
};

/* No program may set this key. */
#define HS_LABELS_OTHER_KEY "labels"
#define HS_LABELS_OTHER_TEXT HS_LABELS_OTHER_KEY "=(other)"

/* What is left of a set where there is room for no more. */
static inline uint16_t
hs_labels_coarse(uint16_t number)
{
    return number == HS_LABELS_NONE ? HS_LABELS_NONE : HS_LABELS_OTHER;
}

extern uint32_t rb_hs_label_set_count;  /* [read] */
extern uint64_t rb_hs_label_sets_refused;       /* how often a new set became HS_LABELS_OTHER; [read] */

/* The number of the set with this text, "" has HS_LABELS_NONE; HS_LABELS_OTHER: it is a new one, and there is no
 * room. [write] */
uint16_t rb_hs_label_set(const char *text, size_t len);
/* Empty for a number that no set has. What it points to is never freed. [read] */
struct hs_text rb_hs_label_set_text(uint16_t number);

/* mri.c. Of the fiber that runs (ec->heap_sampler_labels). A new fiber has the set of the fiber that made it, since cont.c copies
 * the whole execution context; a new thread or Ractor gets the set of the code that made it. A plain load. [gvl] */
uint16_t rb_hs_labels_now(void);
/* [gvl] */
void rb_hs_labels_set(uint16_t number);

#endif

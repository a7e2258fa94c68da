#ifndef HEAP_SAMPLER_LABELS_LABEL_SETS_H
#define HEAP_SAMPLER_LABELS_LABEL_SETS_H
/*
 * Labels say for whom a program works just now: controller=orders, tenant=acme.
 *
 *     fiber --> label set, by number          ec->heap_sampler_labels, two bytes
 *     site, stack of malloc --> label set     part of what tells them apart
 *
 * Each set is stored once, as text of our own: lines "key=value" in the order
 * of their keys.  There are at most HS_LABEL_SETS_MAX of them.  When that many
 * are there and one more is wanted, those that no fiber has and no living
 * sample was born under go (labels/reclaim.c): what was counted under them is
 * counted under HS_LABELS_OTHER from then on.  Where that frees none, the new
 * set is HS_LABELS_OTHER itself.  No MRI header.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "heap_sampler/base/texts.h"

enum {
    HS_LABELS_NONE = 0,
    HS_LABEL_SETS_MAX = 1024,
    HS_LABELS_OTHER = HS_LABEL_SETS_MAX + 1,
    HS_LABEL_NUMBERS
};

/* Of one set. */
enum {
    HS_LABELS_MOST = 8,
    HS_LABEL_KEY_MAX = 64,      /* bytes */
    HS_LABEL_VALUE_MAX = 128,
    HS_LABEL_TEXT_MAX = HS_LABELS_MOST * (HS_LABEL_KEY_MAX + HS_LABEL_VALUE_MAX + 2)
};

/* What is left of a set where there is room for no more. */
static inline uint16_t
hs_labels_coarse(uint16_t number)
{
    return number == HS_LABELS_NONE ? HS_LABELS_NONE : HS_LABELS_OTHER;
}

/* What HS_LABELS_OTHER is written as: no program may set this key. */
#define HS_LABELS_OTHER_KEY "labels"
#define HS_LABELS_OTHER_VALUE "(other)"

/* The number of the set with this text, "" has HS_LABELS_NONE; HS_LABELS_OTHER: it is a new one, and there is no
 * room. [write] */
uint16_t rb_hs_label_set(const char *text, size_t len);
/* Is there room for one more, or the set already? [read] */
bool rb_hs_label_set_fits_p(const char *text, size_t len);
/* What the number stands for, as long as it is somebody's; "" for HS_LABELS_OTHER. [read] */
struct hs_text rb_hs_label_set_text(uint16_t number);

/* An era ends when sets are freed: within one a number stands for the same text. [gvl] */
uint32_t rb_hs_label_sets_era(void);
/* Is the number what it was in that era? [read] */
bool rb_hs_label_set_is_of_era(uint16_t number, uint32_t era);

/* Somebody will have the set again, though no fiber has it now. [any] */
void rb_hs_label_set_pin(uint16_t number);
void rb_hs_label_set_unpin(uint16_t number);
void rb_hs_label_sets_see_pinned(bool used[HS_LABEL_NUMBERS]);
/* Nobody refers to these any more; how many they were. [write] */
uint32_t rb_hs_label_sets_free(const bool gone[HS_LABEL_NUMBERS]);

struct hs_label_sets_stat {
    uint32_t sets;
    uint64_t refused;           /* how often a new set became HS_LABELS_OTHER */
};
/* [read] */
struct hs_label_sets_stat rb_hs_label_sets_stat(void);

/* The texts of all sets at one moment, by number. */
struct hs_label_texts {
    char *bytes;
    struct hs_text *texts;      /* NULL: there is no set */
};
/* false: no memory. [read] */
bool rb_hs_label_sets_copy(struct hs_label_texts *copy);
/* What that takes in a snapshot, with what it becomes. [read] */
size_t rb_hs_label_sets_snapshot_bytes(void);

#endif

#ifndef HEAP_SAMPLER_STORE_STORE_H
#define HEAP_SAMPLER_STORE_STORE_H
/*
 * A store: the samples of one kind of memory, where they were allocated, and
 * what each session has counted.  There are two of them, for slots and for
 * blocks of malloc(3).
 *
 *     record --> site --> node (store/stack_table.h) --> frame
 *        |         |  \-> class (store/class_table.h) or native frames (store/malloc_table.h), label set
 *        |         \----- totals of each session, by the site's number
 *        \--> epoch (store/epochs.h): at which interval each session keeps the record
 *
 *                  slots                       malloc
 *     index        store/page_table.c          store/malloc_table.c: how a record is found
 *     lock         the sampler's, [write]      the malloc mutex
 *     site's node  a node                      a node, or raw: frames that have no names yet
 *
 * Sites, and the stacks they stand on, would pile up in a process that runs for
 * months.  When there are too many, those without a live sample are folded
 * (store/folding.c).
 *
 * When there are too many records, the interval of the session that holds the most
 * doubles.  It drops the records that are no samples at the new interval, until at
 * most three quarters are left.  So a dense block does not make the session next to
 * it coarse.  Too many are: more than max-samples; so many that own memory gets short
 * (but never below 16,384 records of slots); or live sites that fill three quarters
 * of their table.  Totals stay as they are: they were unbiased when they were added.
 *
 * Contract: the lock of the store, unless a function says otherwise.
 */
#include <stdbool.h>
#include <stdint.h>
#include "heap_sampler/base/table.h"
#include "heap_sampler/store/changes.h"
#include "heap_sampler/store/draw.h"
#include "heap_sampler/store/epochs.h"

enum {
    HS_MAIN = 0,                /* of HS_SESSIONS: the process's own */
    HS_HEAPS_MAX = 16,
    HS_SNAPSHOT_ROW = 256       /* bytes of a row of a profile, at most */
};

/* Which samples of slots are taken and held. */
struct hs_limits {
    uint64_t max_samples;       /* 0: none */
    bool seeded;
    uint64_t seed;
};

/* A sample. */
struct hs_record {
    uint16_t slot : 14;         /* of slots: index of the object's mark bit */
    bool young : 1;             /* of slots: no mark has ended since its allocation */
    bool pinned : 1;            /* of slots: the last major GC that looked found that compaction must not move it */
    hs_session_set sessions;    /* that keep this sample */
    uint32_t site;              /* where it was allocated */
    uint32_t epoch;             /* the intervals that its weights come from */
    uint32_t allocation_gc;     /* GC count when it was allocated */
    float longest;              /* interval at which it is a sample: store/epochs.h */
    uint32_t thread;            /* serial of the thread that allocated it; 0: none of Ruby's */
    uint64_t id;                /* its serial number in its store */
};

/* Where a sample was allocated, as what, and with which labels. */
struct hs_site {
    uint32_t node;              /* of the tree; of malloc also HS_NODE_RAW + the number of a stack without names */
    uint32_t what;              /* of slots: the class; of malloc: the native frames; or HS_NO_CLASS */
    uint16_t where;             /* of slots: the slot size; of malloc: enum hs_malloc_kind */
    uint16_t labels;            /* the label set of the fiber */
};
#define HS_NO_CLASS UINT32_MAX
#define HS_NODE_RAW (UINT32_C(1) << 23)

/* What a session has seen of a site since it began. */
struct hs_totals {
    struct hs_estimate alloc, freed;
    double freed_gcs;
};
/* Adds one to the other. [any] */
void rb_hs_totals_add(struct hs_totals *sum, const struct hs_totals *more);

/* A session, in one store. */
struct hs_session {
    bool on;
    uint64_t interval, first_interval;          /* bytes */
    uint64_t interval_changes;
    uint64_t thinnings;         /* how often records that were held went, or got other weights, since there were too many */
    uint32_t thread;            /* only this thread's samples; 0: all threads' */
    uint64_t samples;           /* live records with its bit */
    struct hs_totals *totals;   /* by site; shorter than the sites when the newest have none */
    uint32_t totals_count, totals_capacity;
};

struct rb_heap_sampler_page;
/* Called with each record; `page` is NULL for malloc. false: the record is dropped. */
typedef bool (*hs_visit)(struct hs_record *record, const struct rb_heap_sampler_page *page, void *data);

struct hs_store {
    /* What differs. */
    const bool malloc;
    void (*const each)(hs_visit visit, void *data);             /* records */
    void (*const each_waiting)(hs_visit visit, void *data);     /* copies of records that listeners will be called for; or NULL */
    uint64_t (*const size_of)(const struct hs_record *record);  /* bytes */
    uint32_t (*const sites_max)(void);
    bool (*const crowded)(unsigned quarters);   /* more than so many quarters (rounded up) of the records that there may be */
    bool (*const owned)(void);          /* is the lock held? */

    struct hs_limits limits;    /* of slots: those in force (sampling/sessions.c) */
    struct hs_changes changes;  /* for listeners */
    struct hs_random random;
    struct hs_session session[HS_SESSIONS];
    hs_session_set on;          /* sessions: a sample does not read them all */
    uint64_t interval;          /* bytes, the smallest of all sessions'; 0: off */
    struct hs_epochs epochs;
    struct hs_site *sites;
    uint32_t site_count, site_capacity;
    struct hs_map by_key;       /* sites; its memory counts as totals, like the memory of epochs */
    uint64_t next_id;           /* atomic figure: of slots it is drawn with [vm] alone, and checked with the lock alone */
    uint64_t dropped;           /* samples that found no memory, ever */

    /* store/folding.c: since the last folding */
    bool full;                  /* the sites of the living fill the table, so that folding does not help */
    uint32_t living;            /* sites with a live sample */
    uint32_t sites_left, nodes_left, in_vain;
    int64_t folded_at;          /* seconds */
};

/* -- sessions ------------------------------------------------------------------- */

/* false: no memory; all goes on as before. */
bool rb_hs_store_begin(struct hs_store *store, int session, uint64_t interval, uint32_t thread);
void rb_hs_store_end(struct hs_store *store, int session);
/* false: no memory, the interval is as it was. */
bool rb_hs_store_retune(struct hs_store *store, int session, uint64_t interval);
/* While there are too many samples, the session with the most takes fewer. */
void rb_hs_store_widen(struct hs_store *store);

/* -- records -------------------------------------------------------------------- */

/* Which of these sessions keep what record->thread allocated, and up to which interval; false: none. Of slots: [vm] is
 * enough. */
bool rb_hs_store_sample(struct hs_store *store, struct hs_record *record, uint64_t size, uint64_t drawn_at, hs_session_set of);
/* At which intervals they keep it. false: no memory. */
bool rb_hs_store_date(struct hs_store *store, struct hs_record *record, uint64_t drawn_at);
/* It is in the index, with its site: sessions and the site count it. */
void rb_hs_store_count_allocation(struct hs_store *store, const struct hs_record *record);
/* It was freed: the site counts that. The index then drops it. */
void rb_hs_store_count_free(struct hs_store *store, const struct hs_record *record, uint32_t gc);
/* The index drops it: sessions do not count it any more. */
void rb_hs_store_count_off(struct hs_store *store, const struct hs_record *record);
/* Report to listeners and tracers that these sessions do not follow it any more. */
void rb_hs_store_gone(struct hs_store *store, const struct hs_record *record, enum hs_change_kind kind, hs_session_set sessions);
/* Report to tracers what it counts for from now on. */
void rb_hs_store_weighed(struct hs_store *store, const struct hs_record *record);

/* -- sites ---------------------------------------------------------------------- */

/* The site's number; UINT32_MAX: there is no room. Some room is set aside for sites of evicted stacks; for a site of no
 * stack and no class there always is some. */
uint32_t rb_hs_site_of(struct hs_store *store, struct hs_site site);
enum hs_site_how { HS_SITE_FIND,
                   HS_SITE_ADD,
                   HS_SITE_ANYWAY };    /* whatever room there is */
uint32_t rb_hs_site_in(struct hs_store *store, struct hs_site site, enum hs_site_how how);
/* For folding: all sites go, and come again. */
void rb_hs_sites_clear(struct hs_store *store);

/*
 * Sites and stacks would pile up in a process that runs for months.  When there
 * are too many, those without a live sample are folded: their totals go to the
 * site of their leaf frame alone, below `(evicted)`, and the stacks that no site
 * uses any more are forgotten.  So totals by line, method, class and type stay
 * whole, and memory stays bounded.  Sites that have allocated most often are
 * spared, since they will allocate again.
 *
 *     slots are full      sites of both stores are folded, and the tree
 *     malloc is full      sites of malloc
 *     names are full      names without a node and a site are freed; where that is not enough, sites of both stores
 *                         are folded, at last without their lines and classes
 *
 * All that gives sites other numbers is done here: folding, and naming raw stacks of malloc.
 *
 * [write]
 */

/* Fold what has no live sample, unless that was done just before. Numbers of sites and nodes change: the caller asks for
 * its own again. Without memory nothing happens. */
void rb_hs_fold_slots(void);
/* Sites of malloc, if they are too many; `always`: even if they are not; for a test. [vm] [free] */
void rb_hs_fold_blocks(bool always);
/* The raw stacks of malloc that were named: sites that are the same become one. [vm] */
void rb_hs_join_blocks(void);

/* No session is left: what only their totals referred to goes with its names, unless these are few. */
void rb_hs_forget_freed(void);

/* Before a stack of so many frames is resolved: room for its nodes, codes and names. Numbers of sites, nodes, frames,
 * classes and texts may change: the caller asks for its own again. [vm] [free] */
void rb_hs_make_room_for_stack(uint32_t depth);

#endif

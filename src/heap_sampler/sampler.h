#ifndef HEAP_SAMPLER_SAMPLER_H
#define HEAP_SAMPLER_SAMPLER_H
/*
 * The state that all parts of the sampler share, its lock, and its sessions.
 *
 * One lock guards everything that is declared here and in page_table.h,
 * stack_table.h, names.h and class_table.h.  Whoever holds it reads no Ruby
 * heap slot, raises nothing, allocates no Ruby object, calls no xmalloc (which
 * may start a GC), and takes no lock but the malloc mutex (malloc_table.h).
 * Order: VM lock, then this one, then that one.
 *
 * Writers hold the VM lock as well (the GVL, while there is one Ractor), so
 * that code which holds the VM lock may read without this one; a thread that
 * has no GVL only reads, and under this lock.
 */
#include "draw.h"
#include "epochs.h"
#include "options.h"
#include "profile.h"
#include "table.h"

enum { HS_MAIN = 0 };           /* of HS_SESSIONS: the process's own */

/* A site: where an object was born, and as what. */
struct hs_site {
    uint32_t node;
    uint32_t class_id;
    uint32_t slot_size;
};

/* What a session has seen of a site since it began. */
struct hs_totals {
    struct hs_estimate alloc, dead;
    double dead_gcs;
};

struct hs_session {
    bool on;
    uint64_t serial;
    uint64_t interval, first_interval;          /* bytes */
    uint64_t interval_changes;
    uint32_t thread;            /* only this thread's samples; 0: all threads' */
    uint64_t started_ns;        /* Unix time */
    uint64_t samples;           /* live records with its bit */
    struct hs_totals *totals;   /* by site; shorter than the sites when the newest have none */
    uint32_t totals_count, totals_capacity;
    uint64_t live_at_start[HS_HEAPS_MAX];
    struct hs_account account_at_start;         /* HS_MAIN only */
};

struct hs_sampler {
    struct hs_options options;
    struct hs_random random;    /* VM lock */
    struct hs_session session[HS_SESSIONS];
    uint64_t interval;          /* bytes, the smallest of all sessions'; 0: off */
    struct hs_epochs epochs;
    struct hs_site *sites;
    uint32_t site_count, site_capacity;
    uint32_t marks;             /* completed marks */
    uint64_t minor_ns, major_ns;                /* Unix time of the last, 0: none */
    uint64_t next_id;
    uint64_t next_session;
    uint64_t process_start;     /* random: tells processes apart, forks too */
    uint64_t forks;             /* by this process and those that it comes from */
    bool child;                 /* it comes from another */
    uint64_t dropped_samples, dropped_moves;
    uint64_t moves;             /* records that followed an object, ever */
    uint64_t taken;             /* samples taken, ever */
};

extern struct hs_sampler rb_hs_sampler;

void rb_hs_lock(void);
void rb_hs_unlock(void);
bool rb_hs_locked_p(void);         /* by this thread; for assertions */

uint64_t rb_hs_now_ns(void);       /* Unix time */
/* Ruby code has ended in this process. */
bool rb_hs_ended_p(void);

/* The estimate of one record, as session s weighs it; slot_size is that of
 * its birth. Lock. */
struct hs_record;
struct hs_estimate rb_hs_estimate_of(const struct hs_record *record, int session);

/* What of the options GC::SampleProfile.start can say otherwise, for as long as
 * HS_MAIN is on. */
struct hs_limits {
    uint64_t max_samples;       /* 0: none */
    uint32_t max_depth;
    bool seeded;
    uint64_t seed;
    bool sow;                   /* the seed's sequence begins with them */
};

/* Sessions. GVL, no lock held. */
struct hs_session_settings {
    uint64_t interval;
    uint64_t malloc_interval;   /* 0: malloc is not sampled for it */
    uint32_t thread;
    const struct hs_account *account;   /* taken just before; NULL: none */
    const struct hs_limits *limits;     /* HS_MAIN only; NULL: those of the options */
};
/* Returns the session's number, -1: all are taken, -2: no memory. Number
 * HS_MAIN is for the process's own, chosen by `main`. */
int rb_hs_session_start(const struct hs_session_settings *settings, bool main);
void rb_hs_session_stop(int session);
/* false: no memory, the interval is as it was. */
bool rb_hs_session_retune(int session, uint64_t interval);
/* While HS_MAIN is on: from here on. */
void rb_hs_session_limit(const struct hs_limits *limits);
/* The limits in force. */
struct hs_limits rb_hs_limits(void);

/* Name what got its name, or was met, since the last time: before a snapshot
 * that Ruby code waits for. GVL, no lock held. */
void rb_hs_name_all(void);

/* Snapshot: everything that one session knows, copied out in a short hold of
 * the lock, then worked on without it. Any thread. NULL: no memory, or the
 * session is over. */
struct hs_live_sample {
    uint64_t id;
    uintptr_t body;
    uint16_t slot;
    bool young;
    uint32_t node, class_text, type_text, slot_size, thread;
    uint64_t birth_gc, age;
    double weight;
    size_t row;                 /* of the profile: which it was added to */
};
struct hs_live_samples {
    struct hs_live_sample *list;
    size_t count;
    uint64_t moves;             /* of the sampler, when the samples were where they say */
    struct hs_map by_id;        /* positions; empty until one is looked for */
};
void rb_hs_live_samples_free(struct hs_live_samples *samples);

/* About what a snapshot takes at most, with what encodes it; of what there is
 * now. Lock. */
size_t rb_hs_snapshot_bytes(void);
/* `samples` may be NULL. `may_hold_up`: see rb_hs_account_take. */
struct hs_profile *rb_hs_snapshot(int session, struct hs_live_samples *samples, bool may_hold_up);
/* `profile` may be NULL. */
void rb_hs_snapshot_free(struct hs_profile *profile);

/* periodic.c: the thread behind every= and at-rss=, and the file at exit. */
void rb_hs_periodic_start(void);
bool rb_hs_periodic_running_p(void);
void rb_hs_periodic_stop(void);
void rb_hs_periodic_after_fork(void);
/* Tells what is wrong with the settings of files, before the first is written. GVL. */
void rb_hs_periodic_check(void);
/* The profile at exit: takes, names, writes, and says so in one line on stderr. */
int rb_hs_save_at_exit(void);
/* The folder of now is that of relative outputs; the first call counts. */
void rb_hs_note_start_folder(void);
/* To stderr by write(2); brings the process no SIGPIPE. Any thread. */
void rb_hs_say(const char *text, size_t len);
/* One line of it; nothing from a forked child under `quiet`. */
void rb_hs_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Once per process for each `kind` of trouble. */
void rb_hs_warn_once(unsigned kind, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Once in this process and all that come from it, also by exec. GVL. */
void rb_hs_tell_of_settings(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ruby_api.c */
void rb_hs_init_ruby_api(void);

#endif

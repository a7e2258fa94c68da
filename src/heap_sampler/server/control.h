#ifndef HEAP_SAMPLER_SERVER_CONTROL_H
#define HEAP_SAMPLER_SERVER_CONTROL_H
/*
 * Sampling of this process starts, changes and stops: for GC::SampleProfile, and
 * for a client of the socket.  The settings are texts, as in RUBY_HEAP_SAMPLE.
 *
 * Nothing here raises, runs Ruby code or lets go of the GVL, so that a thread of
 * the application can be borrowed for it (process/process.h).  What takes time comes
 * before: the account of a session that begins, and the end of the thread of
 * periodic profiles, which reads the settings.
 *
 * Contract: [gvl] [free], where no other is named.
 */
#include <stdbool.h>
#include "heap_sampler/memory/account.h"
#include "heap_sampler/settings/options.h"

struct hs_start {
    struct hs_options options;
    bool given[HS_OF_COUNT];    /* settings of this */
    bool malloc_interval;       /* malloc=SIZE or malloc=auto */
    const struct hs_account *account;   /* of now; NULL: none */
    char error[512];            /* a sentence, if it failed */
};

enum hs_started { HS_STARTED,
                  HS_CHANGED,           /* it was on */
                  HS_START_BUSY,        /* a setting of files, and rb_hs_periodic_stop() is needed first */
                  /* nothing has changed, and `error` says why: */
                  HS_START_NO_MALLOC,
                  HS_START_NO_MEMORY };

/* The settings in force; one over them, for each that is given; and then all of them hold. */
void rb_hs_start_begin(struct hs_start *start);
/* `name` as in RUBY_HEAP_SAMPLE, or with an underscore for a hyphen. false: `error` says what is wrong. */
bool rb_hs_start_read(struct hs_start *start, const char *name, const char *value);
enum hs_started rb_hs_start_apply(struct hs_start *start);
/* Periodic profiles go on where rb_hs_periodic_stop() came first and nothing was changed. [any] */
void rb_hs_start_resume(void);
/* After rb_hs_periodic_stop(). false: sampling was off. */
bool rb_hs_stop_apply(void);

#endif

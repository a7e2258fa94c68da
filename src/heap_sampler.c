/*
 * The sampling heap profiler: what the allocator's and GC's hooks do, and the
 * sessions on whose behalf they do it.
 *
 *   on_install   how far is it to the next sampled slot of a free list
 *   on_take      that slot is taken: record stack, class and page
 *   on_mark_end  the mark tells who died: their records go, their sites learn
 *   on_move      GC.compact: the record follows its object
 *
 * A sample is taken at the smallest interval that a session asks for, and a
 * session with a longer one keeps it with probability p(its T)/p(smallest T):
 * for each of them the samples are as if it were alone.  Each record refers to
 * the epoch of intervals it was made in, from which its weights follow.
 *
 * Marks, not sweeps, decide about life: right after marking, every mark bit of
 * every page is true, and no slot has been given to a newer object.  So the
 * dead are dropped there at once, and between two marks the tables hold just
 * what the last mark found alive and what was born since.
 */
#include "ruby/internal/config.h"
#include "internal.h"
#include "internal/gc.h"
#include "internal/heap_sampler.h"
#include "ruby/ruby.h"
#include "vm_core.h"
#include "vm_sync.h"
#include "heap_sampler/allocator.h"
#include "heap_sampler/capture.h"
#include "heap_sampler/check.h"
#include "heap_sampler/class_table.h"
#include "heap_sampler/malloc_sampler.h"
#include "heap_sampler/malloc_table.h"
#include "heap_sampler/names.h"
#include "heap_sampler/native.h"
#include "heap_sampler/page_table.h"
#include "heap_sampler/sampler.h"
#include "heap_sampler/signals.h"
#include "heap_sampler/site_table.h"
#include "heap_sampler/stack_table.h"
#include "heap_sampler/table.h"

#include <pthread.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>
#ifdef HAVE_SYS_RANDOM_H
# include <sys/random.h>
#endif

struct hs_sampler rb_hs_sampler = { .epochs.use = HS_MEM_TOTALS };
bool rb_heap_sampler_drawing;

/* -- the lock -------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Read inside malloc, where a library's thread-local variables must not be allocated. */
static _Thread_local __attribute__((tls_model("initial-exec"))) bool lock_held;

void
rb_hs_lock(void)
{
    RUBY_ASSERT(!lock_held);
    pthread_mutex_lock(&lock);
    lock_held = true;
}

void
rb_hs_unlock(void)
{
    lock_held = false;
    pthread_mutex_unlock(&lock);
}

bool
rb_hs_locked_p(void)
{
    return lock_held;
}

uint64_t
rb_hs_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void
rb_hs_say(const char *text, size_t len)
{
    struct hs_signal_guard guard;
    rb_hs_guard_signals(&guard);
    ssize_t written = write(STDERR_FILENO, text, len);
    (void)written;
    rb_hs_unguard_signals(&guard);
}

static void warn_line(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

static void
warn_line(const char *format, va_list args)
{
    /* `quiet`: the first process speaks for its children */
    if (rb_hs_sampler.options.quiet && rb_hs_sampler.child) return;
    char line[1024];
    int len = snprintf(line, sizeof(line), "heap-sample: ");
    int more = vsnprintf(line + len, sizeof(line) - (size_t)len - 1, format, args);
    if (more < 0) return;
    len += more;
    if (len > (int)sizeof(line) - 2) len = (int)sizeof(line) - 2;
    line[len++] = '\n';
    rb_hs_say(line, (size_t)len);
}

void
rb_hs_warn(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    warn_line(format, args);
    va_end(args);
}

void
rb_hs_warn_once(unsigned kind, const char *format, ...)
{
    static unsigned said;
    if (__atomic_fetch_or(&said, 1u << kind, __ATOMIC_RELAXED) & (1u << kind)) return;
    va_list args;
    va_start(args, format);
    warn_line(format, args);
    va_end(args);
}

enum { WARN_MEMORY = 0 };

/* A sample, a name or a stack that found no memory is missing for good; a snapshot that found none has told who
 * asked for it, and samples of malloc that found none are counted apart (malloc_samples_dropped). */
static void
warn_of_gaps(void)
{
    uint64_t failures = 0;
    for (int use = 0; use < HS_MEM_USES; use++) {
        if (use != HS_MEM_SNAPSHOTS && use != HS_MEM_MALLOC) failures += rb_hs_memory_failures((enum hs_memory_use)use);
    }
    if (failures) rb_hs_warn_once(WARN_MEMORY, "no memory: from here on profiles have gaps (see stat)");
}

/* -- estimates ------------------------------------------------------------- */

/* Lock. Of the few slot sizes, at one interval for the most part, the last
 * result is remembered: a weight takes an exponential and two divisions. */
static struct hs_estimate
estimate(uint32_t slot_size, uint64_t interval)
{
    enum { PLACES = 11 };       /* by it the sizes of MRI's heaps, 40 << n, fall into different places */
    static struct {
        uint32_t slot_size;
        uint64_t interval;
        struct hs_estimate one;
    } known[PLACES], *place;
    place = &known[slot_size / 8 % PLACES];
    if (place->slot_size != slot_size || place->interval != interval) {
        double size = slot_size, weight = rb_hs_weight(size, (double)interval);
        place->slot_size = slot_size;
        place->interval = interval;
        place->one = (struct hs_estimate){
            .samples = 1, .objects = weight, .space = weight * size, .variance = weight * (weight - 1) * size * size,
        };
    }
    return place->one;
}

struct hs_estimate
rb_hs_estimate_of(const struct hs_record *record, int session)
{
    return estimate(rb_hs_sampler.sites[record->site].slot_size, rb_hs_sampler.epochs.list[record->epoch].interval[session]);
}

/* -- epochs ------------------------------------------------------------------ */

/* Settle on what the sessions ask for now. Lock; the free lists are not cut
 * again here: a cut remembers the interval it was drawn at. false: no memory;
 * all goes on as before, so the caller takes back what it has changed. */
static bool
enter_epoch(void)
{
    uint64_t interval[HS_SESSIONS] = { 0 }, smallest = 0;
    for (int s = 0; s < HS_SESSIONS; s++) {
        const struct hs_session *session = &rb_hs_sampler.session[s];
        if (!session->on) continue;
        interval[s] = session->interval;
        if (!smallest || session->interval < smallest) smallest = session->interval;
    }
    if (!rb_hs_epoch_enter(&rb_hs_sampler.epochs, interval)) return false;
    rb_hs_sampler.interval = smallest;
    rb_heap_sampler_drawing = smallest != 0;
    return true;
}

/* Lock. false: no memory, the interval is as it was. */
static bool
change_interval(struct hs_session *session, uint64_t interval)
{
    uint64_t was = session->interval;
    session->interval = interval;
    if (!enter_epoch()) {
        session->interval = was;
        return false;
    }
    session->interval_changes++;
    return true;
}

/* -- records ------------------------------------------------------------------ */

/* These sessions have one sample less. */
static void
count_off(uint8_t sessions)
{
    for (int s = 0; s < HS_SESSIONS; s++) {
        if (sessions & (1u << s)) rb_hs_sampler.session[s].samples--;
    }
}

static void
drop_record(struct rb_heap_sampler_page *page, uint32_t position)
{
    const struct hs_record *record = &page->records[position];
    rb_hs_sampler.epochs.list[record->epoch].records--;
    count_off(record->sessions);
    rb_hs_page_drop(page, position);
}

/* Visit all records; `visit` says whether to keep one. Tables left empty go. */
static void
filter_records(bool (*visit)(struct hs_record *record, const struct rb_heap_sampler_page *page, void *data),
               void *data)
{
    for (uint32_t p = rb_hs_pages.count; p-- > 0; ) {
        struct rb_heap_sampler_page *page = rb_hs_pages.list[p];
        for (uint32_t i = page->count; i-- > 0; ) {
            if (!visit(&page->records[i], page, data)) drop_record(page, i);
        }
        rb_hs_page_release(page);
    }
}

/* -- the caps ------------------------------------------------------------------- */

/* At the current intervals, or at longer ones that it is kept at already. */
static bool
thin_record(struct hs_record *record, const struct rb_heap_sampler_page *page, void *data)
{
    uint8_t sessions = record->sessions;
    if (!rb_hs_lengthen(&rb_hs_sampler.epochs, record->longest, &record->sessions, &record->epoch)) return false;
    count_off(sessions & (uint8_t)~record->sessions);
    return true;
}

/* Own memory is bounded; for how many samples it does depends on how they lie
 * on their pages, and on what a snapshot of them takes. So few it always has
 * room for. */
enum { ALWAYS_ROOM_FOR = 1 << 14, RECORDS_MAX_BYTES = 6 << 20 };

/* Is there more than so many quarters (rounded up) of what there may be? */
static bool
crowded(unsigned quarters)
{
    uint64_t max = rb_hs_sampler.options.max_samples, records = rb_hs_pages.records;
    if (max && records > max - max / 4 * (4 - quarters)) return true;
    if (!rb_hs_memory_bound_p() || records < ALWAYS_ROOM_FOR) return false;
    return rb_hs_memory_bytes(HS_MEM_RECORDS) > RECORDS_MAX_BYTES / 4 * quarters ||
        rb_hs_snapshot_bytes() > rb_hs_memory_share(HS_MEM_SNAPSHOTS) / 4 * quarters;
}

/* The session that holds the most, of those whose interval can be longer; NULL:
 * there is none. */
static struct hs_session *
largest_session(void)
{
    struct hs_session *largest = NULL;
    for (int s = 0; s < HS_SESSIONS; s++) {
        struct hs_session *session = &rb_hs_sampler.session[s];
        if (!session->on || session->interval > HS_INTERVAL_MAX / 2) continue;
        if (!largest || session->samples > largest->samples) largest = session;
    }
    return largest;
}

/* Lock. It is the session with the most samples that takes fewer from now on:
 * a dense block must not make the long session beside it coarse. One doubling
 * leaves it a little over half, since p(2T)/p(T) does; more are needed where p
 * is near 1 and a doubling changes little, or where others have what it had.
 * Sums stay unbiased, however few are left: at each step what goes is made up
 * for by what stays. */
static void
widen_intervals(void)
{
    bool sites_full = rb_hs_take_sites_full();
    if (!sites_full && !crowded(4)) return;
    do {
        struct hs_session *session = largest_session();
        if (!session) return;
        if (!change_interval(session, session->interval * 2)) return;
        filter_records(thin_record, NULL);
    } while (crowded(3));
}

/* -- hooks of the allocator ------------------------------------------------------ */

unsigned int
rb_heap_sampler_on_install(size_t slot_size, unsigned int slots, uint64_t *drawn_at)
{
    *drawn_at = rb_hs_sampler.interval;
    return rb_hs_draw(&rb_hs_sampler.random, (double)slot_size, (double)rb_hs_sampler.interval, slots);
}

/* The sessions that look at this thread. */
static uint8_t
sessions_of(uint32_t thread)
{
    uint8_t sessions = 0;
    for (int s = 0; s < HS_SESSIONS; s++) {
        const struct hs_session *session = &rb_hs_sampler.session[s];
        if (session->on && (!session->thread || session->thread == thread)) sessions |= (uint8_t)(1u << s);
    }
    return sessions;
}

static bool
add_record(struct rb_heap_sampler_page **table, uintptr_t body, const uintptr_t *mark_bits, unsigned int slot,
           const struct hs_record *born)
{
    struct hs_record *record = rb_hs_page_add(table, body, mark_bits, slot);
    if (!record) return false;
    *record = *born;
    record->slot = (uint16_t)slot;
    record->young = true;
    record->epoch = rb_hs_sampler.epochs.current;
    record->birth_gc = (uint32_t)rb_gc_count();
    record->id = ++rb_hs_sampler.next_id;
    rb_hs_sampler.epochs.list[record->epoch].records++;
    for (int s = 0; s < HS_SESSIONS; s++) {
        if (!(record->sessions & (1u << s))) continue;
        struct hs_session *session = &rb_hs_sampler.session[s];
        session->samples++;
        struct hs_totals *totals = rb_hs_totals_of(session, record->site);
        if (!totals) {
            rb_hs_sampler.dropped_samples++;
            continue;
        }
        struct hs_estimate one = rb_hs_estimate_of(record, s);
        rb_hs_estimate_add(&totals->alloc, &one);
    }
    return true;
}

void
rb_heap_sampler_on_take(struct rb_heap_sampler_page **table, uintptr_t body, const uintptr_t *mark_bits,
                        unsigned int slot, size_t slot_size, VALUE klass, VALUE flags, uint64_t drawn_at)
{
    struct hs_record born = { .thread = rb_hs_capture_thread() };
    born.longest = rb_hs_longest_interval(&rb_hs_sampler.random, (double)slot_size, (double)drawn_at);
    born.sessions = rb_hs_keepers(rb_hs_sampler.epochs.list[rb_hs_sampler.epochs.current].interval,
                                  sessions_of(born.thread), born.longest);
    if (!born.sessions) return;

    uint32_t node = rb_hs_capture_stack();
    uint32_t class_id = rb_hs_class_of_allocation(klass, flags);

    rb_hs_lock();
    rb_hs_sampler.taken++;
    uint32_t site = rb_hs_site_of(node, class_id, (uint32_t)slot_size);
    if (site == UINT32_MAX) {
        uint32_t leaf = node == HS_NODE_EMPTY ? UINT32_MAX : rb_hs_nodes[node].frame;
        rb_hs_fold_sites();
        node = rb_hs_node_child(rb_hs_node_evicted(), leaf);
        site = rb_hs_site_of(node == UINT32_MAX ? HS_NODE_EMPTY : node, class_id, (uint32_t)slot_size);
    }
    if (site == UINT32_MAX) site = rb_hs_site_of(HS_NODE_EMPTY, UINT32_MAX, (uint32_t)slot_size);
    born.site = site;
    bool added = site != UINT32_MAX && add_record(table, body, mark_bits, slot, &born);
    if (!added) rb_hs_sampler.dropped_samples++;
    widen_intervals();
    rb_hs_unlock();
    if (!added) warn_of_gaps();
}

/* -- hooks of the GC --------------------------------------------------------------- */

static bool
bury_record(struct hs_record *record, const struct rb_heap_sampler_page *page, void *data)
{
    if (hs_page_marked_p(page, record->slot)) {
        record->young = false;
        return true;
    }
    double age = (double)((uint32_t)*(size_t *)data - record->birth_gc);
    for (int s = 0; s < HS_SESSIONS; s++) {
        if (!(record->sessions & (1u << s))) continue;
        struct hs_totals *totals = rb_hs_totals_of(&rb_hs_sampler.session[s], record->site);
        if (!totals) continue;
        struct hs_estimate one = rb_hs_estimate_of(record, s);
        rb_hs_estimate_add(&totals->dead, &one);
        totals->dead_gcs += one.objects * age;
    }
    return false;
}

static int
code_liveness(uintptr_t address)
{
    return rb_heap_sampler_gc_liveness((VALUE)address);
}

/* Records, codes and classes outlive the sessions that brought them, so this
 * runs when sampling is off as well. */
void
rb_heap_sampler_on_mark_end(bool full_mark)
{
    size_t gc_count = rb_gc_count();
    rb_hs_malloc_name_stacks();
    rb_hs_lock();
    rb_hs_sampler.marks++;
    *(full_mark ? &rb_hs_sampler.major_ns : &rb_hs_sampler.minor_ns) = rb_hs_now_ns();
    filter_records(bury_record, &gc_count);
    if (rb_hs_codes_sweep(full_mark, code_liveness)) rb_hs_malloc_forget_addresses();
    rb_hs_unlock();
    rb_hs_classes_after_mark(full_mark);
    rb_hs_check(HS_CHECK_MARKED);
    warn_of_gaps();
}

static uintptr_t
code_location(uintptr_t address)
{
    return (uintptr_t)rb_gc_location((VALUE)address);
}

void
rb_heap_sampler_on_update_references(void)
{
    /* The new addresses stand in heap slots; every page is readable again by
     * now, so the lock does not stand in the way of a read barrier. */
    rb_hs_lock();
    if (rb_hs_codes_move(code_location)) rb_hs_malloc_forget_addresses();
    rb_hs_unlock();
    rb_hs_classes_after_move();
    rb_hs_check(HS_CHECK_ANY);
}

void
rb_heap_sampler_on_move(struct rb_heap_sampler_page *from, unsigned int from_slot,
                        struct rb_heap_sampler_page **to, uintptr_t to_body, const uintptr_t *to_mark_bits,
                        unsigned int to_slot)
{
    rb_hs_lock();
    struct hs_record *record = rb_hs_page_find(from, from_slot);
    if (record) {
        struct hs_record moved = *record;
        rb_hs_sampler.moves++;
        uint32_t position = (uint32_t)(record - from->records);
        /* Leave before arriving: it may be the same page. */
        rb_hs_page_drop(from, position);
        struct hs_record *place = rb_hs_page_add(to, to_body, to_mark_bits, to_slot);
        if (place) {
            moved.slot = (uint16_t)to_slot;
            *place = moved;
        }
        else {
            rb_hs_sampler.dropped_moves++;
            rb_hs_sampler.epochs.list[moved.epoch].records--;
            count_off(moved.sessions);
        }
        if (from != *to) rb_hs_page_release(from);
    }
    rb_hs_unlock();
}

void
rb_heap_sampler_on_page_free(struct rb_heap_sampler_page *table)
{
    rb_hs_lock();
    for (uint32_t i = table->count; i-- > 0; ) drop_record(table, i);
    rb_hs_page_release(table);
    rb_hs_unlock();
}

/* -- sessions ------------------------------------------------------------------------ */

struct session_change {
    int session;
    bool main, ok;
    const struct hs_session_settings *settings;
    uint64_t interval;
    const struct hs_limits *limits;
};

/* What the options say, while something else is in force. */
static struct hs_limits said;
static bool said_otherwise;

struct hs_limits
rb_hs_limits(void)
{
    const struct hs_options *options = &rb_hs_sampler.options;
    return (struct hs_limits){ options->max_samples, options->max_depth, options->seeded, options->seed, false };
}

static void
put_in_force(const struct hs_limits *limits)
{
    struct hs_options *options = &rb_hs_sampler.options;
    options->max_samples = limits->max_samples;
    options->max_depth = limits->max_depth;
    options->seeded = limits->seeded;
    options->seed = limits->seed;
}

/* Lock. */
static void
set_limits(const struct hs_limits *limits)
{
    if (!said_otherwise) said = rb_hs_limits();
    said_otherwise = true;
    put_in_force(limits);
    if (limits->sow) rb_hs_random_seed(&rb_hs_sampler.random, limits->seed);
}

static void
take_back_limits(void)
{
    if (said_otherwise) put_in_force(&said);
    said_otherwise = false;
}

/* Run `change` while no other Ractor allocates, and cut every free list again
 * for the interval that comes out of it. */
static void
change_sessions(void (*change)(struct session_change *), struct session_change *data)
{
    RB_VM_LOCK_ENTER();
    {
        rb_vm_barrier();
        rb_hs_lock();
        change(data);
        rb_hs_unlock();
        rb_heap_sampler_gc_recut();
        rb_hs_check(HS_CHECK_ANY);
    }
    RB_VM_LOCK_LEAVE();
}

static void
start_session_i(struct session_change *change)
{
    change->session = -1;
    for (int s = change->main ? HS_MAIN : HS_MAIN + 1; s < (change->main ? HS_MAIN + 1 : HS_SESSIONS); s++) {
        if (rb_hs_sampler.session[s].on) continue;
        change->session = s;
        break;
    }
    if (change->session < 0) return;

    if (change->settings->limits) set_limits(change->settings->limits);
    /* An exact run takes what it needs. */
    rb_hs_memory_bound(rb_hs_sampler.options.max_samples != 0);
    struct hs_session *session = &rb_hs_sampler.session[change->session];
    *session = (struct hs_session){
        .on = true, .serial = ++rb_hs_sampler.next_session, .interval = change->settings->interval,
        .first_interval = change->settings->interval, .thread = change->settings->thread, .started_ns = rb_hs_now_ns(),
    };
    if (change->settings->account) session->account_at_start = *change->settings->account;
    struct rb_heap_sampler_gc_counts counts;
    rb_heap_sampler_gc_counts(&counts);
    for (uint32_t i = 0; i < counts.heap_count && i < HS_HEAPS_MAX; i++) {
        session->live_at_start[i] = counts.heap[i].live_slots;
    }
    if (!enter_epoch()) {
        session->on = false;
        change->session = -2;
        if (change->main) take_back_limits();
    }
}

int
rb_hs_session_start(const struct hs_session_settings *settings, bool main)
{
    struct session_change change = { .settings = settings, .main = main };
    change_sessions(start_session_i, &change);
    if (change.session >= 0 && settings->malloc_interval &&
        !rb_hs_malloc_start(change.session, settings->malloc_interval, settings->thread)) {
        rb_hs_session_stop(change.session);
        return -2;
    }
    return change.session;
}

static bool
leave_session(struct hs_record *record, const struct rb_heap_sampler_page *page, void *data)
{
    unsigned bit = 1u << *(int *)data;
    if (record->sessions == bit) return false;
    count_off(record->sessions & (uint8_t)bit);
    record->sessions &= (uint8_t)~bit;
    return true;
}

static void
stop_session_i(struct session_change *change)
{
    struct hs_session *session = &rb_hs_sampler.session[change->session];
    filter_records(leave_session, &change->session);
    session->on = false;
    rb_hs_free(HS_MEM_TOTALS, session->totals);
    session->totals = NULL;
    session->totals_count = session->totals_capacity = 0;
    if (change->session == HS_MAIN) take_back_limits();
    if (!enter_epoch()) {
        /* Without room for an epoch the others go on in the old one. */
        bool any = false;
        for (int s = 0; s < HS_SESSIONS; s++) any |= rb_hs_sampler.session[s].on;
        rb_heap_sampler_drawing = any;
    }
}

void
rb_hs_session_stop(int session)
{
    struct session_change change = { .session = session };
    rb_hs_malloc_stop(session);
    change_sessions(stop_session_i, &change);
}

static void
retune_session_i(struct session_change *change)
{
    struct hs_session *session = &rb_hs_sampler.session[change->session];
    change->ok = session->interval == change->interval || change_interval(session, change->interval);
}

bool
rb_hs_session_retune(int session, uint64_t interval)
{
    struct session_change change = { .session = session, .interval = interval };
    change_sessions(retune_session_i, &change);
    return change.ok;
}

static void
limit_i(struct session_change *change)
{
    set_limits(change->limits);
    rb_hs_memory_bound(change->limits->max_samples != 0);
    widen_intervals();
}

void
rb_hs_session_limit(const struct hs_limits *limits)
{
    struct session_change change = { .limits = limits };
    change_sessions(limit_i, &change);
}

/* -- the life of the process ------------------------------------------------------------ */

static uint64_t
entropy(void)
{
    uint64_t number = 0;
#ifdef HAVE_GETRANDOM
    if (getrandom(&number, sizeof(number), GRND_NONBLOCK) == sizeof(number)) return number;
#endif
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return hs_mix((uint64_t)now.tv_nsec ^ ((uint64_t)getpid() << 32) ^ rb_hs_now_ns());
}

/* Which process this is among those that began as one: 0 for the first; a child's follows from its parent's and from how
 * many children came before it, so that it is the same in each run of the same program. */
static uint64_t lineage;
static uint64_t first_pid;
/* What only=1/N decides by, one number for each process, drawn when it is first asked for: whoever is chosen at 1/10 would
 * have been at 1/5, and nobody is asked twice. */
static uint64_t luck;
static bool luck_drawn;

/* Processes that start alike must not decide alike: the host's name and the process id tell them apart. A container that is
 * started again under its name has both again, and decides as it did. */
static uint64_t
seeded_luck(uint64_t seed)
{
    char host[256] = "";
    uint64_t number = hs_mix(seed + 1);
    gethostname(host, sizeof(host) - 1);
    for (const char *c = host; *c; c++) number = hs_mix(number + (unsigned char)*c);
    return hs_mix(hs_mix(number + first_pid) + lineage);
}

/* A seeded process's children have sequences of their own, the same in each run. */
static void
seed_process(void)
{
    const struct hs_options *options = &rb_hs_sampler.options;
    if (!first_pid) first_pid = (uint64_t)getpid();
    rb_hs_sampler.process_start = entropy() >> 1;
    rb_hs_random_seed(&rb_hs_sampler.random, options->seeded ? hs_mix(options->seed + 1) + lineage : entropy());
    rb_hs_malloc_seed(rb_hs_random_next(&rb_hs_sampler.random));
    luck_drawn = false;
}

static bool
this_process_chosen_p(void)
{
    const struct hs_options *options = &rb_hs_sampler.options;
    if (options->only_n <= 1) return true;
    if (!luck_drawn) luck = options->seeded ? seeded_luck(options->seed) : entropy();
    luck_drawn = true;
    return luck <= UINT64_MAX / options->only_n;
}

static bool options_ready, booted;

/* One line about settings, from the first Ruby that finds fault with them. Those that it starts inherit the settings, and in
 * a variable which lines were told: a line from each of them would be too many. */
void
rb_hs_tell_of_settings(const char *format, ...)
{
    static const char variable[] = "RUBY_HEAP_SAMPLE_TOLD";
    char line[1024], key[24], told[512];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);

    uint64_t number = 0;
    for (const char *c = line; *c; c++) number = hs_mix(number + (unsigned char)*c);
    snprintf(key, sizeof(key), "%016"PRIx64, number);
    const char *before = getenv(variable);
    if (before && strstr(before, key)) return;
    int len = snprintf(told, sizeof(told), "%s%s%s", key, before ? "," : "", before ? before : "");
    if (len > 0 && (size_t)len < sizeof(told)) setenv(variable, told, 1);
    rb_hs_warn("%s", line);
}

static void start_main_session(void);

/* Bad settings end a Ruby that was given them on its command line. Those of the environment may be meant for every program
 * of a machine: there the program is worth more than its profile. */
static void
read_option(const char *text, const char *from, bool environment)
{
    char error[512];
    if (rb_hs_options_parse(&rb_hs_sampler.options, text, error, sizeof(error))) return;
    if (!environment) rb_raise(rb_eArgError, "%s: %s", from, error);
    rb_hs_sampler.options.on = false;
    rb_hs_tell_of_settings("%s: %s; nothing is sampled until that is mended", from, error);
}

static void
prepare_options(void)
{
    if (options_ready) return;
    options_ready = true;
    rb_hs_options_default(&rb_hs_sampler.options);
    const char *text = getenv("RUBY_HEAP_SAMPLE");
    if (text && *text) read_option(text, "RUBY_HEAP_SAMPLE", true);
}

struct rb_heap_sampler_text {
    struct rb_heap_sampler_text *next;
    char text[];
};

void
rb_heap_sampler_add_text(struct rb_heap_sampler_text **list, const char *text)
{
    size_t size = strlen(text) + 1;
    struct rb_heap_sampler_text *added = malloc(sizeof(*added) + size);
    if (!added) rb_raise(rb_eArgError, "--heap-sample: no memory");
    added->next = NULL;
    memcpy(added->text, text, size);
    while (*list) list = &(*list)->next;
    *list = added;
}

/* A script's #! line is read when all else has begun. */
static void
follow_script_line(uint64_t interval_before)
{
    const struct hs_options *options = &rb_hs_sampler.options;
    bool on = rb_hs_sampler.session[HS_MAIN].on;
    if (options->seeded && !on) seed_process();
    bool wanted = options->on && this_process_chosen_p();
    if (on && wanted) {
        if (options->interval != interval_before) rb_hs_session_retune(HS_MAIN, options->interval);
        if (options->malloc_mode != HS_MALLOC_SAY_ON) rb_hs_malloc_stop(HS_MAIN);
        else if (rb_hs_malloc_session(HS_MAIN).on) rb_hs_malloc_retune(HS_MAIN, options->malloc_interval);
        rb_hs_periodic_start();
    }
    else if (on) {
        rb_hs_session_stop(HS_MAIN);
    }
    else if (wanted) {
        start_main_session();
    }
}

void
rb_heap_sampler_option(struct rb_heap_sampler_text *list, const char *from, bool environment)
{
    prepare_options();
    uint64_t interval_before = rb_hs_sampler.options.interval;
    if (booted) rb_hs_periodic_stop();  /* it reads the settings */
    while (list) {
        struct rb_heap_sampler_text *next = list->next;
        read_option(*list->text ? list->text : "on", from, environment);
        free(list);
        list = next;
    }
    if (booted) follow_script_line(interval_before);
}

static void
start_main_session(void)
{
    struct hs_account account;
    rb_hs_note_start_folder();
    rb_hs_account_take(&account, NULL, true);
    struct hs_session_settings settings = { .interval = rb_hs_sampler.options.interval, .account = &account };
    if (rb_hs_sampler.options.malloc_mode == HS_MALLOC_SAY_ON) settings.malloc_interval = rb_hs_sampler.options.malloc_interval;
    if (rb_hs_session_start(&settings, true) < 0) {
        rb_hs_warn_once(WARN_MEMORY, "no memory: sampling is off");
        return;
    }
    rb_hs_periodic_check();
    rb_hs_periodic_start();
}

void
rb_heap_sampler_boot(void)
{
    prepare_options();
    booted = true;
    seed_process();
    if (rb_hs_sampler.options.on) rb_hs_note_start_folder();    /* for a child that may be chosen, too */
    bool chosen = rb_hs_sampler.options.on && this_process_chosen_p();
    rb_hs_malloc_boot(chosen && rb_hs_sampler.options.malloc_mode == HS_MALLOC_SAY_ON);
    if (chosen) start_main_session();
}

void
rb_hs_name_all(void)
{
    RB_VM_LOCK_ENTER();
    {
        rb_hs_classes_rename();
        rb_hs_malloc_name_stacks();
    }
    RB_VM_LOCK_LEAVE();
}

static bool ended;

bool
rb_hs_ended_p(void)
{
    return ended;
}

void
rb_heap_sampler_at_exit(void)
{
    ended = true;
    if (!booted) return;
    rb_hs_periodic_stop();
    if (rb_hs_sampler.options.on && rb_hs_sampler.session[HS_MAIN].on && !rb_hs_sampler.options.output_none) {
        rb_hs_name_all();
        warn_of_gaps();
        rb_hs_save_at_exit();
    }
}

void
rb_heap_sampler_before_fork(void)
{
    rb_hs_lock();
    rb_hs_native_before_fork();
}

void
rb_heap_sampler_after_fork(int pid)
{
    if (pid == 0 || pid > 0) rb_hs_sampler.forks++;
    if (pid == 0) {
        rb_hs_sampler.child = true;
        lineage = hs_mix(lineage + rb_hs_sampler.forks);
        seed_process();
    }
    rb_hs_native_after_fork();
    rb_hs_unlock();
}

/* only=1/N is decided anew for each process. */
void
rb_heap_sampler_in_child(void)
{
    if (!booted) return;
    rb_hs_check_tables();
    rb_hs_periodic_after_fork();
    if (!rb_hs_sampler.options.on || rb_hs_sampler.options.only_n <= 1) return;
    bool chosen = this_process_chosen_p();
    if (chosen && !rb_hs_sampler.session[HS_MAIN].on) {
        start_main_session();
    }
    else if (!chosen && rb_hs_sampler.session[HS_MAIN].on) {
        rb_hs_periodic_stop();
        rb_hs_session_stop(HS_MAIN);
    }
}

void
Init_heap_sampler(void)
{
    rb_hs_allocator();          /* it looks now, while there is one thread */
    rb_hs_init_ruby_api();
}

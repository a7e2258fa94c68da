/*
 * Real threads do at once what a profiled process may: Ruby threads allocate,
 * collect, move, start, stop, change the interval and fork, one at a time;
 * Ractors call malloc; threads without the GVL take snapshots, name stacks
 * and write files; and clients ask over the socket.  Built with ThreadSanitizer, then with AddressSanitizer and UBSan; the sampler's own invariants are asserted throughout (store/check.h).
 *
 * Usage: main FOLDER SECONDS
 */
#include "heap_sampler/memory/threads.h"
#include "heap_sampler/base/contract.h"
#include "heap_sampler/base/libraries.h"
#include "heap_sampler/store/malloc_table.h"
#include "heap_sampler/process/process.h"
#include "heap_sampler/server/service.h"
#include "heap_sampler/profile/formats.h"
#include "snapshot.h"
#include "heap_sampler/sampling/sessions.h"
#include "heap_sampler/sampling/malloc_hooks.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/settings/options.h"
#include "heap_sampler/store/page_table.h"
#include "heap_sampler/store/store.h"
#include "heap_sampler/store/check.h"
#include "heap_sampler/store/stack_table.h"
#include "guests.h"
#include "tap.h"
#include "vm.h"
#include "internal/heap_sampler.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void rb_heap_sampler_before_fork(void);
void rb_heap_sampler_after_fork(int pid);
void rb_heap_sampler_in_child(void);

static const char *folder;
static bool over, closing;      /* atomic; closing: guests come no more */

static struct {
    uint64_t allocations, collections, changes, snapshots, refused, rows, wrong, unsaved, without_room, forks, failed_forks, unasked, safe_points, missed, wrong_calls;
} counts;                       /* atomics */

static void
add(uint64_t *counter, uint64_t number)
{
    __atomic_add_fetch(counter, number, __ATOMIC_RELAXED);
}

static bool
over_p(void)
{
    return __atomic_load_n(&over, __ATOMIC_RELAXED);
}

static void
nap(long us)
{
    struct timespec time = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&time, NULL);
}

/* -- with the GVL ------------------------------------------------------------- */

static void
start(void)
{
    struct hs_session_settings settings = {.interval = 64u << vm_random(4), .malloc_interval = 1000};
    if (rb_hs_session_start(&settings, true) == HS_MAIN) rb_hs_periodic_start();
}

static void
stop(void)
{
    rb_hs_periodic_stop();
    rb_hs_session_stop(HS_MAIN);
}

void
vm_start(void)
{
    if (rb_hs_session(HS_MAIN)->on) rb_hs_session_retune(HS_MAIN, 64u << vm_random(4), false);
    else start();
}

void
vm_stop(void)
{
    if (rb_hs_session(HS_MAIN)->on) stop();
}

static void
change_something(void)
{
    static int block = -1;
    struct hs_session_settings settings = {.interval = 32, .malloc_interval = 300, .thread = 1};
    add(&counts.changes, 1);
    if (!rb_hs_session(HS_MAIN)->on) {
        start();
        return;
    }
    switch (vm_random(4)) {
    case 0:
        stop();
        break;
    case 1:
        rb_hs_session_retune(HS_MAIN, 64u << vm_random(6), vm_random(2));
        break;
    default:
        if (block > 0) rb_hs_session_stop(block);
        block = block > 0 ? -1 : rb_hs_session_start(&settings, false);
    }
}

/* What is asked for, seen before it is encoded. */
struct seen {
    long rows;
    bool samples;
    bool alive;                 /* each of those that were counted was made somewhere, and has a stack */
};

static bool
census_agrees(const struct hs_census *census)
{
    uint64_t counts[HS_ALIVE_KINDS] = {0}, stacks = 0;
    for (uint32_t i = 0; i < census->place_count; i++) {
        counts[census->places[i].kind] += census->places[i].population.count;
        stacks += census->places[i].population.stacks;
    }
    for (int kind = 0; kind < HS_ALIVE_KINDS; kind++) {
        if (census->places && counts[kind] != census->of[kind].count) return false;
        stacks -= census->places ? census->of[kind].stacks : 0;
    }
    return census->taken && !stacks;
}

static void
look_at(const struct hs_profile *profile, struct seen *seen)
{
    seen->rows = vm_check_malloc_rows(profile);
    seen->alive = census_agrees(&profile->meta.census);
    seen->samples = profile->samples.list != NULL && profile->samples.count == profile->meta.live_samples;
}

static int
encode(const struct hs_profile *profile, struct hs_buffer *out)
{
    int error = rb_hs_encode(profile, HS_PB, HS_INUSE_FIRST, out);
    return !error && out->failed ? ENOMEM : error;
}

/* To a file, or without a name, as bytes. */
static bool
snapshot(const char *name)
{
    char path[4096];
    struct seen seen = {0, false, false};
    struct hs_buffer out = {0};
    struct hs_profile *profile = take_snapshot(HS_MAIN, HS_WITH_SAMPLES);
    if (profile) look_at(profile, &seen);
    rb_hs_lock();
    int error = profile ? 0 : rb_hs_slot_store.session[HS_MAIN].on ? ENOMEM
                                                                   : ESRCH;
    rb_hs_unlock();
    if (profile) error = encode(profile, &out);
    rb_hs_snapshot_free(profile);
    if (name) snprintf(path, sizeof(path), "%s/%s", folder, name);
    bool bytes = out.len > 0;
    if (!error && name) error = rb_hs_write_file(path, out.ptr, out.len, NULL);
    rb_hs_buffer_free(&out);
    if (error == ESRCH) {
        add(&counts.refused, 1);
        return true;
    }
    add(&counts.snapshots, 1);
    add(&counts.rows, seen.rows > 0 ? (uint64_t)seen.rows : 0);
    bool right = seen.rows >= 0 && (error || (seen.samples && seen.alive && bytes));
    if (!right) add(&counts.wrong, 1);
    /* Four at once may want more than the bound of own memory leaves them. */
    if (error) add(error == ENOMEM ? &counts.without_room : &counts.unsaved, 1);
    return right && (!error || error == ENOMEM);
}

/* -- at a safe point -------------------------------------------------------------- */

struct asked {
    bool called, with_gvl;
};

static void
note_call(void *data)
{
    struct asked *asked = data;
    asked->called = true;
    asked->with_gvl = rb_hs_gvl_p();
}

/* What was answered with no is not called later either: the next call finds its place on the stack as it left it. */
static void
ask(unsigned ms)
{
    struct asked asked = {false, false};
    bool answered = rb_hs_at_safe_point(note_call, &asked, ms);
    add(answered ? &counts.safe_points : &counts.missed, 1);
    if (!answered) nap(1000);
    if (asked.called != answered || (answered && !asked.with_gvl)) add(&counts.wrong_calls, 1);
}

/* The child has one thread, and the tables as they are. */
static void
fork_once(void)
{
    rb_heap_sampler_before_fork();
    pid_t pid = fork();
    rb_heap_sampler_after_fork(pid);
    if (pid == 0) {
        rb_heap_sampler_in_child();
        for (int i = 0; i < 200; i++) vm_allocate();
        rb_hs_malloc_name_stacks();
        rb_hs_safe_point_after_fork();
        rb_hs_periodic_after_fork();
        rb_hs_service_after_fork();
        rb_hs_service_start(true);
        bool heard = guest_says_hello(), written = snapshot("child.pb.gz");
        rb_hs_service_no_more();
        rb_hs_service_end();
        _exit(!written ? 1 : heard ? 0
                                   : 2);
    }
    int status = -1;
    if (pid > 0) waitpid(pid, &status, 0);
    add(&counts.forks, 1);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2) add(&counts.unasked, 1);
    else if (status) add(&counts.failed_forks, 1);
}

static void *
ruby_thread(void *unused)
{
    while (!over_p()) {
        vm_lock();
        for (int i = 0; i < 50; i++) vm_allocate();
        add(&counts.allocations, 50);
        if (vm_random(4) == 0) vm_safe_point();
        rb_hs_name_all();
        rb_hs_malloc_name_stacks();
        if (vm_random(8) == 0) {
            vm_gc(vm_random(2), vm_random(3) == 0);
            add(&counts.collections, 1);
        }
        if (vm_random(20) == 0) change_something();
        if (vm_random(150) == 0) fork_once();
        vm_unlock();
        nap(200);
    }
    return NULL;
}

/* -- without it ---------------------------------------------------------------- */

static void *
ractor(void *unused)
{
    while (!over_p()) {
        for (int i = 0; i < 20; i++) vm_malloc();
        for (int i = 0; i < 50; i++) vm_fiber();
        for (int i = 0; i < 20; i++) vm_free();
        nap(500);
    }
    return NULL;
}

static void *
snapshot_thread(void *name)
{
    struct hs_malloc_table_stat stat;
    struct hs_account_excess excess;
    while (!over_p()) {
        vm_settle();
        rb_hs_malloc_look(&excess);
        snapshot(vm_random(2) ? name : NULL);
        ask(vm_random(2) ? 1000 : vm_random(3));
        rb_hs_malloc_table_stat(&stat);
        nap(3000);
    }
    return NULL;
}

/* -- guests, and who opens the door ------------------------------------------------ */

static bool
closing_p(void)
{
    return __atomic_load_n(&closing, __ATOMIC_RELAXED);
}

static void *
guest(void *unused)
{
    while (!closing_p()) guest_visit();
    return NULL;
}

/* As the timer thread does it after a signal: where the socket is gone, it is made anew. */
static void
open_again(void)
{
    struct sockaddr_un address;
    if (rb_hs_address(&address)) unlink(address.sun_path);
    rb_hs_service_reopen();
}

static void *
door(void *unused)
{
    while (!closing_p()) {
        nap(100000);
        rb_hs_service_reopen();
        if (vm_random(10) == 0) guests_are_cut_off(open_again);
    }
    return NULL;
}

/* -- the statements --------------------------------------------------------------- */

static bool
all_happened(void)
{
    uint64_t *const all[] = {&counts.collections, &counts.changes, &counts.snapshots, &counts.refused, &counts.rows, &counts.forks,
                             &guests.asked, &guests.answered, &guests.refused};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (!__atomic_load_n(all[i], __ATOMIC_RELAXED)) return false;
    }
    return true;
}

/* What the report of a crash does that came while the malloc mutex was held: it calls malloc and free. */
static void
malloc_in_a_crash(void)
{
    struct hs_malloc_allocation allocation = {.address = 16, .size = 1 << 20, .kind = HS_MALLOC_AT_NO_GVL};
    vm_lock();
    rb_hs_malloc_lock();
    ok(!rb_hs_malloc_on_allocation(&allocation), "a block that is allocated while its thread holds the malloc mutex is let through");
    rb_hs_malloc_on_free(16, 0);
    rb_hs_malloc_unlock();
    vm_unlock();
}

static void
run_threads(int seconds)
{
    pthread_t threads[7], outside[5];
    int count = 0;
    for (int i = 0; i < 2; i++) pthread_create(&threads[count++], NULL, ruby_thread, NULL);
    for (int i = 0; i < 2; i++) pthread_create(&threads[count++], NULL, ractor, NULL);
    static const char *const names[] = {"a.pb.gz", "b.pb", "c.pb"};
    for (int i = 0; i < 3; i++) pthread_create(&threads[count++], NULL, snapshot_thread, (void *)names[i]);
    for (int i = 0; i < 5; i++) pthread_create(&outside[i], NULL, i ? guest : door, NULL);
    /* Longer on a busy machine, where some of it comes late. */
    for (int second = 0; second < seconds || (second < 4 * seconds + 40 && !all_happened()); second++) sleep(1);
    __atomic_store_n(&closing, true, __ATOMIC_RELAXED);
    for (int i = 0; i < 5; i++) pthread_join(outside[i], NULL);
    rb_hs_service_no_more();
    rb_hs_service_end();
    __atomic_store_n(&over, true, __ATOMIC_RELAXED);
    while (count-- > 0) pthread_join(threads[count], NULL);
}

static void
nothing(int signal)
{
    (void)signal;
}

int
main(int argc, char **argv)
{
    if (argc != 3) return 2;
    signal(SIGVTALRM, nothing);         /* as MRI does */
    folder = argv[1];
    vm_boot();
    snprintf(rb_hs_files.output, sizeof(rb_hs_files.output), "%s/every-%%p.pb.gz", folder);
    rb_hs_files.every = 1;
    rb_hs_files.diagnose_ppm = 10000;
    rb_hs_slot_store.limits.max_samples = 4000;
    setenv("XDG_RUNTIME_DIR", folder, 1);
    vm_lock();
    rb_hs_libraries_refresh();
    rb_hs_address_boot();
    rb_hs_periodic_boot(rb_hs_service_wake);
    rb_hs_service_start(true);
    start();
    vm_unlock();
    struct sockaddr_un address;
    if (!rb_hs_address(&address) || access(address.sun_path, F_OK) != 0) printf("Bail out! no socket\n");

    malloc_in_a_crash();
    run_threads(atoi(argv[2]));
    printf("# %llu allocations, %llu collections, %llu changes, %llu forks; %llu snapshots with %llu rows of malloc, %llu when off, %llu without room\n",
           (unsigned long long)counts.allocations, (unsigned long long)counts.collections, (unsigned long long)counts.changes,
           (unsigned long long)counts.forks, (unsigned long long)counts.snapshots, (unsigned long long)counts.rows,
           (unsigned long long)counts.refused, (unsigned long long)counts.without_room);
    printf("# %llu requests: %llu answers, %llu refusals, %llu went unheard\n", (unsigned long long)guests.asked,
           (unsigned long long)guests.answered, (unsigned long long)guests.refused, (unsigned long long)guests.unheard);
    ok(all_happened(), "all of it happened");
    ok(!counts.wrong, "each block stands on the stack that allocated it");
    ok(!counts.unsaved && counts.without_room * 4 < counts.snapshots, "every profile is written for which there is memory");
    ok(!counts.failed_forks, "every child takes a snapshot of its own");
    ok(!counts.unasked, "and has a socket of its own, which answers");
    ok(!guests.wrong, "who asks gets a whole answer, unless it goes or the socket does");
    ok(counts.safe_points && counts.missed && !counts.wrong_calls, "what is asked for at a safe point is done there, or never: %llu, %llu, %llu",
       (unsigned long long)counts.safe_points, (unsigned long long)counts.missed, (unsigned long long)counts.wrong_calls);

    vm_lock();
    rb_hs_check(HS_CHECK_ANY);
    for (int s = 0; s < HS_SESSIONS; s++) {
        if (!rb_hs_session(s)->on) continue;
        if (s == HS_MAIN) stop();
        else rb_hs_session_stop(s);
    }
    vm_unlock();
    ok(!rb_hs_pages.records && !rb_hs_pages.count, "after the last stop no record is left");
    ok(!rb_hs_memory_bytes(HS_MEM_TOTALS) || rb_hs_slot_store.sites, "nor the totals of a session");
    ok(!rb_hs_memory_bytes(HS_MEM_SNAPSHOTS), "nor anything of a snapshot: %zu bytes", (size_t)rb_hs_memory_bytes(HS_MEM_SNAPSHOTS));
    vm_free_pages();
    return tap_finish();
}

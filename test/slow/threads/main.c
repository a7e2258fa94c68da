/*
 * Real threads do at once what a profiled process may: Ruby threads allocate,
 * collect, move, start, stop, change the interval and fork, one at a time;
 * Ractors call malloc; and threads without the GVL take snapshots, name stacks
 * and write files.  Built with ThreadSanitizer, then with AddressSanitizer and
 * UBSan; the sampler's own invariants are asserted all along (slots/check.h).
 *
 * Usage: main FOLDER SECONDS
 */
#include "heap_sampler/malloc/table.h"
#include "heap_sampler/malloc/hooks.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/settings/options.h"
#include "heap_sampler/profile/output.h"
#include "heap_sampler/slots/page_table.h"
#include "heap_sampler/sites/sampler.h"
#include "heap_sampler/slots/check.h"
#include "tap.h"
#include "vm.h"

#include <errno.h>
#include <pthread.h>
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
static bool over;               /* atomic */

static struct {
    uint64_t allocations, collections, changes, snapshots, refused, rows, wrong, unsaved, without_room, forks, failed_forks;
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
    struct timespec time = { us / 1000000, us % 1000000 * 1000 };
    nanosleep(&time, NULL);
}

/* -- with the GVL ------------------------------------------------------------- */

static void
start(void)
{
    struct hs_session_settings settings = { .interval = 64u << vm_random(4), .malloc_interval = 1000 };
    if (rb_hs_session_start(&settings, true) == HS_MAIN) rb_hs_periodic_start();
}

static void
stop(void)
{
    rb_hs_periodic_stop();
    rb_hs_session_stop(HS_MAIN);
}

static void
change_something(void)
{
    static int block = -1;
    struct hs_session_settings settings = { .interval = 32, .malloc_interval = 300, .thread = 1 };
    add(&counts.changes, 1);
    if (!rb_hs_sampler.session[HS_MAIN].on) {
        start();
        return;
    }
    switch (vm_random(4)) {
      case 0:
        stop();
        break;
      case 1:
        rb_hs_session_retune(HS_MAIN, 64u << vm_random(6));
        break;
      default:
        if (block > 0) rb_hs_session_stop(block);
        block = block > 0 ? -1 : rb_hs_session_start(&settings, false);
    }
}

static bool
snapshot(const char *name)
{
    char path[4096];
    struct hs_live_samples samples = { NULL, 0 };
    struct hs_profile *profile = rb_hs_snapshot(HS_MAIN, &samples, false);
    if (!profile) {
        add(&counts.refused, 1);
        return true;
    }
    long rows = vm_check_malloc_rows(profile);
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    int error = rb_hs_save_profile(profile, path, NULL);
    rb_hs_snapshot_free(profile);
    rb_hs_free(HS_MEM_SNAPSHOTS, samples.list);
    add(&counts.snapshots, 1);
    add(&counts.rows, rows > 0 ? (uint64_t)rows : 0);
    if (rows < 0) add(&counts.wrong, 1);
    /* Four at once may want more than the bound of own memory leaves them. */
    if (error) add(error == ENOMEM ? &counts.without_room : &counts.unsaved, 1);
    return rows >= 0 && (!error || error == ENOMEM);
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
        _exit(snapshot("child.pb.gz") ? 0 : 1);
    }
    int status = -1;
    if (pid > 0) waitpid(pid, &status, 0);
    add(&counts.forks, 1);
    if (status) add(&counts.failed_forks, 1);
}

static void *
ruby_thread(void *unused)
{
    while (!over_p()) {
        vm_lock();
        for (int i = 0; i < 50; i++) vm_allocate();
        add(&counts.allocations, 50);
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
        for (int i = 0; i < 20; i++) vm_free();
        nap(500);
    }
    return NULL;
}

static void *
snapshot_thread(void *name)
{
    struct hs_malloc_table_stat stat;
    while (!over_p()) {
        vm_settle();
        snapshot(name);
        rb_hs_malloc_table_stat(&stat);
        nap(3000);
    }
    return NULL;
}

/* -- the statements --------------------------------------------------------------- */

static void
run_threads(int seconds)
{
    pthread_t threads[7];
    int count = 0;
    for (int i = 0; i < 2; i++) pthread_create(&threads[count++], NULL, ruby_thread, NULL);
    for (int i = 0; i < 2; i++) pthread_create(&threads[count++], NULL, ractor, NULL);
    static const char *const names[] = { "a.pb.gz", "b.json", "c.folded" };
    for (int i = 0; i < 3; i++) pthread_create(&threads[count++], NULL, snapshot_thread, (void *)names[i]);
    sleep((unsigned)seconds);
    __atomic_store_n(&over, true, __ATOMIC_RELAXED);
    while (count-- > 0) pthread_join(threads[count], NULL);
}

int
main(int argc, char **argv)
{
    if (argc != 3) return 2;
    folder = argv[1];
    vm_boot();
    snprintf(rb_hs_options.output, sizeof(rb_hs_options.output), "%s/every-%%p.pb.gz", folder);
    rb_hs_options.every = 1;
    rb_hs_options.max_samples = 4000;
    vm_lock();
    start();
    vm_unlock();

    run_threads(atoi(argv[2]));
    printf("# %llu allocations, %llu collections, %llu changes, %llu forks; %llu snapshots with %llu rows of malloc, %llu when off, %llu without room\n",
           (unsigned long long)counts.allocations, (unsigned long long)counts.collections, (unsigned long long)counts.changes,
           (unsigned long long)counts.forks, (unsigned long long)counts.snapshots, (unsigned long long)counts.rows,
           (unsigned long long)counts.refused, (unsigned long long)counts.without_room);
    ok(counts.collections && counts.changes && counts.snapshots && counts.refused && counts.rows && counts.forks,
       "all of it happened");
    ok(!counts.wrong, "each block stands on the stack that allocated it");
    ok(!counts.unsaved && counts.without_room * 4 < counts.snapshots, "every profile is written for which there is memory");
    ok(!counts.failed_forks, "every child takes a snapshot of its own");

    vm_lock();
    rb_hs_check(HS_CHECK_ANY);
    for (int s = 0; s < HS_SESSIONS; s++) {
        if (!rb_hs_sampler.session[s].on) continue;
        if (s == HS_MAIN) stop();
        else rb_hs_session_stop(s);
    }
    vm_unlock();
    ok(!rb_hs_pages.records && !rb_hs_pages.count, "after the last stop no record is left");
    ok(!rb_hs_memory_bytes(HS_MEM_TOTALS) || rb_hs_sampler.sites, "nor the totals of a session");
    ok(!rb_hs_memory_bytes(HS_MEM_SNAPSHOTS), "nor anything of a snapshot");
    vm_free_pages();
    return tap_finish();
}

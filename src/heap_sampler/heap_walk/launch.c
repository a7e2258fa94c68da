/* See heap_walk/launch.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/kernel.h"
#include "heap_sampler/heap_walk/launch.h"
#include "heap_sampler/memory/smaps.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/contract.h"
#include "heap_sampler/base/libraries.h"
#include "heap_sampler/base/proc.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { DEADLINE_S = 30,
       BYTES_A_SLOT = 6,
       NAP_LEAST_NS = 1000000,
       NAP_MOST_NS = 20000000,
       RESERVE_LEAST = 32 << 20,
       RESERVE_PART = 8,
       STOP_MOST_MS = 50,       /* of the program, by a walk that begins by itself */
       MEASURED_PAGES = 1 << 16 };
static const uint64_t second_ns = 1000000000;
static const uint64_t other_bytes = 24 << 20;   /* names, and what the child itself writes to */

/* The walk that is under way: no other is prepared meanwhile.  Atomic, acquired and released as a lock. */
static struct hs_walk_child *current;
static bool no_more;
static bool last_killed;        /* for want of memory */

/* -- before ------------------------------------------------------------------------------------ */

/* Only a walk that a person requests may begin though not everything fits. Then the reserve must be left when the child ends. It
 * covers what the program writes between two looks, and while the kernel takes the child's memory apart: about a 15th of the time
 * that copying it takes. */
static enum hs_refusal
memory_refusal(struct hs_walk_child *child, bool by_itself)
{
    struct hs_retainers *into = child->into;
    uint64_t tables = rb_hs_slots(false) * BYTES_A_SLOT + other_bytes, copies = rb_hs_memory_status("", "RssAnon") + rb_hs_memory_status("", "VmSwap");
    uint64_t reserve = RESERVE_LEAST + copies / RESERVE_PART;
    into->estimate = tables + copies;
    into->demand = into->estimate + RESERVE_LEAST;
    child->reserve = RESERVE_LEAST;
    child->fits = !rb_hs_memory_short_p("", into->demand, into->demand, &into->room);
    if (child->fits) return HS_REFUSED_NONE;
    if (!by_itself && tables + reserve * 3 / 2 < into->demand) {
        uint64_t all = into->demand;
        child->reserve = reserve;
        into->demand = tables + reserve * 3 / 2;
        if (!rb_hs_memory_short_p("", into->demand, all, &into->room)) return HS_REFUSED_NONE;
        if (into->room.kills_group) into->demand = all;
    }
    return into->room.kills_group ? HS_REFUSED_KILLS_GROUP : HS_REFUSED_SHORT_OF_MEMORY;
}

/* The stop is mostly the fork, which copies an entry of the page tables for each page: 81 to 101 ns of CPU time for
 * 50 to 2,000 MiB (clone(2), medians of 15, Linux 6.18), and 4 ns with huge pages. The whole stop of a Ruby process
 * has the barrier and the copies of the tables as well: 116 to 277 ns of wall time for 590 to 1,790 MiB (medians of 7
 * walks, other programs running). So 200 ns are the first guess. Each walk of many pages leads half of the way to its
 * stop and a quarter more, or to twice the CPU time of its fork if that is less: one measure may be far off, and one
 * stop on a busy machine must not end all walks. The estimate is multiplied by the threads that want a processor, for
 * each processor. Before that, walks that began by themselves stopped programs for 251 ms (1,123 MiB, load 5) and 881
 * ms (815 MiB, load 20). It is an estimate and no limit: a hypervisor that takes the processor away is not seen.
 * STOP_MOST_MS is reached at some 1 GiB on an idle machine; a later profile tries again, and a person may request the
 * walk. */
static uint64_t stop_ns_per_page = 200;

static bool
long_stop_p(const struct hs_walk_child *child)
{
    child->into->stop_estimate_ns = (uint64_t)((double)(child->pages * stop_ns_per_page) * rb_hs_demand_for_processors());
    return child->into->stop_estimate_ns > STOP_MOST_MS * HS_MS_NS;
}

static enum hs_refusal
refusal(struct hs_walk_child *child, bool by_itself)
{
    child->pages = rb_hs_memory_status("", "VmPTE") / sizeof(uint64_t);
    if (no_more) return HS_REFUSED_AT_EXIT;
    if (by_itself && last_killed) return HS_REFUSED_AFTER_KILL;
    if (by_itself && long_stop_p(child)) return HS_REFUSED_LONG_STOP;
    return rb_during_gc() ? HS_REFUSED_IN_GC : memory_refusal(child, by_itself);
}

static void
release(struct hs_walk_child *child)
{
    if (!child->into->found) rb_hs_found_unmap(child->found, child->wanted.count);
    __atomic_store_n(&current, NULL, __ATOMIC_RELEASE);
}

bool
rb_hs_retainers_prepare(struct hs_walk_child *child, struct hs_retainers *into, unsigned seconds, bool by_itself)
{
    HS_CONTRACT(gvl);
    struct hs_walk_child *none = NULL;
    *child = (struct hs_walk_child){.deadline_ns = (seconds ? seconds : DEADLINE_S) * second_ns, .into = into};
    *into = (struct hs_retainers){.refusal = HS_REFUSED_UNDER_WAY};
    rb_hs_libraries_refresh();          /* for the child, which may not */
    if (!__atomic_compare_exchange_n(&current, &none, child, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return false;
    into->refusal = refusal(child, by_itself);
    if (into->refusal) release(child);
    else rb_heap_sampler_gc_settle();
    return !into->refusal;
}

/* -- the fork --------------------------------------------------------------------------------------- */

/* abort(3) and raise(3) of musl signal the thread whose number its struct has: in the child that would be a thread of the
 * parent. The number is among the first words of the struct. */
static void
correct_thread_number(pid_t of_parent)
{
#ifndef __GLIBC__
    volatile int *words = (volatile int *)pthread_self();
    for (int i = 0; i < 32; i++) {
        if (words[i] == of_parent) words[i] = (int)syscall(SYS_gettid);
    }
#else
    (void)of_parent;
#endif
}

/* Some mark functions free blocks (of WeakMap and of call caches), or allocate (of extensions), and the child must not
 * wait for a lock of malloc's that another thread of its parent held. With another malloc than ours it may; its
 * deadline ends it then. Our hooks of malloc leave at once in the child. */
static pid_t
clone_with_malloc(void)
{
    pid_t thread = (pid_t)syscall(SYS_gettid);
    rb_hs_malloc_fork.before();
    long pid = syscall(SYS_clone, (unsigned long)CLONE_UNTRACED, 0UL, 0UL, 0UL, 0UL);
    if (pid == 0) correct_thread_number(thread);
    if (pid == 0) rb_hs_malloc_fork.in_child();
    else rb_hs_malloc_fork.in_parent();
    return (pid_t)pid;
}

/* Not fork(2): no handler of pthread_atfork runs, and the child's end sends no signal, so that wait(2) for any child
 * does not see it; nor does a tracer of this process. */
void
rb_hs_retainers_fork(struct hs_walk_child *child, const struct hs_wanted *wanted)
{
    HS_CONTRACT(vm);
    sigset_t all, before;
    pid_t parent = getpid();
    child->wanted = *wanted;
    child->begun_ns = rb_hs_steady_ns();
    child->found = rb_hs_found_map(wanted->count);
    if (!child->found) return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    uint64_t began = rb_hs_thread_cpu_ns();
    pid_t pid = clone_with_malloc();
    if (pid == 0) rb_hs_child_run(child, parent);
    uint64_t twice_cpu = (rb_hs_thread_cpu_ns() - began) * 2;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    child->pid = pid > 0 ? pid : 0;
    uint64_t stop = child->into->hold_up_ns = rb_hs_steady_ns() - child->begun_ns, more = stop + stop / 4;
    if (child->pages >= MEASURED_PAGES) stop_ns_per_page = (stop_ns_per_page + (more < twice_cpu ? more : twice_cpu) / child->pages) / 2;
}

/* -- after ------------------------------------------------------------------------------------------- */

static uint64_t
ns_of(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_usec * 1000;
}

static void
look(struct hs_walk_child *child, int flags)
{
    pid_t pid;
    struct rusage used = {0};
    do {
        pid = wait4(child->pid, &child->status, __WCLONE | flags, &used);
    } while (pid < 0 && errno == EINTR);
    child->into->cpu_ns = ns_of(&used.ru_utime) + ns_of(&used.ru_stime);
    if (pid < 0) child->status = HS_REFUSED_BROKEN << 8;    /* the program waited for it with __WALL */
    child->ended = pid != 0;
}

static void
kill_child(struct hs_walk_child *child)
{
    kill(child->pid, SIGKILL);
    look(child, 0);
}

/* An extension may have ended the child with any status. */
static enum hs_refusal
refusal_of(int status)
{
    if (WIFSIGNALED(status)) {
        int signal = WTERMSIG(status);
        return signal == SIGALRM ? HS_REFUSED_DEADLINE : signal == SIGKILL ? HS_REFUSED_KILLED
                                                                           : HS_REFUSED_CRASHED;
    }
    enum hs_refusal refusal = (enum hs_refusal)WEXITSTATUS(status);
    return refusal == HS_REFUSED_NONE || refusal == HS_REFUSED_NO_ROOM || refusal == HS_REFUSED_RAN_SHORT ? refusal : HS_REFUSED_BROKEN;
}

bool
rb_hs_retainers_wait(struct hs_walk_child *child, const volatile bool *interrupted)
{
    uint64_t nap = NAP_LEAST_NS;
    if (!child->pid) return true;
    for (;;) {
        if (!child->ended) look(child, WNOHANG);
        if (!child->ended && rb_hs_steady_ns() - child->begun_ns >= child->deadline_ns) {
            kill_child(child);
            child->status = SIGALRM;    /* as if an alarm had ended it */
        }
        if (child->ended || *interrupted) return child->ended;
        nanosleep(&(struct timespec){0, (long)nap}, NULL);
        if (nap < NAP_MOST_NS) nap *= 2;
    }
}

static enum hs_refusal
outcome(struct hs_walk_child *child)
{
    if (!child->pid) return HS_REFUSED_NO_CHILD;
    if (!child->ended) {
        kill_child(child);
        return HS_REFUSED_CANCELLED;
    }
    if (WIFSIGNALED(child->status)) child->into->signal = WTERMSIG(child->status);
    return refusal_of(child->status);
}

void
rb_hs_retainers_end(struct hs_walk_child *child)
{
    struct hs_retainers *into = child->into;
    struct hs_found *found = child->found;
    into->refusal = outcome(child);
    last_killed = into->refusal == HS_REFUSED_RAN_SHORT || into->refusal == HS_REFUSED_KILLED || (last_killed && into->refusal);
    if (found) into->figures = found->figures;
    if (into->refusal == HS_REFUSED_NONE) rb_hs_found_check(found, child->wanted.count, into);
    else if (into->refusal == HS_REFUSED_RAN_SHORT) into->room = found->room;
    else if (into->refusal == HS_REFUSED_CRASHED || into->refusal == HS_REFUSED_DEADLINE) {
        snprintf(into->type, sizeof(into->type), "%.*s", (int)sizeof(into->type) - 1, found->type);
    }
    into->ns = rb_hs_steady_ns() - child->begun_ns;
    release(child);
}

void
rb_hs_retainers_no_more(void)
{
    no_more = true;
}

void
rb_hs_retainers_after_fork(void)
{
    struct hs_walk_child *theirs = current;
    rb_hs_walks_forget();
    if (!theirs) return;
    rb_hs_found_unmap(theirs->found, theirs->wanted.count);
    current = NULL;
}

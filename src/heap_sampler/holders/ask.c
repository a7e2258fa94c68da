/* See holders/ask.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/holders/ask.h"
#include "heap_sampler/account/cgroup.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/must.h"
#include "heap_sampler/holders/answer.h"
#include "heap_sampler/holders/child.h"
#include "heap_sampler/native/malloc_fork.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { DEADLINE_S = 30,
       GRACE_S = 2,             /* for the alarm to end the child by itself */
       BYTES_A_SLOT = 6,
       NAP_LEAST_NS = 1000000,
       NAP_MOST_NS = 20000000 };
static const uint64_t second_ns = 1000000000;
static const uint64_t other_bytes = 16 << 20;   /* names, and pages that the kernel copies because one of the two writes */

/* The one that is under way: nobody else prepares meanwhile. */
static struct hs_holders_child *current;
static bool no_more;

/* -- before ------------------------------------------------------------------------------------ */

static uint64_t
estimate_bytes(void)
{
    struct rb_heap_sampler_gc_counts counts;
    uint64_t slots = 0;
    rb_heap_sampler_gc_counts(&counts);
    for (uint32_t i = 0; i < counts.heap_count; i++) slots += counts.heap[i].total_slots;
    return slots * BYTES_A_SLOT + other_bytes;
}

static bool
memory_short_p(uint64_t estimate)
{
    struct hs_memory_limit limit;
    if (!rb_hs_memory_limit_read("", 0, &limit)) return false;
    return limit.bytes < limit.used || limit.bytes - limit.used < estimate * 2;
}

static enum hs_refusal
refusal(struct hs_holders *into)
{
    into->estimate = estimate_bytes();
    if (no_more) return HS_REFUSED_AT_EXIT;
    if (rb_during_gc()) return HS_REFUSED_IN_GC;
    return memory_short_p(into->estimate) ? HS_REFUSED_SHORT_OF_MEMORY : HS_REFUSED_NONE;
}

static void
release(struct hs_holders_child *child)
{
    if (child->progress) munmap(child->progress, sizeof(*child->progress));
    if (child->memfd >= 0) close(child->memfd);
    child->progress = NULL;
    child->memfd = -1;
    __atomic_store_n(&current, NULL, __ATOMIC_RELEASE);
}

static bool
share_memory(struct hs_holders_child *child)
{
    void *shared = mmap(NULL, sizeof(*child->progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    child->progress = shared == MAP_FAILED ? NULL : shared;
    child->memfd = memfd_create("ruby-why", MFD_CLOEXEC);
    return child->progress && child->memfd >= 0;
}

bool
rb_hs_holders_prepare(struct hs_holders_child *child, struct hs_holders *into, unsigned seconds)
{
    HS_CONTRACT(gvl);
    struct hs_holders_child *none = NULL;
    *child = (struct hs_holders_child){.memfd = -1, .deadline_ns = (seconds ? seconds : DEADLINE_S) * second_ns, .into = into};
    *into = (struct hs_holders){.refusal = HS_REFUSED_UNDER_WAY};
    if (!__atomic_compare_exchange_n(&current, &none, child, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return false;
    into->refusal = refusal(into);
    if (!into->refusal && !share_memory(child)) into->refusal = HS_REFUSED_NO_CHILD;
    if (into->refusal) release(child);
    else rb_heap_sampler_gc_settle();
    return !into->refusal;
}

/* -- the fork --------------------------------------------------------------------------------------- */

/* Some mark functions free what is dead, or allocate, and the child must not wait for a lock of malloc's that a thread holds
 * which it has not. */
static pid_t
clone_with_malloc(void)
{
    rb_hs_malloc_before_fork();
    long pid = syscall(SYS_clone, 0UL, 0UL, 0UL, 0UL, 0UL);
    if (pid == 0) rb_hs_malloc_after_fork_in_child();
    else rb_hs_malloc_after_fork_in_parent();
    return (pid_t)pid;
}

/* Not fork(2): no handler of pthread_atfork runs, and the child's end sends no signal, so that wait(2) for any child
 * does not see it. */
void
rb_hs_holders_fork(struct hs_holders_child *child, const struct hs_wanted *wanted)
{
    HS_CONTRACT(vm);
    struct hs_child_order order = {child->memfd, (unsigned)(child->deadline_ns / second_ns), child->progress, wanted};
    sigset_t all, before;
    child->wanted = *wanted;
    child->begun_ns = rb_hs_steady_ns();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = clone_with_malloc();
    if (pid == 0) rb_hs_child_run(&order);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    child->pid = pid > 0 ? pid : 0;
    child->into->hold_up_ns = rb_hs_steady_ns() - child->begun_ns;
}

/* -- after ------------------------------------------------------------------------------------------- */

static uint64_t
ns_of(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_usec * 1000;
}

static void
look(struct hs_holders_child *child, int flags)
{
    pid_t pid;
    struct rusage used = {0};
    do {
        pid = wait4(child->pid, &child->status, __WCLONE | flags, &used);
    } while (pid < 0 && errno == EINTR);
    child->into->cpu_ns = ns_of(&used.ru_utime) + ns_of(&used.ru_stime);
    if (pid < 0) child->status = HS_CHILD_NOT_WRITTEN << 8;     /* somebody waited for it with __WALL */
    child->ended = pid != 0;
}

static void
kill_child(struct hs_holders_child *child)
{
    kill(child->pid, SIGKILL);
    look(child, 0);
}

static enum hs_refusal
refusal_of(const struct hs_holders_child *child, int status)
{
    if (WIFSIGNALED(status)) {
        child->into->signal = WTERMSIG(status);
        return WTERMSIG(status) == SIGALRM ? HS_REFUSED_DEADLINE : HS_REFUSED_CRASHED;
    }
    switch (WEXITSTATUS(status)) {
    case HS_CHILD_DONE: return HS_REFUSED_NONE;
    case HS_CHILD_NO_ROOM: return HS_REFUSED_NO_ROOM;
    default: return HS_REFUSED_BROKEN;
    }
}

/* It ends by itself at the deadline, unless it is stopped. */
static void
watch_deadline(struct hs_holders_child *child)
{
    if (rb_hs_steady_ns() - child->begun_ns < child->deadline_ns + GRACE_S * second_ns) return;
    kill_child(child);
    child->status = SIGALRM;
}

bool
rb_hs_holders_wait(struct hs_holders_child *child, const volatile bool *interrupted)
{
    uint64_t nap = NAP_LEAST_NS;
    if (!child->pid) return true;
    for (;;) {
        if (!child->ended) look(child, WNOHANG);
        if (!child->ended) watch_deadline(child);
        if (child->ended || *interrupted) return child->ended;
        nanosleep(&(struct timespec){0, (long)nap}, NULL);
        if (nap < NAP_MOST_NS) nap *= 2;
    }
}

static enum hs_refusal
outcome(struct hs_holders_child *child)
{
    if (!child->pid) return HS_REFUSED_NO_CHILD;
    if (child->ended) return refusal_of(child, child->status);
    kill_child(child);
    return HS_REFUSED_CANCELLED;
}

void
rb_hs_holders_end(struct hs_holders_child *child)
{
    struct hs_holders *into = child->into;
    into->refusal = outcome(child);
    into->figures.objects = child->progress->objects;
    into->figures.edges = child->progress->edges;
    if (into->refusal == HS_REFUSED_NONE) {
        rb_hs_answer_read(child->memfd, child->wanted.objects, child->wanted.blocks, into);
    }
    else if (into->refusal == HS_REFUSED_CRASHED || into->refusal == HS_REFUSED_DEADLINE) {
        snprintf(into->type, sizeof(into->type), "%.*s", (int)sizeof(into->type) - 1, child->progress->type);
    }
    into->ns = rb_hs_steady_ns() - child->begun_ns;
    release(child);
}

void
rb_hs_holders_no_more(void)
{
    no_more = true;
}

void
rb_hs_holders_after_fork(void)
{
    struct hs_holders_child *theirs = current;
    if (!theirs) return;
    if (theirs->progress) munmap(theirs->progress, sizeof(*theirs->progress));
    if (theirs->memfd >= 0) close(theirs->memfd);
    current = NULL;
}

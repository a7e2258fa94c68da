/*
 * What the forked child does, from its first instruction to its last: see heap_walk/launch.h.
 *
 * It takes default signals and makes no core.  It closes all files: a copy of a socket would keep the
 * connection open.  When memory is short it is to be killed first.  It looks now and then whether its
 * parent is still there: PR_SET_PDEATHSIG would kill it when the thread that made it ends.  The parent
 * ends it at its deadline.
 */
#include "heap_sampler/mri.h"
#include "heap_sampler/memory/smaps.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/report.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/heap_walk/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

enum { LOOK_US = 10000,
       LOOK_STACK = 64 << 10 };

/* -- manners --------------------------------------------------------------------------------- */

static const struct hs_walk_child *watched;
static pid_t parent_pid;

/* A signal handler, since the child may be in a mark function for as long as that takes. */
static void
look_around(int number)
{
    int error = errno;
    (void)number;
    if (getppid() != parent_pid) _exit(HS_REFUSED_BROKEN);
    if (rb_hs_memory_short_p("", watched->reserve, watched->reserve, &watched->found->room)) _exit(HS_REFUSED_RAN_SHORT);
    errno = error;
}

/* Ruby's handlers are of a process that this one is not; a crash ends it, without a report and without a core. All signals
 * were blocked by the parent. The handler has a stack of its own, since the child's may be a fiber's. */
static void
take_default_signals(const struct hs_walk_child *child, pid_t parent)
{
    struct sigaction by_default = {.sa_handler = SIG_DFL}, look = {.sa_handler = look_around, .sa_flags = SA_RESTART | SA_ONSTACK};
    struct itimerval often = {{0, LOOK_US}, {0, LOOK_US}};
    stack_t stack = {.ss_sp = rb_hs_arena_map(LOOK_STACK), .ss_size = LOOK_STACK};
    struct rlimit none = {0, 0};
    sigset_t all;
    watched = child;
    parent_pid = parent;
    for (int number = 1; number < NSIG; number++) sigaction(number, &by_default, NULL);
    setrlimit(RLIMIT_CORE, &none);
    if (stack.ss_sp) sigaltstack(&stack, NULL);
    sigaction(SIGALRM, &look, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    sigfillset(&all);
    sigprocmask(SIG_UNBLOCK, &all, NULL);
}

/* If memory gets short the kernel is to end this process, and none other. */
static void
give_way(bool nice)
{
    enum { NICER = 10 };
    if (nice) setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + NICER);
    prctl(PR_SET_NAME, "ruby-why", 0, 0, 0);
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, "1000", 4) < 0) return;     /* then the kernel chooses */
    close(fd);
}

/* -- the work ----------------------------------------------------------------------------------- */

static struct hs_walk walk;
static struct hs_chains chains;
static uint32_t *owners;        /* by position: the number of the object, or of the object that the block belongs to */

/* Stuck threads and fibers first, whether they retain a sample or not. */
static void
name_all(const struct hs_wanted *wanted)
{
    uint32_t number;
    for (uint32_t at = 0; (number = rb_hs_waiters_next_stuck(&at));) rb_hs_chain_mark(&chains, number);
    for (uint32_t i = 0; i < wanted->count; i++) rb_hs_chain_mark(&chains, owners[i]);
    for (uint32_t at = 0; (number = rb_hs_waiters_next_stuck(&at));) rb_hs_chain_node_of(&chains, number);
    for (uint32_t i = 0; i < wanted->count; i++) walk.found->samples[i].node = rb_hs_chain_node_of(&chains, owners[i]);
    rb_hs_chains_count_entries(&chains);
    rb_hs_pins_name(&chains, wanted);
}

static bool
prepare(const struct hs_wanted *wanted, struct hs_found *found)
{
    owners = rb_hs_arena_map(wanted->count * sizeof(*owners));
    if (!owners || !rb_hs_walk_make(&walk, found) || !rb_hs_chains_make(&chains, &walk)) return false;
    for (uint32_t i = 0; i < wanted->objects; i++) {
        owners[i] = hs_index_number(&walk.index, (VALUE)wanted->sample(wanted->data, i).address);
    }
    return rb_hs_blocks_make(&walk, wanted, owners) && rb_hs_pins_read(&walk, wanted, owners) && rb_hs_roots_read(&walk) && rb_hs_waiters_read(&walk);
}

static enum hs_refusal
look_for_all(const struct hs_walk_child *child)
{
    const struct hs_wanted *wanted = &child->wanted;
    struct hs_walk_figures *figures = &child->found->figures;
    uint64_t begun = rb_hs_steady_ns();
    if (!prepare(wanted, child->found)) return HS_REFUSED_NO_ROOM;
    rb_hs_roots_walk(&walk);
    rb_hs_waiters_settle(&walk);
    rb_hs_blocks_follow();
    uint64_t walked = rb_hs_steady_ns();
    name_all(wanted);
    uint64_t named = rb_hs_steady_ns();
    figures->walk_ns = walked - begun;
    figures->name_ns = named - walked;
    figures->child_bytes = rb_hs_arena_resident();
    figures->slots = walk.index.slots;
    const struct hs_walk_figures of_first_walk = *figures;
    rb_hs_without(&chains, wanted, owners, begun + child->deadline_ns / 2);
    *figures = of_first_walk;
    figures->without_ns = rb_hs_steady_ns() - named;
    return HS_REFUSED_NONE;
}

void
rb_hs_child_run(const struct hs_walk_child *child, pid_t parent)
{
    rb_hs_memory_inside = true;
    take_default_signals(child, parent);
    rb_hs_descriptors_close_all();
    give_way(child->fits);
    _exit(look_for_all(child));
}

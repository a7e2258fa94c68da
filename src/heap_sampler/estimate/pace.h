#ifndef HEAP_SAMPLER_ESTIMATE_PACE_H
#define HEAP_SAMPLER_ESTIMATE_PACE_H
/*
 * interval=auto: how long the interval is to be, so that samples cost what a
 * budget allows.
 *
 * What samples have cost, in CPU time, is compared with a share of the process's
 * CPU time since the interval changed last.  Where it is more, the interval gets
 * longer at once: twice as long, or so much longer that the rate would have been
 * within the budget.  Where it was less than a quarter over a quarter of a second of CPU
 * time, the interval is halved.  Twice the interval takes half the samples of small
 * objects and no fewer of large ones; between the two bounds nothing changes.
 *
 *     cost / budget   0 ------- 1/4 ------------------- 1 --------->
 *                      halve it  |     leave it          |  lengthen it
 *
 * Estimates stay unbiased (doc/estimates.md): what is decided here follows from
 * samples that were taken, and holds for what is drawn after it.
 *
 * No MRI header; tested alone.  Contract: the owner's.
 */
#include <stdbool.h>
#include <stdint.h>

/* Bytes. It does not begin with the shortest: the first samples of a process, whose stacks are all new, cost several times
 * as much as later ones, and a program that ends soon would take 15% longer to start. */
#define HS_PACE_FIRST (UINT64_C(512) << 10)
#define HS_PACE_SHORTEST (UINT64_C(16) << 10)

/* The share of the CPU time that samples of slots may cost, and those of malloc. */
#define HS_PACE_BUDGET 0.001

struct hs_pace {
    double budget;              /* share of the CPU time */
    double sample_ns;           /* what a sample costs: a running mean */
    uint64_t since_ns;          /* CPU time of the process when the interval changed last */
    uint64_t samples;           /* taken since then */
};

/* A sample took so long. One that was interrupted counts as ten. */
void rb_hs_pace_cost(struct hs_pace *pace, double ns);
/* How long the interval is from now on, at this CPU time of the process. `full`: own memory has no room for more samples;
 * `roomy`: it has for twice as many. */
uint64_t rb_hs_pace_next(struct hs_pace *pace, uint64_t interval, uint64_t cpu_ns, bool full, bool roomy);

#endif

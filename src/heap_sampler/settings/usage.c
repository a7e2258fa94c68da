/*
 * The settings, as `ruby --help` lists them.
 */
#include "internal.h"
#include "internal/cmdlineopt.h"
#include "internal/heap_sampler.h"

#define M(setting, description) RUBY_OPT_MESSAGE(setting, "", description)

const struct ruby_opt_message rb_heap_sampler_messages[] = {
    M("interval=size", "Mean bytes between two samples, such as 64k; 1 to 1t.\n"
                       "Default: auto, which spends 0.2% of the CPU time."),
    M("output=path", "File or folder/ for profiles; none: write no file.\n"
                     "Default: heap-%p-%t.pb.gz (%p: process id, %t: time).\n"
                     "Formats: .pb.gz, .pb; `heapsample convert` makes others."),
    M("every=seconds", "Also write a profile every so many seconds.\n"
                       "Default: only at exit."),
    M("keep=number", "Number of periodic profiles to keep (default: all)."),
    M("diagnose=share", "Run major GCs and heap walks for periodic profiles, in this\n"
                        "share of the run time, such as 1% (default: off)."),
    M("at-rss=share|size", "Write one more profile when the cgroup uses this share of its\n"
                           "memory limit (80%), or this process this many resident bytes\n"
                           "(2g). Default: never."),
    M("max-samples=number", "Live samples at which the interval doubles\n"
                            "(default: 200000), or none."),
    M("max-depth=frames", "Frames of a stack to record, 1 to 4096 (default: 512)."),
    M("seed=number", "Seed of the sampling: each run takes the same samples\n"
                     "(default: random)."),
    M("only=1/number", "Sample one process in so many (default: 1/1)."),
    M("malloc=size", "Mean bytes of malloc between two samples (default: auto);\n"
                     "on, off, or standby (until GC::SampleProfile.start)."),
    M("quiet", "Do not report written profiles, and do not warn in children\n"
               "(default: off)."),
    M("socket=off", "Disable the control socket of `heapsample PID` (default: on)."),
    M("deploy=name", "Name of the deployed version, in each profile (default: none)."),
    M("usdt=on", "Sample while a tracer such as bpftrace is attached;\n"
                 "off,usdt=on: only then (default: off)."),
    M("on, off, standby", "Start sampling (default), do not sample, or wait until\n"
                          "`heapsample start`."),
    {NULL}};

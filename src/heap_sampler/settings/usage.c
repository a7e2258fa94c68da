/*
 * The settings, as `ruby --help` lists them.
 */
#include "internal.h"
#include "internal/cmdlineopt.h"
#include "internal/heap_sampler.h"

#define M(setting, description) RUBY_OPT_MESSAGE(setting, "", description)

const struct ruby_opt_message rb_heap_sampler_messages[] = {
    M("interval=size", "Mean bytes between two samples; auto, the default:\n"
                       "as many as 0.2% of the CPU time pays for."),
    M("output=path", "Where to write (default: heap-%p-%t.pb.gz);\n"
                     "%p is the process id, %t the time; none writes nothing.\n"
                     "Formats: .pb.gz, .pb (`heapsample convert` makes others)."),
    M("every=seconds", "Also write a profile every so many seconds."),
    M("keep=number", "Keep only so many of these."),
    M("why=share|number", "They say who keeps what, where that takes so much of the time\n"
                          "at most (default: 1%), or one in so many; off: none."),
    M("gc=share", "A major GC before such a profile, in so much of the time\n"
                  "at most (default: 1%); off asks for none."),
    M("at-rss=share|size", "Also write one, to ...-at-rss.pb.gz, when 80% of the cgroup's\n"
                           "memory limit is used, or when this process has 2g resident."),
    M("max-samples=number", "Double the interval at so many live samples\n"
                            "(default: 200000); none never does."),
    M("max-depth=frames", "Frames of a stack to keep (default: 512)."),
    M("seed=number", "Take the same samples in each run of the same program."),
    M("only=1/number", "Sample one process in so many."),
    M("malloc=size", "Sample malloc once in so many bytes (default: auto);\n"
                     "on, off, or standby (until GC::SampleProfile.start)."),
    M("quiet", "Do not tell of profiles; children say nothing at all."),
    M("socket=off", "Nobody may ask this process (heapsample PID)."),
    M("deploy=name", "Profiles say that they are of this deploy."),
    M("http=address:port", "Answer HTTP: /debug/pprof/heap, /metrics; unix:path, too."),
    M("http-token=path", "A file with the secret that whoever asks has to send."),
    M("usdt=on", "Sample while a tracer such as bpftrace is attached\n"
                 "(off,usdt=on: only then)."),
    M("on, off, standby", "Sample; do not; or not yet (until `heapsample start`)."),
    {NULL}};

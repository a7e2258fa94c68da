/* The settings, as `ruby --help` lists them. */
#include "internal.h"
#include "internal/cmdlineopt.h"
#include "internal/heap_sampler.h"

#define SETTING(name, of, read, field, most, must, value, help) RUBY_OPT_MESSAGE(name value, "", help),

const struct ruby_opt_message rb_heap_sampler_messages[] = {
#include "heap_sampler/settings/settings.inc"
    RUBY_OPT_MESSAGE("on, off, standby", "", "Start sampling (default), do not sample, or wait until\n"
                                             "`heapsample start`."),
    {NULL}};

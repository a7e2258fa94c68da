/*
 * jemalloc decides when it starts whether it can ever profile, and it starts
 * before main().  So the executable asks here from its .preinit_array, where
 * ld.so has done its work and nothing else has: no malloc, no Ruby, no library
 * has been initialised.  The settings are read again by Ruby, which reports errors.
 *
 * Only what is asked for on the command line, in RUBYOPT and in RUBY_HEAP_SAMPLE
 * can be known so early; a script's #! line cannot.  For such a script, and for
 * GC::SampleProfile.start in a process without these settings,
 * stat[:malloc_missing] names the setting that is missing.  The parser allocates
 * nothing.  Without sampling jemalloc's profiler stays closed.
 */
#include "heap_sampler/mri.h"
#include "heap_sampler/kernel.h"
#include "heap_sampler/settings/options.h"

#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

static struct hs_options options;

static const char *
variable(char **envp, const char *name)
{
    size_t len = strlen(name);
    for (; *envp; envp++) {
        if (strncmp(*envp, name, len) == 0 && (*envp)[len] == '=') return *envp + len + 1;
    }
    return NULL;
}

/* An option without settings means `on`; bad ones are worth `off` (settings/settings.c). */
static void
read_settings(const char *settings)
{
    char error[128];
    if (!rb_hs_options_parse(&options, *settings ? settings : "on", error, sizeof(error))) options.files.on = false;
}

/* If it is --heap-sample, with or without settings. */
static void
read_argument(const char *argument)
{
    static const char name[] = "--heap-sample";
    if (strncmp(argument, name, sizeof(name) - 1) != 0) return;
    argument += sizeof(name) - 1;
    if (*argument == '=') read_settings(argument + 1);
    else if (!*argument) read_settings("");
}

static void
read_rubyopt(const char *text)
{
    static char word[sizeof(options.files.output) + 256];
    while (text && *text) {
        size_t len = strcspn(text, " \t\n");
        if (len < sizeof(word)) {
            memcpy(word, text, len);
            word[len] = '\0';
            read_argument(word);
        }
        text += len;
        text += strspn(text, " \t\n");
    }
}

/* Does the argument after this one belong to it? */
static bool
takes_next(const char *argument)
{
    static const char *const long_options[] = {
        "--encoding", "--external-encoding", "--internal-encoding", "--enable", "--disable",
        "--dump", "--parser", "--backtrace-limit", "--crash-report"};
    for (size_t i = 0; i < sizeof(long_options) / sizeof(*long_options); i++) {
        if (strcmp(argument, long_options[i]) == 0) return true;
    }
    if (argument[1] == '-') return false;
    /* Short options stand together (-wne CODE); one with a value ends them. */
    for (const char *letter = argument + 1; *letter; letter++) {
        if (strchr("eICrXE", *letter)) return !letter[1];
        if (strchr("FKTWix0", *letter)) return false;
    }
    return false;
}

void
rb_heap_sampler_malloc_open(void)
{
    rb_hs_malloc_open(options.malloc_interval);
}

const char *
rb_heap_sampler_malloc_conf(int argc, char **argv, char **envp)
{
    static char conf[64];
    char *none[] = {NULL};
    if (getauxval(AT_SECURE)) envp = none;      /* setuid: the environment is another user's */

    rb_hs_options_default(&options);
    const char *text = variable(envp, "RUBY_HEAP_SAMPLE");
    if (text && *text) read_settings(text);
    read_rubyopt(variable(envp, "RUBYOPT"));
    for (int i = 1; i < argc && argv[i][0] == '-' && argv[i][1] && strcmp(argv[i], "--") != 0; i++) {
        read_argument(argv[i]);
        if (takes_next(argv[i])) i++;
    }

    bool standby = options.malloc_mode == HS_MALLOC_MODE_STANDBY || (options.standby && !options.files.on);
    if (options.malloc_mode == HS_MALLOC_MODE_OFF || !(options.files.on || standby)) return NULL;
    snprintf(conf, sizeof(conf), "prof:true,prof_active:%s,lg_prof_sample:%u", options.files.on && !standby ? "true" : "false",
             hs_lg(options.malloc_interval));
    return conf;
}

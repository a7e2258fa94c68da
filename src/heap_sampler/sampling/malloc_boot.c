/*
 * jemalloc decides when it starts whether it can ever profile, and it starts
 * before main().  So the executable asks here from its .preinit_array, where
 * ld.so has done its work and nothing else has: no malloc, no Ruby, no library
 * has been initialised.  The settings are read again, by Ruby, with errors told.
 *
 * Only what is asked for on the command line, in RUBYOPT and in
 * RUBY_HEAP_SAMPLE can be known so early; a script's #! line cannot.
 */
#include "heap_sampler/mri.h"
#include "heap_sampler/sampling/malloc_hooks.h"
#include "heap_sampler/base/options.h"

#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

static const char *
variable(char **envp, const char *name)
{
    size_t len = strlen(name);
    for (; *envp; envp++) {
        if (strncmp(*envp, name, len) == 0 && (*envp)[len] == '=') return *envp + len + 1;
    }
    return NULL;
}

/* What follows --heap-sample in an argument: the settings, or "" if it has
 * none. NULL: the argument is another. */
static const char *
settings_in(const char *argument)
{
    static const char name[] = "--heap-sample";
    if (strncmp(argument, name, sizeof(name) - 1) != 0) return NULL;
    argument += sizeof(name) - 1;
    if (*argument == '=') return argument + 1;
    return *argument ? NULL : "";
}

/* An option without settings means `on`; bad ones are worth `off` (heap_sampler.c). */
static void
read_settings(struct hs_options *options, const char *settings)
{
    char error[128];
    if (!rb_hs_options_parse(options, *settings ? settings : "on", error, sizeof(error))) options->files.on = false;
}

static void
read_rubyopt(struct hs_options *options, const char *text)
{
    static char word[sizeof(options->files.output) + 256];
    while (text && *text) {
        size_t len = strcspn(text, " \t\n");
        if (len && len < sizeof(word)) {
            memcpy(word, text, len);
            word[len] = '\0';
            const char *settings = settings_in(word);
            if (settings) read_settings(options, settings);
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
        "--encoding",
        "--external-encoding",
        "--internal-encoding",
        "--enable",
        "--disable",
        "--dump",
        "--parser",
        "--backtrace-limit",
        "--crash-report",
    };
    if (argument[1] == '-') {
        for (size_t i = 0; i < sizeof(long_options) / sizeof(*long_options); i++) {
            if (strcmp(argument, long_options[i]) == 0) return true;
        }
        return false;
    }
    /* Short options stand together (-wne CODE); one with a value ends them. */
    for (const char *letter = argument + 1; *letter; letter++) {
        if (strchr("eICrXE", *letter)) return !letter[1];
        if (strchr("FKTWix0", *letter)) return false;
    }
    return false;
}

static void
read_arguments(struct hs_options *options, int argc, char **argv)
{
    for (int i = 1; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
        if (strcmp(argv[i], "--") == 0) return;
        const char *settings = settings_in(argv[i]);
        if (settings) read_settings(options, settings);
        if (takes_next(argv[i])) i++;
    }
}

static struct hs_options options;

void
rb_heap_sampler_malloc_open(void)
{
    rb_hs_malloc_open(options.malloc_interval);
}

const char *
rb_heap_sampler_malloc_conf(int argc, char **argv, char **envp)
{
    static char conf[64];
    const char *text;

    rb_hs_options_default(&options);
    char *none[] = {NULL};
    if (getauxval(AT_SECURE)) envp = none;      /* setuid: the environment is another user's */
    if ((text = variable(envp, "RUBY_HEAP_SAMPLE")) && *text) read_settings(&options, text);
    read_rubyopt(&options, variable(envp, "RUBYOPT"));
    read_arguments(&options, argc, argv);

    bool standby = options.malloc_mode == HS_MALLOC_MODE_STANDBY || (options.standby && !options.files.on);
    if (options.malloc_mode == HS_MALLOC_MODE_OFF || !(options.files.on || standby)) return NULL;
    unsigned lg = 0;
    /* the largest power of two up to it: sampling/malloc_hooks.c, adjust_draws */
    while (lg < 40 && UINT64_C(1) << (lg + 1) <= options.malloc_interval) lg++;
    snprintf(conf, sizeof(conf), "prof:true,prof_active:%s,lg_prof_sample:%u", options.files.on && !standby ? "true" : "false", lg);
    return conf;
}

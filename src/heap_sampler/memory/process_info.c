/*
 * See memory/account.h.
 *
 * Linux shows as command line what the process has in the memory of its
 * arguments.  There Ruby writes the title that a program gives itself ($0 = …),
 * as one text; else it is the arguments, with a NUL behind each.  Arguments may
 * be secret, or program text, so only the program's name is taken of them; the
 * script's name comes from Ruby.
 */
#include "heap_sampler/memory/account.h"
#include "heap_sampler/base/proc.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *
base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* Is `path` the program ruby, in any of its names? */
static bool
is_ruby(const char *path)
{
    return strncmp(base_name(path), "ruby", 4) == 0 && !strchr(base_name(path), ' ');
}

static char script[128];

void
rb_hs_identity_boot(const char *path)
{
    snprintf(script, sizeof(script), "%s", path ? base_name(path) : "");
}

void
rb_hs_title_of(const char *text, size_t length, struct hs_identity *identity)
{
    identity->title[0] = '\0';
    if (!length || text[length - 1]) return;    /* cut: what is at its end is not known to be whole */
    if (!is_ruby(text)) {
        snprintf(identity->title, sizeof(identity->title), "%s", *text == '/' ? base_name(text) : text);
        return;
    }
    snprintf(identity->title, sizeof(identity->title), *script ? "%s %s" : "%s", base_name(text), script);
}

/* Sets the folder of the Gemfile, if its path was not cut. */
static void
set_folder(struct hs_identity *identity, const char *gemfile)
{
    size_t length = strlen(gemfile);
    if (*gemfile != '/' || length >= sizeof(identity->gemfile) - 1) return;
    memcpy(identity->gemfile, gemfile, length + 1);
    *strrchr(identity->gemfile, '/') = '\0';
}

void
rb_hs_gemfile_of(const char *environ, struct hs_identity *identity)
{
    static const char name[] = "BUNDLE_GEMFILE=";
    char text[sizeof(name) + sizeof(identity->gemfile)], *variable;
    struct hs_lines variables;
    identity->gemfile[0] = '\0';
    if (!rb_hs_lines_open(&variables, environ, text, sizeof(text))) return;
    variables.separator = '\0';
    do variable = rb_hs_next_line(&variables);
    while (variable && strncmp(variable, name, sizeof(name) - 1) != 0);
    if (variable && !variables.cut) set_folder(identity, variable + sizeof(name) - 1);
    close(variables.fd);
}

void
rb_hs_identity_read(struct hs_identity *identity)
{
    char text[1024];
    *identity = (struct hs_identity){.parent_id = (uint64_t)getppid()};
    size_t length = rb_hs_proc_read("/proc/self/cmdline", text, sizeof(text));
    if (length) rb_hs_title_of(text, length + (text[length - 1] != '\0'), identity);
    if (gethostname(identity->host, sizeof(identity->host)) != 0) identity->host[0] = '\0';
    identity->host[sizeof(identity->host) - 1] = '\0';
    if (!getcwd(identity->directory, sizeof(identity->directory))) identity->directory[0] = '\0';
    rb_hs_gemfile_of("/proc/self/environ", identity);
}

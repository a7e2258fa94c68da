/*
 * Who a process is; see account/who.h.
 *
 * Linux shows as command line what the process has in the memory of its
 * arguments.  There Ruby writes the title that a program gives itself ($0 = …),
 * as one text; else it is the arguments, with a NUL behind each.  Arguments may
 * be secret, so of these only the program's and the script's names are taken.
 */
#include "heap_sampler/account/who.h"

#include <errno.h>
#include <fcntl.h>
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

/* The script among the arguments that follow the program: the first that is no option.  NULL: there is none, or it
 * is not certain, for an option may have an argument of its own. */
static const char *
script(const char *argument, const char *end)
{
    for (; argument < end && *argument; argument += strlen(argument) + 1) {
        if (*argument != '-') return argument;
        if (strlen(argument) == 2 && strchr("eICErFx", argument[1])) return NULL;
    }
    return NULL;
}

void
rb_hs_title_of(const char *text, size_t length, struct hs_who *who)
{
    const char *end = text + length, *behind = text + strnlen(text, length) + 1;
    who->title[0] = '\0';
    if (!length || text[length - 1]) return;    /* cut: what is at its end is not known to be whole */
    if (!is_ruby(text)) {
        snprintf(who->title, sizeof(who->title), "%s", *text == '/' ? base_name(text) : text);
        return;
    }
    const char *name = script(behind, end);
    snprintf(who->title, sizeof(who->title), name ? "%s %s" : "%s", base_name(text), name ? base_name(name) : "");
}

void
rb_hs_who_read(struct hs_who *who)
{
    char text[1024];
    ssize_t length = 0;

    *who = (struct hs_who){.parent_id = (uint64_t)getppid()};
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        do length = read(fd, text, sizeof(text) - 1);
        while (length < 0 && errno == EINTR);
        close(fd);
    }
    if (length > 0) {
        text[length] = '\0';
        rb_hs_title_of(text, (size_t)length + (text[length - 1] != '\0'), who);
    }
    if (gethostname(who->host, sizeof(who->host)) != 0) who->host[0] = '\0';
    who->host[sizeof(who->host) - 1] = '\0';
    if (!getcwd(who->directory, sizeof(who->directory))) who->directory[0] = '\0';
}

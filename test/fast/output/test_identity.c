/*
 * Who a process is: its title, from what Linux has of its command line.
 */
#include "tap.h"
#include "heap_sampler/memory/account.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TITLE(line, wanted) title(line, sizeof(line), wanted)

static void
title(const char *line, size_t length, const char *wanted)
{
    struct hs_identity identity;
    memset(&identity, 'x', sizeof(identity));
    rb_hs_title_of(line, length, &identity);
    is_text(identity.title, wanted, length ? line : "nothing");
}

#define GEMFILE(environ, wanted) gemfile(environ, sizeof(environ), wanted)

static void
gemfile(const char *environ, size_t length, const char *wanted)
{
    struct hs_identity identity;
    int ends[2];
    char path[64];
    memset(&identity, 'x', sizeof(identity));
    if (pipe(ends) != 0 || write(ends[1], environ, length) != (ssize_t)length) abort();
    close(ends[1]);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", ends[0]);
    rb_hs_gemfile_of(path, &identity);
    close(ends[0]);
    is_text(identity.gemfile, wanted, "the folder of the Gemfile");
}

/* Longer than what is read at once, and than what has room. */
static void
long_gemfiles(void)
{
    static char environ[2000];
    memset(environ, 'a', sizeof(environ));
    strcpy(environ + 600, "");
    strcpy(environ + 601, "BUNDLE_GEMFILE=/srv/shop/Gemfile");
    gemfile(environ, 700, "/srv/shop");
    strcpy(environ, "BUNDLE_GEMFILE=/");
    memset(environ + 16, 'a', 900);
    strcpy(environ + 900, "/Gemfile");
    gemfile(environ, 1000, "");
}

void
test_identity(void)
{
    GEMFILE("A=1\0BUNDLE_GEMFILE=/srv/shop/Gemfile\0B=2", "/srv/shop");
    GEMFILE("XBUNDLE_GEMFILE=/a/Gemfile\0BUNDLE_GEMFILE_=/b/Gemfile\0BUNDLE_GEM=/c/d", "");
    GEMFILE("BUNDLE_GEMFILE=Gemfile", "");
    GEMFILE("BUNDLE_GEMFILE=", "");
    GEMFILE("", "");
    long_gemfiles();

    TITLE("ruby\0app.rb", "ruby");
    rb_hs_identity_boot("-e");
    TITLE("ruby\0-we\0secret = 1", "ruby -e");
    TITLE("ruby\0-Ku\0-ne\0secret = 1", "ruby -e");
    rb_hs_identity_boot("/srv/bin/rails");
    TITLE("/usr/local/bin/ruby\0-W0\0--yjit\0-I\0lib\0/srv/bin/rails\0server\0-p\0"
          "3000",
          "ruby rails");
    TITLE("ruby3.4\0-S\0rails\0--password\0secret", "ruby3.4 rails");
    rb_hs_identity_boot(NULL);
    TITLE("ruby", "ruby");
    TITLE("puma: cluster worker 0: 17 [app]\0\0\0\0\0", "puma: cluster worker 0: 17 [app]");
    TITLE("sidekiq 7.3.0 app [1 of 10 busy]\0", "sidekiq 7.3.0 app [1 of 10 busy]");
    TITLE("rubyist: a title\0", "rubyist: a title");
    TITLE("/opt/bin/program\0secret", "program");
    title("ruby\0app", 8, "");
    title("", 0, "");

    struct hs_identity identity;
    char here[512];
    rb_hs_identity_read(&identity);
    ok(identity.parent_id == (uint64_t)getppid(), "the parent of this process");
    char host[256] = "";
    gethostname(host, sizeof(host) - 1);
    ok(*identity.host && strncmp(identity.host, host, 64) == 0, "its host: %s", identity.host);
    ok(getcwd(here, sizeof(here)) && !strcmp(identity.directory, here), "its folder");
    ok(identity.title[0] && !strchr(identity.title, '/'), "its title: %s", identity.title);
}

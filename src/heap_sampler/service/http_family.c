/* See service/http_family.h. */
#include "heap_sampler/service/http_family.h"
#include "heap_sampler/service/http_door.h"
#include "heap_sampler/service/percent.h"

#include <stdio.h>

static const uint64_t LOOKING_NS = UINT64_C(2000000000);
enum { MEMBER_MAX = 4096 };     /* bytes of an answer */

static struct hs_others *asked;
static uint64_t deadline_ns;

struct hs_others *
rb_hs_http_ask_family(const char *folder, const char *line, long pid, size_t most)
{
    char of[3 * HS_HTTP_TEXT_MAX + 1], whole[640];
    if (!*folder || rb_hs_http_address()->any_port || !rb_hs_percent_encode(rb_hs_http_text(), of, sizeof(of))) return NULL;
    snprintf(whole, sizeof(whole), "%s of=%s", line, of);
    return rb_hs_others_ask(folder, whole, pid, most);
}

static bool
any_member_p(void)
{
    for (size_t i = 0; asked && i < rb_hs_others_count(asked); i++) {
        if (rb_hs_other(asked, i).ok) return true;
    }
    return false;
}

void
rb_hs_http_look_for_family(const char *folder, uint64_t now_ns)
{
    if (!rb_hs_http_taken_p()) return;
    if (!asked) {
        asked = rb_hs_http_ask_family(folder, "heap-sample/1 member", 0, MEMBER_MAX);
        deadline_ns = now_ns + LOOKING_NS;
    }
    if (asked && !rb_hs_others_go_on(asked) && now_ns < deadline_ns) return;
    rb_hs_http_taken_by(any_member_p());
    rb_hs_http_looked();
}

int
rb_hs_http_looking_fd(void)
{
    return asked ? rb_hs_others_fd(asked) : -1;
}

void
rb_hs_http_looked(void)
{
    rb_hs_others_free(asked);
    asked = NULL;
}

void
rb_hs_http_family_after_fork(void)
{
    asked = NULL;
}

/* See service/http_pages.h. */
#include "heap_sampler/service/http_pages.h"
#include "heap_sampler/account/who.h"
#include "heap_sampler/base/locks.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/profile/encode.h"
#include "heap_sampler/profile/encode_metrics.h"
#include "heap_sampler/service/metrics.h"
#include "heap_sampler/sites/sampler.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* -- the index -------------------------------------------------------------------------- */

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Ruby heap</title>\n"
    "<style>body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:60em;padding:0 1em}"
    "td,th{padding:.1em 1em .1em 0;text-align:left;vertical-align:top}td.n{text-align:right}"
    "@media(prefers-color-scheme:dark){body{background:#111;color:#ddd}a{color:#8bf}}</style></head><body>\n"
    "<h1>Ruby heap</h1>\n";

static const char parameters[] =
    "<p>Parameters: <code>gc=1</code> runs a full GC first; <code>seconds=30</code> gives what changed in that time; "
    "<code>pid=N</code> asks another process of the table.</p>\n"
    "<pre>go tool pprof http://HOST/debug/pprof/heap\nheapsample http://HOST</pre>\n</body></html>\n";

static void
put_html(struct hs_buffer *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len;) {
        size_t bytes = rb_hs_utf8_length(text + i, len - i);
        unsigned char c = (unsigned char)text[i];
        if (c == '<' || c == '>' || c == '&' || c == '"') rb_hs_buffer_printf(out, "&#%u;", c);
        else if (!bytes || (bytes == 1 && (c < ' ' || c == 0x7f))) rb_hs_buffer_puts(out, "?");
        else rb_hs_buffer_append(out, text + i, bytes);
        i += bytes ? bytes : 1;
    }
}

struct row {
    long pid;
    uint64_t rss;
    bool sampled;
    const char *title;
    size_t title_len;
};

static void
put_row(struct hs_buffer *out, const struct row *row)
{
    rb_hs_buffer_printf(out, "<tr><td class=n>%ld</td><td class=n>%" PRIu64 " MiB</td><td>", row->pid, row->rss >> 20);
    put_html(out, row->title, row->title_len);
    rb_hs_buffer_puts(out, "</td><td>");
    if (row->sampled) {
        rb_hs_buffer_printf(out, "<a href=\"/debug/pprof/heap?pid=%ld\">heap</a> <a href=\"/debug/pprof/allocs?pid=%ld\">allocs</a> ", row->pid, row->pid);
    }
    else rb_hs_buffer_puts(out, "not sampled ");
    rb_hs_buffer_printf(out, "<a href=\"/metrics?pid=%ld\">metrics</a></td></tr>\n", row->pid);
}

static void
put_own_row(struct hs_buffer *out)
{
    struct hs_who who;
    rb_hs_who_read(&who);
    rb_hs_lock();
    bool on = rb_hs_sampler.session[HS_MAIN].on;
    rb_hs_unlock();
    put_row(out, &(struct row){(long)getpid(), rb_hs_resident_bytes(), on, who.title, strlen(who.title)});
}

/* "RSS SAMPLED TITLE" (answers.c). */
static void
put_row_of(struct hs_buffer *out, const struct hs_other *other)
{
    char text[64];
    int sampled, title = 0;
    struct row row = {.pid = other->pid};
    size_t len = other->len < sizeof(text) - 1 ? other->len : sizeof(text) - 1;
    memcpy(text, other->text, len);
    text[len] = '\0';
    if (sscanf(text, "%" SCNu64 " %d %n", &row.rss, &sampled, &title) != 2 || !title) return;
    row.sampled = sampled;
    row.title = other->text + title;
    row.title_len = other->len - (size_t)title;
    put_row(out, &row);
}

void
rb_hs_http_index(const struct hs_others *others, struct hs_buffer *out)
{
    rb_hs_buffer_puts(out, head);
    rb_hs_buffer_puts(out, "<p><a href=\"/metrics\">metrics</a> of all, for Prometheus; the profiles of each:</p>\n"
                           "<table><tr><th>pid</th><th>RSS</th><th>title</th><th></th></tr>\n");
    put_own_row(out);
    for (size_t i = 0; others && i < rb_hs_others_count(others); i++) {
        struct hs_other other = rb_hs_other(others, i);
        if (other.ok) put_row_of(out, &other);
    }
    rb_hs_buffer_puts(out, "</table>\n");
    rb_hs_buffer_puts(out, parameters);
}

/* -- metrics -------------------------------------------------------------------------------- */

void
rb_hs_http_metrics(const struct hs_others *others, bool own, bool open, struct hs_buffer *out)
{
    struct hs_metrics_part parts[HS_OTHERS_MAX + 1];
    struct hs_metrics metrics;
    struct hs_buffer part = {0};
    size_t count = 0;
    if (own) {
        rb_hs_metrics_take(&metrics);
        rb_hs_encode_metrics(&metrics, &part);
        parts[count++] = (struct hs_metrics_part){part.ptr, part.len};
        if (part.failed) out->failed = true;
    }
    for (size_t i = 0; others && i < rb_hs_others_count(others); i++) {
        struct hs_other other = rb_hs_other(others, i);
        if (other.ok) parts[count++] = (struct hs_metrics_part){other.text, other.len};
    }
    rb_hs_metrics_page(parts, count, open, out);
    rb_hs_buffer_free(&part);
}

/* -- the command line ------------------------------------------------------------------------- */

void
rb_hs_http_command(struct hs_buffer *out)
{
    char bytes[4096];
    ssize_t len;
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && (len = read(fd, bytes, sizeof(bytes))) > 0) rb_hs_buffer_append(out, bytes, (size_t)len);
    if (fd >= 0) close(fd);
    while (out->len && !out->ptr[out->len - 1]) out->len--;
}

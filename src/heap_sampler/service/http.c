/* See service/http.h. */
#include "heap_sampler/service/http.h"
#include "heap_sampler/service/percent.h"

#include <string.h>
#include <strings.h>

size_t
rb_hs_http_head_length(const char *text, size_t len)
{
    const char *end = text + len, *line = text;
    while ((line = memchr(line, '\n', (size_t)(end - line)))) {
        line++;
        if (line < end && *line == '\n') return (size_t)(line + 1 - text);
        if (line + 1 < end && line[0] == '\r' && line[1] == '\n') return (size_t)(line + 2 - text);
    }
    return 0;
}

/* -- words ------------------------------------------------------------------------ */

/* A character of a method or of a field's name. */
static bool
token_p(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool
all_token_p(const char *text)
{
    if (!*text) return false;
    while (token_p(*text)) text++;
    return !*text;
}

static bool
all_visible_p(const char *text)
{
    while (*text > ' ' && *text < 0x7f) text++;
    return !*text;
}

/* No control characters but tabs: what is not ASCII may stand in a field's value. */
static bool
all_printed_p(const char *text)
{
    for (; *text; text++) {
        if (((unsigned char)*text < ' ' && *text != '\t') || *text == 0x7f) return false;
    }
    return true;
}

/* Cuts the text at the first `mark`; what follows it, or NULL. */
static char *
cut_at(char *text, char mark)
{
    char *at = strchr(text, mark);
    if (!at) return NULL;
    *at = '\0';
    return at + 1;
}

/* Cuts the first line off, with its end. */
static char *
next_line(char **rest)
{
    char *line = *rest;
    *rest = cut_at(line, '\n');
    size_t len = strlen(line);
    if (len && line[len - 1] == '\r') line[len - 1] = '\0';
    return line;
}

/* -- the request line ------------------------------------------------------------------ */

static bool
read_parameters(struct hs_http_request *request, char *query)
{
    while (query) {
        char *next = cut_at(query, '&'), *value = cut_at(query, '=');
        if (!value) value = query + strlen(query);
        if (*query) {
            if (request->parameter_count == HS_HTTP_PARAMETERS_MAX) return false;
            if (!rb_hs_percent_decode(query, true) || !rb_hs_percent_decode(value, true)) return false;
            request->parameters[request->parameter_count++] = (struct hs_http_parameter){query, value};
        }
        query = next;
    }
    return true;
}

static int
read_version(struct hs_http_request *request, const char *version)
{
    request->newer = strcmp(version, "HTTP/1.1") == 0;
    if (request->newer || strcmp(version, "HTTP/1.0") == 0) return 0;
    return strncmp(version, "HTTP/", 5) == 0 ? 505 : 400;
}

static int
read_target(struct hs_http_request *request, char *target)
{
    if (*target != '/' || !all_visible_p(target)) return 400;
    char *query = cut_at(target, '?');
    request->path = target;
    return rb_hs_percent_decode(target, false) && read_parameters(request, query) ? 0 : 400;
}

static int
read_request_line(struct hs_http_request *request, char *line, const char **wrong)
{
    char *method = line, *target = cut_at(line, ' '), *version = target ? cut_at(target, ' ') : NULL;
    *wrong = "the request is not HTTP; it must begin with GET, a path and HTTP/1.1";
    if (!version || !all_token_p(method)) return 400;
    int status = read_version(request, version);
    if (status) return status;
    request->head = strcmp(method, "HEAD") == 0;
    request->post = strcmp(method, "POST") == 0;
    if (!request->head && !request->post && strcmp(method, "GET") != 0) {
        *wrong = "this method is not supported; use GET or HEAD";
        return 405;
    }
    *wrong = "the path is malformed; send one such as /debug/pprof/heap?gc=1";
    return read_target(request, target);
}

/* -- fields ----------------------------------------------------------------------------------- */

static char *
trim(char *text)
{
    while (*text == ' ' || *text == '\t') text++;
    size_t len = strlen(text);
    while (len && (text[len - 1] == ' ' || text[len - 1] == '\t')) text[--len] = '\0';
    return text;
}

/* One that may come once only. */
static bool
keep(const char **field, const char *value)
{
    if (**field) return false;
    *field = value;
    return true;
}

static bool
keep_field(struct hs_http_request *request, const char *name, const char *value)
{
    if (strcasecmp(name, "host") == 0) return keep(&request->host, value);
    if (strcasecmp(name, "authorization") == 0) return keep(&request->authorization, value);
    if (strcasecmp(name, "sec-fetch-site") == 0) return keep(&request->fetch_site, value);
    if (strcasecmp(name, "accept") == 0) request->accept = value;
    if (strcasecmp(name, "content-length") == 0) return request->post || strcmp(value, "0") == 0;
    return request->post || strcasecmp(name, "transfer-encoding") != 0;
}

static int
read_field(struct hs_http_request *request, char *line, const char **wrong)
{
    char *value = cut_at(line, ':');
    *wrong = "a header field is repeated, announces a body, or is not NAME: VALUE";
    if (!value || !all_token_p(line)) return 400;
    value = trim(value);
    return all_printed_p(value) && keep_field(request, line, value) ? 0 : 400;
}

/* -- all of it ------------------------------------------------------------------------------------- */

static int
read_lines(struct hs_http_request *request, char *rest, const char **wrong)
{
    int status = read_request_line(request, next_line(&rest), wrong);
    size_t fields = 0;
    while (!status && rest) {
        char *line = next_line(&rest);
        if (!*line) break;
        *wrong = "the request has more than 64 header fields";
        status = ++fields > HS_HTTP_FIELDS_MAX ? 431 : read_field(request, line, wrong);
    }
    if (!status && request->newer && !*request->host) {
        *wrong = "the request has no Host field; add one";
        return 400;
    }
    return status;
}

int
rb_hs_http_parse(const char *text, size_t len, struct hs_http_request *request, const char **wrong)
{
    request->parameter_count = 0;
    request->head = request->post = request->newer = false;
    request->path = request->host = request->authorization = request->accept = request->fetch_site = "";
    *wrong = "the header of the request is longer than 8,192 bytes";
    if (len > HS_HTTP_HEAD_MAX || rb_hs_http_head_length(text, len) != len) return 431;
    *wrong = "the request contains a NUL byte";
    if (memchr(text, '\0', len)) return 400;
    memcpy(request->text, text, len);
    request->text[len] = '\0';
    return read_lines(request, request->text, wrong);
}

const char *
rb_hs_http_parameter(const struct hs_http_request *request, const char *name)
{
    for (size_t i = 0; i < request->parameter_count; i++) {
        if (strcmp(request->parameters[i].name, name) == 0) return request->parameters[i].value;
    }
    return NULL;
}

/* -- the answer ------------------------------------------------------------------------------------- */

static const char *
phrase_of(int status)
{
    switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 431: return "Request Header Fields Too Large";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 505: return "HTTP Version Not Supported";
    default: return "Error";
    }
}

void
rb_hs_http_put_head(struct hs_buffer *out, int status, const char *type, const char *fields, size_t len)
{
    rb_hs_buffer_printf(out, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n", status, phrase_of(status), type, len);
    rb_hs_buffer_puts(out, "X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\nConnection: close\r\n");
    if (status == 401) rb_hs_buffer_puts(out, "WWW-Authenticate: Bearer\r\n");
    if (status == 405) rb_hs_buffer_puts(out, "Allow: GET, HEAD\r\n");
    if (status == 503) rb_hs_buffer_puts(out, "Retry-After: 1\r\n");
    rb_hs_buffer_puts(out, fields);
    rb_hs_buffer_puts(out, "\r\n");
}

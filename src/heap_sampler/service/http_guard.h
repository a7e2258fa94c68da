#ifndef HEAP_SAMPLER_SERVICE_HTTP_GUARD_H
#define HEAP_SAMPLER_SERVICE_HTTP_GUARD_H
/*
 * Who may ask over HTTP.
 *
 *   token   where a file with one is set: `Authorization: Bearer` and its text
 *   Host    of a loopback address: an address in figures, or localhost.  A page in a
 *           browser whose name leads to 127.0.0.1 has that name as its Host (DNS rebinding)
 *   a page of another site, as browsers say it of themselves (Sec-Fetch-Site): no
 *
 * No MRI header; tested alone. [any]
 */
#include <stdbool.h>
#include <stddef.h>
#include "heap_sampler/service/http.h"
#include "heap_sampler/settings/http_address.h"

enum { HS_TOKEN_MAX = 1024 };

/* The text of the file without blanks and line ends around it, NUL-terminated. NULL, or what is wrong: it must be a plain
 * file of this user or root, open to nobody else. */
const char *rb_hs_token_read(const char *path, char token[HS_TOKEN_MAX]);
/* Takes as long for each `given` of a length, wherever it differs. */
bool rb_hs_token_same_p(const char *token, const char *given);
/* "localhost", "127.0.0.1" or "[::1]", with a port or without. */
bool rb_hs_host_safe_p(const char *host);

/* 0: it may ask; else the status of the refusal, and why. `token_file` "": no token is asked for. */
int rb_hs_http_guard(const struct hs_http_request *request, const struct hs_http_address *address, const char *token_file, const char **wrong);

#endif

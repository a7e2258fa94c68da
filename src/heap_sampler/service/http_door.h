#ifndef HEAP_SAMPLER_SERVICE_HTTP_DOOR_H
#define HEAP_SAMPLER_SERVICE_HTTP_DOOR_H
/*
 * Where HTTP is answered.  An address belongs to one process at a time, and all
 * processes of one user that are told of the same address are a family: whoever
 * has it answers for all of them (family.h).
 *
 *     wanted   who does not have it tries again each two seconds: so when the
 *              one that has it ends, another one has it soon
 *     open     it listens; a forked child closes its copy and wants it
 *
 * Of a Unix socket the file may be replaced by another member's: whoever sees that
 * its file is no longer its own wants it again.
 *
 * No MRI header.
 */
#include <stdbool.h>
#include <stdint.h>
#include "heap_sampler/settings/http_address.h"

/* From now on this address is wanted, "": none. Looked at by the next rb_hs_http_look. [any] */
void rb_hs_http_want(const char *address, const char *token_file);
/* Whether any is. [any] */
bool rb_hs_http_wanted_p(void);

/* Opens, closes or tries again, if it is time. The listener, or -1. The service's thread, or before there is one. */
int rb_hs_http_look(uint64_t now_ns);
/* For that thread: how it was told, what it reads as, and the file of the token, or "". */
const char *rb_hs_http_text(void);
const struct hs_http_address *rb_hs_http_address(void);
const char *rb_hs_http_token_file(void);
/* Another process has it, and nobody has said yet whether that is of the family; then it is said. */
bool rb_hs_http_taken_p(void);
void rb_hs_http_taken_by(bool member);
/* The process ends: the file of a Unix socket goes. The service's thread does not work any more. */
void rb_hs_http_unlink(void);
/* In the child, whose copy of the listener is closed. [gvl] */
void rb_hs_http_after_fork(void);

/* Where it listens, with the port that it got, or "". [any] */
void rb_hs_http_copy_place(char place[HS_HTTP_TEXT_MAX]);
/* The same, or NULL; why it does not, or NULL. Valid until the next call. [gvl] */
const char *rb_hs_http_place(void);
const char *rb_hs_http_trouble(void);

#endif

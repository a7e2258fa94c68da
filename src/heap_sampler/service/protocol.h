#ifndef HEAP_SAMPLER_SERVICE_PROTOCOL_H
#define HEAP_SAMPLER_SERVICE_PROTOCOL_H
/*
 * Version 1 of the protocol (doc/protocol.md): one line asks, one frame answers.
 *
 *     heap-sample/1 VERB [KEY=VALUE …]\n
 *     heap-sample/1 ok|error TYPE LENGTH\n  and LENGTH bytes
 *
 * What comes over the socket is trusted in nothing.  No MRI header; tested alone.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The longest line, its end included. */
enum { HS_ASK_LINE_MAX = 4096,
       HS_ASK_ARGUMENTS_MAX = 16 };

enum hs_verb { HS_ASK_HELLO,
               HS_ASK_PROFILE,
               HS_ASK_MEMORY,
               HS_ASK_START,
               HS_ASK_SET,
               HS_ASK_STOP,
               HS_ASK_WAIT,
               HS_ASK_VERBS };

struct hs_argument {
    const char *key, *value;    /* in `text` */
};

struct hs_ask {
    enum hs_verb verb;
    struct hs_argument arguments[HS_ASK_ARGUMENTS_MAX];
    size_t argument_count;
    uint32_t diagnose_ppm;      /* the share of the run time that the answer may force, in millionths; 0: nothing */
    char text[HS_ASK_LINE_MAX];
};

const char *rb_hs_verb_name(enum hs_verb verb);
/* Reads a line without its end. NULL, or what is wrong with it, as a sentence. [any] */
const char *rb_hs_ask_parse(const char *line, size_t len, struct hs_ask *ask);
/* The value of an argument, or NULL. */
const char *rb_hs_ask_value(const struct hs_ask *ask, const char *key);
/* Has an argument this value? */
bool rb_hs_ask_has_p(const struct hs_ask *ask, const char *key, const char *value);

#endif

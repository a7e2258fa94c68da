/* See service/protocol.h. */
#include "heap_sampler/service/protocol.h"
#include "heap_sampler/service/percent.h"
#include "heap_sampler/settings/options.h"

#include <string.h>

static const char greeting[] = "heap-sample/1 ";

static const struct {
    const char *name;
    const char *keys[5];        /* that it takes; NULL: settings, any */
} verbs[HS_ASK_VERBS] = {
    [HS_ASK_HELLO] = {"hello", {""}},
    [HS_ASK_PROFILE] = {"profile", {"gc", "why", "diagnose", "type", ""}},
    [HS_ASK_MEMORY] = {"memory", {""}},
    [HS_ASK_START] = {"start", {NULL}},
    [HS_ASK_SET] = {"set", {NULL}},
    [HS_ASK_STOP] = {"stop", {""}},
    [HS_ASK_WAIT] = {"wait", {""}},
};

const char *
rb_hs_verb_name(enum hs_verb verb)
{
    return verbs[verb].name;
}

static bool
verb_of(const char *name, enum hs_verb *verb)
{
    for (int i = 0; i < HS_ASK_VERBS; i++) {
        if (strcmp(verbs[i].name, name) != 0) continue;
        *verb = (enum hs_verb)i;
        return true;
    }
    return false;
}

static bool
takes_key_p(enum hs_verb verb, const char *key)
{
    const char *const *keys = verbs[verb].keys;
    if (!keys[0]) return true;
    for (; **keys; keys++) {
        if (strcmp(*keys, key) == 0) return true;
    }
    return false;
}

static const char *
add_argument(struct hs_ask *ask, char *word)
{
    char *equals = strchr(word, '=');
    if (!equals) return "an argument is not KEY=VALUE";
    if (ask->argument_count == HS_ASK_ARGUMENTS_MAX) return "there are more than 16 arguments";
    *equals = '\0';
    if (!*word || !takes_key_p(ask->verb, word)) return "the request does not take this argument";
    if (rb_hs_ask_value(ask, word)) return "an argument is given twice";
    if (!rb_hs_percent_decode(equals + 1)) return "a percent sign in an argument must be followed by two hexadecimal digits, not 00";
    ask->arguments[ask->argument_count++] = (struct hs_argument){word, equals + 1};
    return NULL;
}

/* Cuts the next word off; NULL: there is none. */
static char *
next_word(char **rest)
{
    char *word = *rest, *end = word ? strchr(word, ' ') : NULL;
    if (!word || !*word) return NULL;
    if (end) *end = '\0';
    *rest = end ? end + 1 : NULL;
    return word;
}

/* Of a profile: what is asked for, and how much of the program's time it may take. */
static const char *
wrong_with_profile(struct hs_ask *ask)
{
    if (ask->verb != HS_ASK_PROFILE) return NULL;
    const char *type = rb_hs_ask_value(ask, "type"), *share = rb_hs_ask_value(ask, "diagnose");
    if (type && strcmp(type, "inuse_space") != 0 && strcmp(type, "alloc_space") != 0) return "type must be inuse_space or alloc_space";
    if (share && strcmp(share, "off") != 0 && !rb_hs_share_parse(share, strlen(share), &ask->diagnose_ppm)) {
        return "diagnose must be a share of the run time from 0.001% to 50%, such as 1%, or off";
    }
    if (ask->diagnose_ppm || !(rb_hs_ask_has_p(ask, "gc", "1") || rb_hs_ask_has_p(ask, "why", "1"))) return NULL;
    return "gc=1 and why=1 force work on this process; add the share of the run time that they may take, such as diagnose=1%25 (1%)";
}

const char *
rb_hs_ask_parse(const char *line, size_t len, struct hs_ask *ask)
{
    ask->argument_count = ask->diagnose_ppm = 0;
    if (len >= sizeof(ask->text)) return "the request is longer than 4,095 bytes";
    if (memchr(line, '\0', len)) return "the request contains a NUL byte";
    if (len < sizeof(greeting) - 1 || memcmp(line, greeting, sizeof(greeting) - 1) != 0) {
        return "a request must begin with heap-sample/1 and a space";
    }
    memcpy(ask->text, line, len);
    ask->text[len] = '\0';
    char *rest = ask->text + sizeof(greeting) - 1, *word = next_word(&rest);
    if (!word || !verb_of(word, &ask->verb)) return "no such request; there are hello, profile, memory, start, set, stop and wait";
    while ((word = next_word(&rest))) {
        const char *wrong = add_argument(ask, word);
        if (wrong) return wrong;
    }
    return wrong_with_profile(ask);
}

const char *
rb_hs_ask_value(const struct hs_ask *ask, const char *key)
{
    for (size_t i = 0; i < ask->argument_count; i++) {
        if (strcmp(ask->arguments[i].key, key) == 0) return ask->arguments[i].value;
    }
    return NULL;
}

bool
rb_hs_ask_has_p(const struct hs_ask *ask, const char *key, const char *value)
{
    const char *given = rb_hs_ask_value(ask, key);
    return given && strcmp(given, value) == 0;
}

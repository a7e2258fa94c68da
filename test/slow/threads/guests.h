#ifndef TEST_THREADS_GUESTS_H
#define TEST_THREADS_GUESTS_H
/*
 * Those who ask the process, over its socket and over HTTP: for all that there
 * is, for nothing that there is, in pieces, and without waiting for the answer.
 */
#include <stdbool.h>
#include <stdint.h>

struct guests {
    uint64_t asked, answered, refused, over_http, unheard, wrong;       /* atomics */
};
extern struct guests guests;

/* One visit. Without the GVL. */
void guest_visit(void);
/* Asks for what needs no Ruby code; true: it was answered. In a child that has one thread, too. */
bool guest_says_hello(void);
/* Whoever is there when this happens between them may be cut off. */
void guests_are_cut_off(void (*by)(void));

#endif

#ifndef TEST_THREADS_GUESTS_H
#define TEST_THREADS_GUESTS_H
/*
 * Clients that ask the process over its socket: for each verb, for what is no verb,
 * in pieces, and without waiting for the answer.
 */
#include <stdbool.h>
#include <stdint.h>

struct guests {
    uint64_t asked, answered, refused, unheard, wrong;       /* atomics */
};
extern struct guests guests;

/* One visit. Without the GVL. */
void guest_visit(void);
/* Asks for what needs no Ruby code; true: it was answered. In a child that has one thread, too. */
bool guest_says_hello(void);
/* A frame that is there when this happens between them may be cut off. */
void guests_are_cut_off(void (*by)(void));

#endif

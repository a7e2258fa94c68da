/* A library that calls back: foreign.c. */
static volatile int keep;
const char beside_the_rules[4096] = "a segment of its own without them";

void
through(void (*callback)(void))
{
    callback();
    keep = 1;
}

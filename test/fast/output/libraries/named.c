/* A library whose functions test_native.c asks for the names of.  Built with
 * its symbols, without them, and in two versions. */
#include <stddef.h>

#ifndef VERSION
#define VERSION 1
#endif

static __attribute__((noinline, noclone)) int
hidden_function(int x)
{
    __asm__ volatile("" : "+r"(x));
    return x * 3 + VERSION;
}

int
exported_function(int x)
{
    __asm__ volatile("" : "+r"(x));
    return hidden_function(x) + 1;
}

/* Far behind the last exported function, of which it is not part. */
static __attribute__((noinline, noclone)) int
last_hidden_function(int x)
{
    __asm__ volatile("" : "+r"(x));
    return x ^ VERSION;
}

void *
addresses(int which)
{
    switch (which) {
    case 0: return (void *)exported_function;
    case 1: return (void *)hidden_function;
    case 2: return (void *)last_hidden_function;
    }
    return NULL;
}

#if VERSION == 2
/* The same addresses hold something else. */
int
another_function(int x)
{
    return x;
}
#endif

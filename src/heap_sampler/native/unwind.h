#ifndef HEAP_SAMPLER_NATIVE_UNWIND_H
#define HEAP_SAMPLER_NATIVE_UNWIND_H
/*
 * The native frames that called malloc(3), from inside malloc.
 *
 * Code is compiled without frame pointers, so the way from a frame to its
 * caller stands in .eh_frame: at this return address the caller's frame begins
 * so many bytes above the stack pointer (or above rbp), and the caller's rbp
 * was saved there.  Finding and running that program takes libgcc 200 ns a
 * frame.  For one return address the answer is always the same, so it is kept
 * in a cache: 3 ns a frame.  What the cache cannot say (a frame that computes
 * where its caller's begins, another processor than x86-64) libgcc is asked.
 *
 * Memory is read between the stack pointer and the end of the stack only: a
 * library that was unloaded, and another one mapped in its place, can make
 * frames wrong until the cache is emptied, but not crash.
 *
 * No MRI header.  [malloc]
 */
#include <stdint.h>

enum { HS_NATIVE_MAX = 24 };    /* native frames of a stack */

/* Unwinding ends at this function's frame, which is left out: below it is the
 * interpreter's stack.  Before the first call of the next. */
void rb_hs_unwind_until(uintptr_t function);
/* Return addresses, leaf first, of what called the allocator; their number.
 * `stack_end`: the highest address of the current stack, 0: not known. */
uint32_t rb_hs_unwind(uintptr_t *frames, uintptr_t stack_end);
/* Empties the cache if a library was unloaded since the last time.  Not inside malloc. */
void rb_hs_unwind_refresh(void);

#endif

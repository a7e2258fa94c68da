#ifndef HEAP_SAMPLER_SAMPLING_UNWIND_H
#define HEAP_SAMPLER_SAMPLING_UNWIND_H
/*
 * The native frames that called malloc(3), from inside malloc.
 *
 * Code is compiled without frame pointers, so the way from a frame to its
 * caller stands in .eh_frame: at this return address the caller's frame begins
 * so many bytes above the stack pointer (or the frame pointer), and the
 * caller's registers were saved there.  Finding and running that program takes
 * 200 ns a frame.  For one return address the answer is always the same, so it
 * is kept in a cache: 3 ns a frame.
 *
 * Unwinding ends where .eh_frame has no rule (generated code, a stripped or
 * unloaded library) or more than a rule can hold (a signal's frame).  libgcc's
 * unwinder is never called: it reads code at a return address without a rule,
 * and takes a lock under which it calls malloc once a JIT compiler has
 * registered frames.
 *
 * Memory is read between the stack pointer and the stack's end.  Where the end
 * is not known (a thread that is not Ruby's, a coroutine of a library, a signal
 * stack) the frames up to malloc's are read, since they were called; what is
 * above them is copied by process_vm_readv(2), which fails where a read would
 * crash.  Without that call the stack ends at malloc's caller.
 *
 * A return address keeps its library loaded, so .eh_frame can be read.  If a
 * library was unloaded and another one mapped in its place, frames can be wrong
 * until the cache is emptied.
 *
 * x86-64 and arm64, with glibc 2.35 or newer; elsewhere there are no native
 * frames.  No MRI header.  [malloc]
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

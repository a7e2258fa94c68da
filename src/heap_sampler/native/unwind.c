/* See native/unwind.h.  The format of .eh_frame: Linux Standard Base 5.0, and DWARF 4, section 6.4. */
#define _GNU_SOURCE             /* dl_iterate_phdr */
#include "heap_sampler/native/unwind.h"

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unwind.h>

/* The allocator's code in one piece: tool/jemalloc.  0: it is another one. */
extern const char rb_jemalloc_text_start[] __attribute__((weak));
extern const char rb_jemalloc_text_end[] __attribute__((weak));

static uintptr_t last_function;

void
rb_hs_unwind_until(uintptr_t function)
{
    last_function = function;
}

static bool
allocator_p(uintptr_t address)
{
    return address >= (uintptr_t)rb_jemalloc_text_start && address < (uintptr_t)rb_jemalloc_text_end;
}

/* The innermost frames are ours and the allocator's. */
struct walk {
    uintptr_t *frames;
    uint32_t count;
    bool met_allocator;
};

/* False: no more frames are wanted. */
static bool
take_frame(struct walk *walk, uintptr_t address, bool allocator)
{
    if (allocator && !walk->count) {
        walk->met_allocator = true;
        return true;
    }
    if (walk->met_allocator) walk->frames[walk->count++] = address;
    return walk->count < HS_NATIVE_MAX;
}

/* -- libgcc's way -------------------------------------------------------------- */

static _Unwind_Reason_Code
slow_i(struct _Unwind_Context *context, void *data)
{
    uintptr_t address = (uintptr_t)_Unwind_GetIP(context);
    if (!address) return _URC_END_OF_STACK;
    /* The last frame that libgcc shows may be of code without .eh_frame: no frame of ours either. */
    uintptr_t function = (uintptr_t)_Unwind_FindEnclosingFunction((void *)(address - 1));
    if (!function || function == last_function) return _URC_END_OF_STACK;
    return take_frame(data, address, allocator_p(address)) ? _URC_NO_REASON : _URC_END_OF_STACK;
}

static uint32_t
slow(uintptr_t *frames)
{
    struct walk walk = {.frames = frames};
    _Unwind_Backtrace(slow_i, &walk);
    return walk.count;
}

#ifdef __x86_64__
/* -- rules ---------------------------------------------------------------------- */

enum { RBP = 6,
       RSP = 7,
       RETURN_ADDRESS = 16 };         /* DWARF's numbers */

enum { KNOWN = 1,
       END = 2,
       COMPUTED = 4,
       ALLOCATOR = 8,
       BY_RBP = 16 };

/* How to get from a return address to the caller's frame. */
union rule {
    uint64_t word;              /* 0: none */
    struct {
        int32_t cfa;            /* where the caller's frame begins, above rsp or rbp */
        int16_t rbp;            /* where the caller's rbp is, from there; 0: still in rbp */
        uint16_t flags;
    } is;
};

struct reader {
    const uint8_t *at, *end;
};

static uint64_t
read_uleb(struct reader *reader)
{
    uint64_t value = 0;
    for (unsigned shift = 0; reader->at < reader->end; shift += 7) {
        uint8_t byte = *reader->at++;
        if (shift < 64) value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) break;
    }
    return value;
}

static int64_t
read_sleb(struct reader *reader)
{
    int64_t value = 0;
    unsigned shift = 0;
    uint8_t byte = 0;
    while (reader->at < reader->end) {
        byte = *reader->at++;
        if (shift < 64) value |= (int64_t)((uint64_t)(byte & 0x7f) << shift);
        shift += 7;
        if (!(byte & 0x80)) break;
    }
    if ((byte & 0x40) && shift < 64) value |= -((int64_t)1 << shift);
    return value;
}

static uint64_t
read_fixed(struct reader *reader, size_t size)
{
    uint64_t value = 0;
    if (size > (size_t)(reader->end - reader->at)) size = (size_t)(reader->end - reader->at);
    memcpy(&value, reader->at, size);
    reader->at += size;
    return value;
}

/* Bytes of a pointer in this encoding; 0: of no fixed size. */
static size_t
pointer_size(uint8_t encoding)
{
    switch (encoding & 0x0f) {
    case 0x00:
    case 0x04:
    case 0x0c: return 8;
    case 0x02:
    case 0x0a: return 2;
    case 0x03:
    case 0x0b: return 4;
    default: return 0;
    }
}

/* What the program of a frame sets up to here. */
struct state {
    uint64_t cfa_register;
    int64_t cfa_offset, rbp_offset;     /* 0: rbp is as it was */
    bool computed, undefined;           /* undefined: the frame has no caller */
};

enum { STATES_MAX = 8 };

struct program {
    uint64_t code_align;
    int64_t data_align;
    uintptr_t location, wanted;
    struct state now, first, kept[STATES_MAX];
    unsigned kept_count;
};

static void
saved(struct program *program, uint64_t reg, int64_t offset)
{
    if (reg == RBP) program->now.rbp_offset = offset;
    if (reg == RETURN_ADDRESS && offset != -8) program->now.computed = true;
}

static void
skip_expression(struct reader *reader)
{
    uint64_t len = read_uleb(reader);
    reader->at += len < (uint64_t)(reader->end - reader->at) ? len : (uint64_t)(reader->end - reader->at);
}

/* The operations that are encoded by a byte of their own. */
static void
run_operation(struct program *program, struct reader *reader, uint8_t operation)
{
    struct state *now = &program->now;
    uint64_t reg;
    switch (operation) {
    case 0x00: break;                                                         /* nop */
    case 0x02: program->location += read_fixed(reader, 1) * program->code_align; break;      /* advance_loc1, 2, 4 */
    case 0x03: program->location += read_fixed(reader, 2) * program->code_align; break;
    case 0x04: program->location += read_fixed(reader, 4) * program->code_align; break;
    case 0x05:                                                                /* offset_extended */
        reg = read_uleb(reader);
        saved(program, reg, (int64_t)read_uleb(reader) * program->data_align);
        break;
    case 0x06:
    case 0x08:                                                     /* restore_extended, same_value */
        if (read_uleb(reader) == RBP) now->rbp_offset = operation == 0x06 ? program->first.rbp_offset : 0;
        break;
    case 0x07:                                                                /* undefined */
        if (read_uleb(reader) == RETURN_ADDRESS) now->undefined = true;
        break;
    case 0x0a:                                                                /* remember_state */
        if (program->kept_count == STATES_MAX) now->computed = true;
        else program->kept[program->kept_count++] = *now;
        break;
    case 0x0b:                                                                /* restore_state */
        if (program->kept_count) *now = program->kept[--program->kept_count];
        break;
    case 0x0c:                                                                /* def_cfa */
        now->cfa_register = read_uleb(reader);
        now->cfa_offset = (int64_t)read_uleb(reader);
        break;
    case 0x0d: now->cfa_register = read_uleb(reader); break;                  /* def_cfa_register */
    case 0x0e: now->cfa_offset = (int64_t)read_uleb(reader); break;           /* def_cfa_offset */
    case 0x10:
    case 0x16:                                                     /* expression, val_expression */
        reg = read_uleb(reader);
        if (reg == RBP || reg == RETURN_ADDRESS) now->computed = true;
        skip_expression(reader);
        break;
    case 0x11:                                                                /* offset_extended_sf */
        reg = read_uleb(reader);
        saved(program, reg, read_sleb(reader) * program->data_align);
        break;
    case 0x2e: read_uleb(reader); break;                                      /* GNU_args_size */
    default:                  /* an expression for the frame itself, and what compilers for x86-64 do not use */
        now->computed = true;
        reader->at = reader->end;
        break;
    }
}

static void
run(struct program *program, struct reader *reader)
{
    while (reader->at < reader->end && program->location <= program->wanted) {
        uint8_t operation = *reader->at++, low = operation & 0x3f;
        switch (operation >> 6) {
        case 1: program->location += low * program->code_align; break;        /* advance_loc */
        case 2: saved(program, low, (int64_t)read_uleb(reader) * program->data_align); break;        /* offset */
        case 3:                                                               /* restore */
            if (low == RBP) program->now.rbp_offset = program->first.rbp_offset;
            break;
        default: run_operation(program, reader, operation); break;
        }
    }
}

/* What libgcc's _Unwind_Find_FDE fills in, and gives back (unwind-dw2-fde.h). */
struct bases {
    void *text, *data, *function;
};
extern const void *_Unwind_Find_FDE(void *pc, struct bases *bases);

static struct reader
entry_at(const uint8_t *entry)
{
    uint32_t len;
    memcpy(&len, entry, sizeof(len));
    return (struct reader){entry + 4, entry + 4 + len};
}

static bool
read_program(struct program *program, const uint8_t *fde)
{
    struct reader frame = entry_at(fde);
    const uint8_t *id = frame.at;
    struct reader common = entry_at(id - (int32_t)read_fixed(&frame, 4));
    uint8_t encoding = 0;

    read_fixed(&common, 4);
    uint8_t version = (uint8_t)read_fixed(&common, 1);
    const char *augmentation = (const char *)common.at;
    common.at += strlen(augmentation) + 1;
    program->code_align = read_uleb(&common);
    program->data_align = read_sleb(&common);
    if (version == 1) read_fixed(&common, 1);
    else read_uleb(&common);
    if (*augmentation && *augmentation != 'z') return false;
    if (*augmentation) {
        uint64_t len = read_uleb(&common);
        struct reader data = {common.at, common.at + len};
        common.at = data.end;
        for (const char *letter = augmentation + 1; *letter; letter++) {
            if (*letter == 'R') encoding = (uint8_t)read_fixed(&data, 1);
            else if (*letter == 'L') read_fixed(&data, 1);
            else if (*letter == 'P') read_fixed(&data, pointer_size((uint8_t)read_fixed(&data, 1)));
            else return false;          /* a signal's frame, or what is not known here */
        }
    }
    if (!pointer_size(encoding)) return false;
    frame.at += 2 * pointer_size(encoding);             /* where the function begins, and its length */
    if (*augmentation) skip_expression(&frame);
    run(program, &common);
    program->first = program->now;
    run(program, &frame);
    return true;
}

static union rule
find_rule(uintptr_t address)
{
    union rule rule = {.is.flags = KNOWN};
    struct bases bases;
    const void *fde = _Unwind_Find_FDE((void *)(address - 1), &bases);
    if (!fde || (uintptr_t)bases.function == last_function) {
        rule.is.flags |= END;           /* code that was made at run time, or the interpreter's loop */
        return rule;
    }
    struct program program = {.location = (uintptr_t)bases.function, .wanted = address - 1};
    const struct state *state = &program.now;
    if (allocator_p(address)) rule.is.flags |= ALLOCATOR;
    if (!read_program(&program, fde) || state->computed || (state->cfa_register != RSP && state->cfa_register != RBP) ||
        state->cfa_offset != (int32_t)state->cfa_offset || state->rbp_offset != (int16_t)state->rbp_offset) {
        rule.is.flags |= COMPUTED;
        return rule;
    }
    if (state->undefined) rule.is.flags |= END;
    if (state->cfa_register == RBP) rule.is.flags |= BY_RBP;
    rule.is.cfa = (int32_t)state->cfa_offset;
    rule.is.rbp = (int16_t)state->rbp_offset;
    return rule;
}

/* -- the cache -------------------------------------------------------------------- */

/* A place holds a rule and the exclusive or of the rule and its address, so that
 * one which two threads wrote to at once fits no address. */
enum { PLACES = 2048 };
static struct {
    uint64_t mixed, word;
} cache[PLACES];

static union rule
rule_of(uintptr_t address)
{
    size_t place = (address * UINT64_C(0x9e3779b97f4a7c15)) >> 53;      /* 11 bits */
    union rule rule = {.word = __atomic_load_n(&cache[place].word, __ATOMIC_RELAXED)};
    if (rule.word && (__atomic_load_n(&cache[place].mixed, __ATOMIC_RELAXED) ^ rule.word) == address) return rule;
    rule = find_rule(address);
    __atomic_store_n(&cache[place].mixed, rule.word ^ address, __ATOMIC_RELAXED);
    __atomic_store_n(&cache[place].word, rule.word, __ATOMIC_RELAXED);
    return rule;
}

static int
unloaded_i(struct dl_phdr_info *info, size_t size, void *data)
{
    if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs)) {
        *(unsigned long long *)data = info->dlpi_subs;
    }
    return 1;
}

void
rb_hs_unwind_refresh(void)
{
    static unsigned long long known;
    unsigned long long unloaded = 0;
    dl_iterate_phdr(unloaded_i, &unloaded);
    if (__atomic_exchange_n(&known, unloaded, __ATOMIC_RELAXED) == unloaded) return;
    for (size_t i = 0; i < PLACES; i++) __atomic_store_n(&cache[i].word, 0, __ATOMIC_RELAXED);
}

/* -- walking ------------------------------------------------------------------------ */

/* False: libgcc is to be asked. */
static bool
fast(struct walk *walk, const uintptr_t *frame, uintptr_t stack_end)
{
    uintptr_t rbp = frame[0], address = frame[1], rsp = (uintptr_t)(frame + 2);
    while (address) {
        union rule rule = rule_of(address);
        if (rule.is.flags & COMPUTED) return false;
        if (rule.is.flags & END && !rule.is.cfa) return true;   /* neither the interpreter's loop nor YJIT's code is a frame */
        if (!take_frame(walk, address, rule.is.flags & ALLOCATOR) || rule.is.flags & END) return true;

        uintptr_t cfa = (rule.is.flags & BY_RBP ? rbp : rsp) + (uintptr_t)(intptr_t)rule.is.cfa;
        if (cfa % sizeof(uintptr_t) || cfa < rsp + sizeof(uintptr_t) || cfa > stack_end) return true;
        if (rule.is.rbp) {
            uintptr_t at = cfa + (uintptr_t)(intptr_t)rule.is.rbp;
            if (at < rsp || at > cfa - sizeof(uintptr_t)) return true;
            rbp = *(const uintptr_t *)at;
        }
        address = ((const uintptr_t *)cfa)[-1];
        rsp = cfa;
    }
    return true;
}

__attribute__((noinline)) uint32_t
rb_hs_unwind(uintptr_t *frames, uintptr_t stack_end)
{
    /* A function that asks for its frame's address has rbp, and above it the return address, stored there. */
    const uintptr_t *frame = __builtin_frame_address(0);
    struct walk walk = {.frames = frames};
    if ((uintptr_t)frame < stack_end && fast(&walk, frame, stack_end)) return walk.count;
    return slow(frames);
}

#else
void
rb_hs_unwind_refresh(void)
{
}

uint32_t
rb_hs_unwind(uintptr_t *frames, uintptr_t stack_end)
{
    (void)stack_end;
    return slow(frames);
}
#endif

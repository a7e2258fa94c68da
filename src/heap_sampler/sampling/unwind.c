/*
 * See sampling/malloc_hooks.h.  The format of .eh_frame: Linux Standard Base 5.0, and DWARF 4, section 6.4.
 *
 * It takes 200 ns a frame to find and run the program that .eh_frame has for a return address; that was most of what a
 * sample cost.  The answer for an address is always the same, and fits into 8 bytes: so 2,048 answers are cached, and a
 * frame takes 3 ns.  A stack whose end is not known costs 2 to 4 system calls a sample, and a first answer for a C extension
 * about 10.
 */
#define _GNU_SOURCE             /* process_vm_readv */
#include "heap_sampler/sampling/malloc_hooks.h"
#include "heap_sampler/base/libraries.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* The allocator's code in one piece: tool/jemalloc.  0: it is another one. */
extern const char rb_jemalloc_text_start[] __attribute__((weak));
extern const char rb_jemalloc_text_end[] __attribute__((weak));

static uintptr_t last_function;

void
rb_hs_unwind_until(uintptr_t function)
{
    last_function = function;
}

/* DWARF's numbers of the frame pointer, the stack pointer and the return address, and what is an address in the last. */
#if defined(__x86_64__)
enum { FP = 6,
       SP = 7,
       RA = 16 };
#define ADDRESS_BITS UINTPTR_MAX
#elif defined(__aarch64__)
enum { FP = 29,
       SP = 31,
       RA = 30 };
#define ADDRESS_BITS UINT64_C(0xffffffffffff)     /* a signature may stand above it */
#endif

#ifdef ADDRESS_BITS
/* -- rules ---------------------------------------------------------------------- */

enum { KNOWN = 1,
       NO_FRAME = 2,            /* code without a rule, or the last function */
       ALLOCATOR = 4,
       BY_FP = 8 };

enum { WORD = sizeof(uintptr_t) };

/* How to get from a return address to the caller's frame.  Distances are in words. */
union rule {
    uint64_t word;              /* 0: none */
    struct {
        int64_t cfa : 20;       /* where the caller's frame begins, above the stack pointer or the frame pointer */
        int64_t fp : 20;        /* where the caller's frame pointer is, from there; 0: still in its register */
        int64_t ra : 20;        /* where the return address is, from there; 0: this is the last frame */
        uint64_t flags : 4;
    } is;
};

/* Where it is not certain that memory is there the kernel copies it, and fails where a read would crash. */
enum { COPIED = 1024 };
struct memory {
    bool certain;
    bool running;               /* the code whose rule is asked for has called malloc, so it stays loaded */
    pid_t pid;                  /* 0: not asked for yet */
    uintptr_t from;
    size_t size;
    uint8_t *copy;              /* COPIED bytes */
};

static bool
load(struct memory *memory, uintptr_t at, void *to, size_t size)
{
    enum { PAGE = 4096 };       /* or a multiple of it */
    size_t skip = at - memory->from;
    if (memory->certain) {
        memcpy(to, (const void *)at, size);
        return true;
    }
    if (skip >= memory->size || size > memory->size - skip) {
        size_t room = PAGE - at % PAGE;
        struct iovec local = {memory->copy, room < COPIED ? room : COPIED};
        struct iovec remote = {(void *)at, local.iov_len};
        if (!memory->pid) memory->pid = getpid();
        ssize_t copied = process_vm_readv(memory->pid, &local, 1, &remote, 1, 0);
        memory->from = at;
        memory->size = copied > 0 ? (size_t)copied : 0;
        skip = 0;
        if (size > memory->size) return false;
    }
    memcpy(to, memory->copy + skip, size);
    return true;
}

struct reader {
    struct memory *memory;
    uintptr_t at, end;
};

/* 0 at the end. */
static uint8_t
read_byte(struct reader *reader)
{
    uint8_t byte = 0;
    if (reader->at < reader->end && !load(reader->memory, reader->at++, &byte, 1)) reader->at = reader->end;
    return byte;
}

static uint64_t
read_fixed(struct reader *reader, size_t size)
{
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++) value |= (uint64_t)read_byte(reader) << (8 * i);
    return value;
}

/* DWARF's LEB128. */
static uint64_t
read_leb(struct reader *reader, bool is_signed)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        byte = read_byte(reader);
        if (shift < 64) value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    if (is_signed && byte & 0x40 && shift < 64) value |= ~UINT64_C(0) << shift;
    return value;
}

/* A block that has its length before it. */
static struct reader
read_block(struct reader *reader)
{
    uint64_t len = read_leb(reader, false), left = reader->end - reader->at;
    struct reader block = {reader->memory, reader->at, reader->at + (len < left ? len : left)};
    reader->at = block.end;
    return block;
}

/* Bytes of a pointer, by its encoding; 0: of no fixed size. */
static size_t
pointer_size(uint8_t encoding)
{
    static const uint8_t sizes[16] = {[0x0] = 8, [0x2] = 2, [0x3] = 4, [0x4] = 8, [0xa] = 2, [0xb] = 4, [0xc] = 8};
    return sizes[encoding & 0x0f];
}

/* What the program of a frame sets up to here.  Offsets are from the CFA; 0: the register is as it was. */
struct state {
    uint64_t cfa_register;
    int64_t cfa_offset, fp_offset, ra_offset;
    bool computed;              /* it does more than a rule can say */
};

enum { STATES_MAX = 8 };

struct program {
    uint64_t code_align;
    int64_t data_align;
    uintptr_t location, wanted;
    struct state now, first, remembered[STATES_MAX];
    unsigned remembered_count;
};

static void
save(struct program *program, uint64_t reg, int64_t offset)
{
    if (reg == FP) program->now.fp_offset = offset;
    if (reg == RA) program->now.ra_offset = offset;
}

static void
restore(struct program *program, uint64_t reg)
{
    save(program, reg, reg == FP ? program->first.fp_offset : program->first.ra_offset);
}

/* The operations that are encoded by a byte of their own. */
static void
run_operation(struct program *program, struct reader *reader, uint8_t operation)
{
    struct state *now = &program->now;
    uint64_t reg;
    switch (operation) {
    case 0x00:                                                                /* nop */
    case 0x2d: break;                                                         /* AARCH64_negate_ra_state */
    case 0x02:                                                                /* advance_loc1, 2, 4 */
    case 0x03:
    case 0x04: program->location += read_fixed(reader, 1u << (operation - 0x02)) * program->code_align; break;
    case 0x05:                                                                /* offset_extended, offset_extended_sf */
    case 0x11:
        reg = read_leb(reader, false);
        save(program, reg, (int64_t)read_leb(reader, operation == 0x11) * program->data_align);
        break;
    case 0x06: restore(program, read_leb(reader, false)); break;              /* restore_extended */
    case 0x07:                                                                /* undefined, same_value */
    case 0x08: save(program, read_leb(reader, false), 0); break;
    case 0x0a:                                                                /* remember_state */
        if (program->remembered_count == STATES_MAX) now->computed = true;
        else program->remembered[program->remembered_count++] = *now;
        break;
    case 0x0b:                                                                /* restore_state */
        if (program->remembered_count) *now = program->remembered[--program->remembered_count];
        break;
    case 0x0c:                                                                /* def_cfa */
        now->cfa_register = read_leb(reader, false);
        now->cfa_offset = (int64_t)read_leb(reader, false);
        break;
    case 0x0d: now->cfa_register = read_leb(reader, false); break;            /* def_cfa_register */
    case 0x0e: now->cfa_offset = (int64_t)read_leb(reader, false); break;     /* def_cfa_offset */
    case 0x10:                                                                /* expression, val_expression */
    case 0x16:
        reg = read_leb(reader, false);
        if (reg == FP || reg == RA) now->computed = true;
        read_block(reader);
        break;
    case 0x2e: read_leb(reader, false); break;                                /* GNU_args_size */
    default:                  /* an expression for the frame itself, and what compilers do not use here */
        now->computed = true;
        reader->at = reader->end;
        break;
    }
}

static void
run(struct program *program, struct reader *reader)
{
    while (reader->at < reader->end && program->location <= program->wanted) {
        uint8_t operation = read_byte(reader), low = operation & 0x3f;
        switch (operation >> 6) {
        case 1: program->location += low * program->code_align; break;        /* advance_loc */
        case 2: save(program, low, (int64_t)read_leb(reader, false) * program->data_align); break;        /* offset */
        case 3: restore(program, low); break;                                /* restore */
        default: run_operation(program, reader, operation); break;
        }
    }
}

/* What follows an entry's length.  It does not leave the segment. */
static struct reader
entry_at(uintptr_t entry, const struct reader *segment)
{
    struct reader reader = {segment->memory, entry, entry < segment->at || entry > segment->end ? entry : segment->end};
    uint64_t len = read_fixed(&reader, 4);
    reader.end = len > reader.end - reader.at ? reader.at : reader.at + len;
    return reader;
}

/* False: there is no rule for the address. */
static bool
read_program(struct program *program, uintptr_t fde, const struct reader *segment)
{
    char augmentation[8];
    size_t letters = 0;
    uint8_t encoding = 0;
    struct reader frame = entry_at(fde, segment);
    uintptr_t id = frame.at;
    struct reader common = entry_at(id - (uintptr_t)(int32_t)read_fixed(&frame, 4), segment);

    read_fixed(&common, 4);
    uint8_t version = read_byte(&common);
    while ((augmentation[letters] = (char)read_byte(&common))) {
        if (++letters == sizeof(augmentation)) return false;
    }
    program->code_align = read_leb(&common, false);
    program->data_align = (int64_t)read_leb(&common, true);
    read_leb(&common, false);                 /* the return address's number: one byte */
    if ((version != 1 && version != 3) || (letters && *augmentation != 'z')) return false;
    if (letters) {
        struct reader data = read_block(&common);
        for (size_t i = 1; i < letters; i++) {
            if (augmentation[i] == 'R') encoding = read_byte(&data);
            else if (augmentation[i] == 'L') read_byte(&data);
            else if (augmentation[i] == 'P') read_fixed(&data, pointer_size(read_byte(&data)));
            else return false;          /* a signal's frame, or what is not known here */
        }
    }
    size_t size = pointer_size(encoding);
    read_fixed(&frame, size);           /* where the function begins, and its length */
    if (program->wanted - program->location >= read_fixed(&frame, size)) return false;
    if (letters) read_block(&frame);
    run(program, &common);
    program->first = program->now;
    run(program, &frame);
    return true;
}

/* The object's segment that the address is in.  There is none if a section was cut out of the file. */
static bool
find_segment(struct reader *segment, const struct hs_library *library, uintptr_t address)
{
    enum { FIRST_PAGE = 4096 };
    uintptr_t start = library->start, base;
    ElfW(Ehdr) file;
    ElfW(Phdr) header;
    if (!load(segment->memory, (uintptr_t)&library->map->l_addr, &base, sizeof(base))) return false;
    if (!load(segment->memory, start, &file, sizeof(file)) || memcmp(file.e_ident, ELFMAG, SELFMAG)) return false;
    if (file.e_phoff > FIRST_PAGE || file.e_phoff + file.e_phnum * sizeof(header) > FIRST_PAGE) return false;
    for (unsigned i = 0; i < file.e_phnum; i++) {
        if (!load(segment->memory, start + file.e_phoff + i * sizeof(header), &header, sizeof(header))) return false;
        segment->at = base + header.p_vaddr;
        segment->end = segment->at + header.p_memsz;
        if (header.p_type == PT_LOAD && header.p_flags & PF_R && address - segment->at < header.p_memsz) return true;
    }
    return false;
}

/* The description of the last function that begins at `address` or before it, by the sorted table that linkers make; 0: none. */
static uintptr_t
find_fde(uintptr_t address, uintptr_t *function, struct reader *segment)
{
    enum { USUAL = 0x3b031b01 };        /* the version, and how what follows is encoded */
    struct hs_library found;
    if (!rb_hs_library_of(address, &found)) return 0;
    if (!found.stays && !(found.current && segment->memory->running)) segment->memory->certain = false;
    uintptr_t header = found.unwind_table;
    if (!header || !find_segment(segment, &found, header)) return 0;
    struct reader reader = {segment->memory, header, segment->end};
    if (read_fixed(&reader, 4) != USUAL) return 0;
    read_fixed(&reader, 4);
    uint64_t low = 0, high = read_fixed(&reader, 4);
    uintptr_t table = reader.at;        /* where a function begins, its description: both from the header */
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        reader.at = table + middle * 8;
        if (header + (uintptr_t)(int32_t)read_fixed(&reader, 4) <= address) low = middle + 1;
        else high = middle;
    }
    if (!low) return 0;
    reader.at = table + (low - 1) * 8;
    *function = header + (uintptr_t)(int32_t)read_fixed(&reader, 4);
    return header + (uintptr_t)(int32_t)read_fixed(&reader, 4);
}

/* Out of line: the walk keeps its registers. */
__attribute__((noinline)) static union rule
find_rule(struct memory *memory, uintptr_t address)
{
    struct program program = {.wanted = address - 1};
    const struct state *state = &program.now;
    struct reader segment = {.memory = memory};
    uintptr_t fde = find_fde(program.wanted, &program.location, &segment);
    if (!fde || program.location == last_function || !read_program(&program, fde, &segment)) {
        return (union rule){.is.flags = KNOWN | NO_FRAME};
    }
    bool allocator = address >= (uintptr_t)rb_jemalloc_text_start && address < (uintptr_t)rb_jemalloc_text_end;
    bool by_fp = state->cfa_register == FP;
    union rule last = {.is.flags = KNOWN | (allocator ? ALLOCATOR : 0)}, rule = last;
    rule.is.flags |= by_fp ? BY_FP : 0;
    rule.is.cfa = state->cfa_offset / WORD;
    rule.is.fp = state->fp_offset / WORD;
    rule.is.ra = state->ra_offset / WORD;
    bool fits = !state->computed && (by_fp || state->cfa_register == SP) && rule.is.cfa * WORD == state->cfa_offset &&
        rule.is.fp * WORD == state->fp_offset && rule.is.ra * WORD == state->ra_offset;
    return fits ? rule : last;
}

/* -- the cache -------------------------------------------------------------------- */

/* A place holds a rule and the exclusive or of the rule and its address, so that one which two threads wrote to at once, or
 * whose two words are seen in another order, fits no address.  Both are atomic figures. */
enum { PLACES = 2048 };
static struct {
    uint64_t mixed, word;
} cache[PLACES];

static union rule
rule_of(struct memory *memory, uintptr_t address)
{
    size_t place = (address * UINT64_C(0x9e3779b97f4a7c15)) >> 53;      /* 11 bits */
    union rule rule = {.word = __atomic_load_n(&cache[place].word, __ATOMIC_RELAXED)};
    if (rule.word && (__atomic_load_n(&cache[place].mixed, __ATOMIC_RELAXED) ^ rule.word) == address) return rule;
    rule = find_rule(memory, address);
    __atomic_store_n(&cache[place].mixed, rule.word ^ address, __ATOMIC_RELAXED);
    __atomic_store_n(&cache[place].word, rule.word, __ATOMIC_RELAXED);
    return rule;
}

void
rb_hs_unwind_refresh(void)
{
    static unsigned long long known;
    unsigned long long changes = rb_hs_libraries_refresh();
    if (__atomic_exchange_n(&known, changes, __ATOMIC_RELAXED) == changes) return;
    for (size_t i = 0; i < PLACES; i++) __atomic_store_n(&cache[i].word, 0, __ATOMIC_RELAXED);
}

bool
rb_hs_unwind_libc_p(void)
{
    uint8_t copy[COPIED];
    struct memory memory = {.certain = true, .copy = copy};
    return !(rule_of(&memory, (uintptr_t)getenv + 1).is.flags & NO_FRAME);
}

/* -- walking ------------------------------------------------------------------------ */

/* A word of the frame from sp to cfa. */
static inline bool
load_saved(struct memory *memory, uintptr_t sp, uintptr_t cfa, int64_t offset, uintptr_t *word)
{
    uintptr_t at = cfa + (uintptr_t)offset * WORD;
    if (at < sp || at >= cfa) return false;
    if (!memory->certain) return load(memory, at, word, sizeof(*word));
    *word = *(const uintptr_t *)at;
    return true;
}

__attribute__((noinline)) uint32_t
rb_hs_unwind(uintptr_t *frames, uintptr_t stack_end)
{
    /* A function that asks for its frame's address has the frame pointer, and above it the return address, stored there. */
    const uintptr_t *frame = __builtin_frame_address(0);
    uintptr_t fp = frame[0], address = frame[1], sp = (uintptr_t)__builtin_dwarf_cfa();
    uint8_t copy[COPIED];
    struct memory memory = {.certain = true, .running = true, .copy = copy};
    bool met_allocator = false;         /* the innermost frames are ours and the allocator's */
    uint32_t count = 0;
    if (!rb_jemalloc_text_start) return 0;      /* where is malloc's caller? */
    while (count < HS_NATIVE_MAX && (address &= ADDRESS_BITS)) {
        union rule rule = rule_of(&memory, address);
        if (rule.is.flags & NO_FRAME) break;
        if (rule.is.flags & ALLOCATOR && !count) met_allocator = true;
        else if (met_allocator) frames[count++] = address;
        /* The functions up to malloc were called: their frames are stack, and their callers are loaded. */
        memory.running = !count;
        memory.certain = stack_end || !count;
        uintptr_t cfa = (rule.is.flags & BY_FP ? fp : sp) + (uintptr_t)rule.is.cfa * WORD;
        if (!rule.is.ra || cfa % WORD || cfa <= sp || (stack_end && cfa > stack_end)) break;
        if (rule.is.fp && !load_saved(&memory, sp, cfa, rule.is.fp, &fp)) break;
        if (!load_saved(&memory, sp, cfa, rule.is.ra, &address)) break;
        sp = cfa;
    }
    return count;
}

#else
/* Without rules there are no native frames. */
bool
rb_hs_unwind_libc_p(void)
{
    return false;
}

void
rb_hs_unwind_refresh(void)
{
}

uint32_t
rb_hs_unwind(uintptr_t *frames, uintptr_t stack_end)
{
    (void)frames, (void)stack_end;
    return 0;
}
#endif

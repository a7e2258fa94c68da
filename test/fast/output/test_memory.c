/* The bound of what a thread of ours holds for snapshots: requests of clients leave the rest to other profiles. */
#include "heap_sampler/base/memory.h"
#include "tap.h"
#include "tests.h"

static long countdown = -1;
void *__real_realloc(void *ptr, size_t size);
void *__wrap_realloc(void *ptr, size_t size);

void
fail_after(long more)
{
    countdown = more;
}

/* Instead of realloc in each file of ours: -Wl,--wrap=realloc. */
void *
__wrap_realloc(void *ptr, size_t size)
{
    if (countdown == 0) return NULL;
    if (countdown > 0) countdown--;
    return __real_realloc(ptr, size);
}

void
test_memory(void)
{
    struct hs_memory_part part = {.most = 4096};
    rb_hs_memory_part = &part;
    void *first = rb_hs_malloc(HS_MEM_SNAPSHOTS, 3000), *second = rb_hs_malloc(HS_MEM_SNAPSHOTS, 3000);
    ok(first && !second, "memory: a thread gets no more for snapshots than its part");
    void *other = rb_hs_malloc(HS_MEM_NAMES, 3000);
    ok(other != NULL, "memory: other uses are not counted in the part");
    rb_hs_free(HS_MEM_NAMES, other);
    rb_hs_memory_part = NULL;
    void *rest = rb_hs_malloc(HS_MEM_SNAPSHOTS, 3000);
    ok(rest != NULL, "memory: a thread without a part gets the rest of the share");
    rb_hs_free(HS_MEM_SNAPSHOTS, rest);
    rb_hs_memory_part = &part;
    rb_hs_free(HS_MEM_SNAPSHOTS, first);
    is_number((long long)part.bytes, 0, "memory: what is freed leaves the part");
    rb_hs_memory_part = NULL;
}

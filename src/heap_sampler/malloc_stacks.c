/* malloc_stacks */
typedef int hs_malloc_stacks_unit;

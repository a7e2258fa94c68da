/* malloc_profile */
typedef int hs_malloc_profile_unit;

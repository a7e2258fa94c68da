#ifndef HEAP_SAMPLER_BASE_CHECKING_H
#define HEAP_SAMPLER_BASE_CHECKING_H
/* Is this a check build? base/must.h says what is asserted in one. */

#ifndef HS_CHECKING             /* a test of tables without a VM may say so itself */
#if (defined(RGENGC_CHECK_MODE) && RGENGC_CHECK_MODE + 0 > 0) || (defined(RUBY_DEBUG) && RUBY_DEBUG + 0 > 0)
#define HS_CHECKING 1
#else
#define HS_CHECKING 0
#endif
#endif

#endif

/* native */
typedef int hs_native_unit;

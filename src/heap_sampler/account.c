/* account */
typedef int hs_account_unit;

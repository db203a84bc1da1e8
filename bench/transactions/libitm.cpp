// Lets a program of atomic blocks link with the compiler's own runtime, which the library otherwise refuses.
extern "C" {
extern const char holdfast_itm_value_or_holdfast_itm_versioned_is_not_linked;
const char holdfast_itm_value_or_holdfast_itm_versioned_is_not_linked = 0;
}

// The compiler's runtime over hardware transactions, with value validation beside them.
#include <holdfast/htm/hybrid.hpp>
#include <holdfast/itm/export.hpp>

HOLDFAST_ITM_EXPORT(holdfast::htm::hybrid)

// The compiler's runtime over value validation.
#include <holdfast/itm/export.hpp>
#include <holdfast/stm/value.hpp>

HOLDFAST_ITM_EXPORT(holdfast::stm::value)

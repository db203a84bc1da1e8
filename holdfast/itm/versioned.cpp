// The compiler's runtime over a lock table.
#include <holdfast/itm/export.hpp>
#include <holdfast/stm/versioned.hpp>

HOLDFAST_ITM_EXPORT(holdfast::stm::versioned)

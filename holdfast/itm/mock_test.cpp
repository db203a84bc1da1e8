// The runtime over the mock.
#include <holdfast/itm/export.hpp>
#include <holdfast/itm/mock_test.hpp>

HOLDFAST_ITM_EXPORT(holdfast::itm::mock)

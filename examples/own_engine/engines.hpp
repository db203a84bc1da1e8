// The list of engines that the library's tests are compiled with here: ours alone, in the form of
// holdfast/engine/engines.hpp.
#pragma once

#include <examples/own_engine/force.hpp>

#define HOLDFAST_ENGINES(X) X(force)

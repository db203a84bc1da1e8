// The features without the weaver: what C++ makes of them.
#define FEATURES plain
#include "functions.cc"
#include "heads.cc"
#include "operators.cc"
#include "returned.cc"
#include "scalars.cc"
#include "uses.cc"
#include "values.cc"

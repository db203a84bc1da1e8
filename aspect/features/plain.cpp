// The features without the weaver: what C++ makes of them.
#define FEATURES plain
#include "functions.cc"
#include "values.cc"

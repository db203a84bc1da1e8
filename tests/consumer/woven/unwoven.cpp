#include "counter.hpp"

int main() { return static_cast<int>(counter().get()); }

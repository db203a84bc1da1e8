// Where in the source an instruction of this program comes from.
#pragma once

#include <string>

namespace holdfast::crash {

/// "accounts.cpp:31"; without line tables or addr2line the object and the offset in it, "accounts_test+0x1f30".
std::string source_line_of(const void* code);

}  // namespace holdfast::crash

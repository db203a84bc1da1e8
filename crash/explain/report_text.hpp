// A story as text for a terminal.
#pragma once

#include <crash/explain/story.hpp>

#include <string>

namespace holdfast::crash {

/// A few lines, each ended; indented by two.
std::string text_of(const story& told);
/// Everything: every event of the trace that matters, what recovery read and did.
std::string long_text_of(const story& told);

}  // namespace holdfast::crash

// Lines of text on the standard output.
#pragma once

#include <sim/guest/system.hpp>

namespace holdfast::guest {

/// A line under construction; what does not fit is cut off.
class line {
public:
    line& add(const char* text) noexcept;
    line& add_decimal(std::uint64_t value) noexcept;
    line& add_hexadecimal(std::uint64_t value) noexcept;  ///< 16 digits
    void write() noexcept;                                ///< with a newline, in one system call

private:
    char text_[400];
    std::size_t length_ = 0;
};

inline void write_line(const char* first, const char* second = "") noexcept { line().add(first).add(second).write(); }

}  // namespace holdfast::guest

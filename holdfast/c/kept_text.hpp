// The message of a C interface's last failure, of which each thread has one.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace holdfast::detail {

/// A sentence, cut where it is longer. Trivially destructible: a function may fail while its thread ends.
class kept_text {
public:
    void keep(std::string_view text) noexcept {
        const std::size_t size = std::min(text.size(), letters_.size() - 1);
        letters_[text.copy(letters_.data(), size)] = '\0';
    }
    const char* data() const noexcept { return letters_.data(); }

private:
    std::array<char, 1024> letters_{};
};

}  // namespace holdfast::detail

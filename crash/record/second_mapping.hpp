// The same memory at a second address: through it the recorder stores to pages that stay protected.
#pragma once

#include <cstddef>
#include <span>

namespace holdfast::crash {

/// Of a range that maps one stretch of a file or of anonymous memory, all of it shared; there is none
/// of any other. Requires: the range is mapped like that until this is gone.
class second_mapping {
public:
    explicit second_mapping(std::span<std::byte> first);
    ~second_mapping();
    second_mapping(const second_mapping&) = delete;
    second_mapping& operator=(const second_mapping&) = delete;

    bool exists() const noexcept { return second_ != nullptr; }
    /// The same byte there. Requires: exists(), a place in the range.
    std::byte* counterpart(const std::byte* place) const noexcept { return second_ + (place - first_.data()); }

private:
    std::span<std::byte> first_;
    std::byte* second_ = nullptr;
};

}  // namespace holdfast::crash

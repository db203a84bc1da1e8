// What the fuzzer's input means: edits of a sound pool, aimed at its structures, and which checksums are made right
// again afterwards. Without that nearly every input would end at the first checksum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace holdfast::fuzz {

/// Reads an input from front to back; zeros behind its end.
class input {
public:
    explicit input(std::span<const std::uint8_t> bytes) noexcept : rest_(bytes) {}
    bool empty() const noexcept { return rest_.empty(); }
    std::uint8_t byte() noexcept {
        if (rest_.empty()) return 0;
        const std::uint8_t first = rest_.front();
        rest_ = rest_.subspan(1);
        return first;
    }
    std::uint64_t number(unsigned bytes) noexcept {
        std::uint64_t value = 0;
        for (unsigned i = 0; i < bytes; ++i) value |= std::uint64_t{byte()} << 8 * i;
        return value;
    }

private:
    std::span<const std::uint8_t> rest_;
};

/// Applies the edits that the input lists to the bytes of a pool that was sound.
void edit(std::vector<std::byte>& pool, input& from);

}  // namespace holdfast::fuzz

// Both alias tables of a pool, for loads. Who fills and empties them is alias_buffers.
#pragma once

#include <holdfast/base/words.hpp>
#include <holdfast/log/alias_table.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace holdfast {

/// What is committed and not home yet, word by word.
class alias_tables {
public:
    /// A word as the commits so far left it. Thread-safe, without a lock. Bytes that no lock of the caller guards are
    /// from some commit, perhaps not the last. What is loaded next is not older.
    std::uint64_t load(const pool_word* home) const noexcept {
        const auto word = static_cast<std::uint64_t>(reinterpret_cast<const std::byte*>(home) - pool_) / 8;
        const std::uint64_t hash = alias_table::hash_of(word);
        const std::uint64_t filter = tables_[0].filter_word(hash) | tables_[1].filter_word(hash);
        if ((filter & tables_[0].filter_bit(hash)) == 0) [[likely]]
            return __atomic_load_n(home, __ATOMIC_ACQUIRE);
        return look(home, word, hash);
    }

protected:
    alias_tables(std::byte* pool, std::uint32_t words)
        : pool_(pool), tables_{alias_table(words), alias_table(words)} {}
    ~alias_tables() = default;

    std::byte* pool_;
    std::array<alias_table, 2> tables_;
    alignas(128) std::atomic<unsigned> newest_{0};

private:
    /// The word at `home`, which one of the tables may have.
    std::uint64_t look(const pool_word* home, std::uint64_t word, std::uint64_t hash) const noexcept;
};

}  // namespace holdfast

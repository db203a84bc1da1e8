// The form of lines<T> that was not chosen, kept to be measured beside it: half-lines that say to which transaction
// they belong. docs/guide/performance.md compares the two.
//
// An object is cut into pieces of 24 bytes. Each has a line of its own, with two halves: 24 bytes of payload and 8 of
// tag, which is the stamp of the transaction that wrote the half, and how many lines that transaction changed.
//
// Protocol
//   1. Gather the pieces of the valid halves into a T on the stack; f works on that. The valid half of a line is the
//      one with the higher tag.
//   2. The pieces that changed go into the other halves of their lines. ORDER. Then their tags, with the next stamp.
//   3. Write back those lines, and FENCE.
// After a crash, a transaction whose stamp fewer lines bear than its tags say was torn: `recover` takes its tags away,
// durably, before the next transaction could complete it. It is the newest one if any, because each is durable before
// the next begins.
//
// What it asks of the medium is what line<T> does: within a line, stores become durable in order, so that a half with
// a tag has its payload. Of lines it asks nothing. It takes 64 bytes for 24, and reading copies.
#pragma once

#include <holdfast/line/medium.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace holdfast::bench {

/// A T that is changed in transactions. Isolation, exceptions and crashes as of lines<T>; transactions do not nest.
template <class T>
class alignas(64) tagged_lines {
    static_assert(std::is_trivially_copyable_v<T>);

    static constexpr std::size_t piece_bytes = 24;
    static constexpr std::size_t lines = (sizeof(T) + piece_bytes - 1) / piece_bytes;
    static constexpr unsigned count_bits = 16;
    static_assert(lines < std::size_t{1} << count_bits);

    using piece = std::uint64_t[piece_bytes / 8];
    struct half_line {
        piece payload;
        std::uint64_t tag;
    };
    struct tagged_line {
        half_line halves[2];

        std::size_t valid() const noexcept { return halves[1].tag > halves[0].tag ? 1 : 0; }
    };
    static_assert(sizeof(tagged_line) == 64);

    /// A T cut into pieces, the last padded with zeros.
    struct image {
        piece pieces[lines];
    };

public:
    explicit tagged_lines(const T& value = T{}) noexcept {
        std::memset(static_cast<void*>(all_), 0, sizeof all_);
        image first{};
        std::memcpy(&first, &value, sizeof(T));
        for (std::size_t i = 0; i < lines; ++i) {
            std::memcpy(all_[i].halves[0].payload, first.pieces[i], piece_bytes);
            all_[i].halves[0].tag = tag_of(1, lines);
        }
    }
    tagged_lines(const tagged_lines&) = delete;
    tagged_lines& operator=(const tagged_lines&) = delete;

    /// Runs f(T&) as one transaction.
    template <class F>
    void transact(F&& f) {
        image before, after;
        const std::uint64_t stamp = gather(before) + 1;
        after = before;
        T value;
        std::memcpy(&value, &after, sizeof(T));
        f(value);
        std::memcpy(&after, &value, sizeof(T));
        scatter(before, after, stamp);
    }

    /// A copy of the valid T.
    T get() const noexcept {
        image now;
        gather(now);
        T value;
        std::memcpy(&value, &now, sizeof(T));
        return value;
    }

    /// After a crash, before anything else.
    void recover() {
        std::uint64_t newest = 0, bearing = 0;
        for_each_half([&](std::size_t, half_line& half) { newest = std::max(newest, half.tag); });
        for_each_half([&](std::size_t, half_line& half) { bearing += half.tag == newest ? 1u : 0u; });
        if (bearing == (newest & ((std::uint64_t{1} << count_bits) - 1))) return;
        std::uint64_t changed[words_of_bits] = {};
        for_each_half([&](std::size_t line, half_line& half) {
            if (half.tag != newest) return;
            half.tag = 0;
            changed[line / 64] |= std::uint64_t{1} << line % 64;
        });
        line_medium::make_durable(all_, changed, lines);
    }

private:
    static constexpr std::size_t words_of_bits = (lines + 63) / 64;

    static constexpr std::uint64_t tag_of(std::uint64_t stamp, std::uint64_t count) noexcept {
        return stamp << count_bits | count;
    }
    template <class F>
    void for_each_half(F&& f) {
        for (std::size_t i = 0; i < lines; ++i)
            for (half_line& half : all_[i].halves) f(i, half);
    }

    /// Returns the newest stamp.
    std::uint64_t gather(image& to) const noexcept {
        std::uint64_t newest = 0;
        for (std::size_t i = 0; i < lines; ++i) {
            const half_line& half = all_[i].halves[all_[i].valid()];
            std::memcpy(to.pieces[i], half.payload, piece_bytes);
            newest = std::max(newest, half.tag);
        }
        return newest >> count_bits;
    }
    void scatter(const image& before, const image& after, std::uint64_t stamp) {
        std::uint64_t changed[words_of_bits] = {};
        std::uint64_t count = 0;
        for (std::size_t i = 0; i < lines; ++i) {
            if (std::memcmp(before.pieces[i], after.pieces[i], piece_bytes) == 0) continue;
            half_line& half = all_[i].halves[1 - all_[i].valid()];
            std::memcpy(half.payload, after.pieces[i], piece_bytes);
            changed[i / 64] |= std::uint64_t{1} << i % 64;
            ++count;
        }
        if (count == 0) return;
        line_medium::order();
        line_medium::for_each_line(all_, changed, lines, [&](void* line) {
            auto& to = *static_cast<tagged_line*>(line);
            static_cast<volatile std::uint64_t&>(to.halves[1 - to.valid()].tag) = tag_of(stamp, count);
        });
        line_medium::make_durable(all_, changed, lines);
    }

    tagged_line all_[lines];
};

}  // namespace holdfast::bench

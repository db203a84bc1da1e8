// What the mechanisms of this room ask of the machine in a program, through the seam.
#pragma once

#include <holdfast/base/assertion.hpp>
#include <holdfast/format/line_copies.hpp>
#include <holdfast/line/mechanism.hpp>
#include <holdfast/line/sites.hpp>
#include <holdfast/persist/seam.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace holdfast::line_medium_state {

/// How a commit becomes durable: the strongest need of any open pool of lines. This also serves pools that need less.
enum need : std::uint32_t {
    fences = 1,
    write_backs = 2,
    otherwise = 4,  ///< not the same for all addresses, or not by write-backs: ask `commit_otherwise`
};
inline constinit std::atomic<std::uint32_t> needs{0};

/// Makes lines durable where write-backs do not: `dirty` has a bit for each of `count` lines from `first` on. Set
/// before `needs` becomes `otherwise`. Throws failure: outcome_unknown, io, poisoned, transaction_too_large.
using commit_function = void (*)(void* first, const std::uint64_t* dirty, std::size_t count);
inline constinit std::atomic<commit_function> commit_otherwise{nullptr};

inline constinit thread_local cache_line::open_object* innermost = nullptr;

}  // namespace holdfast::line_medium_state

namespace holdfast {

/// The Medium of this process. Objects outside pools, for example on the stack, are treated like those in pools.
struct line_medium {
    static cache_line::open_object*& innermost() noexcept { return line_medium_state::innermost; }
    static void order() noexcept(persist::noexcept_seam) { persist::order_stores(persist::site::line_order); }

    static void make_durable(void* line) {
        using namespace line_medium_state;
        HOLDFAST_ASSERT(begins_a_line(line), "an object of lines begins at a line");
        const std::uint32_t how = needs.load(std::memory_order_relaxed);
        if (how == 0) return persist::order_for_kill();
        if ((how & otherwise) != 0) [[unlikely]] {
            constexpr std::uint64_t one_line = 1;
            return commit_otherwise.load(std::memory_order_acquire)(line, &one_line, 1);
        }
        persist::write_back_one({(how & write_backs) != 0, 0}, line, persist::site::line_write_back);
        persist::fence({}, persist::site::line_fence);
    }

    /// The same for the lines whose bits are set, with one fence.
    static void make_durable(void* first, const std::uint64_t* dirty, std::size_t count,
                             persist::site_id where = persist::site::lines_write_back,
                             persist::site_id fence = persist::site::lines_fence) {
        using namespace line_medium_state;
        HOLDFAST_ASSERT(begins_a_line(first), "an object of lines begins at a line");
        const std::uint32_t how = needs.load(std::memory_order_relaxed);
        if (how == 0) return persist::order_for_kill();
        if ((how & otherwise) != 0) [[unlikely]]
            return commit_otherwise.load(std::memory_order_acquire)(first, dirty, count);
        for_each_line(first, dirty, count, [=](const void* line) {
            persist::write_back_one({(how & write_backs) != 0, 0}, line, where);
        });
        persist::fence({}, fence);
    }

    /// The same in recovery, for the stores of a dead process and of recovery itself.
    static void make_taken_over_durable(void* first, const std::uint64_t* dirty, std::size_t count) {
        make_durable(first, dirty, count, persist::site::lines_taken_over, persist::site::lines_taken_over_fence);
    }
    static void make_recovered_durable(void* first, const std::uint64_t* dirty, std::size_t count) {
        make_durable(first, dirty, count, persist::site::lines_recovered, persist::site::lines_recovered_fence);
    }
    static void store_recovered_header(void* header, std::uint64_t sequence,
                                       std::uint64_t sum) noexcept(persist::noexcept_seam) {
        const format::copy_header value{sequence, sum};
        persist::copy(header, &value, sizeof value, persist::site::lines_recovered);
    }

    static bool begins_a_line(const void* at) noexcept {
        return reinterpret_cast<std::uintptr_t>(at) % format::cache_line_bytes == 0;
    }
    template <class F>
    static void for_each_line(void* first, const std::uint64_t* dirty, std::size_t count, F&& f) {
        for (std::size_t word = 0; word * 64 < count; ++word)
            for (std::uint64_t bits = dirty[word]; bits != 0; bits &= bits - 1) {
                const auto index = word * 64 + static_cast<std::size_t>(__builtin_ctzll(bits));
                f(static_cast<void*>(static_cast<std::byte*>(first) + index * format::cache_line_bytes));
            }
    }
};

}  // namespace holdfast

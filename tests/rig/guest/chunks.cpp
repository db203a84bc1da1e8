// Each thread keeps its last chunks: transaction n makes the chunk of key (thread + 1, n) and frees an old one.
#include "chunks.hpp"

#include "chunk_device_test_support.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <system_error>
#include <thread>

namespace holdfast::rig {
namespace {

constexpr std::uint64_t kept_chunks = 4;

__u64 key_of(std::uint64_t thread, std::uint64_t number) { return (thread + 1) << 32 | number; }
__u64 bytes_of(const request& of, std::uint64_t number) {
    return 1 + stored_word(of.seed, number, 0) % (2 * leaf_bytes);
}
__u32 mode_of(std::uint64_t number) { return static_cast<__u32>(number % 01000); }

void expect_done(int failed, const char* what) {
    if (failed != 0) throw std::system_error(failed, std::generic_category(), what);
}

/// All chunks, by offset.
std::vector<holdfast_chunk> all_chunks() {
    std::vector<holdfast_chunk> all;
    const chunk_device listed;
    for (__u64 offset = 0;; offset = all.back().offset + 1) {
        holdfast_chunk each = chunk_device::asked(0);
        each.offset = offset;
        const int failed = listed.call(HOLDFAST_NEXT, &each);
        if (failed == ENOENT) return all;
        expect_done(failed, "HOLDFAST_NEXT");
        all.push_back(each);
    }
}

std::vector<std::set<std::uint64_t>> numbers_of_threads(const request& of, findings& found) {
    std::vector<std::set<std::uint64_t>> numbers(of.threads);
    __u64 end = 0;
    for (const holdfast_chunk& each : all_chunks()) {
        const std::uint64_t thread = (each.key >> 32) - 1, number = each.key & 0xFFFF'FFFF;
        const bool is_right = each.bytes >= bytes_of(of, number) && each.mode == mode_of(number) && each.offset >= end;
        if (thread >= of.threads || !is_right)
            found.problems.push_back("nobody made the chunk of key " + std::to_string(each.key) + ", " +
                                     std::to_string(each.bytes) + " bytes at " + std::to_string(each.offset));
        else
            numbers[thread].insert(number);
        end = each.offset + each.bytes;
    }
    return numbers;
}

std::uint64_t newest_of(const std::set<std::uint64_t>& numbers) { return numbers.empty() ? 0 : *numbers.rbegin(); }

void work_as(const request& of, std::uint64_t thread, std::uint64_t newest) {
    try {
        // A cut may have come before the newest transaction freed its old chunk.
        const int failed = newest > kept_chunks ? chunk_device().free(key_of(thread, newest - kept_chunks)) : 0;
        if (failed != ENOENT) expect_done(failed, "HOLDFAST_FREE");
        for (std::uint64_t number = newest + 1;; ++number) {
            expect_done(chunk_device().make(key_of(thread, number), bytes_of(of, number), mode_of(number)),
                        "HOLDFAST_MAKE");
            if (number > kept_chunks)
                expect_done(chunk_device().free(key_of(thread, number - kept_chunks)), "HOLDFAST_FREE");
            acknowledge(thread, number);
        }
    } catch (const std::exception& reason) {
        give_up(thread, reason);
    }
}

void work(const request& of) {
    findings ignored;
    const auto numbers = numbers_of_threads(of, ignored);
    std::vector<std::jthread> others;
    for (std::uint64_t thread = 1; thread < of.threads; ++thread)
        others.emplace_back([&of, thread, newest = newest_of(numbers[thread])] { work_as(of, thread, newest); });
    work_as(of, 0, newest_of(numbers[0]));
}

/// The last chunks are there, and at most one more: a cut may come between making and freeing. Then the newest
/// transaction is not done yet.
findings verify(const request& of) {
    findings found;
    const auto numbers = numbers_of_threads(of, found);
    for (std::uint64_t thread = 0; thread < of.threads; ++thread) {
        const std::uint64_t newest = newest_of(numbers[thread]), kept = std::min(newest, kept_chunks);
        const bool is_done = newest <= kept_chunks || !numbers[thread].contains(newest - kept_chunks);
        found.done.push_back(is_done ? newest : newest - 1);
        for (std::uint64_t back = 0; back < kept; ++back)
            if (!numbers[thread].contains(newest - back))
                found.problems.push_back("chunk " + std::to_string(newest - back) + " of thread " +
                                         std::to_string(thread) + " is missing, and " + std::to_string(newest) +
                                         " is there");
        if (numbers[thread].size() > kept + 1 ||
            (numbers[thread].size() == kept + 1 && *numbers[thread].begin() + kept_chunks != newest))
            found.problems.push_back("old chunks of thread " + std::to_string(thread) + " are there: the oldest is " +
                                     std::to_string(*numbers[thread].begin()) + ", the newest " +
                                     std::to_string(newest));
    }
    return found;
}

}  // namespace

const workload of_chunks{&work, &verify};

}  // namespace holdfast::rig

// A life of a STAMP program whose shared data outlive the process: what an earlier one left is looked at and taken up,
// or a run is begun; then it is worked to the end, checked and taken away.
#pragma once

#include <workload/stamp/frame.hpp>

namespace holdfast::workload {

/// What is in the pool: the root of whichever program runs, and whether its begin is through, and its end not begun.
struct alignas(64) kept_run {
    static constexpr std::uint64_t root_bytes = 448;
    std::uint64_t root[root_bytes / sizeof(std::uint64_t)];
    std::uint64_t has_begun;
};

template <access Access>
bool is_all_zero(const Access& memory, const kept_run* kept) {
    for (const std::uint64_t& word : kept->root)
        if (memory.load(&word) != 0) return false;
    return true;
}

/// How a life ended.
struct life_report {
    const char* problem = nullptr;  ///< what is wrong, or nullptr
    std::uint64_t hash = 0;         ///< of the result, if nothing is
};

/// `work(program)` is the work on all threads, and returns what is wrong, or nullptr.
template <class Parameters, access Access, class Work>
life_report live_as(const Access& memory, kept_run* kept, const Parameters& given, std::uint64_t threads, Work&& work) {
    using program_type = typename Parameters::template program<Access>;
    using root_type = typename program_type::root_type;
    static_assert(sizeof(root_type) <= kept_run::root_bytes && alignof(root_type) <= alignof(kept_run));
    program_type program(memory, reinterpret_cast<root_type*>(kept->root), given);
    const auto note = [&](std::uint64_t has_begun) {
        return memory.atomically([&] { memory.store(&kept->has_begun, has_begun); });
    };
    if (memory.load(&kept->has_begun) != 0) {
        if (const check_report found = program.look(); !found.ok()) return {found.problem};
        if (!program.resume(threads)) return {"it could not be resumed"};
    } else {
        if (!is_all_zero(memory, kept) && !program.end()) return {"what was begun could not be taken away"};
        if (!is_all_zero(memory, kept)) return {"what was begun is still there"};
        if (!program.begin(threads) || !note(1)) return {"it could not be begun"};
    }
    if (const char* const problem = work(program)) return {problem};
    if (const check_report found = program.check(); !found.ok()) return {found.problem};
    const std::uint64_t hash = program.hash();
    if (!note(0) || !program.end()) return {"it could not be taken away"};
    if (!is_all_zero(memory, kept)) return {"end left something"};
    return {nullptr, hash};
}

}  // namespace holdfast::workload

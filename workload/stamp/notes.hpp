// How far each thread of a run is, kept beside the shared data where these outlive the process.
#pragma once

#include <workload/access.hpp>

namespace holdfast::workload {

/// Whether what transactions store is still there in the next process. Only then do programs keep notes.
template <access Access>
inline constexpr bool outlives_process = requires { requires Access::outlives_process; };

/// A `Note` for each thread, which its transactions keep. All zero at first.
template <access Access, class Note>
class stamp_notes {
public:
    static constexpr bool are_kept = outlives_process<Access>;

    /// `first`: in the program's root; nullptr as long as there are none.
    stamp_notes(Access memory, Note** first) noexcept : memory_(memory), first_(first) {}

    /// Inside a transaction.
    void create(std::uint64_t threads) const {
        static_assert(sizeof(Note) % sizeof(std::uint64_t) == 0);
        if constexpr (!are_kept) return;
        const std::uint64_t bytes = threads * sizeof(Note);
        auto* const words = static_cast<std::uint64_t*>(memory_.allocate(bytes));
        for (std::uint64_t i = 0; i < bytes / sizeof(std::uint64_t); ++i) memory_.store(words + i, 0);
        memory_.store(first_, reinterpret_cast<Note*>(words));
    }

    /// Inside a transaction.
    void dispose() const {
        if constexpr (!are_kept) return;
        Note* const notes = memory_.load(first_);
        memory_.store(first_, nullptr);
        memory_.free(notes);
    }

    /// nullptr where none are kept.
    Note* note_of(std::uint64_t thread) const {
        if constexpr (!are_kept) return nullptr;
        return memory_.load(first_) + thread;
    }

private:
    Access memory_;
    Note** first_;
};

}  // namespace holdfast::workload

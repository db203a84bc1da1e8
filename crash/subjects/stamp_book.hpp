// What the transactions of a program stored to its shared data, as the program's own Access saw it: what a recovery
// must find does not depend on how the program lays out its data, nor on how an engine stores them.
#pragma once

#include <crash/subjects/subject.hpp>

#include <holdfast/dnv/dnv.hpp>
#include <workload/access.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

namespace holdfast::crash {

/// Transactions of one thread, each of which commits.
class stamp_book {
public:
    /// What is there after a transaction.
    struct state {
        struct word {
            std::uintptr_t at;
            std::uint64_t mask;  ///< of the bytes that were stored to
            std::uint64_t value;
            bool operator==(const word&) const = default;
        };
        std::vector<word> words;
        std::vector<const void*> blocks;
        std::uint64_t number = 0;  ///< of the first state that is the same
    };
    /// Sees the word of the recovered pool at this address. None: it is damaged.
    using reader = std::function<std::optional<std::uint64_t>(std::uintptr_t at)>;

    /// `root`: all zero before the first transaction. `around(begins)` is called before and after each.
    stamp_book(std::span<const std::uint64_t> root, std::function<void(bool begins)> around);

    void begins() { around_(true); }
    void stored(const void* home, std::size_t bytes, std::uint64_t value);
    void allocated(const void* block, std::size_t bytes) { blocks_[address(block)] = bytes; }
    void freed(const void* block);
    void done();

    /// After 0, 1, … transactions.
    const std::vector<state>& states() const { return states_; }
    /// The state that is there after that progress, in which one transaction may be under way; nullptr: none of them.
    const state* found(const progress& made, const reader& read) const;

private:
    struct stored_word {
        std::uint64_t mask = 0;
        std::uint64_t value = 0;
    };
    static std::uintptr_t address(const void* at) { return reinterpret_cast<std::uintptr_t>(at); }
    state now() const;
    static bool is_there(const state& each, const reader& read);

    std::function<void(bool)> around_;
    std::map<std::uintptr_t, stored_word> words_;
    std::map<std::uintptr_t, std::size_t> blocks_;
    std::vector<state> states_;
};

// What atomic blocks may call. Nothing of it is taken back: a transaction of one thread has no second attempt.
HOLDFAST_DNV_PURE void note_store(stamp_book* book, const void* home, std::size_t bytes, std::uint64_t value) noexcept;
HOLDFAST_DNV_PURE void note_allocation(stamp_book* book, const void* block, std::size_t bytes) noexcept;
HOLDFAST_DNV_PURE void note_free(stamp_book* book, const void* block) noexcept;

/// An Access whose transactions are entered into a book; nullptr: into none. What they store outlives the process.
template <holdfast::workload::access Base>
class noted_access : public Base {
public:
    static constexpr bool outlives_process = true;
    noted_access(Base memory, stamp_book* book) : Base(memory), book_(book) {}

    template <class T>
    void store(T* home, const std::type_identity_t<T>& value) const {
        static_assert(sizeof(T) == 8 || sizeof(T) == 4);
        Base::store(home, value);
        if constexpr (sizeof(T) == 8)
            note_store(book_, home, sizeof(T), std::bit_cast<std::uint64_t>(value));
        else
            note_store(book_, home, sizeof(T), std::bit_cast<std::uint32_t>(value));
    }
    void* allocate(std::size_t bytes) const {
        void* const made = Base::allocate(bytes);
        note_allocation(book_, made, bytes);
        return made;
    }
    void free(void* address) const {
        note_free(book_, address);
        Base::free(address);
    }
    template <class F>
    bool atomically(F&& f) const {
        if (book_ != nullptr) book_->begins();
        const bool committed = Base::atomically(f);
        if (book_ != nullptr) book_->done();
        return committed;
    }

private:
    stamp_book* book_;
};

}  // namespace holdfast::crash

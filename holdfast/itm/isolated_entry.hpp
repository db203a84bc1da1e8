// Atomic blocks over an engine that isolates by itself (cc_htm, cc_htm_versioned, cc_htm_hardware). A program that
// wants this instantiates it once, as engine_entry.hpp says, where `engine_entry` is this class for such engines. Owns,
// for each thread, what a lost attempt has to give back.
#pragma once

#include <holdfast/engine/block_landing.hpp>
#include <holdfast/engine/conflict.hpp>
#include <holdfast/engine/engine.hpp>
#include <holdfast/itm/by_algorithm.hpp>
#include <holdfast/itm/runtime.hpp>
#include <holdfast/itm/state.hpp>
#include <holdfast/pool/open_pool.hpp>
#include <holdfast/stm/value.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

namespace holdfast::itm {

/// An algorithm over the transactions of `Engine`, which isolates them.
///
/// Inside `pool.atomically` a block joins the open transaction: what it loads and stores in the pool is the
/// transaction's, isolated and durable with it; no lock is needed. At a conflict with another thread the block is left,
/// its local variables are as they were, and the call of atomically that is around it throws transaction_conflict, so
/// that the function of the outermost call runs again. No exception can leave a block by itself: what is between that
/// call and the block is left as by longjmp, without any destructor. Where that matters, a call of atomically that
/// joins stands around the block alone.
/// A cancel takes back the block alone. What a block stores beside the pool is stored at once, as by the rest of the
/// function: not isolated, and not taken back at a conflict. Memory that it allocates by new or malloc is given back by
/// a conflict and when atomically fails, what it deletes is deleted when it succeeded. Undo actions of a block that
/// meets a conflict run when the attempt is taken back. An error of the engine inside a block dooms the transaction:
/// atomically returns it. Without memory for what is read, atomically throws std::bad_alloc.
///
/// Outside of atomically the algorithm `value` isolates blocks from each other; each word that they load from a pool is
/// the newest committed one, by itself. A store to a pool ends the program with a message, since nobody could be told
/// that its commit failed; so does a relaxed block that has to become irrevocable inside atomically.
///
/// What holds if the process dies inside: what holds for the engine's transaction.
template <class Engine>
class isolated_entry : public by_algorithm<stm::value> {
    static_assert(!Engine::has_shared_aliases,
                  "atomic blocks do not work over an engine with alias tables or sets; use cc_htm");
    using transaction = typename Engine::transaction;
    using outside = by_algorithm<stm::value>;

public:
    static isolated_entry& of_this_thread() noexcept { return object_; }
    /// Lets the engine know where conflicts go (block_landing.hpp).
    static void program_starts() noexcept { holdfast::detail::block_runtime_of_program = &calls_; }

    bool active() const noexcept { return open_transaction_of<Engine> != nullptr || outside::active(); }
    bool become_irrevocable() noexcept { return outside::active() && outside::become_irrevocable(); }

    stm::word load(const stm::word* home) {
        if (transaction* const open = open_transaction_of<Engine>) [[likely]]
            return load_inside(*open, home);
        return outside::load(home);
    }
    stm::word load_after_read(const stm::word* home) { return load(home); }
    stm::word load_after_write(const stm::word* home) { return load(home); }
    stm::word load_for_write(const stm::word* home) { return load(home); }

    void store(stm::word* home, stm::word what, std::uint8_t mask) {
        if (transaction* const open = open_transaction_of<Engine>) [[likely]]
            return store_inside(*open, home, what, mask);
        refuse_pool(home);
        outside::store(home, what, mask);
    }
    void store_after_read(stm::word* home, stm::word what, std::uint8_t mask) { store(home, what, mask); }
    void store_after_write(stm::word* home, stm::word what, std::uint8_t mask) { store(home, what, mask); }

    void read_range(void* to, const void* from, std::size_t bytes) {
        if (open_transaction_of<Engine> == nullptr) return outside::read_range(to, from, bytes);
        words_of<isolated_entry> words{*this};
        load_bytes(words, from, to, bytes);
    }
    void write_range(void* to, const void* from, std::size_t bytes) {
        if (open_transaction_of<Engine> == nullptr) {
            refuse_pool(to);
            return outside::write_range(to, from, bytes);
        }
        words_of<isolated_entry> words{*this};
        store_bytes(words, to, from, bytes);
    }
    void copy_range(void* to, const void* from, std::size_t bytes) {
        if (open_transaction_of<Engine> == nullptr) {
            refuse_pool(to);
            return outside::copy_range(to, from, bytes);
        }
        between_.keep(0);
        std::byte* const room = between_.extend(bytes);
        read_range(room, from, bytes);
        write_range(to, room, bytes);
    }
    void fill_range(void* to, int byte, std::size_t bytes) {
        if (open_transaction_of<Engine> == nullptr) {
            refuse_pool(to);
            return outside::fill_range(to, byte, bytes);
        }
        between_.keep(0);
        std::byte* const room = between_.extend(bytes);
        std::memset(room, byte, bytes);
        write_range(to, room, bytes);
    }

    void note_allocated(void* address, std::size_t bytes, std::size_t alignment, stm::give_back back) noexcept {
        transaction* const open = open_transaction_of<Engine>;
        if (open == nullptr) return outside::note_allocated(address, bytes, alignment, back);
        if (later(*open, open->on_abort, address, bytes, alignment, back))
            allocated_.push({address, bytes, alignment, back});
    }
    void free_at_commit(void* address, std::size_t bytes, std::size_t alignment, stm::give_back back) noexcept {
        if (transaction* const open = open_transaction_of<Engine>)
            later(*open, open->on_commit, address, bytes, alignment, back);
        else
            outside::free_at_commit(address, bytes, alignment, back);
    }

    /// A block that joined has ended: what it registered runs when it is known what becomes of the transaction. False:
    /// none of the engine is open.
    static bool take_actions(const grown<user_action>& commit, const grown<user_action>& undo) noexcept {
        transaction* const open = open_transaction_of<Engine>;
        if (open == nullptr) return false;
        try {
            for (const user_action& each : commit) open->on_commit.emplace_back([each] { each.run(each.argument); });
        } catch (const std::bad_alloc&) {
            open->doom_by_exception();
        }
        const bool is_first = object_.undone_.empty();
        for (const user_action& each : undo) object_.undone_.push(each);
        if (is_first) run_at_abort();
        return true;
    }

private:
    using block_exit = holdfast::detail::block_exit;

    [[gnu::always_inline]] stm::word load_inside(transaction& open, const stm::word* home) {
        try {
            return open.load(reinterpret_cast<const pool_word*>(home));
        } catch (const transaction_conflict&) {
            // Only where no block is open: g++ 12 has barriers behind one whose inner one was cancelled.
            leave(block_exit::conflict);
        } catch (const std::bad_alloc&) {
            leave(block_exit::no_memory);
        }
    }
    [[gnu::always_inline]] void store_inside(transaction& open, stm::word* home, stm::word what, std::uint8_t mask) {
        try {
            open.store(reinterpret_cast<pool_word*>(home), what, mask);
        } catch (const transaction_conflict&) {
            leave(block_exit::conflict);
        } catch (const failure& reason) {
            open.doom(reason);
        } catch (const std::bad_alloc&) {
            open.doom_by_exception();
        }
    }
    static void refuse_pool(const void* home) noexcept {
        if (find_open_pool(home) != nullptr)
            stop("an atomic block stores to a pool",
                 "no transaction of this runtime's engine is open: put the block into atomically of a pool of the "
                 "engine that HOLDFAST_ITM_EXPORT names");
    }

    /// Gives a block back in one of the transaction's actions. Where there is no room for the action, the transaction
    /// cannot succeed.
    template <class Actions>
    static bool later(transaction& open, Actions& actions, void* address, std::size_t bytes, std::size_t alignment,
                      stm::give_back back) noexcept {
        try {
            actions.emplace_back([=] { back(address, bytes, alignment); });
            return true;
        } catch (const std::bad_alloc&) {
            open.doom(error{.code = errc::out_of_space, .what = "no memory for an action of an atomic block"});
            return false;
        }
    }

    /// Jumps to the call of atomically that is around the open block.
    [[noreturn, gnu::cold, gnu::noinline]] static void leave(block_exit why) noexcept {
        const std::uintptr_t below = state().depth != 0 ? state().frames_below : 0;
        const holdfast::detail::block_landing* to = holdfast::detail::innermost_landing;
        while (to != nullptr && reinterpret_cast<std::uintptr_t>(to) < below) to = to->outer;
        if (to == nullptr) stop("an atomic block", "it met a conflict while the program's static objects were made");
        runtime<isolated_entry>::leave_joined(object_.undone_);
        // An attempt that is over for want of memory is not made again, but taken back as a whole.
        if (why == block_exit::no_memory) run_at_abort();
        holdfast::detail::jump_to_landing(*to, why);
    }

    static void run_at_abort() noexcept {
        if (object_.undone_.empty()) return;
        transaction& open = *open_transaction_of<Engine>;
        try {
            open.on_abort.emplace_back([] { run_actions(object_.undone_, 0, true); });
        } catch (const std::bad_alloc&) {
            open.doom_by_exception();
        }
    }

    static void leave_open_block() {
        if (state().joined && state().depth != 0) leave(block_exit::conflict);
    }
    /// Releases the lists when the thread ends.
    struct lists {
        ~lists() {
            object_.between_.release();
            object_.allocated_.release();
            object_.undone_.release();
        }
        bool constructed = true;
    };

    static void attempt_begins() noexcept {
        if (!object_.gives_back_at_exit_) object_.gives_back_at_exit_ = lists_.constructed;

        object_.allocated_.keep(0);
        object_.undone_.keep(0);
    }
    static void attempt_was_lost() noexcept {
        while (!object_.allocated_.empty()) {
            const memory_block last = object_.allocated_.back();
            object_.allocated_.pop();
            last.give_back(last.address, last.bytes, last.alignment);
        }
        run_actions(object_.undone_, 0, true);
    }

    static constexpr holdfast::detail::block_runtime calls_{attempt_begins, attempt_was_lost, leave_open_block};
    static constinit thread_local isolated_entry object_;
    static inline thread_local lists lists_;

    bool gives_back_at_exit_ = false;
    grown<std::byte> between_;
    grown<memory_block> allocated_;   ///< by blocks of the open attempt
    grown<user_action> undone_;       ///< undo actions of blocks that a conflict left
};

template <class Engine>
constinit thread_local isolated_entry<Engine> isolated_entry<Engine>::object_;

}  // namespace holdfast::itm

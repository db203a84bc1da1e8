// Atomic blocks over an engine: inside `pool.atomically` of that engine a block's stores are the engine's transaction,
// durable with it. A program that wants this instantiates it once, in a source compiled without -fgnu-tm, and links
// neither holdfast_itm_value nor holdfast_itm_versioned:
//
//     #include <holdfast/itm/engine_entry.hpp>
//     HOLDFAST_ITM_EXPORT(holdfast::itm::engine_entry<holdfast::redo>)
#pragma once

#include <holdfast/engine/engine.hpp>
#include <holdfast/itm/export.hpp>
#include <holdfast/itm/isolated_entry.hpp>
#include <holdfast/itm/one_lock.hpp>
#include <holdfast/itm/state.hpp>
#include <holdfast/pool/open_pool.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>

namespace holdfast::itm {

/// An algorithm over the transactions of `Engine`, which the caller's locks isolate.
///
/// Inside `pool.atomically` a block joins the open transaction: isolation comes from the locks passed to `atomically`,
/// and the result of that call says whether the block is durable. A cancel rolls back the block alone, inside the pool
/// and outside. An exception leaves the block and then atomically, which rolls back. An error of the engine
/// inside a block (no room for the record, a store to another pool) dooms the transaction: atomically returns it.
/// Memory that the block allocates by new or malloc is freed if atomically fails, what it deletes is deleted
/// if it succeeds. When atomically rolls back, variables outside of the pool keep what was stored, as without
/// blocks.
///
/// Outside of atomically blocks exclude each other by one lock; a store to a pool of the engine ends the program with a
/// message, because a failed commit could not be reported. A relaxed block that has to become irrevocable inside
/// atomically ends the program as well.
///
/// What holds if the process dies inside: what holds for the engine's transaction.
template <class Engine>
class locked_entry : public one_lock {
    using transaction = typename Engine::transaction;

public:
    static locked_entry& of_this_thread() noexcept { return object_; }

    bool active() const noexcept { return one_lock::active() || open_transaction_of<Engine> != nullptr; }
    bool become_irrevocable() noexcept { return one_lock::active() && one_lock::become_irrevocable(); }

    stm::word load(const stm::word* home) const noexcept {
        return read_value<Engine>(reinterpret_cast<const pool_word*>(home));
    }
    stm::word load_after_read(const stm::word* home) const noexcept { return load(home); }
    stm::word load_after_write(const stm::word* home) const noexcept { return load(home); }
    stm::word load_for_write(const stm::word* home) const noexcept { return load(home); }

    void store(stm::word* home, stm::word value, std::uint8_t mask) noexcept {
        if (transaction* const open = open_transaction_of<Engine>) {
            try {
                open->store(reinterpret_cast<pool_word*>(home), value, mask);
            } catch (const failure& reason) {
                open->doom(reason);
            } catch (const std::bad_alloc&) {
                open->doom_by_exception();
            }
            return;
        }
        if (find_open_pool(home) != nullptr)
            stop("an atomic block stores to a pool",
                 "no transaction of this runtime's engine is open: put the block into atomically of a pool of the "
                 "engine that HOLDFAST_ITM_EXPORT names");
        one_lock::store(home, value, mask);
    }
    void store_after_read(stm::word* home, stm::word value, std::uint8_t mask) noexcept { store(home, value, mask); }
    void store_after_write(stm::word* home, stm::word value, std::uint8_t mask) noexcept { store(home, value, mask); }

    void read_range(void* to, const void* from, std::size_t bytes) noexcept {
        words_of<locked_entry> words{*this};
        load_bytes(words, from, to, bytes);
    }
    void write_range(void* to, const void* from, std::size_t bytes) noexcept {
        words_of<locked_entry> words{*this};
        store_bytes(words, to, from, bytes);
    }
    void copy_range(void* to, const void* from, std::size_t bytes) noexcept {
        between_.keep(0);
        std::byte* const room = between_.extend(bytes);
        read_range(room, from, bytes);
        write_range(to, room, bytes);
    }
    void fill_range(void* to, int byte, std::size_t bytes) noexcept {
        between_.keep(0);
        std::byte* const room = between_.extend(bytes);
        std::memset(room, byte, bytes);
        write_range(to, room, bytes);
    }

    void note_allocated(void* address, std::size_t bytes, std::size_t alignment, stm::give_back back) noexcept {
        if (transaction* const open = open_transaction_of<Engine>)
            return later(*open, open->on_abort, address, bytes, alignment, back);
        one_lock::note_allocated(address, bytes, alignment, back);
    }
    void free_at_commit(void* address, std::size_t bytes, std::size_t alignment, stm::give_back back) noexcept {
        if (transaction* const open = open_transaction_of<Engine>)
            return later(*open, open->on_commit, address, bytes, alignment, back);
        one_lock::free_at_commit(address, bytes, alignment, back);
    }

    /// A block that joined has ended: what it registered runs after the transaction commits or rolls back. False: none
    /// of the engine is open.
    static bool take_actions(const grown<user_action>& commit, const grown<user_action>& undo) noexcept {
        transaction* const open = open_transaction_of<Engine>;
        if (open == nullptr) return false;
        const auto move = [&](auto& to, const user_action& each) {
            to.emplace_back([each] { each.run(each.argument); });
        };
        try {
            for (const user_action& each : commit) move(open->on_commit, each);
            for (std::size_t left = undo.size(); left != 0; --left) move(open->on_abort, undo.begin()[left - 1]);
        } catch (const std::bad_alloc&) {
            open->doom_by_exception();
        }
        return true;
    }

private:
    /// Gives a block back in one of the transaction's actions. Where there is no room for the action, the transaction
    /// cannot succeed.
    template <class Actions>
    static void later(transaction& open, Actions& actions, void* address, std::size_t bytes, std::size_t alignment,
                      stm::give_back back) noexcept {
        try {
            actions.emplace_back([=] { back(address, bytes, alignment); });
        } catch (const std::bad_alloc&) {
            open.doom(error{.code = errc::out_of_space, .what = "no memory for an action of an atomic block"});
        }
    }

    static constinit thread_local locked_entry object_;
    grown<std::byte> between_;
};

template <class Engine>
constinit thread_local locked_entry<Engine> locked_entry<Engine>::object_;

/// What HOLDFAST_ITM_EXPORT is given: blocks over `Engine`, by the way in which it isolates.
template <class Engine>
using engine_entry = std::conditional_t<Engine::isolates, isolated_entry<Engine>, locked_entry<Engine>>;

}  // namespace holdfast::itm

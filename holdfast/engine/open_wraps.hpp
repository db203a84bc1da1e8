// The wraps that a thread has open, for loads and stores that name none.
#pragma once

#include <holdfast/base/assertion.hpp>
#include <holdfast/engine/gate.hpp>
#include <holdfast/pool/registry.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace holdfast {

namespace detail {

[[gnu::cold, gnu::noinline]] inline error pool_of_wrap_is_gone() {
    return error{.code = errc::misuse, .what = "the wrap's pool was closed, or opened before a fork"};
}

}  // namespace detail

/// A wrap is listed with the thread that opened it, and in softwrap with the thread that used it last: a wrap passed to
/// another thread is listed there after its next use. So a thread never finds in its list a wrap that another thread is
/// using.
template <class Transaction>
class open_wraps {
public:
    /// Calls f for each wrap that this thread has open, in the order of its first use here. An ended thread has none.
    template <class F>
    static void for_each_of_this_thread(F&& f) {
        if (detail::thread_is_gone()) return;
        open_wraps& mine = *pointer_of_this_thread();
        if (mine.count_.load(std::memory_order_relaxed) == 0) return;
        const std::lock_guard lock(mine.mutex_);
        for (const entry& each : mine.listed_) f(*each.wrap);
    }

    /// The last in that order, nullptr if there is none. Throws failure: misuse (its pool was closed, or opened before
    /// a fork).
    static Transaction* innermost() {
        if (detail::thread_is_gone()) return nullptr;
        open_wraps& mine = *pointer_of_this_thread();
        Transaction* const last = mine.innermost_.load(std::memory_order_relaxed);
        if (last != nullptr && mine.verified_.load(std::memory_order_relaxed) !=
                                   pool_changes.load(std::memory_order_relaxed)) [[unlikely]]
            mine.verify_innermost();
        return last;
    }

    /// Where one wrap is listed.
    class listing {
    public:
        /// Lists it with this thread. Cheap where it is already. `instance` is its pool's.
        void use(Transaction& wrap, std::uint64_t instance) {
            const auto& here = pointer_of_this_thread();
            if (where_ == here) [[likely]]
                return;
            end(wrap);
            here->add({&wrap, instance});
            where_ = here;
        }
        void end(Transaction& wrap) noexcept {
            if (where_ == nullptr) return;
            where_->remove(wrap);
            where_.reset();
        }
        /// The same in a forked child, where a thread that is not there may have had the list. False: it has.
        bool end_in_child(Transaction& wrap) noexcept {
            if (where_ == nullptr) return true;
            if (!where_->mutex_.try_lock()) return false;
            where_->mutex_.unlock();
            end(wrap);
            return true;
        }

    private:
        std::shared_ptr<open_wraps> where_;
    };

private:
    struct entry {
        Transaction* wrap;
        std::uint64_t instance;  ///< of its pool
    };

    // Outlives the thread while a wrap is listed.
    static const std::shared_ptr<open_wraps>& pointer_of_this_thread() {
        struct of_thread {
            std::shared_ptr<open_wraps> wraps = std::make_shared<open_wraps>();
            detail::end_of_thread end;
        };
        thread_local const of_thread mine;
        return mine.wraps;
    }
    void add(const entry& added) {
        const std::lock_guard lock(mutex_);
        listed_.push_back(added);
        listed_has_changed();
    }
    void remove(Transaction& wrap) noexcept {
        const std::lock_guard lock(mutex_);
        [[maybe_unused]] const auto erased =
            std::erase_if(listed_, [&](const entry& each) { return each.wrap == &wrap; });
        HOLDFAST_ASSERT(erased == 1, "a wrap is listed once, where it says");
        listed_has_changed();
    }
    void listed_has_changed() noexcept {
        count_.store(listed_.size(), std::memory_order_relaxed);
        innermost_.store(listed_.empty() ? nullptr : listed_.back().wrap, std::memory_order_relaxed);
        verified_.store(0, std::memory_order_relaxed);
    }
    [[gnu::cold, gnu::noinline]] void verify_innermost() {
        const std::lock_guard lock(mutex_);
        const std::uint64_t now = pool_changes.load(std::memory_order_relaxed);
        const entry& last = listed_.back();
        if (!is_open_pool(last.wrap->pool(), last.instance)) throw failure(detail::pool_of_wrap_is_gone());
        verified_.store(now, std::memory_order_relaxed);
    }

    std::mutex mutex_;
    std::vector<entry> listed_;
    std::atomic<std::size_t> count_{0};
    std::atomic<Transaction*> innermost_{nullptr};
    std::atomic<std::uint64_t> verified_{0};  ///< pool_changes when the innermost one's pool was found open
};

}  // namespace holdfast

// The wraps that a thread has open, for loads that name none.
#pragma once

#include <holdfast/engine/gate.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace holdfast {

/// A wrap is listed with the thread that used it last: one that went to another thread is listed there after its next
/// use. So who looks at the listed ones never meets another thread that uses one of them.
template <class Transaction>
class open_wraps {
public:
    /// Calls f for each that this thread has open, in the order of its first use here. A thread that is gone has none.
    template <class F>
    static void for_each_of_this_thread(F&& f) {
        if (detail::thread_is_gone()) return;
        open_wraps& mine = *pointer_of_this_thread();
        if (mine.count_.load(std::memory_order_relaxed) == 0) return;
        const std::lock_guard lock(mine.mutex_);
        for (Transaction* each : mine.listed_) f(*each);
    }

    /// Where one wrap is listed.
    class listing {
    public:
        /// Lists it with this thread. Cheap where it is already.
        void use(Transaction& wrap) {
            const auto& here = pointer_of_this_thread();
            if (where_ == here) [[likely]]
                return;
            end(wrap);
            here->add(wrap);
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
    // Outlives the thread while a wrap is listed.
    static const std::shared_ptr<open_wraps>& pointer_of_this_thread() {
        struct of_thread {
            std::shared_ptr<open_wraps> wraps = std::make_shared<open_wraps>();
            detail::end_of_thread end;
        };
        thread_local const of_thread mine;
        return mine.wraps;
    }
    void add(Transaction& wrap) {
        const std::lock_guard lock(mutex_);
        listed_.push_back(&wrap);
        count_.store(listed_.size(), std::memory_order_relaxed);
    }
    void remove(Transaction& wrap) noexcept {
        const std::lock_guard lock(mutex_);
        std::erase(listed_, &wrap);
        count_.store(listed_.size(), std::memory_order_relaxed);
    }

    std::mutex mutex_;
    std::vector<Transaction*> listed_;
    std::atomic<std::size_t> count_{0};
};

}  // namespace holdfast

// Memory whose transactions fail and are repeated where a test wants it.
#pragma once

#include <workload/plain_access_test.hpp>

#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>
#include <vector>

namespace holdfast::workload::test {

/// What conflicting_access does; outlives it. Transactions are counted from 1.
struct conflicts {
    std::uint64_t fails = 0;     ///< which one; 0: none
    std::uint64_t repeated = 0;  ///< which one is taken back and run again; 0: none
    std::function<void()> meanwhile{};  ///< runs in between, as another thread would
    std::uint64_t begun = 0;
    struct overwritten {
        void* home;
        std::vector<unsigned char> value;
    };
    std::vector<overwritten> before{};
    std::vector<void*> made{};
    std::vector<void*> freed{};
};

/// One thread.
class conflicting_access : public test::plain_access {
public:
    conflicting_access(plain_memory& memory, conflicts& how) noexcept : test::plain_access(memory), how_(&how) {}

    template <class T>
    void store(T* home, const std::type_identity_t<T>& value) const {
        const auto* const bytes = reinterpret_cast<const unsigned char*>(home);
        how_->before.push_back({home, std::vector<unsigned char>(bytes, bytes + sizeof(T))});
        test::plain_access::store(home, value);
    }
    void* allocate(std::size_t bytes) const {
        how_->made.push_back(test::plain_access::allocate(bytes));
        return how_->made.back();
    }
    void free(void* address) const { how_->freed.push_back(address); }

    template <class F>
    bool atomically(F&& f) const {
        const std::uint64_t number = ++how_->begun;
        f();
        if (number == how_->fails) return take_back(), false;
        if (number == how_->repeated) {
            take_back();
            how_->meanwhile();
            f();
        }
        end(how_->freed);
        return true;
    }

private:
    void take_back() const {
        for (; !how_->before.empty(); how_->before.pop_back()) {
            const conflicts::overwritten& last = how_->before.back();
            std::memcpy(last.home, last.value.data(), last.value.size());
        }
        end(how_->made);
    }
    void end(const std::vector<void*>& blocks) const {
        for (void* const each : blocks) test::plain_access::free(each);
        how_->before.clear();
        how_->made.clear();
        how_->freed.clear();
    }

    conflicts* how_;
};

}  // namespace holdfast::workload::test

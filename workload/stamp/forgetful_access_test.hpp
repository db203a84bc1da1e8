// Memory that loses one transaction, for tests of checks.
#pragma once

#include <workload/plain_access_test.hpp>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <set>
#include <type_traits>
#include <vector>

namespace holdfast::workload::test {

/// What forgetful_access does; outlives it.
struct forgetting {
    std::uint64_t lost = 0;  ///< which transaction; 0: none
    std::uint64_t begun = 0;
    bool inside = false;  ///< the one that is lost
    struct overwritten {
        void* home;
        std::vector<unsigned char> value;
    };
    std::vector<overwritten> before{};
    std::set<void*> freed{};  ///< really only at the end: a lost transaction leaves ways to blocks that others free

    forgetting() = default;
    forgetting(const forgetting&) = delete;
    forgetting& operator=(const forgetting&) = delete;
    ~forgetting() {
        for (void* const each : freed) std::free(each);
    }
};

/// Ordinary memory in which transaction number `lost` has no effect although it says that it committed. One thread.
class forgetful_access : public workload::plain_access {
public:
    explicit forgetful_access(forgetting& how) noexcept : how_(&how) {}

    template <class T>
    void store(T* home, const std::type_identity_t<T>& value) const {
        if (how_->inside) {
            const auto* const bytes = reinterpret_cast<const unsigned char*>(home);
            how_->before.push_back({home, std::vector<unsigned char>(bytes, bytes + sizeof(T))});
        }
        workload::plain_access::store(home, value);
    }
    /// What the lost transaction frees is reached again when it is taken back.
    void free(void* address) const {
        if (!how_->inside) how_->freed.insert(address);
    }
    template <class F>
    bool atomically(F&& f) const {
        how_->inside = ++how_->begun == how_->lost;
        f();
        while (!how_->before.empty()) {
            const forgetting::overwritten& last = how_->before.back();
            std::memcpy(last.home, last.value.data(), last.value.size());
            how_->before.pop_back();
        }
        how_->inside = false;
        return true;
    }

private:
    forgetting* how_;
};

}  // namespace holdfast::workload::test

// Observers that tests share: those to whom every call of the seam is the same.
#pragma once

#include <holdfast/persist/observer.hpp>

#include <cstddef>
#include <cstdint>

namespace holdfast::persist::test {

/// Hears `called` at every call, while it lives.
class call_observer : public observer {
public:
    call_observer() : before_(observe(this)) {}
    ~call_observer() override { observe(before_); }
    call_observer(const call_observer&) = delete;
    call_observer& operator=(const call_observer&) = delete;

    void store(const void*, std::size_t, site_id where) override { called(where); }
    void write_back(const void*, std::size_t, site_id where) override { called(where); }
    void stream(const void*, std::size_t, site_id where) override { called(where); }
    void before_fence(site_id where) override { called(where); }
    void after_fence(site_id where) override { called(where); }
    void file_write(std::uint64_t, const void*, std::size_t, bool, site_id where) override { called(where); }
    void file_sync(site_id where) override { called(where); }

protected:
    virtual void called(site_id where) = 0;

private:
    observer* before_;
};

/// The cut at the call with that number, counted from 1.
class cutter final : public call_observer {
public:
    explicit cutter(std::uint64_t call) : left_(call) {}
    bool has_cut() const noexcept { return left_ == 0; }

private:
    void called(site_id) override {
        if (left_ != 0 && --left_ == 0) throw simulated_crash{};
    }
    std::uint64_t left_;
};

}  // namespace holdfast::persist::test

// Stores that the compiler does not instrument, told to the image that recovery runs on.
#pragma once

#include <crash/cut/lazy_memory.hpp>

#include <holdfast/persist/observer.hpp>

namespace holdfast::crash {

/// Tells the image of stores that the compiler does not instrument, while recovery is not recorded.
class untold_stores final : public persist::observer {
public:
    untold_stores() : before_(persist::observe(nullptr)) { persist::observe(before_ != nullptr ? before_ : this); }
    ~untold_stores() override { persist::observe(before_); }
    untold_stores(const untold_stores&) = delete;
    untold_stores& operator=(const untold_stores&) = delete;

    void store(const void* home, std::size_t size, persist::site_id) override { tell(home, size); }
    void stream(const void* home, std::size_t size, persist::site_id) override { tell(home, size); }
    void write_back(const void*, std::size_t, persist::site_id) override {}
    void before_fence(persist::site_id) override {}
    void after_fence(persist::site_id) override {}
    void file_write(std::uint64_t, const void*, std::size_t, bool, persist::site_id) override {}
    void file_sync(persist::site_id) override {}

private:
    static void tell(const void* home, std::size_t size) {
        if (instrumented_memory != nullptr) instrumented_memory->write(home, size);
    }
    persist::observer* before_;
};

}  // namespace holdfast::crash

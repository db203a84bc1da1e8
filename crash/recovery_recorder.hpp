// The trace of a recovery: what it does to the pool it does by the seam, which says so.
#pragma once

#include <crash/trace.hpp>

#include <holdfast/persist/observer.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace holdfast::crash {

/// Records from its construction to its destruction. One thread.
class recovery_recorder final : public persist::observer {
public:
    explicit recovery_recorder(std::span<const std::byte> pool) : pool_(pool), before_(persist::observe(this)) {
        trace_.before.resize(pool.size() / 8);
        std::memcpy(trace_.before.data(), pool.data(), pool.size());
    }
    ~recovery_recorder() override { persist::observe(before_); }
    recovery_recorder(const recovery_recorder&) = delete;
    recovery_recorder& operator=(const recovery_recorder&) = delete;

    const trace& recorded() const noexcept { return trace_; }

    void store(const void* home, std::size_t size, persist::site where) override {
        add_words(event_kind::store, home, size, where);
    }
    void stream(const void* home, std::size_t size, persist::site where) override {
        add_words(event_kind::stream, home, size, where);
    }
    void write_back(const void* begin, std::size_t size, persist::site where) override {
        const std::uint64_t first = offset(begin) / 64;
        trace_.events.push_back({event_kind::write_back, where, first, (offset(begin) + size - 1) / 64 - first + 1});
    }
    void before_fence(persist::site) override {}
    void after_fence(persist::site where) override { trace_.events.push_back({event_kind::fence, where}); }
    void file_write(std::uint64_t, const void*, std::size_t, bool, persist::site) override {}
    void file_sync(persist::site) override {}

private:
    std::uint64_t offset(const void* at) const noexcept {
        return static_cast<std::uint64_t>(static_cast<const std::byte*>(at) - pool_.data());
    }
    void add_words(event_kind kind, const void* home, std::size_t size, persist::site where) {
        for (std::uint64_t word = offset(home) / 8; word * 8 < offset(home) + size; ++word) {
            std::uint64_t value;
            std::memcpy(&value, pool_.data() + word * 8, sizeof value);
            trace_.events.push_back({kind, where, word, value});
        }
    }

    std::span<const std::byte> pool_;
    persist::observer* before_;
    trace trace_;
};

}  // namespace holdfast::crash

// Memory whose power is cut at a call of the seam, and what is left in it then.
//
// What a fence completed is there. Of the rest, each line has its old bytes or those that it had at the cut, and each
// word that was streamed has arrived or not, all independently.
#pragma once

#include <holdfast/persist/observer.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace holdfast::bench::test {

/// Watches all calls while it lives. What the memory holds at first is taken for durable.
class cut_memory final : public persist::observer {
public:
    cut_memory(std::span<std::byte> memory, std::uint64_t seed)
        : memory_(memory), durable_(memory.begin(), memory.end()), random_(seed), before_(persist::observe(this)) {}
    ~cut_memory() override { persist::observe(before_); }
    cut_memory(const cut_memory&) = delete;
    cut_memory& operator=(const cut_memory&) = delete;

    /// The cut comes at the call with this number, counted from now. 0: never.
    void cut_at(std::uint64_t call) noexcept { left_ = call; }
    std::uint64_t calls() const noexcept { return calls_; }
    bool was_cut() const noexcept { return was_cut_; }
    /// Runs at each call before the cut, for instance another session's transaction.
    void between(std::function<void()> work) { between_ = std::move(work); }

    void store(const void*, std::size_t, persist::site_id) override { step(); }
    void write_back(const void* begin, std::size_t size, persist::site_id) override {
        const std::size_t first = offset(begin) / 64 * 64;
        remember(first, (offset(begin) + size + 63) / 64 * 64 - first, false);
        step();
    }
    void stream(const void* home, std::size_t size, persist::site_id) override {
        remember(offset(home), size, true);
        step();
    }
    void before_fence(persist::site_id) override { step(); }
    void after_fence(persist::site_id) override {
        for (const piece& each : pending_) arrive(each);
        pending_.clear();
        step();
    }
    void file_write(std::uint64_t, const void*, std::size_t, bool, persist::site_id) override {}
    void file_sync(persist::site_id) override {}

private:
    struct piece {
        std::size_t offset;
        std::vector<std::byte> bytes;
        bool streamed;
    };

    std::size_t offset(const void* at) const noexcept {
        return static_cast<std::size_t>(static_cast<const std::byte*>(at) - memory_.data());
    }
    void remember(std::size_t at, std::size_t size, bool streamed) {
        const auto* const from = memory_.data() + at;
        pending_.push_back({at, {from, from + size}, streamed});
    }
    void arrive(const piece& each) { std::memcpy(&durable_[each.offset], each.bytes.data(), each.bytes.size()); }
    bool coin() { return (random_() & 1) != 0; }

    void step() {
        if (between_ && !inside_) {
            inside_ = true;
            between_();
            inside_ = false;
        }
        ++calls_;
        if (left_ == 0 || --left_ != 0) return;
        cut();
        throw persist::simulated_crash{};
    }
    void cut() {
        was_cut_ = true;
        for (const piece& each : pending_) {
            if (!each.streamed && coin()) arrive(each);
            for (std::size_t at = 0; each.streamed && at < each.bytes.size(); at += 8)
                if (coin()) std::memcpy(&durable_[each.offset + at], &each.bytes[at], 8);
        }
        for (std::size_t line = 0; line < durable_.size(); line += 64) {
            const bool streamed = is_streamed(line);
            if (std::memcmp(&durable_[line], &memory_[line], 64) != 0 && !streamed && coin())
                std::memcpy(&durable_[line], &memory_[line], 64);
        }
        std::memcpy(memory_.data(), durable_.data(), durable_.size());
    }
    bool is_streamed(std::size_t line) const {
        for (const piece& each : pending_)
            if (each.streamed && each.offset < line + 64 && line < each.offset + each.bytes.size()) return true;
        return false;
    }

    std::span<std::byte> memory_;
    std::vector<std::byte> durable_;
    std::mt19937_64 random_;
    persist::observer* before_;
    std::function<void()> between_;
    std::vector<piece> pending_;
    std::uint64_t calls_ = 0;
    std::uint64_t left_ = 0;
    bool inside_ = false;
    bool was_cut_ = false;
};

}  // namespace holdfast::bench::test

// The trace of what the library does to a pool by the seam, which says so. A program's own stores are seen too where
// it is instrumented, and who records asks for them. (The recorder sees all of any program.)
#pragma once

#include <crash/cut/lazy_memory.hpp>
#include <crash/cut/trace.hpp>
#include <crash/record/scheduler.hpp>

#include <holdfast/persist/observer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace holdfast::crash {

/// Records from its construction to its destruction: one thread, or those of a scheduled run (scheduler.hpp), where
/// each store, stream, write-back, fence and write to the file is a step.
class seam_recorder final : public persist::observer, public store_listener {
public:
    /// `seen_at`: where the pool is mapped, or will be; the medium perhaps again (medium_distance). `file`: what the
    /// file holds now, with room to grow.
    seam_recorder(const std::byte* seen_at, std::span<const std::byte> file)
        : seen_at_(seen_at), file_(file.size() / 8), before_(persist::observe(this)) {
        std::memcpy(file_.data(), file.data(), file.size());
        trace_.before = file_;
    }
    ~seam_recorder() override {
        if (instrumented_stores == this) instrumented_stores = nullptr;
        persist::observe(before_);
    }
    seam_recorder(const seam_recorder&) = delete;
    seam_recorder& operator=(const seam_recorder&) = delete;

    trace& recorded() noexcept { return trace_; }
    /// Whether the mapping is the file's own pages, so that a store changes the file.
    void stores_reach_file(bool reach) noexcept { stores_reach_file_ = reach; }
    /// From here on the program's own stores are seen. Requires: it is instrumented, and a run is on.
    void listen_to_stores() noexcept { instrumented_stores = this; }
    void explore_from_here() noexcept { trace_.explored_from = trace_.events.size(); }
    void operation_begins(unsigned thread = 0) { add_operation(event_kind::operation_begins, thread); }
    void operation_done(unsigned thread = 0) { add_operation(event_kind::operation_done, thread); }

    void before_store(const void* at, std::size_t size) override {
        add_program_store();
        if (inside(at)) announced_ = {static_cast<const std::byte*>(at), size};
    }
    void store(const void* home, std::size_t size, persist::site_id where) override {
        add_stores(event_kind::store, home, size, where);
        scheduled::step();
    }
    void store_pair(const void* home, persist::site_id where) override {
        constexpr std::size_t size = 2 * sizeof(std::uint64_t);
        if (instrumented_memory != nullptr) instrumented_memory->write(home, size);
        add_stores(event_kind::store, home, size, where);
        if (inside(home) && !stores_reach_file_) trace_.events.back().with_before = true;
        scheduled::step();
    }
    void stream(const void* home, std::size_t size, persist::site_id where) override {
        // Instructions that the compiler does not instrument, as those above.
        if (instrumented_memory != nullptr) instrumented_memory->write(home, size);
        add_stores(event_kind::stream, home, size, where);
        scheduled::step();
    }
    void write_back(const void* begin, std::size_t size, persist::site_id where) override {
        if (!inside(begin)) return;
        add_program_store();
        trace_.events.push_back(write_back_of(offset(begin), size, where));
        trace_.events.back().stack = call_stacks::here();
        trace_.events.back().thread = scheduled::thread();
        scheduled::step();
    }
    void before_fence(persist::site_id) override {}
    void after_fence(persist::site_id where) override {
        add(event_kind::fence, where);
        scheduled::step();
    }
    void order(persist::site_id where) override { add(event_kind::order, where); }
    void file_write(std::uint64_t offset, const void* bytes, std::size_t size, bool durable,
                    persist::site_id where) override {
        if (size == 0) return;
        std::memcpy(reinterpret_cast<std::byte*>(file_.data()) + offset, bytes, size);
        const std::uint64_t end = (offset + size + 7) / 8;
        for (std::uint64_t word = offset / 8; word < end; ++word) add(event_kind::file_word, where, word, file_[word]);
        add(event_kind::file_write, where);
        if (durable) add(event_kind::file_range_sync, where, offset / 8, end - offset / 8);
        scheduled::step();
    }
    void file_sync(persist::site_id where) override {
        add(event_kind::file_sync, where);
        scheduled::step();
    }
    /// Whatever was stored to the mapping since the last write counts as written just before.
    void mapping_write(const void* base, std::size_t size, persist::site_id where) override {
        const auto* bytes = static_cast<const std::byte*>(base);
        for (std::uint64_t word = 0; word < std::min(size / 8, file_.size()); ++word) {
            std::uint64_t value;
            std::memcpy(&value, bytes + word * 8, sizeof value);
            if (value == file_[word]) continue;
            file_[word] = value;
            add(event_kind::file_word, where, word, value);
        }
        add(event_kind::file_write, where);
    }
    void mapping_sync(const void* base, std::size_t size, persist::site_id where) override {
        mapping_write(base, size, where);
        file_sync(where);
    }
    void file_resize(std::uint64_t size) override {
        if (instrumented_memory != nullptr) instrumented_memory->resize_file(size);
        add(event_kind::file_resize, {}, 0, size);
    }
    void file_publish() override { add(event_kind::file_publish); }
    void directory_sync() override { add(event_kind::directory_sync); }
    void committed() override {
        add_program_store();
        trace_.commits.push_back(trace_.events.size());
    }

private:
    void add(event_kind kind, std::optional<persist::site_id> where = {}, std::uint64_t place = 0,
             std::uint64_t value = 0) {
        add_program_store();
        trace_.events.push_back({kind, where, place, value, nullptr, scheduled::thread(), call_stacks::here()});
    }
    /// The store that was announced is through by now.
    void add_program_store() {
        if (announced_.empty()) return;
        const auto at = std::exchange(announced_, {});
        const std::uint64_t end = (offset(at.data()) + at.size() + 7) / 8;
        for (std::uint64_t word = offset(at.data()) / 8; word < end; ++word) {
            std::uint64_t value;
            std::memcpy(&value, seen_at_ + word * 8, sizeof value);
            trace_.events.push_back({event_kind::store, {}, word, value, nullptr, 0, call_stacks::here()});
        }
    }
    void add_operation(event_kind kind, unsigned thread) {
        add_program_store();
        trace_.events.push_back({kind, {}, 0, 0, nullptr, static_cast<std::uint8_t>(thread), 0});
    }
    std::uint64_t offset(const void* at) const noexcept {
        const auto offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(at) - seen_at_);
        return offset < medium_distance ? offset : offset - medium_distance;
    }
    bool inside(const void* at) const noexcept { return offset(at) < file_.size() * 8; }
    void add_stores(event_kind kind, const void* home, std::size_t size, persist::site_id where) {
        // What the seam tells of was announced as well.
        announced_ = {};
        if (!inside(home)) return;
        const std::byte* const pool = static_cast<const std::byte*>(home) - offset(home);
        for (std::uint64_t word = offset(home) / 8; word * 8 < offset(home) + size; ++word) {
            std::uint64_t value;
            std::memcpy(&value, pool + word * 8, sizeof value);
            if (stores_reach_file_) file_[word] = value;
            add(stores_reach_file_ ? event_kind::file_word : kind, where, word, value);
        }
        if (stores_reach_file_) add(event_kind::file_write, where);
    }

    const std::byte* seen_at_;
    std::span<const std::byte> announced_;  ///< a store that is on its way
    bool stores_reach_file_ = false;
    std::vector<std::uint64_t> file_;  ///< its words, as far as they were written
    persist::observer* before_;
    trace trace_;
};

}  // namespace holdfast::crash

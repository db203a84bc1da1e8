// A pool in memory and a tiny transaction over it, for the heap's tests: it plays an engine that
// stores at commit, and one that stores in place and restores.
#pragma once

#include <holdfast/heap/heap.hpp>
#include <holdfast/heap/heap_format.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <span>
#include <vector>

namespace holdfast::heap_test {

inline constexpr std::size_t page = heap_format::page_bytes;

enum class storing { at_commit, in_place };

/// The engine's part of one transaction.
class test_writer final : public heap_writer {
public:
    explicit test_writer(storing how) : how_(how) {}

    void store(void* home, const void* bytes, std::size_t size) override {
        if (stores_left == 0) fail(errc::transaction_too_large, "the test's log is full");
        --stores_left;
        auto* to = static_cast<std::byte*>(home);
        const auto* from = static_cast<const std::byte*>(bytes);
        if (how_ == storing::at_commit) {
            records_.push_back({to, {from, from + size}});
        } else {
            records_.push_back({to, {to, to + size}});
            std::memcpy(to, from, size);
        }
    }
    void commit() {
        if (how_ == storing::at_commit)
            for (const record& each : records_) std::memcpy(each.home, each.bytes.data(), each.bytes.size());
        records_.clear();
    }
    /// Also what recovery does after a crash.
    void roll_back() {
        if (how_ == storing::in_place)
            for (auto each = records_.rbegin(); each != records_.rend(); ++each)
                std::memcpy(each->home, each->bytes.data(), each->bytes.size());
        records_.clear();
    }
    std::set<const std::byte*> touched() const {
        std::set<const std::byte*> bytes;
        for (const record& each : records_)
            for (std::size_t i = 0; i < each.bytes.size(); ++i) bytes.insert(each.home + i);
        return bytes;
    }
    std::vector<std::pair<const std::byte*, std::size_t>> stores() const {
        std::vector<std::pair<const std::byte*, std::size_t>> all;
        for (const record& each : records_) all.emplace_back(each.home, each.bytes.size());
        return all;
    }
    std::size_t store_count() const noexcept { return records_.size(); }

    std::size_t stores_left = ~std::size_t{0};

private:
    struct record {
        std::byte* home;
        std::vector<std::byte> bytes;
    };
    storing how_;
    std::vector<record> records_;
};

/// Pages of garbage with one formatted zone (its table zeroed) behind `zone_page`.
class heap_in_memory {
public:
    explicit heap_in_memory(std::size_t zone_pages, std::size_t zone_page = 1)
        : zone_{zone_page * page, zone_pages * page},
          bytes_(static_cast<std::byte*>(::operator new((zone_page + zone_pages) * page, std::align_val_t{page}))) {
        std::memset(bytes_.get(), 0, (zone_page + zone_pages) * page);
        heap::format_zone(bytes_.get(), zone_);
        const std::size_t data = heap_format::header_for(zone_.offset, zone_.bytes).data_offset;
        std::memset(bytes_.get() + data, 0xEE, zone_.offset + zone_.bytes - data);
        reopen();
    }

    void reopen() {
        heap_.reset();
        auto opened = heap::open(bytes_.get(), {&zone_, 1});
        ASSERT_TRUE(opened) << opened.error().text();
        heap_ = std::move(opened).value();
        heap_->begin({});
    }
    heap_audit audit(std::span<const void* const> owned) const { return heap::audit(data(), {&zone_, 1}, owned, true); }
    heap_audit audit() const { return heap::audit(data(), {&zone_, 1}, {}, false); }

    holdfast::heap& heap() const { return *heap_; }
    std::byte* data() const { return bytes_.get(); }
    const heap_zone& zone() const { return zone_; }
    std::size_t page_count() const { return heap_format::data_pages_in(zone_.bytes); }
    /// The state byte of a block in a slab of one page.
    std::byte* state_of(const std::byte* block, std::size_t block_bytes) const {
        const std::size_t in_page = static_cast<std::size_t>(block - data()) % page;
        const auto& shape = heap_format::slab_classes[heap_format::class_of(block_bytes)];
        return data() + (static_cast<std::size_t>(block - data()) - in_page) +
               (in_page - shape.first_block) / shape.block_bytes;
    }
    std::byte* descriptor_of(const std::byte* in_page) const {
        const auto header = heap_format::header_for(zone_.offset, zone_.bytes);
        const std::uint64_t index = (static_cast<std::uint64_t>(in_page - data()) - header.data_offset) / page;
        return data() + header.table_offset + index * 8;
    }

private:
    struct releaser {
        void operator()(std::byte* bytes) const { ::operator delete(bytes, std::align_val_t{page}); }
    };
    heap_zone zone_;
    std::unique_ptr<std::byte, releaser> bytes_;
    std::unique_ptr<holdfast::heap> heap_;
};

/// One transaction after another over a pool.
class test_transaction {
public:
    test_transaction(const heap_in_memory& pool, storing how) : writer(how), pool_(&pool) {}
    ~test_transaction() {
        if (session->used()) roll_back();
    }

    heap_block allocate(std::size_t bytes, std::size_t alignment = 16) {
        return session->allocate(pool_->heap(), bytes, alignment, writer);
    }
    void release(void* address) { session->release(pool_->heap(), address, writer); }
    std::uint64_t commit() {
        const std::uint64_t sequence = ++last_sequence;
        writer.commit();
        session->committed(sequence);
        return sequence;
    }
    void roll_back() {
        writer.roll_back();
        session->rolled_back();
    }
    /// The process dies, and recovery runs; the session's DRAM is lost without a word to the heap. Call before
    /// the pool is reopened.
    void crash() {
        writer.roll_back();
        session->rolled_back();
        session = std::make_unique<heap::session>();
    }

    test_writer writer;
    std::unique_ptr<heap::session> session = std::make_unique<heap::session>();
    static inline std::atomic<std::uint64_t> last_sequence{0};

private:
    const heap_in_memory* pool_;
};

/// The code of the failure that `call` throws.
template <class Call>
errc code_of(Call&& call) {
    try {
        call();
    } catch (const failure& thrown) {
        return thrown.reason().code;
    }
    ADD_FAILURE() << "nothing was thrown";
    return errc::io;
}

}  // namespace holdfast::heap_test

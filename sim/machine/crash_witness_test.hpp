// Watches a run for crashes: what it stores, acknowledges and makes durable.
#pragma once

#include <sim/machine/simulated_machine.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

namespace holdfast::sim::test {

struct seen_transaction {
    std::map<std::uint64_t, std::uint64_t> words{};  ///< what it left in each word that it stored to
    time acknowledged = never;
    std::uint64_t order = ~std::uint64_t{0};  ///< of its commit, among those of all harts
    bool whole = true;                        ///< false: it began before the run was watched
};

/// In front of the hardware that is attached already.
class crash_witness final : public port::transactions,
                            public port::store_commit,
                            public port::time_passing,
                            public port::persisted {
public:
    void attach(simulated_machine& to) {
        machine_ = &to;
        behind_ = to.ports;
        to.ports.on_transaction = this;
        to.ports.on_store = this;
        to.ports.on_time = this;
        to.ports.on_persist = this;
    }

    time begin(hart_id hart, transaction_id id, time at) override {
        if (is_watching_) open(hart).emplace_back();
        return behind_.on_transaction ? behind_.on_transaction->begin(hart, id, at) : at;
    }
    time commit(hart_id hart, transaction_id id, time at) override {
        if (behind_.on_transaction) at = behind_.on_transaction->commit(hart, id, at);
        if (is_watching_) {
            if (open(hart).empty()) open(hart).push_back({.whole = false});
            open(hart).back().acknowledged = at;
            open(hart).back().order = commits_++;
        }
        return at;
    }
    time commit(const port::store_event& event) override {
        const time at = behind_.on_store ? behind_.on_store->commit(event) : event.at;
        if (is_watching_ && event.in_transaction && is_persistent(event.where)) note(event);
        return at;
    }
    void reached(time at) override {
        if (behind_.on_time) behind_.on_time->reached(at);
    }
    void measured_begin() override {
        if (behind_.on_time) behind_.on_time->measured_begin();
        is_watching_ = true;
        const memory_map& map = machine_->memory.map();
        machine_->memory.nvram().image().for_each_page([&](address page, std::span<const std::byte> bytes) {
            if (map.is_nvram(page)) at_first.write_bytes(page, bytes);
        });
    }
    void became_durable(const port::persist_event& event) override {
        if (behind_.on_persist) behind_.on_persist->became_durable(event);
        if (is_watching_) durable.emplace(event.at, event.what);
    }
    /// Crashes come before a thread's last transaction: of those that are open all is known. And they come behind the
    /// first ones: of a transaction that had begun before the run was watched not all is known, and who acknowledges
    /// early may lose it, too.
    void stop() {
        is_watching_ = false;
        end = never;
        for (const auto& [hart, all] : of_harts) {
            const seen_transaction& early = all[std::min<std::size_t>(all.size() - 1, 24)];
            if (early.acknowledged != never) begin_at = std::max(begin_at, early.acknowledged);
            const auto is_done = [](const seen_transaction& each) { return each.acknowledged != never; };
            const auto last = std::find_if(all.rbegin(), all.rend(), is_done);
            end = std::min(end, last == all.rend() ? time{} : last->acknowledged);
        }
    }

    std::map<std::uint32_t, std::vector<seen_transaction>> of_harts{};
    std::map<std::uint64_t, std::uint64_t> words_at_first{};
    std::multimap<time, line_write> durable{};  ///< lines, or parts of them
    memory_image at_first{};
    time begin_at{}, end{};  ///< of the crashes

private:
    std::vector<seen_transaction>& open(hart_id hart) { return of_harts[hart.value]; }
    void note(const port::store_event& event) {
        const std::uint64_t word = event.where.value & ~std::uint64_t{7};
        const std::size_t offset = event.where.value - word;
        ASSERT_LE(offset + event.new_bytes.size(), 8u);
        std::vector<seen_transaction>& mine = open(event.hart);
        if (mine.empty() || mine.back().acknowledged != never) mine.push_back({.whole = false});
        // The old bytes lie in their line.
        std::uint64_t before = 0;
        std::memcpy(&before, event.old_bytes.data() - offset, sizeof(before));
        words_at_first.try_emplace(word, before);
        std::memcpy(reinterpret_cast<std::byte*>(&before) + offset, event.new_bytes.data(), event.new_bytes.size());
        mine.back().words[word] = before;
    }

    simulated_machine* machine_ = nullptr;
    port::ports behind_{};
    std::uint64_t commits_ = 0;
    bool is_watching_ = false;
};

}  // namespace holdfast::sim::test

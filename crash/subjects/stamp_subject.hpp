// A STAMP program in a pool of one engine: a part of its run is cut, and the program finishes in what is recovered.
// Instrumented.
#pragma once

#include <crash/subjects/opened_pool_subject.hpp>
#include <crash/subjects/stamp_recording.hpp>
#include <crash/subjects/untold_stores.hpp>

#include <holdfast/engine/access.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::crash {

/// Room for a kept_run on lines: a plain root is aligned as usual types are.
struct kept_bytes {
    unsigned char bytes[sizeof(holdfast::workload::kept_run) + alignof(holdfast::workload::kept_run)];

    holdfast::workload::kept_run* run() noexcept {
        const auto address = reinterpret_cast<std::uintptr_t>(bytes);
        constexpr std::uintptr_t line = alignof(holdfast::workload::kept_run);
        return reinterpret_cast<holdfast::workload::kept_run*>((address + line - 1) / line * line);
    }
};

/// `Access` is made from an open_pool&.
template <class Engine, class Access = pool_access<Engine>>
class stamp_subject final : public program_subject<opened_pool_subject<Engine>> {
    using opened = opened_pool_subject<Engine>;
    using typename opened::pool;
    using opened::expected_;
    using opened::pool_;

public:
    explicit stamp_subject(std::string_view name = "stamp") : name_(name) {}

    std::string_view name() const override { return name_; }
    /// A file is a log of its own, and no other program has more to do with it.
    bool knows(const model& how) const override { return !how.is_saved && !how.is_file; }
    std::uint64_t nested_less_often() const override { return 64; }

    trace record(const workload& operations, const model& how, std::size_t) override {
        opened::begin_recording(how);
        pool_.emplace(pool::create(opened::path_, opened::options_).value());
        kept_ = pool_->template plain_root<kept_bytes>(explored_root).value()->run();
        pool_->checkpoint().value();
        seam_recorder seen(this->base(), file_now(pool_->core(), this->size()));
        trace recorded = run_.record(
            operations.front(), kept_, seen, expected_,
            [&](unsigned program, stamp_book* book) { return live(program, book); },
            [&] { pool_->checkpoint().value(); });
        opened::end_recording();
        return recorded;
    }

    std::optional<std::string> check(const progress& made) override {
        const stamp_book::state* const found = look(made);
        if (found == nullptr) return stamp_recording::found_nothing;
        if (auto wrong = expected_.judge({found->number}, made)) return wrong;
        if (auto wrong = wrong_in_heap_with(found->blocks)) return wrong;
        const untold_stores told;
        if (auto wrong = run_.wrong_in_rest([&](unsigned program, stamp_book* book) { return live(program, book); }))
            return wrong;
        return wrong_in_heap_with({});
    }

    bool has_promised(const progress& made) const override { return !this->durable_at_once_ && made.is_at_rest(); }
    recovered_pool recovered() override {
        const open_pool& core = pool_->core();
        return recovered_of({core.base(), core.size()}, {core.zones().begin(), core.zones().end()});
    }

    trace enter_recovery(const lazy_memory& image, const progress& made, bool killed,
                         const crash::workload*) override {
        return opened::record_recovery_of(image, killed, [&](seam_recorder& seen) {
            seen.operation_begins(thread_afterwards);
            const bool is_open = !opened::recover(image);
            seen.operation_done(thread_afterwards);
            const stamp_book::state* const found = is_open ? look(made) : nullptr;
            expected_.enter_recovery(found != nullptr ? contents{found->number} : contents{}, made, killed);
            if (is_open) pool_->checkpoint().value();
        });
    }

private:
    holdfast::workload::life_report live(unsigned program, stamp_book* book) {
        return live_alone(noted_access<Access>(Access(pool_->core()), book), kept_, program);
    }
    const stamp_book::state* look(const progress& made) const {
        return run_.found(made, [](std::uintptr_t at) -> std::optional<std::uint64_t> {
            return *reinterpret_cast<const std::uint64_t*>(at);
        });
    }
    std::optional<std::string> wrong_in_heap_with(std::vector<const void*> owned) {
        const auto roots = list_roots(pool_->core());
        if (!roots) return "the roots are damaged: " + roots.error().text();
        for (const root_listing& each : *roots) owned.push_back(pool_->core().base() + each.offset);
        return wrong_in_heap(pool_->core(), owned, true);
    }

    std::string_view name_;
    stamp_recording run_;
    holdfast::workload::kept_run* kept_ = nullptr;
};

}  // namespace holdfast::crash

// What subjects share whose images are recovered in memory, where the recording was mapped. Instrumented: it runs
// recovery.
#pragma once

#include <crash/record/seam_recorder.hpp>
#include <crash/subjects/expectation.hpp>
#include <crash/subjects/inspect.hpp>
#include <crash/subjects/subject.hpp>

#include <holdfast/log/replay.hpp>
#include <holdfast/pool/opener.hpp>

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::crash {

/// A pool at `explored_base`, and what must be in it.
class pool_subject : public subject {
public:
    std::byte* base() const override { return reinterpret_cast<std::byte*>(explored_base); }
    std::size_t size() const override { return explored_bytes; }
    void leave_recovery() override { expected_.leave_recovery(); }

protected:
    expectation expected_;
};

/// `Base` is a pool_subject. Recovery happens in memory, as it does where stores reach the medium.
template <class Base = pool_subject>
class in_memory_subject : public Base {
public:
    using Base::Base;

    bool knows(const model& how) const override { return !how.is_file && !how.is_saved; }

    std::optional<std::string> recover(const lazy_memory&) override {
        auto replay = log_replay::read(image(), geometry_);
        if (!replay) return "recovery refuses: " + replay.error().text();
        finish_in_place(*replay, image(), geometry_, {.persists = persists_, .lines = {}});
        return {};
    }

    std::optional<std::string> check(const progress& made) override {
        if (auto heap = heap::open(this->base(), zones_); !heap) return "the heap refuses: " + heap.error().text();
        return check_pool(*pool_opener::over(image(), info_, zones_), made);
    }

    bool has_promised(const progress& made) const override { return persists_ && made.is_at_rest(); }
    recovered_pool recovered() override { return recovered_of(image(), zones_); }

    trace enter_recovery(const lazy_memory& memory, const progress& made, bool killed,
                         const workload* /*life*/) override {
        trace recorded;
        {
            seam_recorder seen(this->base(), image());
            seen.operation_begins(thread_afterwards);
            static_cast<void>(recover(memory));
            seen.operation_done(thread_afterwards);
            recorded = std::move(seen.recorded());
        }
        const contents left = found();
        this->expected_.enter_recovery(left, left, made, killed);
        return recorded;
    }

protected:
    static log_geometry geometry_of(const open_pool& pool) {
        const pool_info info = pool.info();
        return {format::log_offset, info.log_bytes, info.segment_bytes, true, info.keeps_prefix};
    }

    /// `recorded` is the pool whose images come next.
    void remember(const open_pool& recorded, const model& how) {
        persists_ = !how.streams_are_durable;
        info_ = recorded.info();
        geometry_ = geometry_of(recorded);
        zones_.assign(recorded.zones().begin(), recorded.zones().end());
    }

    /// The rest of `check`, on a pool over the image whose heap opens.
    virtual std::optional<std::string> check_pool(const open_pool& recovered, const progress& made) = 0;
    /// What the recovered image holds.
    virtual contents found() const = 0;

private:
    std::span<std::byte> image() const { return {this->base(), this->size()}; }

    bool persists_ = true;
    log_geometry geometry_{};
    std::vector<heap_zone> zones_;
    pool_info info_;
};

}  // namespace holdfast::crash

// One engine with one container, recovered in memory. Instrumented: it runs recovery and reads its result.
#pragma once

#include <crash/containers.hpp>
#include <crash/inspect.hpp>
#include <crash/randomness.hpp>
#include <crash/recorder.hpp>
#include <crash/seam_recorder.hpp>
#include <crash/subject.hpp>

#include <holdfast/engine/pool.hpp>
#include <holdfast/log/replay.hpp>
#include <holdfast/pool/opener.hpp>

#include <optional>
#include <string>
#include <vector>

namespace holdfast::crash {

template <class Engine, class Of>
class subject_of final : public subject {
public:
    std::string_view engine() const override { return Engine::description.name; }
    std::string_view name() const override { return Of::name; }
    bool knows(const model& how) const override { return !how.is_file; }
    unsigned universe() const override { return Of::universe; }
    std::string describe(unsigned operation) const override { return Of::describe(operation); }
    std::uint64_t images_of_a_cut() const override {
        if constexpr (requires { Of::images_of_a_cut; }) return Of::images_of_a_cut;
        return subject::images_of_a_cut();
    }
    std::uint64_t nested_less_often() const override {
        if constexpr (requires { Of::nested_less_often; }) return Of::nested_less_often;
        return subject::nested_less_often();
    }

    trace record(const workload& operations, const model& how, std::size_t) override {
        persists_ = !how.streams_are_durable;
        randomness.seed(0);
        const std::string path = recorded_path();
        auto pool = basic_pool<Engine>::create(path, recorded_pool_options(how)).value();
        // Mapped it lives on.
        ::unlink(path.c_str());
        info_ = pool.info();
        geometry_ = {format::log_offset, info_.log_bytes, info_.segment_bytes};
        zones_.assign(pool.core().zones().begin(), pool.core().zones().end());
        root_ = pool.template root<typename Of::container>(explored_root).value();
        pool.atomically([&] { Of::prepare(*root_); }).value();
        pool.checkpoint().value();

        typename Of::ordinary expected{};
        Of::prepare(expected);
        expected_.begin(Of::of(expected));
        recorder seen({pool.core().base(), pool.core().size()});
        for (std::size_t i = 0; i < operations.size(); ++i) {
            const std::uint64_t value = 100 * (i + 1) + operations[i];
            if (i + 1 == operations.size()) seen.explore_from_here();
            seen.operation_begins();
            run_operation<Of>(pool, *root_, expected, operations[i], value);
            seen.operation_done();
            expected_.add(Of::of(expected));
        }
        pool.checkpoint().value();
        trace recorded = seen.take().value();
        pool.abandon();
        return recorded;
    }

    std::byte* base() const override { return reinterpret_cast<std::byte*>(explored_base); }
    std::size_t size() const override { return explored_bytes; }

    std::optional<std::string> recover(const lazy_memory&) override {
        const std::span<std::byte> bytes(base(), size());
        auto replay = log_replay::read(bytes, geometry_);
        if (!replay) return "recovery refuses: " + replay.error().text();
        finish_in_place(*replay, bytes, geometry_, persists_, {});
        return {};
    }

    std::optional<std::string> check(const progress& made) override {
        const std::span<std::byte> bytes(base(), size());
        if (auto heap = heap::open(base(), zones_); !heap) return "the heap refuses: " + heap.error().text();
        const auto view = pool_opener::over(bytes, info_, zones_);
        const auto roots = list_roots(*view);
        if (!roots) return "the roots are damaged: " + roots.error().text();
        if (object_of(*view, *roots) != reinterpret_cast<const std::byte*>(root_)) return "the root is lost";
        if (auto sound = root_->check(); !sound) return sound.error().text();
        if (auto wrong = expected_.judge(Of::of(*root_), made)) return wrong;
        return audit_heap(*view, *roots, *root_);
    }

    trace enter_recovery(const lazy_memory& image, const progress& made, bool killed) override {
        trace recorded;
        {
            seam_recorder seen(base(), {base(), size()});
            seen.operation_begins(thread_afterwards);
            static_cast<void>(recover(image));
            seen.operation_done(thread_afterwards);
            recorded = std::move(seen.recorded());
        }
        const contents found = Of::of(*root_);
        expected_.enter_recovery(found, found, made, killed);
        return recorded;
    }
    void leave_recovery() override { expected_.leave_recovery(); }

private:
    bool persists_ = true;
    log_geometry geometry_{};
    std::vector<heap_zone> zones_;
    pool_info info_;
    typename Of::container* root_ = nullptr;
    expectation expected_;
};

}  // namespace holdfast::crash

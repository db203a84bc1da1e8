// One engine with one container, recovered in memory. Instrumented: it runs recovery and reads its result.
#pragma once

#include <crash/cut/randomness.hpp>
#include <crash/record/recorder.hpp>
#include <crash/subjects/containers.hpp>
#include <crash/subjects/in_memory_subject.hpp>

#include <holdfast/engine/pool.hpp>

#include <optional>
#include <string>

namespace holdfast::crash {

template <class Engine, class Of>
class subject_of final : public in_memory_subject<> {
public:
    std::string_view engine() const override { return Engine::description.name; }
    std::string_view name() const override { return Of::name; }
    unsigned universe() const override { return Of::universe; }
    std::string describe(unsigned operation) const override { return Of::describe(operation); }
    std::uint64_t images_of_a_cut() const override {
        return images_of_a_cut_of<Of>(subject::images_of_a_cut());
    }
    std::uint64_t nested_less_often() const override {
        return nested_less_often_of<Of>(subject::nested_less_often());
    }

    trace record(const workload& operations, const model& how, std::size_t) override {
        randomness.seed(0);
        const std::string path = recorded_path();
        auto pool = basic_pool<Engine>::create(path, recorded_pool_options(how)).value();
        // Mapped it lives on.
        ::unlink(path.c_str());
        remember(pool.core(), how);
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

protected:
    std::optional<std::string> check_pool(const open_pool& recovered, const progress& made) override {
        const auto roots = list_roots(recovered);
        if (!roots) return "the roots are damaged: " + roots.error().text();
        if (object_of(recovered, *roots) != reinterpret_cast<const std::byte*>(root_)) return "the root is lost";
        if (auto sound = root_->check(); !sound) return sound.error().text();
        if (auto wrong = expected_.judge(Of::of(*root_), made)) return wrong;
        return audit_heap(recovered, *roots, *root_);
    }
    contents found() const override { return Of::of(*root_); }

private:
    typename Of::container* root_ = nullptr;
};

}  // namespace holdfast::crash

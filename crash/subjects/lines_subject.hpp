// Objects in lines, recovered in memory. What stores to them is the program's own code, which the recorder steps
// through; another operation after a recovery is seen by its instrumentation.
#pragma once

#include <crash/cut/randomness.hpp>
#include <crash/record/recorder.hpp>
#include <crash/record/seam_recorder.hpp>
#include <crash/subjects/in_memory_subject.hpp>

#include <holdfast/handle/line_pool.hpp>

#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::crash {

/// Runs the operations, and notes what each must leave.
template <class Of, class Recorder>
void run_on_lines(typename Of::container& root, const workload& operations, Recorder& seen, expectation& expected) {
    typename Of::ordinary ordinary{};
    expected.begin(Of::contents_of(ordinary));
    for (std::size_t i = 0; i < operations.size(); ++i) {
        const std::uint64_t value = 100 * (i + 1);
        if (i + 1 == operations.size()) seen.explore_from_here();
        seen.operation_begins();
        Of::apply(root, operations[i], value);
        seen.operation_done();
        Of::apply(ordinary, operations[i], value);
        expected.add(Of::contents_of(ordinary));
    }
}

/// Runs the operations after a recovery, one without a life. Returns the contents after each.
template <class Of>
std::vector<contents> live_on_lines(typename Of::container& root, const workload* life, seam_recorder& seen) {
    const workload operations = life != nullptr ? *life : workload{Of::operation_afterwards};
    std::vector<contents> afterwards;
    for (std::size_t i = 0; i < operations.size(); ++i) {
        seen.operation_begins(thread_afterwards);
        // What the first life's first stores, too: it may complete what a cut left of that.
        Of::apply_recovered(root, operations[i], 100 * (i + 1));
        seen.operation_done(thread_afterwards);
        afterwards.push_back(Of::contents_of(root));
    }
    return afterwards;
}

/// `Of` has the root's type `container`, an `ordinary` of the same operations, `apply(either, operation, value)`, the
/// same on a recovered image as `apply_recovered`, `contents_of(either)`, `recover(container&)`, and names for engine,
/// workload and operations.
template <class Of>
class lines_subject final : public in_memory_subject<> {
public:
    std::string_view engine() const override { return Of::engine; }
    std::string_view name() const override { return Of::name; }
    bool knows(const model& how) const override {
        // A line that tears is what the mechanism of one index does not stand.
        return in_memory_subject::knows(how) && (Of::stands_torn_lines || how.name != std::string_view("x86-torn"));
    }
    bool has_lives() const override { return true; }
    unsigned universe() const override { return std::size(Of::operations); }
    std::string describe(unsigned operation) const override { return std::string(Of::operations[operation]); }

    /// Copies that tear leave many images, so fewer of each cut will do.
    std::uint64_t images_of_a_cut() const override { return 1024; }

    trace record(const workload& operations, const model& how, std::size_t) override {
        randomness.seed(0);
        const std::string path = recorded_path();
        auto pool = line_pool::create(path, recorded_pool_options(how)).value();
        // Mapped it lives on.
        ::unlink(path.c_str());
        remember(pool.core(), how);
        root_ = pool.root<typename Of::container>(explored_root).value();
        recorder seen({pool.core().base(), pool.core().size()});
        run_on_lines<Of>(*root_, operations, seen, expected_);
        trace recorded = seen.take().value();
        // Later ones in images are to be durable in the same way.
        needs_ = line_medium_state::needs;
        pool.abandon();
        return recorded;
    }

    std::optional<std::string> recover(const lazy_memory& image) override {
        if (auto wrong = in_memory_subject::recover(image)) return wrong;
        const as_recorded durable(needs_);
        if (!Of::recover(*root_)) return "neither copy of an object is whole";
        // Who looks at a line recovers it: what a cut left of it is what there is.
        static_cast<void>(Of::contents_of(*root_));
        return {};
    }

    /// Of two halves or copies one is nobody's.
    recovered_pool recovered() override { return recovered_of(Of::contents_of(*root_)); }

    trace enter_recovery(const lazy_memory& memory, const progress& made, bool killed,
                         const workload* life) override {
        trace recorded;
        contents found_first;
        std::vector<contents> afterwards;
        {
            seam_recorder seen(base(), {base(), size()});
            seen.listen_to_stores();
            seen.operation_begins(thread_afterwards);
            static_cast<void>(recover(memory));
            seen.operation_done(thread_afterwards);
            found_first = found();
            const as_recorded durable(needs_);
            afterwards = live_on_lines<Of>(*root_, life, seen);
            recorded = std::move(seen.recorded());
        }
        expected_.enter_recovery(found_first, made, killed);
        for (contents& each : afterwards) expected_.add_afterwards(std::move(each));
        return recorded;
    }

protected:
    std::optional<std::string> check_pool(const open_pool& recovered, const progress& made) override {
        const auto roots = list_roots(recovered);
        if (!roots) return "the roots are damaged: " + roots.error().text();
        if (object_of(recovered, *roots) != reinterpret_cast<const std::byte*>(root_)) return "the root is lost";
        return expected_.judge(Of::contents_of(*root_), made);
    }
    contents found() const override { return Of::contents_of(*root_); }

private:
    /// Commits as those of the recorded pool.
    class as_recorded {
    public:
        explicit as_recorded(std::uint32_t needs) : before_(line_medium_state::needs.exchange(needs)) {}
        ~as_recorded() { line_medium_state::needs = before_; }
        as_recorded(const as_recorded&) = delete;
        as_recorded& operator=(const as_recorded&) = delete;

    private:
        std::uint32_t before_;
    };

    typename Of::container* root_ = nullptr;
    std::uint32_t needs_ = 0;
};

}  // namespace holdfast::crash

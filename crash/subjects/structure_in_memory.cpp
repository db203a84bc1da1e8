// A structure whose images are recovered in memory, and what a program sees of it that is not killed.
#include <crash/subjects/structure_subject.hpp>

#include <crash/cut/randomness.hpp>
#include <crash/record/recorder.hpp>

#include <csetjmp>
#include <csignal>
#include <utility>

namespace holdfast::crash {
namespace {

sigjmp_buf before_astray;

[[noreturn]] void go_back(int) { siglongjmp(before_astray, 1); }

/// Sees the stores that go round the library, too.
class structure_in_memory final : public in_memory_subject<structure_subject> {
public:
    using in_memory_subject::in_memory_subject;

    /// Of what a program stores past the library nothing was promised.
    bool has_promised(const progress& made) const override {
        return what_->is_own() && in_memory_subject::has_promised(made);
    }

    trace record(const workload& operations, const model& how, std::size_t) override {
        randomness.seed(0);
        const std::string path = recorded_path();
        const let_go_afterwards afterwards(*what_);
        what_->create(path, options_for(how));
        // Mapped it lives on.
        ::unlink(path.c_str());
        what_->make();
        begin_at_home();
        open_pool& pool = what_->pool();
        remember(pool, how);
        expected_.begin(what_->expected(root_));
        recorder seen({pool.medium(), pool.size()});
        for (std::size_t i = 0; i < operations.size(); ++i) {
            // What comes before is another workload's.
            if (i + 1 == operations.size()) seen.explore_from_here();
            seen.operation_begins();
            what_->apply(operations[i], 100 * (i + 1) + operations[i], root_);
            seen.operation_done();
            expected_.add(what_->expected(root_));
        }
        pool.checkpoint().value();
        return seen.take().value();
    }

protected:
    std::optional<std::string> check_pool(const open_pool& recovered, const progress& made) override {
        std::byte* const recorded = root_;
        auto wrong = look(recovered);
        const bool is_where_it_was = std::exchange(root_, recorded) == recorded;
        if (wrong) return wrong;
        if (!is_where_it_was) return "the root is lost";
        // First: the more a check reads, the more seems to matter of what is wrong.
        if ((wrong = expected_.judge(found_, made))) return wrong;
        return audit(recovered);
    }
    contents found() const override { return what_->state(root_); }
};

}  // namespace

std::optional<std::string> guard(const std::function<std::optional<std::string>()>& f) {
    struct sigaction action {};
    action.sa_handler = go_back;
    action.sa_flags = SA_NODEFER;
    struct sigaction fault_before {};
    struct sigaction bus_before {};
    ::sigaction(SIGSEGV, &action, &fault_before);
    ::sigaction(SIGBUS, &action, &bus_before);
    std::optional<std::string> wrong;
    if (sigsetjmp(before_astray, 0) == 0) {
        wrong = f();
    } else {
        wrong = "looking at what recovery left follows a pointer to where nothing is";
    }
    ::sigaction(SIGSEGV, &fault_before, nullptr);
    ::sigaction(SIGBUS, &bus_before, nullptr);
    return wrong;
}

std::optional<std::size_t> wrong_without_a_crash(structure& what, std::size_t pool_bytes, const workload& operations) {
    const std::string path = recorded_path();
    create_options options = recorded_pool_options(*model_named("kill"));
    options.bytes = options.reserved_bytes = pool_bytes;
    what.create(path, options);
    ::unlink(path.c_str());
    what.make();
    std::byte* const root = object_of(what.pool(), list_roots(what.pool()).value());
    const auto is_wrong = [&] { return guard([&] { return what.invariant(root); }).has_value(); };
    std::optional<std::size_t> wrong;
    if (is_wrong()) wrong = 0;
    for (std::size_t i = 0; i < operations.size() && !wrong; ++i) {
        what.apply(operations[i], 100 * (i + 1) + operations[i], root);
        if (is_wrong()) wrong = i + 1;
    }
    what.abandon();
    return wrong;
}

std::unique_ptr<subject> explored_in_memory(std::shared_ptr<structure> what, std::size_t pool_bytes) {
    return std::make_unique<structure_in_memory>(std::move(what), pool_bytes);
}

}  // namespace holdfast::crash

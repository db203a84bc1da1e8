// A user's structure as subjects. Instrumented: they run recovery and the user's own checks.
#include <crash/subjects/structure.hpp>

#include <crash/cut/randomness.hpp>
#include <crash/record/recorder.hpp>
#include <crash/subjects/in_memory_subject.hpp>
#include <crash/subjects/recorded_file.hpp>

#include <csetjmp>
#include <csignal>
#include <utility>

namespace holdfast::crash {
namespace {

sigjmp_buf before_astray;

[[noreturn]] void go_back(int) { siglongjmp(before_astray, 1); }

/// Runs f, which a torn structure may lead to an address where nothing is. (What f would have destroyed is then
/// left over: one exploration ends with it.)
template <class F>
std::optional<std::string> guard(F&& f) {
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

class structure_subject : public pool_subject {
public:
    structure_subject(structure& what, std::size_t pool_bytes) : what_(what), bytes_(pool_bytes) {}

    std::string_view engine() const override { return what_.engine().name; }
    std::string_view name() const override { return "structure"; }
    unsigned universe() const override { return static_cast<unsigned>(what_.operations().size()); }
    std::string describe(unsigned operation) const override { return what_.operations()[operation]; }
    std::size_t size() const override { return bytes_; }
    // The exploration's settings say how many.
    std::uint64_t images_of_a_cut() const override { return ~std::uint64_t{0}; }

protected:
    create_options options_for(const model& how) const {
        create_options options = recorded_pool_options(how);
        options.bytes = options.reserved_bytes = bytes_;
        return options;
    }

    /// Returns the structure in a pool that was just made.
    std::byte* create(const std::string& path, const create_options& options) {
        what_.create(path, options);
        what_.pool().checkpoint().value();
        return object_of(what_.pool(), list_roots(what_.pool()).value());
    }

    template <class Recorder>
    void run(const workload& operations, std::byte* root, Recorder& seen) {
        expected_.begin(what_.state(root));
        for (std::size_t i = 0; i < operations.size(); ++i) {
            // What comes before is another workload's.
            if (i + 1 == operations.size()) seen.explore_from_here();
            seen.operation_begins();
            what_.apply(operations[i], root);
            seen.operation_done();
            expected_.add(what_.state(root));
        }
        what_.pool().checkpoint().value();
    }

    /// Finds the structure in a recovered pool, and what it holds. Returns what is wrong.
    std::optional<std::string> look(const open_pool& pool) {
        const auto roots = list_roots(pool);
        if (!roots) return "the roots are damaged: " + roots.error().text();
        root_ = object_of(pool, *roots);
        if (root_ == nullptr) return "the root is lost";
        if (auto wrong = what_.invariant(root_)) return wrong;
        found_ = what_.state(root_);
        std::vector<const void*> owned;
        for (const root_listing& each : *roots) owned.push_back(pool.base() + each.offset);
        const bool says_owners = what_.list_blocks(root_, owned);
        const heap_audit heap = heap::audit(pool.base(), pool.zones(), owned, says_owners);
        if (heap.clean()) return {};
        return heap.problems.empty() ? "the heap's audit is not clean" : heap.problems.front();
    }

    structure& what_;
    std::size_t bytes_;
    std::byte* root_ = nullptr;
    contents found_;
};

/// Sees the stores that go round the library.
class in_memory : public in_memory_subject<structure_subject> {
public:
    /// Of what a program stores past the library nothing was promised.
    bool has_promised(const progress&) const override { return false; }
    using in_memory_subject::in_memory_subject;

    trace record(const workload& operations, const model& how, std::size_t) override {
        randomness.seed(0);
        const std::string path = recorded_path();
        root_ = create(path, options_for(how));
        // Mapped it lives on.
        ::unlink(path.c_str());
        open_pool& pool = what_.pool();
        remember(pool, how);
        recorder seen({pool.base(), pool.size()});
        run(operations, root_, seen);
        trace recorded = seen.take().value();
        what_.abandon();
        return recorded;
    }

protected:
    std::optional<std::string> check_pool(const open_pool& recovered, const progress& made) override {
        if (auto wrong = guard([&] { return look(recovered); })) return wrong;
        return expected_.judge(found_, made);
    }
    contents found() const override { return what_.state(root_); }
};

/// An ordinary file at level `power`, opened as a program opens it, and used afterwards.
class in_file final : public structure_subject {
public:
    using structure_subject::structure_subject;

    bool knows(const model& how) const override { return how.is_file && what_.engine().power_on_files; }
    std::string image_path() const override { return path_of_images(); }

    trace record(const workload& operations, const model& how, std::size_t) override {
        options_ = options_for(how);
        randomness.seed(0);
        set_boot(0);
        const std::string path = recorded_path();
        std::byte* const root = create(path, options_);
        const std::vector<std::byte> file = file_now(what_.pool(), size());
        trace recorded;
        {
            seam_recorder seen(base(), file);
            run(operations, root, seen);
            recorded = std::move(seen.recorded());
        }
        what_.abandon();
        ::unlink(path.c_str());
        set_boot(1);
        return recorded;
    }

    std::optional<std::string> recover(const lazy_memory&) override {
        if (auto opened = what_.open(image_path(), options_); !opened)
            return "opening refuses: " + opened.error().text();
        is_open_ = true;
        return {};
    }

    std::optional<std::string> check(const progress& made) override {
        if (auto wrong = guard([&] { return look(what_.pool()); })) return wrong;
        return expected_.judge(found_, made);
    }

    trace enter_recovery(const lazy_memory& image, const progress& made, bool killed,
                         const workload* /*life*/) override {
        randomness.seed(expected_.recoveries() + 1);
        set_boot(killed ? 0 : 1);
        trace recorded;
        {
            seam_recorder seen(base(), image.bytes());
            seen.operation_begins(thread_afterwards);
            const bool is_open = !recover(image);
            seen.operation_done(thread_afterwards);
            const bool is_sound = is_open && !look(what_.pool());
            const contents before = found_;
            if (is_sound) {
                seen.operation_begins(thread_afterwards);
                what_.apply(0, root_);
                seen.operation_done(thread_afterwards);
            }
            expected_.enter_recovery(before, is_sound ? what_.state(root_) : before, made, killed);
            recorded = std::move(seen.recorded());
        }
        set_boot(1);
        return recorded;
    }

    void close() override {
        if (std::exchange(is_open_, false)) what_.abandon();
    }

private:
    create_options options_;
    bool is_open_ = false;
};

/// What a program sees that runs the operations and is not killed.
class uncut final : public in_memory {
public:
    using in_memory::in_memory;

    std::optional<std::size_t> first_wrong(const workload& operations) {
        const std::string path = recorded_path();
        std::byte* const root = create(path, options_for(*model_named("kill")));
        ::unlink(path.c_str());
        std::optional<std::size_t> wrong;
        if (is_wrong(root)) wrong = 0;
        for (std::size_t i = 0; i < operations.size() && !wrong; ++i) {
            what_.apply(operations[i], root);
            if (is_wrong(root)) wrong = i + 1;
        }
        what_.abandon();
        return wrong;
    }

private:
    bool is_wrong(const std::byte* root) {
        return guard([&] { return what_.invariant(root); }).has_value();
    }
};

}  // namespace

std::optional<std::size_t> wrong_without_a_crash(structure& what, std::size_t pool_bytes, const workload& operations) {
    return uncut(what, pool_bytes).first_wrong(operations);
}

std::vector<std::unique_ptr<subject>> subjects_of(structure& what, std::size_t pool_bytes) {
    std::vector<std::unique_ptr<subject>> all;
    all.push_back(std::make_unique<in_memory>(what, pool_bytes));
    all.push_back(std::make_unique<in_file>(what, pool_bytes));
    return all;
}

}  // namespace holdfast::crash

// One list in a dnv pool, changed by one thread; the pool is grown, closed, dropped and opened as well.
#include <crash/subjects/dnv_pool_subject.hpp>
#include <crash/subjects/subjects_dnv.hpp>

#include <iterator>
#include <memory>
#include <string>
#include <utility>

namespace holdfast::crash {
namespace {

constexpr std::string_view operations_of_list[] = {
    "save and resume", "push", "pop", "push a large one", "replace parts", "rotate", "push and cancel",
    "close and open", "drop and open", "grow", "push without codes"};
enum class operation : unsigned {
    save_and_resume, push, pop, push_large, replace, rotate, cancel, close_and_open, drop_and_open, grow, push_bare
};

/// A pool that has a list, and blocks of both kinds; one that dnv opens for the first time; one that is to have its
/// first block without codes.
enum class beginning { list, first_opening, first_unprotected };
constexpr std::string_view names_of_beginnings[] = {"list", "first_opening", "first_unprotected"};

class dnv_subject final : public dnv_pool_subject {
public:
    dnv_subject(const dnv_kind& kind, beginning begins_as)
        : dnv_pool_subject(kind), name_(kind.name_of(names_of_beginnings[static_cast<unsigned>(begins_as)])),
          begins_as_(begins_as) {}

    std::string_view name() const override { return name_; }
    bool knows(const model& how) const override {
        // What a save does is the same for all.
        return !how.is_saved || (is_list() && is_coded_ && blocks_.algorithm == std::string_view("value"));
    }
    bool has_lives() const override { return is_list(); }
    unsigned universe() const override { return is_list() ? std::size(operations_of_list) : 1; }
    unsigned longest_workload(unsigned wanted) const override { return is_list() ? wanted : 1; }
    /// Each is opened, and every word of it is looked at.
    std::uint64_t images_of_a_cut() const override { return 48; }
    std::uint64_t nested_less_often() const override { return is_list() ? 16 : 64; }
    std::string describe(unsigned each) const override {
        return std::string(operations_of_list[static_cast<unsigned>(operation_of(each))]);
    }
    std::size_t most_bytes() const override { return bytes_at_first + bytes_to_grow; }

    trace record(const workload& operations, const model& how, std::size_t) override {
        const closed_afterwards afterwards(*this);
        auto made = make_pool(how, bytes_at_first);
        return begins_as_ == beginning::first_opening ? record_opening(std::move(made), operations)
                                                      : record_use(std::move(made), operations);
    }

private:
    /// And what blocks without codes have: a header, and a chunk.
    static constexpr std::size_t bytes_at_first = first_bytes + (192 << 10);
    /// Two chunks more.
    static constexpr std::size_t bytes_to_grow = 128 << 10;

    bool is_list() const { return begins_as_ == beginning::list; }
    operation operation_of(unsigned each) const {
        if (is_list()) return static_cast<operation>(each);
        return begins_as_ == beginning::first_unprotected ? operation::push_bare : operation::push;
    }

    trace record_use(dnv::engine::pool made, const workload& operations) {
        take(std::move(made));
        push_some();
        // Their header is thousands of words.
        if (is_list()) {
            blocks_.push_bare(0, 5, small_node_bytes);
            blocks_.pop(0);
        }
        pool().checkpoint().value();
        expected_.begin(state_now().all());
        seam_recorder seen(base(), file_with_room(pool()));
        begins_with(seen, pool());
        run(operations, seen);
        pool().checkpoint().value();
        return std::move(seen.recorded());
    }
    trace record_opening(dnv::engine::pool made, const workload& operations) {
        contents initial;
        for (unsigned number = 0; number < dnv_lists; ++number)
            std::ranges::copy(initial_dnv_list(), std::back_inserter(initial));
        expected_.begin(initial);
        made.checkpoint().value();
        seam_recorder seen(base(), file_with_room(made.core()));
        begins_with(seen, made.core());
        seen.operation_begins();
        take(std::move(made));
        seen.operation_done();
        expected_.add(initial);
        run(operations, seen);
        return std::move(seen.recorded());
    }

    void go_on(const workload* life, seam_recorder& seen) override {
        if (life != nullptr) return run(*life, seen);
        take_step(operation::push, value_of(0, operation::push), seen);
        if (begins_as_ == beginning::first_unprotected)
            take_step(operation::push_bare, value_of(1, operation::push_bare), seen);
    }

    /// Blocks of both kinds, and a chunk, which may be one that was taken for the other kind.
    std::optional<std::string> wrong_in_use(const progress&) override {
        if (begins_as_ != beginning::first_unprotected) return {};
        return wrong_after([&](dnv_model& model) {
            // One that is large has room yet.
            for (const operation each :
                 {operation::push_large, operation::push_large, operation::push_bare, operation::push})
                apply(each, 1, model);
        });
    }

    void run(const workload& operations, seam_recorder& seen) {
        for (std::size_t i = 0; i < operations.size(); ++i) {
            if (is_first_life() && begins_as_ != beginning::first_opening && i + 1 == operations.size())
                seen.explore_from_here();
            const operation which = operation_of(operations[i]);
            // A log that has something for the end to bring home.
            if (which == operation::close_and_open) take_step(operation::replace, value_of(i, which), seen);
            take_step(which, value_of(i, which), seen);
            // Threads run on.
            if (which == operation::save_and_resume) take_step(operation::replace, value_of(i, which), seen);
        }
    }
    std::uint64_t value_of(std::size_t place, operation which) const {
        return 10'000 * lives_before() + 100 * (place + 1) + static_cast<unsigned>(which);
    }
    void take_step(operation which, std::uint64_t value, seam_recorder& seen) {
        step(seen, [&](dnv_model& model) { apply(which, value, model); });
    }

    void push(std::uint64_t value, std::size_t bytes, dnv_model& model) {
        if (blocks_.push(0, value, bytes)) model.push(value, bytes);
    }
    void apply(operation which, std::uint64_t value, dnv_model& model) {
        switch (which) {
            case operation::push: return push(value, small_node_bytes, model);
            case operation::pop: return blocks_.pop(0), model.pop();
            case operation::push_large: return push(value, large_node_bytes, model);
            case operation::replace: return blocks_.replace(0, value), model.replace(value);
            case operation::rotate: return blocks_.rotate(0, value) ? model.rotate(value) : void();
            case operation::cancel: return blocks_.push_and_cancel(0, value);
            case operation::close_and_open: return ::dnv_close().value(), open_again();
            case operation::drop_and_open: return dnv::abandon(), open_again();
            case operation::push_bare:
                return blocks_.push_bare(0, value, small_node_bytes) ? model.push(value, small_node_bytes) : void();
            case operation::save_and_resume: return is_armed() ? handler_of_all.save_and_resume() : void();
            // It has grown to its end before, perhaps.
            case operation::grow: return pool().size() < most_bytes() ? ::dnv_grow(most_bytes()).value() : void();
        }
    }

    void open_again() { take(dnv::engine::pool::open(path_, options_).value()); }

    std::string name_;
    beginning begins_as_;
};

}  // namespace

void add_subjects_of_dnv(std::vector<std::unique_ptr<subject>>& all) {
    const dnv_operations& first = *all_dnv_operations().front();
    all.push_back(std::make_unique<dnv_subject>(dnv_kind{&first}, beginning::list));
    // One thread's commits are alike under both algorithms, and nothing of an opening is an algorithm's.
    for (const dnv_operations* const blocks : all_dnv_operations().subspan(1))
        all.push_back(std::make_unique<dnv_subject>(dnv_kind{blocks}, beginning::list));
    all.push_back(std::make_unique<dnv_subject>(dnv_kind{&first, false}, beginning::list));
    all.push_back(std::make_unique<dnv_subject>(dnv_kind{&first}, beginning::first_opening));
    all.push_back(std::make_unique<dnv_subject>(dnv_kind{&first}, beginning::first_unprotected));
    add_flips_of_dnv(all);
    add_threads_of_dnv(all);
}

}  // namespace holdfast::crash

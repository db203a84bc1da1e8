// One list in a dnv pool, changed by one thread; the pool is grown, closed, dropped and opened as well.
#include <crash/subjects/dnv_pool_subject.hpp>
#include <crash/subjects/subjects_dnv.hpp>

#include <iterator>
#include <memory>
#include <string>
#include <utility>

namespace holdfast::crash {
namespace {

constexpr std::string_view operations_of_list[] = {"push",   "pop", "push a large one", "replace parts",
                                                   "rotate", "push and cancel", "close and open", "drop and open",
                                                   "grow",   "push without codes"};
enum class operation : unsigned {
    push, pop, push_large, replace, rotate, cancel, close_and_open, drop_and_open, grow, push_bare
};

/// Begins with a pool that has a list, or with one that dnv opens for the first time.
class dnv_subject final : public dnv_pool_subject {
public:
    dnv_subject(const dnv_kind& kind, bool is_first_opening)
        : dnv_pool_subject(kind), name_(kind.name_of(is_first_opening ? "first_opening" : "list")),
          is_first_opening_(is_first_opening) {}

    std::string_view name() const override { return name_; }
    /// A first opening stores thousands of zeros: each would be a cut where stores are durable.
    bool knows(const model& how) const override {
        // What a save does is the same for all.
        if (how.is_saved) return !is_first_opening_ && is_coded_ && blocks_.algorithm == std::string_view("value");
        return how.is_file || !(is_first_opening_ && how.stores_are_durable);
    }
    bool has_lives() const override { return !is_first_opening_; }
    unsigned universe() const override { return is_first_opening_ ? 1 : std::size(operations_of_list); }
    unsigned longest_workload(unsigned wanted) const override { return is_first_opening_ ? 1 : wanted; }
    /// Each is opened, and every word of it is looked at.
    std::uint64_t images_of_a_cut() const override { return 48; }
    std::uint64_t nested_less_often() const override { return is_first_opening_ ? 64 : 16; }
    std::string describe(unsigned each) const override { return std::string(operations_of_list[each]); }
    std::size_t most_bytes() const override { return bytes_at_first + bytes_to_grow; }

    trace record(const workload& operations, const model& how, std::size_t) override {
        const closed_afterwards afterwards(*this);
        auto made = make_pool(how, bytes_at_first);
        return is_first_opening_ ? record_opening(std::move(made), operations)
                                 : record_use(std::move(made), operations);
    }

private:
    /// And what blocks without codes have: a header, and a chunk.
    static constexpr std::size_t bytes_at_first = first_bytes + (192 << 10);
    /// Two chunks more.
    static constexpr std::size_t bytes_to_grow = 128 << 10;

    trace record_use(dnv::engine::pool made, const workload& operations) {
        take(std::move(made));
        prepare();
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

    /// Free blocks, unused ones, and one that is left of a chunk. The first node is a small one.
    void prepare() {
        blocks_.push(0, 1, large_node_bytes);
        for (const std::uint64_t value : {2u, 3u, 4u}) blocks_.push(0, value, small_node_bytes);
        blocks_.pop(0);
        // Their header is thousands of words: each would be a cut.
        blocks_.push_bare(0, 5, small_node_bytes);
        blocks_.pop(0);
        pool().checkpoint().value();
    }

    void go_on(const workload* life, seam_recorder& seen) override {
        run(life != nullptr ? *life : workload{static_cast<unsigned>(operation::push)}, seen);
    }

    void run(const workload& operations, seam_recorder& seen) {
        for (std::size_t i = 0; i < operations.size(); ++i) {
            if (is_first_life() && !is_first_opening_ && i + 1 == operations.size()) seen.explore_from_here();
            const auto which = static_cast<operation>(operations[i]);
            const std::uint64_t value = 10'000 * lives_before() + 100 * (i + 1) + operations[i];
            // A log that has something for the end to bring home.
            if (which == operation::close_and_open) step(operation::replace, value, seen);
            step(which, value, seen);
        }
    }
    void step(operation which, std::uint64_t value, seam_recorder& seen) {
        const unsigned thread = is_first_life() ? 0 : thread_afterwards;
        dnv_state expected = state_now();
        dnv_model model(expected.lists[0]);
        seen.operation_begins(thread);
        apply(which, value, model);
        seen.operation_done(thread);
        expected.lists[0] = model.all();
        if (state_now().all() != expected.all())
            throw failure(error{.code = errc::misuse, .what = "it does another thing"});
        if (is_first_life()) {
            expected_.add(expected.all());
        } else {
            expected_.add_afterwards(expected.all());
        }
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
            // It has grown to its end before, perhaps.
            case operation::push_bare:
                return blocks_.push_bare(0, value, small_node_bytes) ? model.push(value, small_node_bytes) : void();
            case operation::grow: return pool().size() < most_bytes() ? ::dnv_grow(most_bytes()).value() : void();
        }
    }

    void open_again() { take(dnv::engine::pool::open(path_, options_).value()); }

    std::string name_;
    bool is_first_opening_;
};

}  // namespace

void add_subjects_of_dnv(std::vector<std::unique_ptr<subject>>& all) {
    const dnv_operations& first = *all_dnv_operations().front();
    all.push_back(std::make_unique<dnv_subject>(dnv_kind{&first}, false));
    // One thread's commits are alike under both algorithms, and nothing of an opening is an algorithm's.
    for (const dnv_operations* const blocks : all_dnv_operations().subspan(1))
        all.push_back(std::make_unique<dnv_subject>(dnv_kind{blocks}, false));
    all.push_back(std::make_unique<dnv_subject>(dnv_kind{&first, false}, false));
    all.push_back(std::make_unique<dnv_subject>(dnv_kind{&first}, true));
    add_threads_of_dnv(all);
}

}  // namespace holdfast::crash

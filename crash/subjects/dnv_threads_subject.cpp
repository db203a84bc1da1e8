// Threads that have a list each in one dnv pool: their transactions meet in the log, in the heap, and in what they
// share. A pool begins with room for chunks; or full, with few free blocks in the heap of the thread that begins; or
// full, with many in a heap of none of them. So blocks come from new chunks, and from what another heap has free, also
// while that one takes of it. Instrumented.
#include <crash/subjects/dnv_pool_subject.hpp>
#include <crash/subjects/interleaved_subject.hpp>
#include <crash/subjects/subjects_dnv.hpp>

#include <memory>
#include <string>
#include <thread>
#include <utility>

namespace holdfast::crash {
namespace {

/// As the kinds of operations are numbered.
enum kind : unsigned { push, push_several, pop_all, rotate, share };
enum beginning : std::size_t { with_room, full_with_few, full_with_many, beginnings };

template <unsigned Threads>
class dnv_threads_subject final : public interleaved_subject<dnv_pool_subject, Threads> {
    using base = interleaved_subject<dnv_pool_subject, Threads>;
    using base::blocks_;
    using base::expected_;
    using base::kind_of;
    using base::pool;
    using base::state_now;
    using base::thread_of;
    static_assert(Threads <= dnv_lists);

public:
    explicit dnv_threads_subject(const dnv_kind& kind)
        : base({"push", "push several", "pop all", "rotate", "share"}, beginnings, kind),
          name_(kind.name_of(Threads == 2 ? "threads" : "threads_3")) {}

    std::string_view name() const override { return name_; }
    bool knows(const model& how) const override {
        return !how.is_saved || (Threads == 2 && blocks_.algorithm == std::string_view("value"));
    }
    std::uint64_t nested_less_often() const override { return 64; }

private:
    bool is_shown_alone(unsigned operation) const override {
        return Threads == 2 && base::is_shown_alone(operation);
    }

    /// Of the first chunk alone.
    static constexpr std::size_t bytes_if_full = base::first_bytes - 4 * (std::size_t{64} << 10);
    /// More than are worth it to take over without need (dnv/heap_run.hpp).
    static constexpr unsigned many = 70;

    trace record_as(const workload& operations, const model& how, const schedule& order,
                    std::size_t begins_as) override {
        const typename base::closed_afterwards afterwards(*this);
        base::take(base::make_pool(how, begins_as == with_room ? base::first_bytes : bytes_if_full));
        prepare(begins_as);
        std::vector<contents> states = state_now().lists;
        expected_.begin(states);
        seam_recorder seen(base::base(), base::file_with_room(pool()));
        base::begins_with(seen, pool());
        std::vector<char> has_room(operations.size());
        base::run_interleaved(operations, order, [&](std::size_t i) {
            seen.operation_begins(thread_of(operations[i]));
            has_room[i] = apply(operations[i], value_of(i)) ? 1 : 0;
            seen.operation_done(thread_of(operations[i]));
        });
        pool().checkpoint().value();
        for (std::size_t i = 0; i < operations.size(); ++i) {
            contents& of_list = states[thread_of(operations[i])];
            if (has_room[i] != 0) of_list = after(of_list, operations[i], value_of(i));
            expected_.add(of_list, thread_of(operations[i]));
        }
        if (state_now().lists != states) fail(errc::misuse, "they do another thing");
        return std::move(seen.recorded());
    }

    static std::uint64_t value_of(std::size_t place) { return 100 * (place + 1); }

    bool apply(unsigned operation, std::uint64_t value) {
        const unsigned list = thread_of(operation);
        switch (kind_of(operation)) {
            case push: return blocks_.push(list, value, small_node_bytes);
            case push_several: return blocks_.push_several(list, value);
            case pop_all: return blocks_.pop_all(list);
            case rotate: return blocks_.rotate(list, value);
            default: return blocks_.share(list);
        }
    }
    contents after(const contents& before, unsigned operation, std::uint64_t value) const {
        dnv_model model(before);
        switch (kind_of(operation)) {
            case push: model.push(value, small_node_bytes); break;
            case push_several: model.push_several(value); break;
            case pop_all: model.pop_all(); break;
            case rotate: model.rotate(value); break;
            default: model.share(); break;
        }
        return model.all();
    }

    /// Each list has two nodes.
    void prepare(std::size_t begins_as) {
        constexpr unsigned nodes = 2;
        for (unsigned list = 0; list < Threads; ++list)
            for (unsigned i = 0; i < nodes; ++i) blocks_.push(list, 10 * list + i, small_node_bytes);
        if (begins_as == full_with_few) push_and_free_in_thread(nodes_of_several);
        for (unsigned i = 0; begins_as == full_with_many && i < many; ++i) blocks_.push(0, i, small_node_bytes);
        for (unsigned i = 0; begins_as == full_with_many && i < many; ++i) blocks_.pop(0);
        pool().checkpoint().value();
        if (begins_as != with_room && dnv::the_space.acquire_chunk(0) != dnv::most_chunks)
            fail(errc::misuse, "the pool has room for another chunk");
    }
    /// The thread's heap is that of the first one of the run.
    void push_and_free_in_thread(unsigned blocks) {
        for (unsigned i = 0; i < blocks; ++i) blocks_.push(0, i, small_node_bytes);
        std::thread([&] {
            for (unsigned i = 0; i < blocks; ++i) blocks_.pop(0);
        }).join();
    }

    void go_on(const workload*, seam_recorder& seen) override {
        std::vector<contents> states = state_now().lists;
        seen.operation_begins(thread_afterwards);
        if (apply(push, 7777)) states[0] = after(states[0], push, 7777);
        seen.operation_done(thread_afterwards);
        contents all;
        for (const contents& each : states) all.insert(all.end(), each.begin(), each.end());
        expected_.add_afterwards(std::move(all));
    }

    std::string name_;
};

}  // namespace

void add_threads_of_dnv(std::vector<std::unique_ptr<subject>>& all) {
    // Last what shows most where workloads are drawn: two threads under the algorithm that stores to fresh blocks.
    const auto blocks = all_dnv_operations();
    for (auto each = blocks.rbegin(); each != blocks.rend(); ++each) {
        all.push_back(std::make_unique<dnv_threads_subject<3>>(dnv_kind{*each}));
        all.push_back(std::make_unique<dnv_threads_subject<2>>(dnv_kind{*each}));
    }
}

}  // namespace holdfast::crash

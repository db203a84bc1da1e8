#include <crash/explore.hpp>

#include <crash/recovery_recorder.hpp>

#include <holdfast/base/result.hpp>

#include <sys/mman.h>

#include <cstdlib>
#include <utility>

namespace holdfast::crash {
namespace {

/// Zeroed memory at the place of a pool, for as long as it lives.
class image_memory {
public:
    image_memory(std::byte* base, std::size_t size) : base_(base), size_(size) {
        void* got = ::mmap(base, size, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE | MAP_FIXED_NOREPLACE, -1, 0);
        if (got != base) std::abort();
    }
    ~image_memory() { ::munmap(base_, size_); }
    image_memory(const image_memory&) = delete;
    image_memory& operator=(const image_memory&) = delete;
    std::span<std::byte> bytes() const { return {base_, size_}; }

private:
    std::byte* base_;
    std::size_t size_;
};

}  // namespace

explorer::explorer(subject& what, const model& how, const limits& most, std::uint64_t seed)
    : subject_(what), model_(how), limits_(most), random_(seed) {}

explorer::~explorer() = default;

bool explorer::changes_what_a_cut_leaves(const event& next) const {
    switch (next.kind) {
        // What a cut here may leave, a cut before the next fence may leave too; but for those that
        // are durable at once.
        case event_kind::store: return model_.stores_are_durable;
        case event_kind::stream: return model_.streams_are_durable;
        case event_kind::fence: return true;
        case event_kind::write_back:
        case event_kind::operation_begins:
        case event_kind::operation_done: return false;
    }
    return true;
}

void explorer::explore(const workload& operations, const trace& recorded) {
    const image_memory memory(subject_.base(), subject_.size());
    lazy_memory lazy(memory.bytes());
    operations_ = &operations;
    memory_ = &lazy;
    done_ = begun_ = 0;
    ++found_.workloads;
    cut_everywhere(recorded, true);
    memory_ = nullptr;
}

void explorer::cut_everywhere(const trace& recorded, bool counts_operations) {
    const trace* const outer = std::exchange(trace_, &recorded);
    const std::size_t outer_event = next_event_;
    medium left(model_, recorded.before);
    for (next_event_ = 0; next_event_ < recorded.events.size() && !has_enough(); ++next_event_) {
        const event& next = recorded.events[next_event_];
        if (changes_what_a_cut_leaves(next)) cut(left);
        left.apply(next);
        if (counts_operations && next.kind == event_kind::operation_begins) ++begun_;
        if (counts_operations && next.kind == event_kind::operation_done) ++done_;
        if (next.where) found_.sites.insert(*next.where);
    }
    if (!has_enough()) cut(left);
    trace_ = outer;
    next_event_ = outer_event;
}

void explorer::cut(const medium& left) {
    ++(depth_ == 0 ? found_.cuts : found_.nested_cuts);
    memory_->settle(left);
    std::vector<std::vector<std::uint64_t>> outer_wanted = std::exchange(wanted_, {});
    choices next;
    bool more = true;
    for (std::uint64_t runs = 0; more && has_runs_left(runs); ++runs) {
        memory_->begin(next);
        run();
        more = memory_->next(next);
    }
    if (more && !has_enough()) {
        found_.exhaustive = false;
        for (std::uint64_t runs = 0; has_runs_left(runs); ++runs) {
            memory_->begin(random_);
            run();
        }
    }
    for (const auto& image : std::exchange(wanted_, std::move(outer_wanted))) cut_recovery(image);
}

void explorer::run() {
    ++found_.runs;
    std::optional<std::string> wrong;
    try {
        wrong = subject_.recover();
        if (!wrong) wrong = subject_.check(done_, begun_);
    } catch (const failure& reason) {
        wrong = "recovery throws: " + reason.reason().text();
    }
    const bool is_new = images_.insert(memory_->image_hash()).second;
    if (is_new) ++found_.images;
    if (is_new && depth_ < limits_.depth && random_() % limits_.nested_one_in == 0) wanted_.push_back(memory_->image());
    if (wrong) tell(*wrong);
    memory_->end();
}

void explorer::cut_recovery(const std::vector<std::uint64_t>& image) {
    if (has_enough()) return;
    memory_->settle(medium(model_, image));
    memory_->begin(choices{});
    trace recorded;
    {
        recovery_recorder seen({subject_.base(), subject_.size()});
        static_cast<void>(subject_.recover());
        recorded = seen.recorded();
    }
    memory_->end();
    if (planted_) plant(*planted_, recorded);
    ++depth_;
    cut_everywhere(recorded, false);
    --depth_;
}

bool is_caught(subject& what, const model& how, const fault& planted, std::uint64_t seed) {
    limits most;
    most.stop_at_first = true;
    most.nested_one_in = 1;
    explorer run(what, how, most, seed);
    run.plant_everywhere(planted);
    for_each_workload(what.universe(), 2, [&](const workload& operations) {
        if (run.has_enough()) return;
        trace recorded = what.record(operations, how);
        plant(planted, recorded);
        run.explore(operations, recorded);
    });
    return run.has_enough();
}

void explorer::tell(const std::string& what) {
    ++found_.violations;
    if (found_.told.size() >= limits_.violations_told) return;
    violation told{*operations_, next_event_, depth_, {}, memory_->made(), what};
    for (std::size_t i = next_event_; i > 0 && told.where.empty(); --i)
        if (const auto where = trace_->events[i - 1].where) told.where = name_of(*where);
    found_.told.push_back(std::move(told));
}

}  // namespace holdfast::crash

#include <crash/explore.hpp>

#include <holdfast/base/result.hpp>


#include <sys/mman.h>

#include <cstdlib>

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
    trace_ = &recorded;
    memory_ = &lazy;
    done_ = begun_ = 0;
    medium left(model_, recorded.before);
    ++found_.workloads;
    for (next_event_ = 0; next_event_ < recorded.events.size() && !has_enough(); ++next_event_) {
        const event& next = recorded.events[next_event_];
        if (changes_what_a_cut_leaves(next)) cut(left);
        left.apply(next);
        if (next.kind == event_kind::operation_begins) ++begun_;
        if (next.kind == event_kind::operation_done) ++done_;
        if (next.where) found_.sites.insert(*next.where);
    }
    if (!has_enough()) cut(left);
    memory_ = nullptr;
}

void explorer::cut(const medium& left) {
    ++found_.cuts;
    memory_->settle(left);
    choices next;
    bool more = true;
    for (std::uint64_t images = 0; more && images < limits_.images_of_a_cut && !has_enough(); ++images) {
        memory_->begin(next);
        run();
        more = memory_->next(next);
    }
    if (!more) return;
    found_.exhaustive = false;
    for (std::uint64_t images = 0; images < limits_.images_of_a_cut && !has_enough(); ++images) {
        memory_->begin(random_);
        run();
    }
}

void explorer::run() {
    ++found_.runs;
    std::optional<std::string> wrong;
    try {
        wrong = subject_.recover_and_check(done_, begun_);
    } catch (const failure& reason) {
        wrong = "recovery throws: " + reason.reason().text();
    }
    if (images_.insert(memory_->image_hash()).second) ++found_.images;
    memory_->end();
    if (wrong) tell(*wrong);
}

bool is_caught(subject& what, const model& how, const fault& planted, std::uint64_t seed) {
    limits most;
    most.stop_at_first = true;
    explorer run(what, how, most, seed);
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
    violation told{*operations_, next_event_, {}, memory_->made(), what};
    for (std::size_t i = next_event_; i > 0 && told.where.empty(); --i)
        if (const auto where = trace_->events[i - 1].where) told.where = name_of(*where);
    found_.told.push_back(std::move(told));
}

}  // namespace holdfast::crash

#include <crash/explore/explore.hpp>

#include <crash/explore/judge.hpp>

#include <utility>

#include <malloc.h>

namespace holdfast::crash {
namespace {

/// There are many more stores than calls, and more matters behind a call.
constexpr std::uint64_t stores_to_a_call = 8;
/// What follows a kill is a whole life.
constexpr std::uint64_t lives_killed_less_often = 8;

}  // namespace

explorer::explorer(subject& what, const model& how, const limits& most, std::uint64_t seed)
    : subject_(what), model_(how), limits_(most), random_(seed) {
    // With several lives each is explored from its recovery on, which is cut with it.
    if (limits_.lives > 1) {
        limits_.depth = limits_.lives - 1;
        limits_.killed_one_in *= lives_killed_less_often;
        found_.exhaustive = false;
    }
    // The save is one depth, and the opening that follows it the next.
    if (how.is_saved && limits_.depth != 0) ++limits_.depth;
    const std::uint64_t less_often = what.nested_less_often();
    met_.resize(limits_.depth);
    results_.resize(limits_.depth);
    limits_.nested_one_in *= how.is_saved ? 1 : less_often;
    limits_.killed_one_in *= less_often;
    // Images are copied by the thousand: their memory is not to go back to the kernel each time.
    ::mallopt(M_MMAP_THRESHOLD, 1 << 30);
    ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

explorer::~explorer() = default;

/// What a cut elsewhere may leave, a cut before the next event that completes something may leave too;
/// but for stores that are durable at once.
bool explorer::changes_what_a_cut_leaves(const event& next) const {
    if (is_saved_here()) return changes_what_is_visible(next);
    switch (next.kind) {
        // Where a power failure may cut, too, nothing is promised of an instruction.
        case event_kind::store:
            return model_.stores_are_durable && !model_.is_file && !(model_.streams_are_durable && next.with_before);
        case event_kind::stream: return model_.streams_are_durable && !model_.is_file;
        case event_kind::file_word:
        case event_kind::file_resize:
        case event_kind::file_publish: return model_.writes_are_durable;
        case event_kind::fence: return !model_.is_file;
        default: return completes(next.kind) && !model_.writes_are_durable;
    }
}

/// A handler finds threads between two instructions.
bool explorer::changes_what_is_visible(const event& next) {
    switch (next.kind) {
        case event_kind::store:
        case event_kind::stream: return !next.with_before;
        case event_kind::file_word:
        case event_kind::file_resize: return true;
        default: return false;
    }
}

/// Zeros over zeros are many stores. What a cut before such a one leaves, a cut before the next store leaves as well.
bool explorer::is_cut_again_behind(const trace& recorded, const medium& left) const {
    const event& next = recorded.events[next_event_];
    const auto is_store = [](const event& each) {
        return each.kind == event_kind::store || each.kind == event_kind::stream;
    };
    if (next_event_ + 1 == recorded.events.size() || !is_store(next)) return false;
    const event& behind = recorded.events[next_event_ + 1];
    const bool is_same =
        is_saved_here() ? left.visible()[next.place] == next.value : left.holds(next.place, next.value);
    return is_same && is_store(behind) && changes_what_a_cut_leaves(behind);
}

bool explorer::changes_what_a_kill_leaves(const event& next) const {
    if (model_.is_file) return next.kind == event_kind::file_word;
    if (next.with_before) return false;
    return next.kind == event_kind::store || next.kind == event_kind::stream || next.kind == event_kind::write_back;
}

void explorer::explore(const workload& operations, const trace& recorded, std::size_t schedule) {
    const image_memory memory = memory_for(subject_);
    lazy_memory lazy(memory.bytes(), subject_.base());
    operations_ = &operations;
    schedule_ = schedule;
    memory_ = &lazy;
    made_ = saved_at_rest_ = {};
    ++found_.workloads;
    cut_everywhere(recorded, medium(model_, recorded));
    memory_ = nullptr;
}

void explorer::cut_everywhere(const trace& recorded, medium left) {
    const trace* const outer = std::exchange(trace_, &recorded);
    const std::size_t outer_event = next_event_;
    const progress outer_progress = made_;
    for (next_event_ = 0; next_event_ < recorded.events.size() && !has_enough(); ++next_event_) {
        const event& next = recorded.events[next_event_];
        const bool explored = next_event_ >= recorded.explored_from;
        coverage::crashes* const call = explored && is_covered_call(next) ? &found_.calls.at(next) : nullptr;
        const bool is_of_many = limits_.lives > 1 && !completes(next.kind) &&
                                random_() % limits_.stores_one_in != 0;
        // A process that is killed while the power holds is one whose save has not begun.
        if (next_event_ == 0 && model_.is_saved) kill_one_in(1, left);
        if (explored && !is_of_many && changes_what_a_cut_leaves(next)) {
            if (!is_cut_again_behind(recorded, left)) cut(left);
            if (call != nullptr) ++call->before;
        } else if (explored && changes_what_a_kill_leaves(next)) {
            kill_one_in(next.kind == event_kind::write_back ? 1 : stores_to_a_call, left);
        }
        if (call != nullptr) cover(call->before, left);
        left.apply(next);
        made_.count(next);
        ++next_event_;  // what a report names as the cut
        if (explored && next.kind == event_kind::operation_done) look_at_promise(left);
        if (call != nullptr) cover(call->after, left);
        --next_event_;
    }
    if (!has_enough()) {
        cut(left);
        if (!is_last_life() && !limits_.only_promises) run_extremes(left);
    }
    trace_ = outer;
    next_event_ = outer_event;
    made_ = outer_progress;
}

/// What such a cut may leave others may leave too, so the first will do: it shows that recovery stands it.
void explorer::cover(std::uint64_t& crashes, const medium& left) {
    if (crashes != 0 || has_enough()) return;
    constexpr std::uint64_t enough = 8;
    const std::uint64_t outer = std::exchange(covering_, enough);
    ++crashes;
    cut(left);
    covering_ = outer;
}

void explorer::look_at_promise(const medium& left) {
    if (has_enough() || !subject_.has_promised(made_)) return;
    ++found_.promises;
    const auto broken = judge_promise(subject_, *memory_, left, *trace_, next_event_, made_);
    if (!broken) return;
    ++found_.broken_promises;
    tell(*broken, {});
}

void explorer::cut(const medium& left) {
    if (limits_.only_promises) return;
    ++(depth_ == 0 ? found_.cuts : found_.nested_cuts);
    if (is_saved_here()) return cut_save(left);
    memory_->settle(left);
    if (!left.complete()) found_.exhaustive = false;
    std::vector<recovered_image> outer_wanted = std::exchange(wanted_, {});
    choices next;
    bool more = true;
    for (std::uint64_t runs = 0; more && has_runs_left(runs); ++runs) {
        memory_->begin(next);
        run();
        more = memory_->next(next);
        memory_->end();
    }
    if (more && !has_enough() && covering_ == ~std::uint64_t{0}) {
        found_.exhaustive = false;
        for (std::uint64_t runs = 0; has_runs_left(runs); ++runs) {
            memory_->begin(random_);
            run();
            memory_->end();
        }
    }
    for (const recovered_image& image : std::exchange(to_damage_, {})) damage(image);
    for (const recovered_image& image : std::exchange(wanted_, std::move(outer_wanted))) cut_recovery(image, nullptr);
    kill_one_in(model_.stores_are_durable ? stores_to_a_call : 1, left);
}

/// The power fails. Whatever the caches hold is saved; that is cut now and then, and else runs to its end.
void explorer::cut_save(const medium& left) {
    medium stopped = left;
    stopped.stop();
    // What was acknowledged must not be lost to a save of before: so each operation is followed by one that is cut.
    const bool is_first_at_rest = made_.is_at_rest() && saved_at_rest_.done != made_.done;
    if (is_first_at_rest) saved_at_rest_ = made_;
    const bool is_cut = random_() % limits_.killed_one_in == 0 || is_first_at_rest;
    if (!is_cut) found_.exhaustive = false;
    cut_recovery({visible_image(left), {}}, &stopped, is_cut);
}

/// Now and then: the process is killed, and what follows it is cut. Where all that is visible is durable a kill is
/// a cut like others.
void explorer::kill_one_in(std::uint64_t how_many, const medium& left) {
    const bool is_possible = !model_.writes_are_durable && (!model_.is_saved || depth_ == 1);
    if (!is_possible || depth_ >= limits_.depth || limits_.only_promises) return;
    if (random_() % (how_many * limits_.killed_one_in) != 0) return;
    medium killed = left;
    killed.kill();
    recovered_image image{visible_image(left), {}};
    if (!is_last_life()) image.life = draw_life();
    cut_recovery(image, &killed);
}

/// At the end of what was done: from all of it a life begins, and from no more than is certain.
void explorer::run_extremes(const medium& left) {
    class newest final : public chooser {
    public:
        std::uint32_t choose(const question& asked) override { return asked.answers - 1; }
    } all;
    std::vector<recovered_image> outer_wanted = std::exchange(wanted_, {});
    memory_->settle(left);
    for (const bool everything : {true, false}) {
        if (has_enough()) break;
        everything ? memory_->begin(all) : memory_->begin(choices{});
        run(true);
        memory_->end();
    }
    for (const recovered_image& image : std::exchange(wanted_, std::move(outer_wanted))) cut_recovery(image, nullptr);
}

workload explorer::draw_life() {
    if (depth_ < limits_.told_lives.size()) return limits_.told_lives[depth_];
    workload life(1 + random_() % limits_.longest_life);
    unsigned before = subject_.universe();
    for (unsigned& each : life) each = before = subject_.draw_operation(before, random_);
    return life;
}

/// Another life begins from the image that was just recovered well.
void explorer::go_on_from(bool must) {
    const bool is_told = depth_ < limits_.told_lives.size();
    const bool is_other = results_[depth_].insert(subject_.result_number()).second;
    if (!must && !is_other && random_() % limits_.lives_one_in != 0) return;
    for (unsigned i = 0; i < (is_told ? 1 : limits_.next_lives); ++i)
        wanted_.push_back({memory_->image(), memory_->made(), draw_life()});
}

void explorer::run(bool must_go_on) {
    ++found_.runs;
    std::optional<std::string> wrong = judge(subject_, *memory_, made_);
    subject_.close();
    const bool is_new = images_.insert(memory_->image_hash()).second;
    if (is_new) ++found_.images;
    // Also of an image that was met before, but as what a recovery left that was cut as deep as may be. A cut for
    // coverage is a short one: what it leaves others leave too, and then its recovery is cut at length.
    const bool may_be_cut = !wrong && depth_ < limits_.depth && covering_ == ~std::uint64_t{0};
    if (limits_.lives > 1) {
        if (may_be_cut && (is_new || must_go_on)) go_on_from(must_go_on);
    } else if (may_be_cut && met_[depth_].insert(memory_->image_hash()).second &&
               random_() % limits_.nested_one_in == 0) {
        wanted_.push_back({memory_->image(), memory_->made()});
    }
    if (is_new && !wrong && depth_ == 0 && limits_.lives == 1 && subject_.metadata_bytes() != 0 &&
        random_() % limits_.damaged_one_in == 0)
        to_damage_.push_back({memory_->image(), memory_->made()});
    if (wrong) tell(*wrong, memory_->made());
}

/// One flipped bit, or one lost line, at a time.
void explorer::damage(const recovered_image& image) {
    const auto& left = image.left.before;
    // Of what is zero most is not in use.
    std::vector<std::uint64_t> used;
    for (std::uint64_t word = 0; word < subject_.metadata_bytes() / 8; ++word)
        if (left[word] != 0) used.push_back(word);
    if (used.empty()) return;
    const medium settled(model_, image.left);
    memory_->settle(settled);
    for (unsigned i = 0; i < limits_.damaged_places && !has_enough(); ++i) {
        const std::uint64_t word = used[random_() % used.size()];
        const bool is_line = i % 2 != 0;
        const std::uint64_t bit = random_() % 64;
        memory_->begin(choices{});
        if (is_line) {
            for (std::uint64_t at = word / 8 * 8; at < word / 8 * 8 + 8; ++at)
                memory_->damage(at * 8, left[at]);
        } else {
            memory_->damage(word * 8, std::uint64_t{1} << bit);
        }
        ++found_.damaged;
        const auto harm = judge_damaged(subject_, *memory_, made_);
        subject_.close();
        memory_->end();
        if (!harm) continue;
        if (subject_.is_record(word * 8)) {
            ++found_.damaged_records;
            continue;
        }
        ++found_.violations;
        if (found_.unnoticed.size() >= limits_.violations_told) continue;
        std::string what = is_line ? "line " + std::to_string(word / 8) + " lost"
                                   : "bit " + std::to_string(bit) + " flipped at " + std::to_string(word * 8);
        what += ", cut before event " + std::to_string(next_event_) + " of operations";
        for (const unsigned each : *operations_) what += " " + std::to_string(each);
        found_.unnoticed.push_back(what + ": " + *harm);
    }
}

/// With `killed` the image was only visible: what of it is durable is what that medium says.
void explorer::cut_recovery(const recovered_image& image, const medium* killed, bool everywhere) {
    if (has_enough()) return;
    const medium settled(model_, image.left);
    trace recorded = record_recovery(subject_, *memory_, settled, made_, killed != nullptr,
                                     image.life ? &*image.life : nullptr);
    if (planted_) static_cast<void>(plant(*planted_, recorded));
    if (!everywhere) recorded.explored_from = recorded.events.size();
    ++depth_;
    outer_.push_back({next_event_, image.made, killed != nullptr, image.life});
    cut_everywhere(recorded, killed != nullptr ? *killed : settled);
    outer_.pop_back();
    --depth_;
    subject_.leave_recovery();
}

void explorer::tell(const std::string& what, const choices& made) {
    ++found_.violations;
    const unsigned life = limits_.lives > 1 ? depth_ + 1 : 0;
    if (found_.first_life == 0 || life < found_.first_life) found_.first_life = life;
    if (found_.told.size() >= limits_.violations_told) return;
    violation told{*operations_, next_event_, depth_, {}, made, what, outer_, schedule_};
    for (std::size_t i = next_event_; i > 0 && told.where.empty(); --i)
        if (const auto where = trace_->events[i - 1].where) told.where = name_of(*where);
    found_.told.push_back(std::move(told));
}

}  // namespace holdfast::crash

#include <crash/explain/image_runner.hpp>

#include <crash/explore/judge.hpp>
#include <crash/record/seam_recorder.hpp>

#include <algorithm>
#include <utility>

namespace holdfast::crash {
namespace {

/// Recorded with the fault in force, which it stays.
trace recorded_with(subject& what, const model& how, const workload& operations, const std::optional<fault>& planted,
                    std::size_t schedule, std::optional<planted_here>& in_code) {
    if (planted) in_code.emplace(*planted);
    trace recorded = what.record(operations, how, schedule);
    if (planted) static_cast<void>(plant(*planted, recorded));
    return recorded;
}

bool has_words(const unit& of, std::uint32_t version, const std::vector<std::uint64_t>& words, unsigned granule_words) {
    std::size_t index = version * of.words();
    for (std::uint64_t left = of.mask; left != 0; left &= left - 1) {
        const auto word = of.granule * granule_words + static_cast<unsigned>(__builtin_ctzll(left));
        if (of.versions[index++] != words[word]) return false;
    }
    return true;
}

/// Which version holds what the program stored last.
std::uint32_t newest_version(const unit& of, const std::vector<std::uint64_t>& visible, unsigned granule_words) {
    const auto count = static_cast<std::uint32_t>(of.count());
    for (std::uint32_t version = count; version > 0; --version)
        if (has_words(of, version - 1, visible, granule_words)) return version - 1;
    return count - 1;
}

}  // namespace

std::vector<std::uint64_t> visible_words(const trace& recorded, std::size_t event, const model& how) {
    std::vector<std::uint64_t> words = recorded.before;
    for (std::size_t i = 0; i < event; ++i) {
        const struct event& each = recorded.events[i];
        const bool is_store = each.kind == event_kind::store || each.kind == event_kind::stream;
        if (each.kind == event_kind::file_word || (is_store && !how.is_file)) words[each.place] = each.value;
    }
    return words;
}

/// One cut of a chain: either choices in their order, or what is older than the newest.
struct image_runner::step {
    std::size_t event;
    const choices* follow;
    const image_plan* plan;
    bool killed;
    const std::optional<workload>* life;
};

/// Decides as a step says, and records the result.
class image_runner::decider final : public chooser {
public:
    decider(const step& as, std::vector<std::uint64_t> visible, unsigned granule_words)
        : as_(as), visible_(std::move(visible)), granule_words_(granule_words) {}
    /// Reads are dated by the events of this trace.
    void date_by(const trace& recovery) { recovery_ = &recovery; }

    std::uint32_t choose(const question& asked) override {
        uncertain_thing thing{asked.kind, 0, 0};
        if (asked.of != nullptr) thing = {asked.kind, asked.of->granule, asked.of->mask};
        const std::uint32_t newest = newest_of(asked);
        const std::uint32_t answer = as_.follow != nullptr ? next_choice(asked) : planned(thing, asked, newest);
        note(thing, asked, answer, newest);
        const std::uint64_t begin = thing.granule * granule_words_ * 8;
        reads_.push_back({thing, begin + asked.offset, begin + asked.end, asked.answers, answer,
                          answer_of(asked, newest), call_stacks::here(),
                          recovery_ != nullptr ? recovery_->events.size() : 0, false});
        return answer;
    }
    bool followed() const { return followed_ && (as_.follow == nullptr || next_ == as_.follow->size()); }
    image_plan plan() const { return {as_.event, as_.killed, older_, *as_.life}; }
    const std::map<uncertain_thing, std::uint32_t>& versions() const { return versions_; }
    const std::vector<std::uint64_t>& visible() const { return visible_; }
    std::vector<decisive_read>& reads() { return reads_; }

private:
    std::uint32_t newest_of(const question& asked) const {
        return asked.of == nullptr ? asked.answers - 1 : newest_version(*asked.of, visible_, granule_words_);
    }
    /// The answer that this version gives; of one that is no longer possible, that of the newest possible.
    static std::uint32_t answer_of(const question& asked, std::uint32_t version) {
        if (asked.of == nullptr) return std::min(version, asked.answers - 1);
        const auto at = std::find(asked.left.begin(), asked.left.end(), version);
        return at == asked.left.end() ? asked.answer_of.back()
                                      : asked.answer_of[static_cast<std::size_t>(at - asked.left.begin())];
    }
    std::uint32_t next_choice(const question& asked) {
        const std::uint32_t wanted = next_ < as_.follow->size() ? (*as_.follow)[next_] : 0;
        if (next_ < as_.follow->size()) ++next_;
        if (wanted < asked.answers) return wanted;
        followed_ = false;
        return asked.answers - 1;
    }
    std::uint32_t planned(const uncertain_thing& thing, const question& asked, std::uint32_t newest) const {
        const auto older = as_.plan->older.find(thing);
        return answer_of(asked, older == as_.plan->older.end() ? newest : older->second);
    }
    /// What the thing is once this answer is given, as new as that allows.
    void note(const uncertain_thing& thing, const question& asked, std::uint32_t answer, std::uint32_t newest) {
        std::uint32_t version = answer;
        if (asked.of != nullptr) {
            std::vector<std::uint32_t> agree;
            for (std::size_t i = 0; i < asked.left.size(); ++i)
                if (asked.answer_of[i] == answer) agree.push_back(asked.left[i]);
            version = std::find(agree.begin(), agree.end(), newest) != agree.end() ? newest : agree.back();
        }
        versions_[thing] = version;
        if (version == newest) {
            older_.erase(thing);
        } else {
            older_[thing] = version;
        }
    }

    step as_;
    std::vector<std::uint64_t> visible_;
    unsigned granule_words_;
    const trace* recovery_ = nullptr;
    std::size_t next_ = 0;
    bool followed_ = true;
    std::map<uncertain_thing, std::uint32_t> older_;
    std::map<uncertain_thing, std::uint32_t> versions_;
    std::vector<decisive_read> reads_;
};

image_runner::image_runner(subject& what, const model& how, const workload& operations,
                           const std::optional<fault>& planted, std::size_t schedule)
    : subject_(what), model_(how), planted_(planted),
      recorded_(recorded_with(what, how, operations, planted, schedule, in_code_)),
      image_(memory_for(what)), memory_(image_.bytes(), what.base()) {}

image_runner::~image_runner() = default;

const medium& image_runner::medium_at(const trace& cut_here, std::size_t event) {
    const bool is_outermost = &cut_here == &recorded_;
    if (is_outermost && outermost_ && outermost_event_ == event) return *outermost_;
    std::optional<medium>& made = is_outermost ? outermost_ : nested_;
    made.emplace(is_outermost ? medium(model_, cut_here) : *recovered_);
    for (std::size_t i = 0; i < event; ++i) made->apply(cut_here.events[i]);
    if (is_outermost) outermost_event_ = event;
    return *made;
}

image_verdict image_runner::run(const std::vector<cut_point>& cuts) {
    std::vector<step> steps;
    for (const cut_point& each : cuts) steps.push_back({each.event, &each.made, nullptr, each.killed, &each.life});
    return run_all(steps, nullptr);
}

image_verdict image_runner::run(const std::vector<image_plan>& plans) {
    std::vector<step> steps;
    for (const image_plan& each : plans) steps.push_back({each.event, nullptr, &each, each.killed, &each.life});
    return run_all(steps, nullptr);
}

image_account image_runner::account(const std::vector<image_plan>& plans) {
    image_account told;
    std::vector<step> steps;
    for (const image_plan& each : plans) steps.push_back({each.event, nullptr, &each, each.killed, &each.life});
    told.verdict = run_all(steps, &told);
    return told;
}

image_verdict image_runner::run_all(const std::vector<step>& steps, image_account* told) {
    image_verdict verdict;
    progress made;
    trace recovery;
    const trace* now = &recorded_;
    std::size_t entered = 0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        if (steps[i].event > now->events.size()) {
            verdict.impossible = (i == 0 ? "the workload's trace has " : "the recovery's trace has ") +
                                 std::to_string(now->events.size()) + " events, the cut is before event " +
                                 std::to_string(steps[i].event);
            break;
        }
        if (told != nullptr) told->traces.push_back({*now, steps[i].event});
        for (std::size_t event = 0; event < steps[i].event; ++event) made.count(now->events[event]);
        if (i + 1 == steps.size()) {
            run_innermost(steps[i], *now, made, verdict, told);
            break;
        }
        trace next;
        if (!run_outer(steps[i], *now, made, next, verdict)) break;
        ++entered;
        recovery = std::move(next);
        now = &recovery;
    }
    while (entered-- > 0) subject_.leave_recovery();
    return verdict;
}

/// Recovers from an outer cut. False: what it left is wrong already.
bool image_runner::run_outer(const step& now, const trace& cut_here, progress& made, trace& next,
                             image_verdict& verdict) {
    trace image;
    if (now.killed) {
        medium left = medium_at(cut_here, now.event);
        image = visible_image(left);
        verdict.cuts.push_back({now.event, {}, true, *now.life});
        verdict.plans.push_back({now.event, true, {}, *now.life});
        model_.is_saved && &cut_here == &recorded_ ? left.stop() : left.kill();
        recovered_ = std::move(left);
    } else {
        image = recover_outer(now, cut_here, made, verdict);
        if (verdict.wrong) return false;
        recovered_.emplace(model_, image);
    }
    next = record_recovery(subject_, memory_, medium(model_, image), made, now.killed,
                           *now.life ? &**now.life : nullptr);
    if (planted_) static_cast<void>(plant(*planted_, next));
    return true;
}

trace image_runner::recover_outer(const step& now, const trace& cut_here, const progress& made,
                                  image_verdict& verdict) {
    ++runs_;
    decider decides(now, visible_words(cut_here, now.event, model_), model_.granule_words);
    memory_.settle(medium_at(cut_here, now.event));
    memory_.begin(decides);
    verdict.wrong = judge(subject_, memory_, made);
    subject_.close();
    trace image = memory_.image();
    verdict.cuts.push_back({now.event, memory_.made(), false, *now.life});
    verdict.plans.push_back(decides.plan());
    verdict.followed = verdict.followed && decides.followed();
    memory_.end();
    return image;
}

void image_runner::run_innermost(const step& now, const trace& cut_here, progress made, image_verdict& verdict,
                                 image_account* told) {
    ++runs_;
    const medium& left = medium_at(cut_here, now.event);
    decider decides(now, visible_words(cut_here, now.event, model_), model_.granule_words);
    memory_.settle(left);
    std::optional<seam_recorder> seen;
    if (told != nullptr) {
        // Before the run: it copies the image, which in a run would be a read.
        seen.emplace(subject_.base(), memory_.bytes());
        decides.date_by(seen->recorded());
    }
    memory_.begin(decides);
    std::size_t choices_of_recovery = ~std::size_t{0};
    verdict.wrong = judge(subject_, memory_, made, &choices_of_recovery);
    if (told != nullptr) {
        told->units = left.uncertain();
        told->visible = decides.visible();
        told->reads = std::move(decides.reads());
        for (std::size_t i = choices_of_recovery; i < told->reads.size(); ++i) told->reads[i].is_of_check = true;
        told->recovery = std::move(seen->recorded());
        seen.reset();
    }
    subject_.close();
    verdict.cuts.push_back({now.event, memory_.made(), false, *now.life});
    verdict.plans.push_back(decides.plan());
    verdict.versions = decides.versions();
    verdict.followed = verdict.followed && decides.followed();
    memory_.end();
    const bool is_promise = now.event > 0 && cut_here.events[now.event - 1].kind == event_kind::operation_done;
    if (is_promise && !verdict.wrong)
        verdict.wrong = judge_promise(subject_, memory_, left, cut_here, now.event, made);
}

}  // namespace holdfast::crash

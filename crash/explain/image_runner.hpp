// Runs recovery on one chosen image, as often as somebody wants to know what would be if a line of it had been
// other: the experiments behind shrinking a violation and finding its cause.
#pragma once

#include <crash/cut/image_memory.hpp>
#include <crash/explore/explore.hpp>

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::crash {

/// What a cut leaves uncertain: words of a granule that arrive together, or the file's size or name.
struct uncertain_thing {
    question::about kind = question::about::contents;
    std::uint64_t granule = 0;
    std::uint64_t mask = 0;  ///< which words of the granule

    auto operator<=>(const uncertain_thing&) const = default;
};

/// A cut, and what of its uncertain things is older than the newest that the program made.
struct image_plan {
    std::size_t event = 0;
    bool killed = false;     ///< the process was: everything is the newest, and not all of it durable
    std::map<uncertain_thing, std::uint32_t> older;  ///< the version it has; everything else is the newest
    std::optional<workload> life{};  ///< what is done after the recovery
};

/// A read of recovery, or of a check after it, that decided what an uncertain thing was.
struct decisive_read {
    uncertain_thing of;
    std::uint64_t offset = 0;   ///< bytes of the pool, [offset, end)
    std::uint64_t end = 0;
    std::uint32_t answers = 0;  ///< how many there were
    std::uint32_t answer = 0;
    std::uint32_t newest = 0;   ///< which would have been that of the newest contents
    stack_id stack = 0;
    std::size_t when = 0;       ///< events that the last recovery had done
    bool is_of_check = false;   ///< not the recovery read it, but a check of what it left
};

/// A trace, and where it was cut.
struct cut_trace {
    trace recorded;
    std::size_t event = 0;
};

struct image_verdict {
    std::optional<std::string> wrong;
    /// Why there is no such image: a trace is shorter than the cut says.
    std::optional<std::string> impossible;
    bool followed = true;                ///< every choice that was asked for could be made
    std::vector<cut_point> cuts;         ///< with the choices that were really made, outermost first
    std::vector<image_plan> plans;       ///< the same, by what is older than the newest
    std::map<uncertain_thing, std::uint32_t> versions;  ///< of the innermost: all that was read, and what it was
};

/// All that can be told about one image.
struct image_account {
    image_verdict verdict;
    std::vector<cut_trace> traces;       ///< outermost first: the workload's, then recoveries'
    std::vector<unit> units;             ///< what was uncertain after the innermost cut
    std::vector<std::uint64_t> visible;  ///< the pool's words as the program had made them at that cut
    std::vector<decisive_read> reads;    ///< of the last recovery and the checks, in order
    trace recovery;                      ///< what the last recovery did
};

class image_runner {
public:
    /// Records the workload. While it lives the subject may not record.
    image_runner(subject& what, const model& how, const workload& operations, const std::optional<fault>& planted,
                 std::size_t schedule = 0);
    ~image_runner();

    const trace& recorded() const noexcept { return recorded_; }
    std::uint64_t runs() const noexcept { return runs_; }
    image_verdict run(const std::vector<cut_point>& cuts);
    image_verdict run(const std::vector<image_plan>& plans);
    /// The same, and tells everything.
    image_account account(const std::vector<image_plan>& plans);

private:
    struct step;
    class decider;

    image_verdict run_all(const std::vector<step>& steps, image_account* told);
    bool run_outer(const step& now, const trace& cut_here, progress& made, trace& next, image_verdict& verdict);
    void run_innermost(const step& now, const trace& cut_here, progress made, image_verdict& verdict,
                       image_account* told);
    trace recover_outer(const step& now, const trace& cut_here, const progress& made, image_verdict& verdict);
    const medium& medium_at(const trace& cut_here, std::size_t event);

    subject& subject_;
    model model_;
    std::optional<fault> planted_;
    std::optional<planted_here> in_code_;
    trace recorded_;
    image_memory image_;
    lazy_memory memory_;
    std::uint64_t runs_ = 0;
    std::optional<medium> outermost_;  ///< of the workload's own trace, at `outermost_event_`
    std::size_t outermost_event_ = 0;
    std::optional<medium> nested_;     ///< of the recovery that is being cut
    std::optional<medium> recovered_;  ///< where that recovery began
};

/// The pool's words as a program sees them before that event: all that was stored, durable or not.
std::vector<std::uint64_t> visible_words(const trace& recorded, std::size_t event, const model& how);

}  // namespace holdfast::crash

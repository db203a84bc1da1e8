// Cuts a recorded trace wherever a model makes a difference, and runs recovery on what a cut may leave.
#pragma once

#include <crash/cut/lazy_memory.hpp>
#include <crash/explore/coverage.hpp>
#include <crash/explore/fault.hpp>
#include <crash/subjects/subject.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <unordered_set>
#include <vector>

namespace holdfast::crash {

struct limits {
    std::uint64_t images_of_a_cut = ~std::uint64_t{0};  ///< if fewer than the subject's own
    std::uint64_t violations_told = 5;     ///< with all that is known of them
    bool stop_at_first = false;            ///< one violation is enough
    unsigned depth = 1;                    ///< cuts inside the recovery from a cut, so often nested
    bool only_promises = false;            ///< no images, only what an acknowledgement promised
    std::uint64_t nested_one_in = 64;      ///< images whose recovery is cut as well
    std::uint64_t damaged_one_in = 8;      ///< images that are also tried with one bit or line of metadata damaged
    unsigned damaged_places = 8;           ///< of each of them, one at a time
    unsigned lives = 1;                    ///< lives one after another: a cut ends each, a recovery begins the next
    std::uint64_t lives_one_in = 256;      ///< images that another life begins from, besides those that must
    unsigned next_lives = 2;               ///< from each of them, of other operations
    std::uint64_t stores_one_in = 64;      ///< with several lives, one of this number of cuts before a store is made
    unsigned longest_life = 3;             ///< operations
    std::vector<workload> told_lives;      ///< these instead of drawn ones: the second's operations, the third's, …
    std::uint64_t killed_one_in = 4;       ///< cuts at which the process is killed first, and its recovery cut; of
                                           ///< stores, where that is no cut, an eighth as many; saves that are cut
};

/// One cut of a trace and one of the images that it may leave.
struct cut_point {
    std::size_t event = 0;  ///< before this event of the trace
    choices made;
    bool killed = false;    ///< the process was: the image is what it had made visible, not all of it durable
    std::optional<workload> life{};  ///< what was done after the recovery, if a life was begun from it

    bool operator==(const cut_point&) const = default;
};

struct violation {
    workload operations;
    std::size_t cut = 0;       ///< before this event of the trace
    unsigned depth = 0;        ///< the number of recoveries that this cut is inside
    std::string where;         ///< the last call of the seam before it
    choices made;              ///< which contents the uncertain words had, in the order in which they were read
    std::string what;
    std::vector<cut_point> outer;  ///< the cuts whose recoveries it is inside of, outermost first
    std::size_t schedule = 0;      ///< which interleaving of the workload
};

/// What came out, over all workloads explored.
struct findings {
    std::uint64_t images = 0;      ///< distinct ones on which recovery and all checks ran to the end
    std::uint64_t runs = 0;        ///< of recovery, distinct or not
    std::uint64_t violations = 0;
    std::uint64_t promises = 0;    ///< acknowledgements at level `power` whose bytes were looked at
    std::uint64_t broken_promises = 0;  ///< each is a violation
    unsigned first_life = 0;       ///< with several lives: the earliest that had one
    std::uint64_t workloads = 0;
    std::uint64_t cuts = 0;
    std::uint64_t nested_cuts = 0; ///< of these, inside a recovery
    bool exhaustive = true;        ///< no cut had more images than the limit
    std::uint64_t damaged = 0;     ///< images with damage that were opened besides
    std::uint64_t damaged_records = 0;   ///< of these, records whose commit was gone while its homes were half written
    std::vector<std::string> unnoticed;  ///< damage that did harm and was not told; each is a violation
    coverage calls;
    std::vector<violation> told;
};

class explorer {
public:
    explorer(subject& what, const model& how, const limits& most, std::uint64_t seed);
    ~explorer();
    explorer(const explorer&) = delete;
    explorer& operator=(const explorer&) = delete;

    /// Every cut from the last operation on: those before it are cuts of the workload without it.
    void explore(const workload& operations) {
        const std::size_t schedules = subject_.schedules(operations, model_);
        for (std::size_t i = 0; i < schedules && !has_enough(); ++i)
            explore(operations, subject_.record(operations, model_, i), i);
    }
    /// The same, with a trace that was recorded before, or changed since.
    void explore(const workload& operations, const trace& recorded, std::size_t schedule = 0);
    /// Recoveries, too, are cut as if they had the fault.
    void plant_everywhere(const fault& planted) { planted_ = planted; }
    bool has_enough() const noexcept { return limits_.stop_at_first && found_.violations != 0; }
    const findings& found() const noexcept { return found_; }

private:
    /// An image on which recovery went well, and the choices that made it.
    struct recovered_image {
        trace left;
        choices made;
        std::optional<workload> life{};  ///< to be lived from it
    };

    void cut_everywhere(const trace& recorded, medium left);
    void cut(const medium& left);
    void cut_save(const medium& left);
    bool is_saved_here() const noexcept { return model_.is_saved && depth_ == 0; }
    static bool changes_what_is_visible(const event& next);
    void look_at_promise(const medium& left);
    void cover(std::uint64_t& crashes, const medium& left);
    void run(bool must_go_on = false);
    void cut_recovery(const recovered_image& image, const medium* killed, bool everywhere = true);
    void damage(const recovered_image& image);
    void run_extremes(const medium& left);
    void go_on_from(bool must);
    workload draw_life();
    bool is_last_life() const { return depth_ + 1 >= limits_.lives; }
    bool has_runs_left(std::uint64_t runs) const {
        return runs < std::min({limits_.images_of_a_cut, subject_.images_of_a_cut(), covering_}) && !has_enough();
    }
    bool changes_what_a_cut_leaves(const event& next) const;
    bool is_cut_again_behind(const trace& recorded, const medium& left) const;
    bool changes_what_a_kill_leaves(const event& next) const;
    void kill_one_in(std::uint64_t how_many, const medium& left);
    void tell(const std::string& what, const choices& made);

    subject& subject_;
    model model_;
    limits limits_;
    std::optional<fault> planted_;
    std::mt19937_64 random_;
    findings found_;
    std::unordered_set<std::uint64_t> images_;  ///< hashes
    std::vector<std::unordered_set<std::uint64_t>> met_;  ///< by depth, those met there
    std::vector<std::unordered_set<std::uint64_t>> results_;  ///< by depth, of recoveries from which another life began
    // Of the workload under way.
    const workload* operations_ = nullptr;
    std::size_t schedule_ = 0;
    std::uint64_t covering_ = ~std::uint64_t{0};  ///< fewer images will do
    const trace* trace_ = nullptr;
    lazy_memory* memory_ = nullptr;
    std::size_t next_event_ = 0;
    unsigned depth_ = 0;
    std::vector<recovered_image> wanted_;  ///< images of this cut whose recovery is to be cut
    std::vector<recovered_image> to_damage_;
    std::vector<cut_point> outer_;     ///< the cuts whose recoveries are being cut
    progress made_;
    progress saved_at_rest_;           ///< when a save was cut last between two operations
};

/// Calls f with every workload of 1 to `longest` operations.
template <class F>
void for_each_workload(unsigned universe, unsigned longest, F&& f) {
    for (unsigned length = 1; length <= longest; ++length) {
        workload operations(length, 0);
        for (bool more = true; more;) {
            f(operations);
            more = false;
            for (unsigned& each : operations) {
                more = ++each < universe;
                if (more) break;
                each = 0;
            }
        }
    }
}

}  // namespace holdfast::crash

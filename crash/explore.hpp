// Cuts a recorded trace wherever a model makes a difference, and runs recovery on what a cut may leave.
#pragma once

#include <crash/fault.hpp>
#include <crash/lazy_memory.hpp>
#include <crash/subject.hpp>

#include <cstdint>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

namespace holdfast::crash {

struct limits {
    std::uint64_t images_of_a_cut = 4096;  ///< beyond, as many more are drawn
    std::uint64_t violations_told = 5;     ///< with all that is known of them
    bool stop_at_first = false;            ///< one violation is enough
    unsigned depth = 1;                    ///< cuts inside the recovery from a cut, so often nested
    std::uint64_t nested_one_in = 64;      ///< images whose recovery is cut as well
};

struct violation {
    workload operations;
    std::size_t cut = 0;       ///< before this event of the trace
    unsigned depth = 0;        ///< inside so many recoveries
    std::string where;         ///< the last call of the seam before it
    choices made;              ///< which contents the uncertain words had, in the order in which they were read
    std::string what;
};

/// What came out, over all workloads explored.
struct findings {
    std::uint64_t images = 0;      ///< distinct ones on which recovery and all checks ran to the end
    std::uint64_t runs = 0;        ///< of recovery, distinct or not
    std::uint64_t violations = 0;
    std::uint64_t workloads = 0;
    std::uint64_t cuts = 0;
    std::uint64_t nested_cuts = 0; ///< of these, inside a recovery
    bool exhaustive = true;        ///< no cut had more images than the limit
    std::vector<violation> told;
    std::set<persist::site> sites; ///< cut before and after
};

class explorer {
public:
    explorer(subject& what, const model& how, const limits& most, std::uint64_t seed);
    ~explorer();
    explorer(const explorer&) = delete;
    explorer& operator=(const explorer&) = delete;

    /// Every cut of one workload.
    void explore(const workload& operations) { explore(operations, subject_.record(operations, model_)); }
    /// The same, with a trace that was recorded before, or changed since.
    void explore(const workload& operations, const trace& recorded);
    /// Recoveries, too, are cut as if they had the fault.
    void plant_everywhere(const fault& planted) { planted_ = planted; }
    bool has_enough() const noexcept { return limits_.stop_at_first && found_.violations != 0; }
    const findings& found() const noexcept { return found_; }

private:
    void cut_everywhere(const trace& recorded, bool counts_operations);
    void cut(const medium& left);
    void run();
    void cut_recovery(const std::vector<std::uint64_t>& image);
    bool has_runs_left(std::uint64_t runs) const noexcept { return runs < limits_.images_of_a_cut && !has_enough(); }
    bool changes_what_a_cut_leaves(const event& next) const;
    void tell(const std::string& what);

    subject& subject_;
    model model_;
    limits limits_;
    std::optional<fault> planted_;
    std::mt19937_64 random_;
    findings found_;
    std::unordered_set<std::uint64_t> images_;  ///< hashes
    // Of the workload under way.
    const workload* operations_ = nullptr;
    const trace* trace_ = nullptr;
    lazy_memory* memory_ = nullptr;
    std::size_t next_event_ = 0;
    unsigned depth_ = 0;
    std::vector<std::vector<std::uint64_t>> wanted_;  ///< images of this cut whose recovery is to be cut
    std::size_t done_ = 0;
    std::size_t begun_ = 0;
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

/// Whether some workload of at most two operations shows the fault.
bool is_caught(subject& what, const model& how, const fault& planted, std::uint64_t seed);

}  // namespace holdfast::crash

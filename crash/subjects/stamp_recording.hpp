// What subjects share that run a STAMP program. An operation is one part of a run: cuts are in this part, and each
// transaction of the run is all or nothing. After a recovery the program finishes in what was found.
#pragma once

#include <crash/record/seam_recorder.hpp>
#include <crash/subjects/expectation.hpp>
#include <crash/subjects/stamp_run.hpp>

#include <holdfast/base/result.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::crash {

class stamp_recording {
public:
    /// As many that one of each number of them are parts of all programs, and none the same one.
    static constexpr unsigned parts = 9;
    static constexpr unsigned operations = parts * stamp_programs;

    static std::string describe(unsigned operation) {
        return std::string(stamp_names[program_of(operation)]) + ", part " + std::to_string(part_of(operation) + 1) +
               " of " + std::to_string(parts);
    }

    /// A whole run, of which `checkpoint` brings home what is not yet. Fails if it does not end well.
    trace record(unsigned operation, const holdfast::workload::kept_run* kept, seam_recorder& seen,
                 expectation& expected, const stamp_live& live, const std::function<void()>& checkpoint) {
        program_ = program_of(operation);
        std::vector<std::size_t> begun;
        book_.emplace(std::span(reinterpret_cast<const std::uint64_t*>(kept), sizeof *kept / 8), [&](bool begins) {
            if (begins) begun.push_back(seen.recorded().events.size());
            begins ? seen.operation_begins() : seen.operation_done();
        });
        const holdfast::workload::life_report end = live(program_, &*book_);
        if (end.problem != nullptr) fail(errc::misuse, std::string(stamp_names[program_]) + ": " + end.problem);
        hash_ = end.hash;
        checkpoint();
        expected.begin(contents{0});
        for (const stamp_book::state& each : std::span(book_->states()).subspan(1)) expected.add({each.number});
        return cut_to(part_of(operation), begun, std::move(seen.recorded()));
    }

    /// The shared data after that progress; nullptr: those of no moment that there may be.
    const stamp_book::state* found(const progress& made, const stamp_book::reader& read) const {
        return book_->found(made, read);
    }
    static constexpr const char* found_nothing =
        "the shared data are not those after a transaction that may be the last";

    /// When the program finishes in what was found. Returns what is wrong.
    std::optional<std::string> wrong_in_rest(const stamp_live& live) const {
        const holdfast::workload::life_report end = live(program_, nullptr);
        if (end.problem != nullptr) return std::string("the next life: ") + end.problem;
        if (end.hash != hash_) return "the next life has another result";
        return {};
    }

private:
    static unsigned program_of(unsigned operation) { return operation % stamp_programs; }
    static unsigned part_of(unsigned operation) { return operation / stamp_programs; }

    /// The last part has the checkpoint, too.
    static trace cut_to(unsigned part, const std::vector<std::size_t>& begun, trace recorded) {
        recorded.explored_from = part == 0 ? 0 : begun[begun.size() * part / parts];
        if (part + 1 == parts) return recorded;
        const std::size_t end = begun[begun.size() * (part + 1) / parts];
        recorded.events.resize(end);
        std::erase_if(recorded.commits, [&](std::size_t each) { return each > end; });
        return recorded;
    }

    unsigned program_ = 0;
    std::optional<stamp_book> book_;
    std::uint64_t hash_ = 0;
};

/// A subject of whole programs, on pools of any kind: one operation is a part of one program's run.
template <class Subject>
class program_subject : public Subject {
public:
    using Subject::Subject;

    bool is_program() const override { return true; }
    unsigned universe() const override { return stamp_recording::operations; }
    std::string describe(unsigned operation) const override { return stamp_recording::describe(operation); }
    unsigned longest_workload(unsigned) const override { return 1; }
    std::uint64_t images_of_a_cut() const override { return 16; }
};

}  // namespace holdfast::crash

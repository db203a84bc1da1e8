#include <crash/explain/shrink.hpp>

#include <crash/explore/judge.hpp>

#include <algorithm>
#include <optional>
#include <vector>

namespace holdfast::crash {
namespace {

/// Numbers of operations count most: no candidate of these is larger than what it is made from.
std::vector<workload> smaller_workloads(const workload& from) {
    std::vector<workload> all;
    for (std::size_t i = from.size(); i-- > 0 && from.size() > 1;) {
        all.push_back(from);
        all.back().erase(all.back().begin() + static_cast<std::ptrdiff_t>(i));
    }
    for (std::size_t i = 0; i < from.size(); ++i)
        for (unsigned other = 0; other < from[i]; ++other) {
            all.push_back(from);
            all.back()[i] = other;
        }
    return all;
}

class shrinker {
public:
    shrinker(subject& what, const model& how, const scenario& found, std::uint64_t recoveries)
        : what_(what), how_(how), recoveries_left_(recoveries) {
        made_.smallest = found;
    }

    shrunk run() {
        if (!shows(made_.smallest)) {
            made_.reproduced = false;
            return made_;
        }
        shrink_operations();
        shrink_image();
        return made_;
    }

private:
    bool has_recoveries_left() {
        made_.finished = made_.recoveries < recoveries_left_;
        return made_.finished;
    }

    bool shows(const scenario& which) {
        image_runner runner(what_, how_, which.operations, which.planted, which.schedule);
        const image_verdict verdict = runner.run(which.cuts);
        made_.recoveries += runner.runs();
        return verdict.wrong.has_value();
    }

    /// The first violation of a workload, in the order of its cuts.
    bool adopt_first_of(const workload& operations) { return adopt_first_of(operations, lives_of(made_.smallest)); }
    bool adopt_first_of(const workload& operations, const std::vector<workload>& lives) {
        limits few;
        if (!lives.empty()) {
            few.lives = static_cast<unsigned>(made_.smallest.cuts.size());
            few.told_lives = lives;
            few.lives_one_in = 16;
        }
        few.images_of_a_cut = 256;
        few.stop_at_first = true;
        few.depth = static_cast<unsigned>(made_.smallest.cuts.size() - 1);
        few.nested_one_in = 8;
        few.killed_one_in = 1;
        explorer run(what_, how_, few, 1);
        const auto planted = made_.smallest.planted;
        std::optional<planted_here> in_code;
        if (planted) in_code.emplace(*planted);
        if (planted) run.plant_everywhere(*planted);
        const std::size_t schedule = made_.smallest.schedule;
        trace recorded = what_.record(operations, how_, schedule);
        if (planted) static_cast<void>(plant(*planted, recorded));
        run.explore(operations, recorded, schedule);
        made_.recoveries += run.found().runs;
        if (run.found().told.empty()) return false;
        made_.smallest = scenario_of(what_, how_, planted, run.found().told.front());
        return true;
    }

    /// What comes after the outermost cut is not needed; what came before may not matter.
    bool adopt_same_cuts(const workload& operations) {
        scenario smaller = made_.smallest;
        smaller.operations = operations;
        if (!shows(smaller)) return false;
        made_.smallest = std::move(smaller);
        return true;
    }

    static std::vector<workload> lives_of(const scenario& which) {
        std::vector<workload> lives;
        for (const cut_point& each : which.cuts)
            if (each.life) lives.push_back(*each.life);
        return lives;
    }

    /// Of each life in turn, once the first can do with no less.
    bool shrink_a_life() {
        const std::vector<workload> lives = lives_of(made_.smallest);
        for (std::size_t i = 0; i < lives.size(); ++i)
            for (const workload& each : smaller_workloads(lives[i])) {
                if (!has_recoveries_left()) return false;
                std::vector<workload> smaller = lives;
                smaller[i] = each;
                if (adopt_first_of(made_.smallest.operations, smaller)) return true;
            }
        return false;
    }

    void shrink_operations() {
        adopt_first_of(made_.smallest.operations);
        for (bool more = true; more;) {
            more = false;
            for (const workload& each : smaller_workloads(made_.smallest.operations)) {
                if (!has_recoveries_left()) return;
                more = adopt_same_cuts(each) || adopt_first_of(each);
                if (more) break;
            }
            more = more || shrink_a_life();
        }
    }

    void shrink_image() {
        image_runner runner(what_, how_, made_.smallest.operations, made_.smallest.planted, made_.smallest.schedule);
        best_ = runner.run(made_.smallest.cuts);
        const std::uint64_t before = made_.recoveries;
        for (std::size_t level = best_.plans.size(); level-- > 0;) {
            const auto tries = [&](const std::vector<image_plan>& plans) {
                if (!has_recoveries_left()) return false;
                image_verdict verdict = runner.run(plans);
                made_.recoveries = before + runner.runs();
                const bool holds = verdict.wrong && verdict.plans.size() == plans.size() &&
                                   (best_.wrong == right_only_by_chance || verdict.wrong != right_only_by_chance);
                if (holds) best_ = std::move(verdict);
                return holds;
            };
            if (best_.wrong == right_only_by_chance) lose_everything(level, tries);
            cut_earlier(level, tries);
            for (std::size_t size = best_.plans[level].older.size(); size > 0; size /= 2)
                while (renew_some(level, size, tries)) {}
            renew_partly(level, tries);
        }
        made_.smallest.cuts = best_.cuts;
    }

    /// Of what is right by chance the wrong side is easier to understand.
    template <class Tries>
    void lose_everything(std::size_t level, const Tries& tries) {
        if (level + 1 != best_.plans.size()) return;
        auto plans = best_.plans;
        for (const auto& [thing, version] : best_.versions) plans[level].older[thing] = 0;
        tries(plans);
    }

    template <class Tries>
    void cut_earlier(std::size_t level, const Tries& tries) {
        for (std::size_t event = 0; event < best_.plans[level].event; ++event) {
            auto plans = best_.plans;
            plans[level].event = event;
            if (tries(plans)) return;
        }
    }

    /// Makes `size` neighbours as new as the program left them. True: it changed something.
    template <class Tries>
    bool renew_some(std::size_t level, std::size_t size, const Tries& tries) {
        for (std::size_t first = 0; first < best_.plans[level].older.size(); first += size) {
            auto plans = best_.plans;
            auto& older = plans[level].older;
            const auto begin = std::next(older.begin(), static_cast<std::ptrdiff_t>(first));
            const std::size_t count = std::min(size, older.size() - first);
            older.erase(begin, std::next(begin, static_cast<std::ptrdiff_t>(count)));
            const std::size_t before = best_.plans[level].older.size();
            if (tries(plans) && best_.plans[level].older.size() < before) return true;
        }
        return false;
    }

    /// Gives each thing that must be older the newest version that will do.
    template <class Tries>
    void renew_partly(std::size_t level, const Tries& tries) {
        const auto things = best_.plans[level].older;
        for (const auto& [thing, version] : things)
            for (std::uint32_t newer = version + 16; newer > version; --newer) {
                auto plans = best_.plans;
                plans[level].older[thing] = newer;
                if (tries(plans)) break;
            }
    }

    subject& what_;
    const model& how_;
    std::uint64_t recoveries_left_;
    shrunk made_;
    image_verdict best_;
};

}  // namespace

shrunk shrink(subject& what, const model& how, const scenario& found, std::uint64_t recoveries_at_most) {
    return shrinker(what, how, found, recoveries_at_most).run();
}

}  // namespace holdfast::crash

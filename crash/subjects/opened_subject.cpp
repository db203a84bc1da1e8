// A structure whose images are opened as a program opens a pool, and used afterwards. In a life the pool is made,
// grown, closed, dropped and reopened as well, at `power` and at a weaker level: `process`, or on a file at
// `on_power_fail`, where it is told that the power will fail. Instrumented.
#include <crash/subjects/structure_subject.hpp>

#include <crash/cut/randomness.hpp>
#include <crash/record/seam_recorder.hpp>
#include <crash/subjects/power_fail.hpp>
#include <crash/subjects/recorded_file.hpp>

#include <holdfast/heap/heap_format.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::crash {
namespace {

constexpr std::string_view calls[] = {"close and open", "drop and open", "checkpoint", "grow",
                                      "close and open at the other level", "drop and open at the other level",
                                      "the power will fail"};
/// Behind the structure's operations. The last one is of lives at `on_power_fail`.
enum class call {
    close_and_open,
    drop_and_open,
    checkpoint,
    grow,
    close_for_other_level,
    drop_for_other_level,
    power_will_fail
};
constexpr std::size_t bytes_to_grow = 64 << 10;
// What a pool may be found as before there is a structure in it.
const contents absent{~std::uint64_t{0}};
const contents empty{~std::uint64_t{0} - 1};

class opened_subject final : public structure_subject {
public:
    /// `weaker`: the other level of a life; `power` for none.
    opened_subject(std::shared_ptr<structure> what, std::size_t pool_bytes, level weaker)
        : structure_subject(std::move(what), pool_bytes), has_life_(weaker != level::power), weaker_(weaker) {}

    std::string_view name() const override {
        if (is_warned()) return "warned_life";
        return has_life_ && !is_for_lives() ? "life" : what_->name();
    }
    bool has_lives() const override { return true; }
    bool is_for_lives() const override { return what_->is_for_lives(); }
    bool knows(const model& how) const override {
        return how.is_file ? what_->engine().power_on_files : has_life_ && !is_warned() && !how.is_saved;
    }
    unsigned universe() const override {
        const auto all = static_cast<unsigned>(std::size(calls));
        return structure_subject::universe() + (is_warned() ? all : has_life_ ? all - 1 : 0);
    }
    std::string describe(unsigned operation) const override {
        return is_call(operation) ? std::string(calls[static_cast<std::size_t>(call_of(operation))])
                                  : structure_subject::describe(operation);
    }

    /// Half of the time the next of the structure's, so that what belongs together comes together.
    unsigned draw_operation(unsigned before, std::mt19937_64& random) const override {
        const unsigned own = structure_subject::universe();
        if (random() % 2 == 0) return before < own ? (before + 1) % own : 0;
        return static_cast<unsigned>(random() % universe());
    }
    std::uint64_t result_number() const override {
        std::uint64_t number = refused_ ? 1 : 0;
        for (std::size_t i = 0; i < found_.size(); ++i) number += hash_of_word(i + 1, found_[i]);
        return number;
    }

    /// A life may begin at either level.
    std::size_t schedules(const workload&, const model&) override { return has_life_ ? 2 : 1; }

    trace record(const workload& operations, const model& how, std::size_t schedule) override {
        how_ = how;
        randomness.seed(0);
        const let_go_afterwards afterwards(*what_);
        options_ = options_for(how);
        // First the level that shows what this subject is for.
        if ((schedule == 0) == is_warned()) options_.durability = other_level(options_.durability);
        options_.reserved_bytes = size();
        lives_.assign(1, {});
        set_boot(0);
        planted_pool = base();
        path_ = recorded_path();
        arm_pools(is_warned());
        lives_.back().levels = {options_.durability};
        trace recorded = has_life_ ? record_life(operations) : record_use(operations);
        close();
        ::unlink(path_.c_str());
        options_ = options_for(how);
        set_boot(boot_after_cut());
        return recorded;
    }

    /// A life has room to grow into.
    std::size_t size() const override { return has_life_ ? bytes_ + bytes_to_grow : bytes_; }
    std::string image_path() const override { return path_of_images(); }

    std::optional<std::string> recover(const lazy_memory& image) override {
        found_ = absent;
        refused_ = false;
        if (!image.is_named()) return {};
        const auto opened = what_->open(image_path(), options_);
        refused_ = !opened && opened.error().code == errc::not_durable;
        if (refused_ || opened) return {};
        return "opening refuses: " + opened.error().text();
    }

    std::optional<std::string> check(const progress& made) override {
        if (refused_) {
            if (promised(expected_.recoveries(), made) < level::power && !how_.writes_are_durable) return {};
            return "opening says that the pool was in use below power; it never was";
        }
        if (lives_.back().wrong) return lives_.back().wrong;
        if (what_->is_open())
            if (auto wrong = look_or_find_nothing()) return wrong;
        return expected_.judge(found_, made);
    }

    /// Superblocks, roots, log, and the zone's header and table.
    std::size_t metadata_bytes() const override {
        if (!what_->is_own()) return 0;
        constexpr std::uint64_t zone = format::log_offset + explored_log_bytes;
        return heap_format::header_for(zone, bytes_ - zone).data_offset;
    }
    bool is_record(std::size_t offset) const override {
        return offset >= format::log_offset + format::log_header_bytes &&
               offset < format::log_offset + explored_log_bytes;
    }
    std::optional<std::string> recover_damaged(const lazy_memory& image, const progress& made) override {
        if (recover(image) || refused_) return {};
        if (what_->is_open() && look_or_find_nothing()) return {};
        return expected_.judge_damaged(found_, made);
    }

    bool has_promised(const progress& made) const override {
        return what_->is_own() && !how_.writes_are_durable && made.is_at_rest() && made.done[0] != 0 &&
               promised(expected_.recoveries(), made) == level::power;
    }
    recovered_pool recovered() override {
        if (!what_->is_open()) return {};
        const open_pool& core = what_->pool();
        return recovered_of({core.base(), core.size()}, {core.zones().begin(), core.zones().end()});
    }

    trace enter_recovery(const lazy_memory& image, const progress& made, bool killed,
                         const workload* life) override {
        randomness.seed(expected_.recoveries() + 1);
        // What a kill left is opened in the same boot.
        lives_.push_back({{}, killed ? lives_.back().boot : boot_after_cut(), {}});
        set_boot(lives_.back().boot);
        path_ = image_path();
        options_ = options_for(how_);
        arm_pools(is_warned());
        trace recorded;
        {
            seam_recorder seen(base(), image.bytes());
            live(image, made, killed, life, seen);
            recorded = std::move(seen.recorded());
        }
        options_ = options_for(how_);
        set_boot(boot_after_cut());
        return recorded;
    }
    void leave_recovery() override {
        lives_.pop_back();
        set_boot(boot_after_cut());
        pool_subject::leave_recovery();
    }

    void close() override {
        what_->abandon();
        root_ = nullptr;
    }

private:
    /// A life's recording, the first one's or one's that follows a recovery.
    struct life_lived {
        std::vector<level> levels;  ///< after each operation, or after the recovery and each operation
        unsigned boot = 0;          ///< in which it is lived
        std::optional<std::string> wrong;  ///< what went wrong in it
    };

    /// A power cut is followed by another boot.
    unsigned boot_after_cut() const { return lives_.back().boot + (how_.writes_are_durable ? 0 : 1); }
    bool is_first_life() const { return lives_.size() == 1; }
    unsigned thread() const { return is_first_life() ? 0 : thread_afterwards; }

    bool is_warned() const { return weaker_ == level::on_power_fail; }
    level other_level(level one) const { return one == level::power ? weaker_ : level::power; }
    bool is_call(unsigned operation) const { return operation >= structure_subject::universe(); }
    call call_of(unsigned operation) const { return static_cast<call>(operation - structure_subject::universe()); }
    contents expected_now() const { return what_->expected(root_); }

    /// From a pool that is there, with its structure.
    trace record_use(const workload& operations) {
        what_->create(path_, options_);
        what_->make_at_once();
        begin_at_home();
        expected_.begin(expected_now());
        seam_recorder seen(base(), file_now(what_->pool(), size()));
        run(operations, seen);
        what_->pool().checkpoint().value();
        return std::move(seen.recorded());
    }

    /// From before there is a file.
    trace record_life(const workload& operations) {
        const std::vector<std::byte> nothing(size());
        seam_recorder seen(base(), nothing);
        seen.recorded().named_before = false;
        seen.stores_reach_file(how_.is_file && options_.durability == level::process);
        expected_.begin(absent);
        const level durability = options_.durability;
        step(seen, [&] { what_->create(path_, options_); }, durability, [] { return empty; });
        make_in_life(seen);
        run(operations, seen);
        step(seen, [&] { what_->close().value(); }, level::power, [&] { return expected_now(); });
        return std::move(seen.recorded());
    }

    void make_in_life(seam_recorder& seen) {
        step(seen, [&] { what_->make_at_once(); }, options_.durability, [&] { return expected_now(); });
        root_ = root_in(what_->pool());
    }

    /// A recovery, and what is done with the pool after it.
    void live(const lazy_memory& image, const progress& made, bool killed, const workload* life, seam_recorder& seen) {
        seen.operation_begins(thread_afterwards);
        std::optional<std::string> wrong = recover(image);
        if (!refused_) seen.operation_done(thread_afterwards);
        if (what_->is_open() && !wrong) wrong = look_or_find_nothing();
        // The same boot: nothing is lost.
        if (killed && refused_) wrong = "opening refuses what a killed process left, in the same boot";
        if (killed && !wrong) wrong = expected_.judge(found_, made);
        expected_.enter_recovery(found_, made, killed);
        lives_.back().levels = {options_.durability};
        lives_.back().wrong = std::move(wrong);
        if (!what_->is_open() || lives_.back().wrong) return;
        try {
            go_on(life, seen);
        } catch (const failure& reason) {
            lives_.back().wrong = "after the recovery: " + reason.reason().text();
        }
    }

    void go_on(const workload* life, seam_recorder& seen) {
        if (root_ != nullptr) {
            what_->go_on_from(found_);
        } else if (life != nullptr) {
            make_in_life(seen);
        }
        if (life != nullptr) return run(*life, seen);
        if (root_ == nullptr) return;
        step(seen, [&] { what_->apply(0, 7777, root_); }, options_.durability, [&] { return expected_now(); });
        // What recovery left in the log comes home.
        what_->pool().checkpoint().value();
    }

    void run(const workload& operations, seam_recorder& seen) {
        for (std::size_t i = 0; i < operations.size(); ++i) {
            // The first workload is explored from its very beginning: no shorter one does it.
            if (is_first_life() && i + 1 == operations.size() && operations != workload{0}) seen.explore_from_here();
            if (is_call(operations[i])) {
                const call which = call_of(operations[i]);
                const bool other = which == call::close_for_other_level || which == call::drop_for_other_level;
                const level next = which == call::power_will_fail ? level::power
                                   : other                        ? other_level(options_.durability)
                                                                  : options_.durability;
                step(seen, [&] { run_call(which, next, seen); }, next, [&] { return last_contents(); });
                continue;
            }
            const std::uint64_t value = 10'000 * (lives_.size() - 1) + 100 * (i + 1) + operations[i];
            step(seen, [&] { run_one(operations[i], value); }, options_.durability, [&] { return expected_now(); });
        }
    }

    /// In a pool that is as small as this one an operation may find no room; then it has changed nothing.
    void run_one(unsigned operation, std::uint64_t value) {
        try {
            what_->apply(operation, value, root_);
        } catch (const failure& reason) {
            const errc code = reason.reason().code;
            if (!what_->is_own() || (code != errc::out_of_space && code != errc::transaction_too_large)) throw;
        }
    }
    const contents& last_contents() const { return is_first_life() ? expected_.last() : expected_.last_afterwards(); }

    template <class F, class After>
    void step(seam_recorder& seen, F&& f, level promise, After&& afterwards) {
        seen.operation_begins(thread());
        f();
        seen.operation_done(thread());
        if (is_first_life()) {
            expected_.add(afterwards());
        } else {
            expected_.add_afterwards(afterwards());
        }
        lives_.back().levels.push_back(promise);
    }

    void run_call(call which, level next, seam_recorder& seen) {
        if (which == call::checkpoint) return what_->pool().checkpoint().value();
        if (which == call::power_will_fail) {
            const bool is_there = options_.durability == next || handler_of_all.lose();
            if (!is_there) fail(errc::misuse, "the pool was to be at power");
            options_.durability = next;
            return;
        }
        if (which == call::grow) {
            // It has grown to its end before, perhaps.
            if (what_->pool().size() < size()) what_->pool().grow(size()).value();
            return;
        }
        if (which == call::close_and_open || which == call::close_for_other_level) {
            what_->close().value();
        } else {
            what_->abandon();
        }
        options_.durability = next;
        seen.stores_reach_file(how_.is_file && next == level::process);
        what_->open(path_, options_).value();
        root_ = root_in(what_->pool());
    }

    /// The weakest level that held at some moment since the last operation that is done, inside `depth` recoveries.
    level promised(std::size_t depth, const progress& made) const {
        const std::vector<level>& levels = lives_[depth].levels;
        const auto at = [&](std::size_t count) { return levels[std::min(count, levels.size() - 1)]; };
        if (depth == 0) return std::min(at(made.done[0]), at(made.begun[0]));
        const std::size_t done = expected_.done_inside(depth, made);
        const std::size_t begun = expected_.begun_inside(depth, made);
        if (done == 0) return std::min(at(0), promised(depth - 1, expected_.entered(depth)));
        return std::min(at(done - 1), at(begun - 1));
    }

    std::optional<std::string> look_or_find_nothing() {
        if (auto wrong = look(what_->pool())) return wrong;
        if (root_ == nullptr) found_ = empty;
        return audit(what_->pool());
    }

    bool has_life_;
    level weaker_;
    model how_ = models[0];
    create_options options_;
    std::string path_;
    std::vector<life_lived> lives_;
    bool refused_ = false;
};

}  // namespace

std::unique_ptr<subject> explored_in_file(std::shared_ptr<structure> what, std::size_t pool_bytes) {
    return std::make_unique<opened_subject>(std::move(what), pool_bytes, level::power);
}

std::unique_ptr<subject> explored_for_life(std::shared_ptr<structure> what) {
    return std::make_unique<opened_subject>(std::move(what), explored_bytes, level::process);
}

std::unique_ptr<subject> explored_for_warned_life(std::shared_ptr<structure> what) {
    return std::make_unique<opened_subject>(std::move(what), explored_bytes, level::on_power_fail);
}

}  // namespace holdfast::crash

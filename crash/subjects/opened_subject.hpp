// One engine with one container whose images are opened as a program opens a pool, and used
// afterwards. With `Life` the pool is made, grown, closed, dropped and reopened as well, at either level.
// Instrumented.
#pragma once

#include <crash/cut/randomness.hpp>
#include <crash/record/seam_recorder.hpp>
#include <crash/subjects/containers.hpp>
#include <crash/subjects/in_memory_subject.hpp>
#include <crash/subjects/inspect.hpp>
#include <crash/subjects/recorded_file.hpp>

#include <holdfast/engine/pool.hpp>
#include <holdfast/heap/heap_format.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::crash {

template <class Engine, class Of, bool Life>
class opened_subject final : public pool_subject {
    using pool = basic_pool<Engine>;

public:
    std::string_view engine() const override { return Engine::description.name; }
    std::string_view name() const override { return Life && !is_for_lives() ? "life" : Of::name; }
    bool has_lives() const override { return true; }
    bool is_for_lives() const override { return requires { Of::is_for_lives; }; }
    bool knows(const model& how) const override {
        return how.is_file ? Engine::description.power_on_files : Life;
    }
    unsigned universe() const override { return Of::universe + (Life ? std::size(calls) : 0); }
    std::string describe(unsigned operation) const override {
        return is_call(operation) ? std::string(calls[operation - Of::universe]) : Of::describe(operation);
    }

    std::uint64_t images_of_a_cut() const override {
        return images_of_a_cut_of<Of>(subject::images_of_a_cut());
    }
    std::uint64_t nested_less_often() const override {
        return nested_less_often_of<Of>(subject::nested_less_often());
    }

    /// Half of the time the next of the container's, so that what belongs together comes together.
    unsigned draw_operation(unsigned before, std::mt19937_64& random) const override {
        if (random() % 2 == 0) return before < Of::universe ? (before + 1) % Of::universe : 0;
        return static_cast<unsigned>(random() % universe());
    }
    std::uint64_t result_number() const override {
        std::uint64_t number = refused_ ? 1 : 0;
        for (std::size_t i = 0; i < found_.size(); ++i) number += hash_of_word(i + 1, found_[i]);
        return number;
    }

    /// A life may begin at either level.
    std::size_t schedules(const workload&, const model&) override { return Life ? 2 : 1; }

    trace record(const workload& operations, const model& how, std::size_t schedule) override {
        how_ = how;
        randomness.seed(0);
        options_ = recorded_pool_options(how);
        if (schedule != 0) options_.durability = other_level(options_.durability);
        options_.reserved_bytes = size();
        lives_.assign(1, {});
        set_boot(0);
        planted_pool = base();
        path_ = recorded_path();
        lives_.back().levels = {options_.durability};
        trace recorded = Life ? record_life(operations) : record_use(operations);
        close();
        ::unlink(path_.c_str());
        options_ = recorded_pool_options(how);
        set_boot(boot_after_cut());
        return recorded;
    }

    /// A life has room to grow into.
    std::size_t size() const override { return Life ? explored_bytes + bytes_to_grow : explored_bytes; }
    std::string image_path() const override { return path_of_images(); }

    std::optional<std::string> recover(const lazy_memory& image) override {
        found_ = absent;
        refused_ = false;
        if (!image.is_named()) return {};
        auto opened = pool::open(image_path(), options_);
        refused_ = !opened && opened.error().code == errc::not_durable;
        if (refused_) return {};
        if (!opened) return "opening refuses: " + opened.error().text();
        pool_.emplace(std::move(*opened));
        return {};
    }

    std::optional<std::string> check(const progress& made) override {
        if (refused_) {
            if (promised(expected_.recoveries(), made) < level::power && !how_.writes_are_durable) return {};
            return "opening says that the pool was in use below power; it never was";
        }
        if (lives_.back().wrong) return lives_.back().wrong;
        if (pool_)
            if (auto wrong = look()) return wrong;
        return expected_.judge(found_, made);
    }

    /// Superblocks, roots, log, and the zone's header and table.
    std::size_t metadata_bytes() const override {
        constexpr std::uint64_t zone = format::log_offset + explored_log_bytes;
        return heap_format::header_for(zone, explored_bytes - zone).data_offset;
    }
    bool is_record(std::size_t offset) const override {
        return offset >= format::log_offset + format::log_header_bytes &&
               offset < format::log_offset + explored_log_bytes;
    }
    std::optional<std::string> recover_damaged(const lazy_memory& image, const progress& made) override {
        if (recover(image) || refused_) return {};
        if (pool_ && look()) return {};
        return expected_.judge_damaged(found_, made);
    }

    bool has_promised(const progress& made) const override {
        return !how_.writes_are_durable && made.is_at_rest() && made.done[0] != 0 &&
               promised(expected_.recoveries(), made) == level::power;
    }
    recovered_pool recovered() override {
        if (!pool_) return {};
        const open_pool& core = pool_->core();
        return recovered_of({core.base(), core.size()}, {core.zones().begin(), core.zones().end()});
    }

    trace enter_recovery(const lazy_memory& image, const progress& made, bool killed,
                         const workload* life) override {
        randomness.seed(expected_.recoveries() + 1);
        // What a kill left is opened in the same boot.
        lives_.push_back({{}, killed ? lives_.back().boot : boot_after_cut(), {}});
        set_boot(lives_.back().boot);
        path_ = image_path();
        options_ = recorded_pool_options(how_);
        trace recorded;
        {
            seam_recorder seen(base(), image.bytes());
            live(image, made, killed, life, seen);
            recorded = std::move(seen.recorded());
        }
        options_ = recorded_pool_options(how_);
        set_boot(boot_after_cut());
        return recorded;
    }
    void leave_recovery() override {
        lives_.pop_back();
        set_boot(boot_after_cut());
        pool_subject::leave_recovery();
    }

    void close() override {
        if (pool_) pool_->abandon();
        pool_.reset();
        container_ = nullptr;
    }

private:
    static constexpr std::string_view calls[] = {"close and open", "drop and open", "checkpoint", "grow",
                                                 "close and open at the other level",
                                                 "drop and open at the other level"};
    static constexpr std::size_t bytes_to_grow = 64 << 10;
    enum call : unsigned {
        close_and_open = Of::universe,
        drop_and_open,
        checkpoint,
        grow,
        close_for_other_level,
        drop_for_other_level
    };
    // What a pool may be found as before there is a container in it.
    static inline const contents absent{~std::uint64_t{0}};
    static inline const contents empty{~std::uint64_t{0} - 1};

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

    static level other_level(level one) { return one == level::power ? level::process : level::power; }
    static bool is_call(unsigned operation) { return operation >= Of::universe; }

    /// From a pool that is there, with its container.
    trace record_use(const workload& operations) {
        pool_.emplace(pool::create(path_, options_).value());
        make_container();
        pool_->checkpoint().value();
        typename Of::ordinary expected{};
        Of::prepare(expected);
        expected_.begin(Of::of(expected));
        seam_recorder seen(base(), file_now(pool_->core(), size()));
        run(operations, expected, seen);
        pool_->checkpoint().value();
        return std::move(seen.recorded());
    }

    /// From before there is a file.
    trace record_life(const workload& operations) {
        const std::vector<std::byte> nothing(size());
        seam_recorder seen(base(), nothing);
        seen.recorded().named_before = false;
        seen.stores_reach_file(how_.is_file && options_.durability < level::power);
        expected_.begin(absent);
        const level durability = options_.durability;
        step(seen, [&] { pool_.emplace(pool::create(path_, options_).value()); }, durability, [] { return empty; });
        typename Of::ordinary expected{};
        Of::prepare(expected);
        step(seen, [&] { make_container(); }, durability, [&] { return Of::of(expected); });
        run(operations, expected, seen);
        step(seen, [&] { pool_->close().value(); }, level::power, [&] { return Of::of(expected); });
        return std::move(seen.recorded());
    }

    /// Root and contents in one transaction, so that a pool has neither or both.
    void make_container() {
        pool_->atomically([&] {
            container_ = pool_->template root<typename Of::container>(explored_root).value();
            Of::prepare(*container_);
        }).value();
    }

    /// A recovery, and what is done with the pool after it.
    void live(const lazy_memory& image, const progress& made, bool killed, const workload* life, seam_recorder& seen) {
        seen.operation_begins(thread_afterwards);
        std::optional<std::string> wrong = recover(image);
        if (!refused_) seen.operation_done(thread_afterwards);
        if (pool_ && !wrong) wrong = look();
        // The same boot: nothing is lost.
        if (killed && refused_) wrong = "opening refuses what a killed process left, in the same boot";
        if (killed && !wrong) wrong = expected_.judge(found_, made);
        expected_.enter_recovery(found_, made, killed);
        lives_.back().levels = {options_.durability};
        lives_.back().wrong = std::move(wrong);
        if (!pool_ || lives_.back().wrong) return;
        try {
            go_on(life, seen);
        } catch (const failure& reason) {
            lives_.back().wrong = "after the recovery: " + reason.reason().text();
        }
    }

    void go_on(const workload* life, seam_recorder& seen) {
        typename Of::ordinary expected{};
        if (container_ != nullptr) {
            expected = Of::restored(found_);
        } else if (life != nullptr) {
            Of::prepare(expected);
            step(seen, [&] { make_container(); }, options_.durability, [&] { return Of::of(expected); });
        }
        if (life != nullptr) return run(*life, expected, seen);
        if (container_ == nullptr) return;
        step(seen, [&] {
            pool_->atomically([&] { Of::apply(*container_, 0, 7777); }).value();
            Of::apply(expected, 0, 7777);
        }, options_.durability, [&] { return Of::of(expected); });
        // What recovery left in the log comes home.
        pool_->checkpoint().value();
    }

    void run(const workload& operations, typename Of::ordinary& expected, seam_recorder& seen) {
        for (std::size_t i = 0; i < operations.size(); ++i) {
            // The first workload is explored from its very beginning: no shorter one does it.
            if (is_first_life() && i + 1 == operations.size() && operations != workload{0}) seen.explore_from_here();
            if (is_call(operations[i])) {
                const bool other = operations[i] >= close_for_other_level;
                const level next = other ? other_level(options_.durability) : options_.durability;
                step(seen, [&] { run_call(operations[i], next, seen); }, next, [&] { return last_contents(); });
                continue;
            }
            const std::uint64_t value = 10'000 * (lives_.size() - 1) + 100 * (i + 1) + operations[i];
            step(seen, [&] { run_one(expected, operations[i], value); }, options_.durability,
                 [&] { return Of::of(expected); });
        }
    }

    /// In a pool that is as small as this one an operation may find no room; then it has changed nothing.
    void run_one(typename Of::ordinary& expected, unsigned operation, std::uint64_t value) {
        try {
            run_operation<Of>(*pool_, *container_, expected, operation, value);
        } catch (const failure& reason) {
            const errc code = reason.reason().code;
            if (code != errc::out_of_space && code != errc::transaction_too_large) throw;
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

    void run_call(unsigned which, level next, seam_recorder& seen) {
        if (which == checkpoint) return pool_->checkpoint().value();
        if (which == grow) {
            // It has grown to its end before, perhaps.
            if (pool_->core().size() < size()) pool_->grow(size()).value();
            return;
        }
        if (which == close_and_open || which == close_for_other_level) {
            pool_->close().value();
        } else {
            pool_->abandon();
        }
        options_.durability = next;
        seen.stores_reach_file(how_.is_file && next < level::power);
        pool_.emplace(pool::open(path_, options_).value());
        const auto roots = pool_->roots().value();
        container_ = reinterpret_cast<typename Of::container*>(object_of(pool_->core(), roots));
    }

    /// The weakest level that held at some moment since the last operation that is done, inside so many recoveries.
    level promised(std::size_t depth, const progress& made) const {
        const std::vector<level>& levels = lives_[depth].levels;
        const auto at = [&](std::size_t count) { return levels[std::min(count, levels.size() - 1)]; };
        if (depth == 0) return std::min(at(made.done[0]), at(made.begun[0]));
        const std::size_t done = expected_.done_inside(depth, made);
        const std::size_t begun = expected_.begun_inside(depth, made);
        if (done == 0) return std::min(at(0), promised(depth - 1, expected_.entered(depth)));
        return std::min(at(done - 1), at(begun - 1));
    }

    std::optional<std::string> look() {
        const open_pool& core = pool_->core();
        const auto roots = list_roots(core);
        if (!roots) return "the roots are damaged: " + roots.error().text();
        container_ = reinterpret_cast<typename Of::container*>(object_of(core, *roots));
        if (container_ == nullptr) {
            found_ = empty;
            return {};
        }
        if (auto sound = container_->check(); !sound) return sound.error().text();
        found_ = Of::of(*container_);
        return audit_heap(core, *roots, *container_);
    }

    model how_ = models[0];
    create_options options_;
    std::string path_;
    std::optional<pool> pool_;
    typename Of::container* container_ = nullptr;
    std::vector<life_lived> lives_;
    contents found_;
    bool refused_ = false;
};

}  // namespace holdfast::crash

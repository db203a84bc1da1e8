// One engine with one container whose images are opened as a program opens a pool, and used
// afterwards. With `Life` the pool is made, grown, closed, dropped and reopened as well, at either level.
// Instrumented.
#pragma once

#include <crash/containers.hpp>
#include <crash/in_memory_subject.hpp>
#include <crash/inspect.hpp>
#include <crash/randomness.hpp>
#include <crash/recorded_file.hpp>
#include <crash/seam_recorder.hpp>

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
    std::string_view name() const override { return Life ? "life" : Of::name; }
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

    /// A life may begin at either level.
    std::size_t schedules(const workload&, const model&) override { return Life ? 2 : 1; }

    trace record(const workload& operations, const model& how, std::size_t schedule) override {
        how_ = how;
        randomness.seed(0);
        options_ = recorded_pool_options(how);
        if (schedule != 0) options_.durability = other_level(options_.durability);
        options_.reserved_bytes = size();
        set_boot(true);
        planted_pool = base();
        path_ = recorded_path();
        levels_ = {options_.durability};
        trace recorded = Life ? record_life(operations) : record_use(operations);
        close();
        ::unlink(path_.c_str());
        options_ = recorded_pool_options(how);
        set_boot(how.writes_are_durable);
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
            if (promised(made) < level::power && !expected_.has_recovered(made)) return {};
            return "opening says that the pool was in use below power; it never was";
        }
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

    trace enter_recovery(const lazy_memory& image, const progress& made, bool killed) override {
        trace recorded;
        {
            randomness.seed(expected_.recoveries() + 1);
            set_boot(killed || how_.writes_are_durable);
            seam_recorder seen(base(), image.bytes());
            seen.operation_begins(thread_afterwards);
            static_cast<void>(recover(image));
            if (!refused_) seen.operation_done(thread_afterwards);
            if (pool_) static_cast<void>(look());
            contents afterwards = found_;
            const contents before = found_;
            if (pool_ && container_ != nullptr) {
                seen.operation_begins(thread_afterwards);
                pool_->atomically([&] { Of::apply(*container_, 0, 7777); }).value();
                seen.operation_done(thread_afterwards);
                afterwards = Of::of(*container_);
                // What recovery left in the log comes home.
                pool_->checkpoint().value();
            }
            expected_.enter_recovery(before, afterwards, made, killed);
            recorded = std::move(seen.recorded());
        }
        set_boot(how_.writes_are_durable);
        return recorded;
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

    void run(const workload& operations, typename Of::ordinary& expected, seam_recorder& seen) {
        for (std::size_t i = 0; i < operations.size(); ++i) {
            // The first workload is explored from its very beginning: no shorter one does it.
            if (i + 1 == operations.size() && operations != workload{0}) seen.explore_from_here();
            if (is_call(operations[i])) {
                const bool other = operations[i] >= close_for_other_level;
                const level next = other ? other_level(options_.durability) : options_.durability;
                step(seen, [&] { run_call(operations[i], next, seen); }, next, [&] { return expected_.last(); });
                continue;
            }
            const std::uint64_t value = 100 * (i + 1) + operations[i];
            step(seen, [&] { run_operation<Of>(*pool_, *container_, expected, operations[i], value); },
                 options_.durability, [&] { return Of::of(expected); });
        }
    }

    template <class F, class After>
    void step(seam_recorder& seen, F&& f, level promise, After&& afterwards) {
        seen.operation_begins();
        f();
        seen.operation_done();
        expected_.add(afterwards());
        levels_.push_back(promise);
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

    /// The weakest level that held at some moment since the last operation that is done.
    level promised(const progress& made) const {
        return std::min(levels_[std::min(made.done[0], levels_.size() - 1)],
                        levels_[std::min(made.begun[0], levels_.size() - 1)]);
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
    std::vector<level> levels_;  ///< after each operation
    contents found_;
    bool refused_ = false;
};

}  // namespace holdfast::crash

// What subjects share whose pool is a dnv pool with the lists of dnv_list.hpp, opened as a program opens it, and used
// afterwards. Instrumented: it runs recovery.
//
// One dnv pool is open in a process at a time, so an image is closed before the next one is opened.
#pragma once

#include <crash/cut/randomness.hpp>
#include <crash/record/seam_recorder.hpp>
#include <crash/subjects/dnv_list.hpp>
#include <crash/subjects/dnv_state.hpp>
#include <crash/subjects/in_memory_subject.hpp>
#include <crash/subjects/power_fail.hpp>
#include <crash/subjects/recorded_file.hpp>
#include <crash/subjects/untold_stores.hpp>

#include <holdfast/dnv/opening.hpp>
#include <holdfast/dnv/space.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::crash {

/// How the pools of a subject differ from another's.
struct dnv_kind {
    const dnv_operations* blocks;
    bool is_coded = true;

    std::string name_of(std::string_view what) const {
        return std::string(what) + (blocks->algorithm == std::string_view("value") ? "" : "_versioned") +
               (is_coded ? "" : "_uncoded");
    }
};

class dnv_pool_subject : public pool_subject {
public:
    explicit dnv_pool_subject(const dnv_kind& kind) : blocks_(*kind.blocks), is_coded_(kind.is_coded) {}

    std::string_view engine() const final { return dnv::engine::description.name; }
    std::size_t size() const final { return most_bytes() + shadow_bytes_; }
    std::string image_path() const final { return path_of_images(); }

    std::optional<std::string> recover(const lazy_memory&) final {
        if (how_.is_saved) forget_shadow_of(image_path());
        return open_image();
    }

    std::optional<std::string> check(const progress& made) final {
        if (!stages_.empty() && stages_.back().wrong) return "the opening that was cut: " + *stages_.back().wrong;
        if (is_refused_ && stages_.back().may_refuse(made)) return {};
        if (is_refused_) return "opening refuses what was saved";
        const dnv_state now = look_at(made);
        if (now.wrong) return now.wrong;
        if (auto wrong = expected_.judge(now.all(), made)) return wrong;
        if (auto wrong = wrong_in_dnv_pool(now, flips_)) return wrong;
        const untold_stores told;
        return wrong_in_use(made);
    }

    bool has_promised(const progress& made) const final {
        return !durable_at_once_ && !how_.is_saved && made.is_at_rest();
    }
    recovered_pool recovered() final {
        const open_pool& core = pool();
        recovered_pool made = recovered_of({core.base(), core.size()}, {core.zones().begin(), core.zones().end()});
        // A word that was corrected is as good as one that will be.
        for (const dnv_flip& each : flips_)
            if (each.is_there() && each.can_be_corrected())
                std::memcpy(made.bytes.data() + dnv::the_space.offset_of(each.at), &each.right, sizeof each.right);
        return made;
    }

    trace enter_recovery(const lazy_memory& image, const progress& made, bool killed, const workload* life) final {
        if (how_.is_saved && stages_.empty()) {
            stages_.push_back({.entered = made});
            return record_save(image_path(), base(), most_bytes(), image);
        }
        if (how_.is_saved) return record_saved_opening(image, made, killed, life);
        randomness.seed(expected_.recoveries() + 1);
        // What a kill left is opened in the same boot.
        boots_.push_back(killed ? boots_.back() : boot_after_cut());
        enter_boot(boots_.back());
        trace recorded;
        {
            seam_recorder seen(base(), image.bytes());
            seen.operation_begins(thread_afterwards);
            const bool is_open = !recover(image);
            seen.operation_done(thread_afterwards);
            expected_.enter_recovery(is_open ? state_now(made).all() : contents{}, made, killed);
            if (is_open) go_on(life, seen);
            recorded = std::move(seen.recorded());
        }
        enter_boot(boot_after_cut());
        return recorded;
    }
    void leave_recovery() final {
        if (!stages_.empty()) {
            const bool is_opening = stages_.back().is_opening;
            stages_.pop_back();
            if (!is_opening) return;
        }
        boots_.pop_back();
        enter_boot(boot_after_cut());
        pool_subject::leave_recovery();
    }
    void close() final {
        const bool leaves_shadow = how_.is_saved && dnv::the_space.pool != nullptr;
        dnv::abandon();
        if (leaves_shadow) forget_shadow_of(path_);
    }

protected:
    /// Header, directory, static variables and four chunks.
    static constexpr std::size_t first_bytes = 768 << 10;

    class closed_afterwards {
    public:
        explicit closed_afterwards(dnv_pool_subject& what) : what_(what) {}
        ~closed_afterwards() {
            what_.close();
            ::unlink(what_.path_.c_str());
            what_.enter_boot(what_.boot_after_cut());
        }
        closed_afterwards(const closed_afterwards&) = delete;
        closed_afterwards& operator=(const closed_afterwards&) = delete;

    private:
        dnv_pool_subject& what_;
    };

    /// Names of logs in memory have the mark, and other processes explore at the same time.
    void enter_boot(unsigned number) const {
        set_boot(number);
        if (how_.is_saved) stand_ins_now.file_mark = static_cast<std::uint32_t>(::getpid());
    }

    static open_pool& pool() { return *dnv::the_space.pool; }
    static bool is_armed() { return pool().durability() == level::on_power_fail; }
    bool is_first_life() const { return boots_.size() == 1; }
    /// A power cut is followed by another boot.
    unsigned boot_after_cut() const { return boots_.back() + (durable_at_once_ ? 0 : 1); }

    /// What the pool holds after that progress, or another.
    virtual dnv_state look_at(const progress& /*made*/) const { return look_at_dnv_lists(flips_); }
    dnv_state state_now(const progress& made = {}) const {
        dnv_state now = look_at(made);
        if (now.wrong) throw failure(error{.code = errc::corrupt, .what = *now.wrong});
        return now;
    }

    /// A pool of the model that is not dnv's yet.
    dnv::engine::pool make_pool(const model& how, std::size_t bytes = first_bytes) {
        durable_at_once_ = how.writes_are_durable;
        how_ = how;
        shadow_bytes_ = 0;
        arm_pools(how.is_saved);
        boots_.assign(1, 0);
        options_ = recorded_pool_options(how);
        options_.bytes = bytes;
        options_.reserved_bytes = most_bytes();
        randomness.seed(0);
        enter_boot(0);
        path_ = recorded_path();
        return dnv::engine::pool::create(path_, options_).value();
    }
    void take(dnv::engine::pool made) { dnv::take_over(std::move(made), is_coded_).value(); }

    /// What a pool may have: the addresses that it reserves.
    virtual std::size_t most_bytes() const { return first_bytes; }
    /// The file as it is, with room to grow, and behind it the log in memory, if there is one.
    std::vector<std::byte> file_with_room(open_pool& of) {
        std::vector<std::byte> bytes = file_now(of, of.size());
        bytes.resize(most_bytes());
        if (!how_.is_saved) return bytes;
        if (!is_armed()) fail(errc::misuse, "the pool was to be armed");
        shadow_bytes_ = shadow_bytes(of);
        const std::byte* const shadow = base() + most_bytes();
        bytes.insert(bytes.end(), shadow, shadow + shadow_bytes_);
        return bytes;
    }
    static void begins_with(seam_recorder& seen, const open_pool& of) { seen.recorded().bytes_before = of.size(); }

    /// Free blocks, unused ones, and one that is left of a chunk. The first node is a small one.
    void push_some() {
        blocks_.push(0, 1, large_node_bytes);
        for (const std::uint64_t value : {2u, 3u, 4u}) blocks_.push(0, value, small_node_bytes);
        blocks_.pop(0);
    }
    /// One operation, where one thread has all: apply(model) does it, and to the model what it does to the first list.
    template <class F>
    void step(seam_recorder& seen, F&& apply) {
        dnv_state expected = state_now();
        dnv_model model(expected.lists[0]);
        seen.operation_begins(thread_now());
        apply(model);
        seen.operation_done(thread_now());
        expected.lists[0] = model.all();
        if (state_now().all() != expected.all())
            throw failure(error{.code = errc::misuse, .what = "it does another thing"});
        add_state(expected.all());
    }
    unsigned thread_now() const { return is_first_life() ? 0 : thread_afterwards; }
    void add_state(contents next) {
        is_first_life() ? expected_.add(std::move(next)) : expected_.add_afterwards(std::move(next));
    }

    /// What is done with the pool after a recovery.
    virtual void go_on(const workload* life, seam_recorder& seen) = 0;
    /// What is wrong with a pool that holds what it must, or shows when it is used.
    virtual std::optional<std::string> wrong_in_use(const progress& /*made*/) { return {}; }
    /// The same of an operation: apply(model), as `step` has it.
    template <class F>
    std::optional<std::string> wrong_after(F&& apply) {
        const dnv_state before = look_at_dnv_lists(flips_);
        dnv_model model(before.lists[0]);
        apply(model);
        dnv_state now = look_at_dnv_lists(flips_);
        if (now.wrong) return "used afterwards: " + *now.wrong;
        if (now.lists[0] != model.all()) return "used afterwards, it does another thing";
        if (auto wrong = wrong_in_dnv_pool(now, flips_)) return "used afterwards: " + *wrong;
        return {};
    }

    dnv_flips flips_;  ///< that the pool began with
    const dnv_operations& blocks_;
    bool is_coded_;
    create_options options_;
    std::string path_;

private:
    std::optional<std::string> open_image() {
        const untold_stores told;
        path_ = image_path();
        auto opened = dnv::engine::pool::open(path_, options_);
        // Cut short, a save is none.
        is_refused_ = !stages_.empty() && !opened && opened.error().code == errc::not_durable;
        if (is_refused_) return {};
        if (!opened) return "opening refuses: " + opened.error().text();
        if (auto taken = dnv::take_over(std::move(*opened), is_coded_); !taken)
            return "dnv refuses: " + taken.error().text();
        // A correction need not be durable: corrected or not, the word is right. Which it is counts as found here.
        for (const dnv_flip& each : flips_) static_cast<void>(each.is_there());
        return {};
    }

    /// After a save, or in the middle of one: the process was killed then, and the log is still in memory.
    trace record_saved_opening(const lazy_memory& image, const progress& made, bool killed, const workload* life) {
        saved_stage opening{.entered = made, .is_opening = true,
                            .was_saved = stages_.back().done(made) != 0};
        randomness.seed(expected_.recoveries() + 1);
        boots_.push_back(killed ? boots_.back() : boot_after_cut());
        enter_boot(boots_.back());
        forget_shadow_of(image_path());
        opening.adopts = killed && bring_back_shadow_of(image_path(), most_bytes(), image);
        seam_recorder seen(base(), image.bytes());
        handler_of_all.when_armed = [&] {
            seen.operation_done(thread_afterwards);
            seen.operation_begins(thread_afterwards);
        };
        seen.operation_begins(thread_afterwards);
        opening.wrong = open_image();
        seen.operation_done(thread_afterwards);
        handler_of_all.when_armed = nullptr;
        if (opening.adopts) end_part_at_seal(seen.recorded());
        opening.was_refused = is_refused_;
        const bool is_open = !opening.wrong && !is_refused_;
        const contents found = is_open ? state_now(made).all() : contents{};
        if (is_open) opening.wrong = expected_.judge(found, made);
        if (killed && is_refused_) opening.wrong = "it refuses what is in memory";
        expected_.enter_recovery(found, made, killed);
        for (unsigned part = 1; part < opening.parts(); ++part) expected_.add_afterwards(found);
        stages_.push_back(std::move(opening));
        if (is_open) go_on(life, seen);
        enter_boot(boot_after_cut());
        return std::move(seen.recorded());
    }

    bool durable_at_once_ = false;
    model how_ = models[0];
    std::size_t shadow_bytes_ = 0;
    std::vector<saved_stage> stages_;
    bool is_refused_ = false;
    std::vector<unsigned> boots_{0};  ///< of the first life, and of each that follows a recovery

protected:
    unsigned lives_before() const { return static_cast<unsigned>(boots_.size() - 1); }
};

}  // namespace holdfast::crash

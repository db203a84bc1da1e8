// The kernel module's save, its own code (kernel/save.c), cut wherever a model makes a difference: everything that a
// cut may leave is started from, and what is offered must be what the logs were when the save was sealed.
#include <crash/cut/image_memory.hpp>
#include <crash/explore/explore.hpp>
#include <crash/subjects/subject.hpp>

#include <gtest/gtest.h>

extern "C" {
#include <kernel/save.h>
#include <kernel/save_faults.h>
}

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/mman.h>

enum hf_fault hf_fault_planted = hf_no_fault;

namespace holdfast::crash {
namespace {

constexpr std::size_t logs = 2, log_words = 16, homes = 16, page_words = 512;
constexpr std::uint64_t chunk_bytes = HF_SAVE_LOG_OFFSET + log_words * 8;
/// The seal's page, the homes behind it, then each log's area.
constexpr std::size_t chunk_words = 2 * page_words, homes_at = page_words / 2;
/// What is in another processor's caches when the power fails.
constexpr std::size_t others_homes_at = homes_at + homes / 2;
constexpr std::size_t region_words = page_words + logs * chunk_words;
constexpr std::uintptr_t region_base = std::uintptr_t{0x3100} << 32;

using content = std::array<__u64, log_words>;
using session = std::array<__u64, HF_SESSION_WORDS>;

/// What there is of a log.
struct log_state {
    enum class stage : std::uint8_t { none, armed, saved } is = stage::none;
    content bytes{};
    session life{};
    bool operator==(const log_state&) const = default;
};
/// Of the whole machine, between two operations.
struct machine_state {
    std::array<log_state, logs> programs{};
    std::array<__u64, homes> stored{};
    bool is_dark = false;  ///< the power has failed: the save stands
    bool operator==(const machine_state&) const = default;
};

enum operation : unsigned {
    open_first,
    open_second,
    store,
    end_first,
    acknowledge_first,
    fail_and_stay,
    fail_while_one_runs,
    fail,
    operations
};
constexpr std::string_view operation_names[] = {"register the first log",
                                                "register the second",
                                                "programs store",
                                                "the first program ends",
                                                "the first save is acknowledged, or the log given back",
                                                "the power fails and stays",
                                                "the same, and a processor does not stop",
                                                "the power fails"};

class module_save final : public subject {
public:
    std::string_view engine() const override { return "kernel_module"; }
    std::string_view name() const override { return "save"; }
    bool knows(const model& how) const override { return !how.is_file && !how.is_saved && !how.writes_are_durable; }
    unsigned universe() const override { return operations; }
    std::string describe(unsigned one) const override { return std::string(operation_names[one]); }
    std::byte* base() const override { return reinterpret_cast<std::byte*>(region_base); }
    std::size_t size() const override { return region_words * 8; }

    trace record(const workload& what, const model&, std::size_t) override {
        ::mmap(base(), size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        begin_life();
        registered_ = {};
        recorded_ = {};
        states_.assign(1, {});
        program_wrong_.reset();
        done_ = what;
        hf_save_begin(&save_);
        recorded_.before.assign(words(), words() + region_words);
        is_recorded_ = true;
        for (std::size_t i = 0; i < what.size(); ++i) {
            if (i + 1 == what.size()) recorded_.explored_from = recorded_.events.size();
            mark(event_kind::operation_begins);
            states_.push_back(states_.back());
            if (!states_.back().is_dark) run(static_cast<operation>(what[i]), i + 1);
            mark(event_kind::operation_done);
        }
        is_recorded_ = false;
        ::munmap(base(), size());
        return std::move(recorded_);
    }

    /// A start: what it offers is looked at when it is through.
    std::optional<std::string> recover(const lazy_memory&) override {
        begin_life();
        settle();
        return {};
    }
    std::optional<std::string> check(const progress& made) override {
        if (program_wrong_) return program_wrong_;
        const machine_state& before = states_[made.done[0]];
        const machine_state& after = states_[made.begun[0]];
        std::size_t armed = 0, offered_of_armed = 0;
        for (std::size_t i = 0; i < logs; ++i) {
            const bool is_there = is_offered(i);
            const log_state &was = before.programs[i], &is = after.programs[i];
            const bool was_saved = was.is == log_state::stage::saved, is_saved = is.is == log_state::stage::saved;
            if (was_saved && is_saved && !is_there) return "a save that nobody has acknowledged is not offered";
            const bool was_armed = was.is == log_state::stage::armed, is_armed = is.is == log_state::stage::armed;
            if (is_there && !was_saved && !is_saved && !was_armed) return "a log that is not registered is offered";
            if (is_there && !is_right(i, was) && !is_right(i, is)) return "what is offered is not what the log was";
            if (!was_armed || !is_armed) continue;
            ++armed;
            offered_of_armed += is_there;
        }
        const bool is_in_save = made.begun[0] > made.done[0] && done_[made.done[0]] != fail_while_one_runs;
        const bool may_be_sealed = is_in_save || before.is_dark;
        if (offered_of_armed != 0 && !may_be_sealed) return "a save counts while the processors run";
        if (offered_of_armed != 0 && offered_of_armed != armed) return "a save counts for some of its logs";
        if (before.is_dark && offered_of_armed != armed) return "a sealed save is not there";
        if (offered_of_armed != 0 && !std::equal(before.stored.begin(), before.stored.end(), words() + homes_at))
            return "a save counts, but not everything was written back";
        return settled_before_ ? wrong_since_settled() : std::nullopt;
    }
    trace enter_recovery(const lazy_memory& image, const progress&, bool, const workload*) override {
        recorded_ = {};
        recorded_.before.assign(words(), words() + region_words);
        is_recorded_ = true;
        mark(event_kind::operation_begins, thread_afterwards);
        static_cast<void>(recover(image));
        mark(event_kind::operation_done, thread_afterwards);
        is_recorded_ = false;
        settled_before_ = offered();
        return std::move(recorded_);
    }
    void leave_recovery() override { settled_before_.reset(); }

private:
    static __u64* words() { return reinterpret_cast<__u64*>(region_base); }
    static hf_save_area* area(std::size_t log) {
        return reinterpret_cast<hf_save_area*>(words() + page_words + log * chunk_words);
    }
    static std::uint64_t key_of(std::size_t log) { return 100 + log; }
    static bool is_in_region(const void* at) {
        return reinterpret_cast<std::uintptr_t>(at) - region_base < region_words * 8;
    }
    static std::uint64_t offset_of(const void* at) { return reinterpret_cast<std::uintptr_t>(at) - region_base; }

    // The port: what reaches the region is an event.
    void mark(event_kind kind, unsigned thread = 0) {
        recorded_.events.push_back({kind, {}, 0, 0, nullptr, static_cast<std::uint8_t>(thread)});
    }
    void put(__u64* at, __u64 value) {
        if (instrumented_memory != nullptr && is_in_region(at)) instrumented_memory->write(at, sizeof *at);
        *at = value;
        if (is_recorded_ && is_in_region(at))
            recorded_.events.push_back({event_kind::store, {}, offset_of(at) / 8, value});
    }
    void write_back(const void* begin, std::uint64_t bytes) {
        if (is_recorded_ && is_in_region(begin))
            recorded_.events.push_back(write_back_of(offset_of(begin), bytes, persist::site_id{}));
    }
    void fence() {
        if (is_recorded_) mark(event_kind::fence);
    }
    static module_save& save_of(void* context) { return *static_cast<module_save*>(context); }

    /// Nothing of the machine's memory is left.
    void begin_life() {
        save_ = {};
        save_.port = {
            .store = [](void* context, __u64* at, __u64 value) { save_of(context).put(at, value); },
            .write_back = [](void* context, const void* at, __u64 bytes) { save_of(context).write_back(at, bytes); },
            .fence = [](void* context) { save_of(context).fence(); },
            .exchange =
                [](void*, __u64* at, __u64 from, __u64 to) { return *at == from && ((*at = to), true); },
            // What the others store comes before; their caches are written back by themselves.
            .stop =
                [](void* context) {
                    if (save_of(context).one_runs_) return false;
                    save_of(context).write_back(words() + others_homes_at, homes / 2 * 8);
                    save_of(context).fence();
                    return true;
                },
            .write_back_all =
                [](void* context) {
                    save_of(context).write_back(words(), others_homes_at * 8);
                    save_of(context).write_back(words() + page_words, logs * chunk_words * 8);
                },
            .stays = [](void* context) { return save_of(context).signal_again(); },
            .release = [](void* context) { save_of(context).run_programs(9); },
            .now = [](void*) { return __u64{1}; },
            .report = [](void*) {},
            .context = this};
        save_.seal = reinterpret_cast<hf_save_seal*>(words());
        save_.logs = registered_.data();
        save_.logs_count = logs;
    }
    void settle() {
        hf_save_begin(&save_);
        for (std::size_t i = 0; i < logs; ++i)
            if (hf_save_is_area(area(i), key_of(i), chunk_bytes)) hf_save_settle_area(&save_, area(i));
        hf_save_settle_seal(&save_);
    }

    // Operations; `states_.back()` becomes what is then.
    void run(operation what, std::uint64_t number) {
        switch (what) {
        case open_first: return open(0, number);
        case open_second: return open(1, number);
        case store: return run_programs(number);
        case end_first: return end(0);
        case acknowledge_first: return give_back(0);
        case fail_and_stay: return fail_power(HF_SAVE_RESUMES);
        case fail_while_one_runs:
            one_runs_ = true;
            fail_power(HF_SAVE_RESUMES);
            one_runs_ = false;
            return;
        default: fail_power(HF_SAVE_STANDS); states_.back().is_dark = true;
        }
    }
    void open(std::size_t log, std::uint64_t number) {
        log_state& its = states_.back().programs[log];
        if (its.is == log_state::stage::saved && hf_save_open(&save_, area(log), key_of(log), chunk_bytes) == 0)
            program_wrong_ = "an area is opened over a save that nobody has acknowledged";
        if (its.is != log_state::stage::none) return;
        its = {log_state::stage::armed, {}, {number, log, 7, 9}};
        its.bytes.fill(number);
        memory_[log] = its.bytes;
        pieces_[log] = {hf_save_piece{memory_[log].data(), 64},
                        hf_save_piece{memory_[log].data() + 8, (log_words - 8) * 8}};
        hf_save_open(&save_, area(log), key_of(log), chunk_bytes);
        hf_save_log& slot = registered_[log];
        slot = {1, area(log), pieces_[log].data(), pieces_[log].size(), log_words * 8, {}};
        std::ranges::copy(its.life, slot.session);
    }
    /// Other processors, as long as they run.
    void run_programs(std::uint64_t number) {
        for (std::size_t i = 0; i < logs; ++i) {
            log_state& its = states_.back().programs[i];
            if (its.is != log_state::stage::armed) continue;
            memory_[i][number % log_words] = its.bytes[number % log_words] = 1000 + number;
        }
        // Two lines: one in the saver's cache, one in another's.
        for (const std::size_t word : {std::size_t{0}, homes - 1}) {
            put(words() + homes_at + word, 2000 + number);
            states_.back().stored[word] = 2000 + number;
        }
    }
    void end(std::size_t log) {
        log_state& its = states_.back().programs[log];
        if (its.is != log_state::stage::armed) return;
        hf_save_ended(&save_, &registered_[log], 7);
        registered_[log].armed = 0;
        its.is = log_state::stage::saved;
    }
    void give_back(std::size_t log) {
        log_state& its = states_.back().programs[log];
        if (its.is == log_state::stage::none) return;
        registered_[log].armed = 0;
        hf_save_void(&save_, area(log));
        its = {};
    }
    void fail_power(hf_save_end end) {
        const hf_save_signal signal{1, 0, end};
        if (!hf_save_all(&save_, &signal)) program_wrong_ = "a signal is ignored though no save is in progress";
    }
    /// While the save waits for the end of the power, another signal comes. It is ignored; the power stays.
    bool signal_again() {
        const hf_save_signal again{2, 0, HF_SAVE_RESUMES};
        if (depth_++ == 0 && hf_save_all(&save_, &again)) program_wrong_ = "a save begins inside of another";
        --depth_;
        return true;
    }

    // What a start offers.
    static bool is_offered(std::size_t log) {
        return hf_save_is_area(area(log), key_of(log), chunk_bytes) && hf_save_is_saved(area(log));
    }
    static bool is_right(std::size_t log, const log_state& expected) {
        if (expected.is == log_state::stage::none) return false;
        if (hf_save_find(area(log), key_of(log), chunk_bytes, expected.life.data()) != 0) return false;
        const __u64* const saved = reinterpret_cast<const __u64*>(area(log)) + HF_SAVE_LOG_OFFSET / 8;
        return std::equal(expected.bytes.begin(), expected.bytes.end(), saved);
    }
    static std::array<bool, logs> offered() {
        std::array<bool, logs> all{};
        for (std::size_t i = 0; i < logs; ++i) all[i] = is_offered(i);
        return all;
    }
    std::optional<std::string> wrong_since_settled() const {
        if (offered() == *settled_before_) return {};
        return "a start that is cut, and another one, offer something else than one alone";
    }

    hf_save save_{};
    std::array<hf_save_log, logs> registered_{};
    std::array<content, logs> memory_{};
    std::array<std::array<hf_save_piece, 2>, logs> pieces_{};
    std::vector<machine_state> states_;
    std::optional<std::array<bool, logs>> settled_before_;
    std::optional<std::string> program_wrong_;  ///< whatever is cut
    workload done_;
    trace recorded_;
    bool is_recorded_ = false, one_runs_ = false;
    int depth_ = 0;
};

#define FAULT_NAME(name) #name,
const char* const fault_names[] = {"none",
#include <kernel/save_faults.def>
};
#undef FAULT_NAME

findings explored(std::string_view model, unsigned longest, bool stop_at_first = false) {
    module_save what;
    limits most;
    most.damaged_one_in = ~std::uint64_t{0};
    most.nested_one_in = 16;
    // A kernel is not killed in a machine that goes on.
    most.killed_one_in = ~std::uint64_t{0};
    most.stop_at_first = stop_at_first;
    explorer run(what, *model_named(model), most, 1);
    for_each_workload(operations, longest, [&](const workload& each) {
        if (!run.has_enough()) run.explore(each);
    });
    return run.found();
}

TEST(ModuleSave, WhateverACutLeavesASealedSaveIsWholeAndAResumedOneNeverCounts) {
    for (const std::string_view model : {"x86", "x86-torn", "eadr"}) {
        const findings found = explored(model, 4);
        EXPECT_EQ(found.violations, 0u) << model << ": " << (found.told.empty() ? "" : found.told.front().what);
        EXPECT_TRUE(found.exhaustive) << model;
        EXPECT_GT(found.images, 500u) << model;
    }
}

/// Shown by damage or by several starts one after another: kernel/save_test.cpp.
constexpr hf_fault shown_elsewhere[] = {hf_fault_header_not_checked,  hf_fault_sum_not_compared,
                                        hf_fault_length_not_checked,  hf_fault_session_not_compared,
                                        hf_fault_number_not_compared, hf_fault_unsealed_left_open};

TEST(ModuleSave, EveryPlantedFaultThatOneCutCanShowIsCaught) {
    int caught = 0;
    for (int fault = 1; fault < hf_faults_end; ++fault) {
        if (std::ranges::find(shown_elsewhere, fault) != std::end(shown_elsewhere)) continue;
        hf_fault_planted = static_cast<hf_fault>(fault);
        // A log that takes the place of another one takes five operations.
        const bool is_caught = explored("x86-torn", 5, true).violations != 0;
        hf_fault_planted = hf_no_fault;
        EXPECT_TRUE(is_caught) << fault_names[fault];
        caught += is_caught;
    }
    EXPECT_GE(caught, 20);
}

}  // namespace
}  // namespace holdfast::crash

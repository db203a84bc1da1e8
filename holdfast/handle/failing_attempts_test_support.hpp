// Runs one call of the library with one failure inside it, in a child with a bound on its time; judges what is left.
#pragma once

#include <holdfast/handle/failing_calls_test_support.hpp>

#include <holdfast/base/result.hpp>
#include <holdfast/persist/test_scratch.hpp>

#include <gtest/gtest.h>

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

namespace holdfast::test {

/// How a call ended: well, with an error, or for want of memory.
struct outcome {
    std::optional<error> problem;
    bool wants_memory = false;
    bool well() const { return !problem && !wants_memory; }
    std::string text() const { return wants_memory ? "std::bad_alloc" : problem ? problem->text() : "success"; }
};

/// What `f` says, which returns a result. Other exceptions than the two that are allowed pass.
template <class F>
outcome outcome_of(F&& f) {
    try {
        auto done = f();
        if (!done) return {done.error()};
    } catch (const failure& reason) {
        return {reason.reason()};
    } catch (const std::bad_alloc&) {
        return {{}, true};
    }
    return {};
}

/// One public call and a pool to try it on. Everything but `call` runs without failures.
class attempt {
public:
    explicit attempt(std::string name) : name_(std::move(name)) {}
    virtual ~attempt() = default;
    const std::string& name() const { return name_; }

    /// Makes the pool.
    virtual void prepare() = 0;
    /// Gives it a past: the same for the same seed.
    virtual void grow_old(std::uint64_t seed) { static_cast<void>(seed); }
    /// Brings it into the state that the call begins with, after its contents were looked at.
    virtual void make_ready() = 0;
    /// The call. What its allocations and system calls do is arranged outside.
    virtual outcome call() = 0;
    /// Everything that is acknowledged, as text; equal texts are equal contents. Opens the pool where it is closed.
    virtual std::string contents() = 0;
    /// A transaction of the calling thread on the open pool. Not part of `contents`.
    virtual outcome go_on() = 0;
    /// Whether commits are in a log on a file, which a failure may stop for good.
    virtual bool has_log_on_file() const = 0;
    /// Closes what is open.
    virtual outcome end() = 0;
    /// What `check` says of the closed pool; empty: it is sound.
    virtual std::string check() = 0;

private:
    std::string name_;
};

/// What fails in a call.
struct planned_failure {
    int how;            ///< an errno, `half` or `no_memory`
    unsigned at;        ///< the first call that fails, from 1; 0: none
    unsigned more = 0;  ///< the number of calls after it that fail as well
    std::uint64_t seed = 0;  ///< of the pool's past; 0: it has none
};

/// What the child tells its parent, in memory that they share.
struct told {
    unsigned seen;
    bool failed;
    char phase[64];
    const char* function;  ///< that failed: a literal, which the parent has too
    char text[1600];
    char before[400];
    char after[400];
};

using make_attempt = std::function<std::unique_ptr<attempt>()>;

/// One run in a child.
struct run_of_attempt {
    told says;
    int status;
    bool is_good() const { return persist::test::exited_with(status, 0) && says.text[0] == '\0'; }
};

namespace detail {

template <std::size_t N>
void tell(char (&to)[N], std::string_view text) {
    std::memcpy(to, text.data(), std::min(text.size(), N - 1));
    to[std::min(text.size(), N - 1)] = '\0';
}

inline std::size_t open_descriptors() {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) count += !entry.path().empty();
    return count;
}

/// What a child does; the first thing that is wrong is thrown as text.
class judged_run {
public:
    judged_run(attempt& what, told& says) : what_(what), says_(says) {}

    void run(const planned_failure& failure, std::string_view expected_after) {
        const bool is_clean = failure.at == 0;
        const std::size_t descriptors = open_descriptors();
        phase("prepare");
        what_.prepare();
        if (failure.seed != 0) what_.grow_old(failure.seed);
        const std::string before = what_.contents();
        tell(says_.before, before);
        phase("make ready");
        what_.make_ready();
        phase("the call");
        const outcome said = call(failure);
        phase("go on");
        go_on();
        phase("go on in another thread");
        in_another_thread([&] { go_on(); });
        compare("contents", said, before, is_clean ? what_.contents() : std::string(expected_after));
        phase("close");
        const outcome ended = what_.end();
        if (!ended.well() && !(may_be_poisoned_ || sync_failed_))
            throw std::runtime_error("close: " + ended.text() + ", after " + said.text());
        phase("check");
        if (const std::string wrong = what_.check(); !wrong.empty()) throw std::runtime_error("check: " + wrong);
        phase("open again");
        compare("contents of the next life", said, before, is_clean ? says_.after : std::string(expected_after));
        phase("go on in the next life");
        may_be_poisoned_ = must_be_poisoned_ = false;
        go_on();
        phase("close the next life");
        if (const outcome last = what_.end(); !last.well()) throw std::runtime_error(last.text());
        if (open_descriptors() != descriptors) throw std::runtime_error("a descriptor was left open");
    }

private:
    /// Those that wait. The others never end with EINTR.
    static bool can_be_interrupted(std::string_view function) {
        static constexpr std::array waiting{"open",  "fdatasync", "fsync",     "ftruncate", "fallocate",
                                            "pread", "pwrite",    "pwritev2", "msync"};
        return std::find(waiting.begin(), waiting.end(), function) != waiting.end();
    }
    void phase(std::string_view name) { tell(says_.phase, name); }
    /// The call that the failure is in, and what follows from what it says.
    outcome call(const planned_failure& failure) {
        this_thread_fails.arm(failure.how, failure.at, failure.more);
        outcome said;
        try {
            said = what_.call();
        } catch (...) {
            this_thread_fails.armed = false;
            throw;
        }
        this_thread_fails.armed = false;
        says_.seen = this_thread_fails.seen;
        says_.failed = says_.function[0] != '\0';
        if (failure.at == 0 && !said.well()) throw std::runtime_error("fails by itself: " + said.text());
        if (failure.how == EINTR && !said.well() && can_be_interrupted(says_.function))
            throw std::runtime_error("a signal is told as a failure: " + said.text());
        // Of a commit whose record was not written the outcome is not known either: its values stand in memory, where
        // others may have seen them, so nothing may be committed on top of them.
        sync_failed_ = this_thread_fails.sync_failed;
        must_be_poisoned_ = what_.has_log_on_file() && said.problem && said.problem->code == errc::outcome_unknown;
        may_be_poisoned_ = must_be_poisoned_ || (what_.has_log_on_file() && sync_failed_ && !said.well());
        return said;
    }
    template <class F>
    static void in_another_thread(F&& f) {
        std::exception_ptr thrown;
        std::thread([&] {
            try {
                f();
            } catch (...) {
                thrown = std::current_exception();
            }
        }).join();
        if (thrown) std::rethrow_exception(thrown);
    }
    void go_on() {
        const outcome said = what_.go_on();
        const bool refuses = said.problem && said.problem->code == errc::poisoned;
        if (said.well() && must_be_poisoned_) throw std::runtime_error("commits on top of what nobody knows");
        if (said.well() || (may_be_poisoned_ && refuses)) return;
        throw std::runtime_error("the pool refuses: " + said.text());
    }
    void compare(std::string_view what, const outcome& said, const std::string& before, const std::string& expected) {
        const std::string now = what_.contents();
        tell(says_.after, now);
        const bool may_be_either = said.problem && said.problem->code == errc::outcome_unknown;
        if (said.well() ? now == expected : now == before || (may_be_either && now == expected)) return;
        throw std::runtime_error(std::string(what) + " after " + said.text() + ": " + now + ", before: " + before +
                                 ", expected after success: " + expected);
    }

    attempt& what_;
    told& says_;
    bool sync_failed_ = false;
    bool may_be_poisoned_ = false;
    bool must_be_poisoned_ = false;
};

/// What a child that is told to end after `seconds` says.
inline run_of_attempt run_attempt(const make_attempt& make, const planned_failure& failure, const std::string& expected,
                                  unsigned seconds) {
    void* const shared = ::mmap(nullptr, sizeof(told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    told& says = *new (shared) told{};
    says.function = "";
    run_of_attempt run{};
    run.status = persist::test::run_in_child([&] {
        ::alarm(seconds);
        std::signal(SIGALRM, SIG_DFL);
        this_thread_fails.failed = &says.function;
        try {
            const auto what = make();
            judged_run(*what, says).run(failure, expected);
        } catch (const std::exception& wrong) {
            this_thread_fails.armed = false;
            tell(says.text, wrong.what());
        }
        return 0;
    });
    run.says = says;
    ::munmap(shared, sizeof(told));
    return run;
}

}  // namespace detail

/// The name of a failure, for people.
inline std::string name_of_failure(int how) {
    if (how == half) return "a short one";
    if (how == no_memory) return "no memory";
    return ::strerrorname_np(how);
}

/// A failure that is known, and the reason why it is let pass. Empty fields fit everything; the others name a part.
struct known_failure {
    std::string_view attempt, function, seen, reason;
};

/// Runs one attempt with failures, in a directory that is emptied before each run.
class failing_runs {
public:
    failing_runs(make_attempt make, std::string directory, std::span<const known_failure> known)
        : make_(std::move(make)), directory_(std::move(directory)), known_(known), name_(make_()->name()) {}

    unsigned runs() const { return runs_; }

    /// `all`: every failure at every number; else a system call fails in one of the ways, which take turns, and of
    /// high numbers some are left out.
    void run(bool all) {
        if (!begin(0)) return;
        each_number(std::array{no_memory}, 1);
        step_ = all ? 1 : 4;
        // What tries again without the memory, or catches what it should not.
        each_number(std::array{no_memory}, 1, 1);
        each_number(std::array{half}, 1);
        each_number(ways, all ? ways.size() : 1);
    }

    /// Gives the pool a past by chance, and lets one call or several fail, `count` times.
    template <class Random>
    void run_by_chance(Random& random, unsigned count) {
        const std::uint64_t seed = random() | 1;
        if (!begin(seed)) return;
        const unsigned allocations = calls_of(no_memory, seed), calls = calls_of(half_or_error, seed);
        for (unsigned i = 0; i < count && !::testing::Test::HasFailure(); ++i) {
            int how = ways[random() % ways.size()];
            if (random() % 8 == 0) how = half;
            if (random() % 3 == 0) how = no_memory;
            const unsigned all = how == no_memory ? allocations : calls;
            if (all == 0) continue;
            // One call, a few, or all from there on; signals end.
            const unsigned more[] = {0, 0, static_cast<unsigned>(random() % 4), how == EINTR ? 2u : 1u << 20};
            one({how, static_cast<unsigned>(random() % all) + 1, more[random() % 4], seed});
        }
    }

private:
    static constexpr std::array ways{EIO, ENOSPC, ENOMEM, EINTR, EAGAIN};
    static constexpr int half_or_error = EIO;

    /// Without a failure: what is there after success.
    bool begin(std::uint64_t seed) {
        const auto clean = run_one({no_memory, 0, 0, seed});
        EXPECT_TRUE(clean.is_good()) << name_ << ", seed " << seed << ", without a failure, in \"" << clean.says.phase
                                     << "\": " << clean.says.text << ", status " << clean.status;
        expected_ = clean.says.after;
        return clean.is_good();
    }
    unsigned calls_of(int how, std::uint64_t seed) { return run_one({how, 0, 0, seed}).says.seen; }
    run_of_attempt run_one(const planned_failure& failure) {
        ++runs_;
        for (const auto& left : std::filesystem::directory_iterator(directory_)) std::filesystem::remove_all(left);
        return detail::run_attempt(make_, failure, expected_, seconds_allowed);
    }
    /// True while calls are left to fail.
    bool one(const planned_failure& failure) {
        const auto run = run_one(failure);
        if (!run.is_good()) report(failure, run);
        return run.says.failed || !run.is_good();
    }
    void each_number(std::span<const int> ways_here, std::size_t at_each, unsigned more = 0) {
        for (std::size_t turn = 0; turn < at_each; ++turn) {
            bool failed = true;
            for (unsigned at = 1; failed && at < most_calls; ++at) {
                if (at > first_numbers && at % step_ != 0) continue;
                failed = one({ways_here[(at + turn) % ways_here.size()], at, more});
            }
        }
    }
    void report(const planned_failure& failure, const run_of_attempt& run) {
        for (const known_failure& known : known_) {
            if (name_.find(known.attempt) == std::string::npos) continue;
            if (std::string_view(run.says.function).find(known.function) == std::string_view::npos) continue;
            if (std::string_view(run.says.text).find(known.seen) != std::string_view::npos) return;
        }
        std::string ended;
        if (WIFSIGNALED(run.status))
            ended = WTERMSIG(run.status) == SIGALRM ? "hangs" : ::strsignal(WTERMSIG(run.status));
        ADD_FAILURE() << name_ << ": " << run.says.function << " number " << failure.at << " fails ("
                      << name_of_failure(failure.how) << ", and " << failure.more << " more), seed " << failure.seed
                      << ", in \"" << run.says.phase << "\": " << ended << run.says.text;
    }

    static constexpr unsigned most_calls = 2000;
    static constexpr unsigned first_numbers = 24;
    static constexpr unsigned seconds_allowed = 20;
    make_attempt make_;
    std::string directory_;
    std::span<const known_failure> known_;
    std::string name_;
    std::string expected_;
    unsigned step_ = 1;
    unsigned runs_ = 0;
};

}  // namespace holdfast::test

// Runs one call of the library with one failure inside it, in a child with a bound on its time; judges what is left.
#pragma once

#include <holdfast/engine/failing_calls_test_support.hpp>

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
    /// Brings it into the state that the call begins with, after its contents were looked at.
    virtual void make_ready() = 0;
    /// The call. What its allocations and system calls do is arranged outside.
    virtual outcome call() = 0;
    /// Everything that is acknowledged, as text; equal texts are equal contents. Opens the pool where it is closed.
    virtual std::string contents() = 0;
    /// A transaction of the calling thread on the open pool. Not part of `contents`.
    virtual outcome go_on() = 0;
    /// Closes what is open.
    virtual outcome end() = 0;
    /// What `check` says of the closed pool; empty: it is sound.
    virtual std::string check() = 0;

private:
    std::string name_;
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

    void run(int how, unsigned at, std::string_view expected_after) {
        const std::size_t descriptors = open_descriptors();
        phase("prepare");
        what_.prepare();
        const std::string before = what_.contents();
        tell(says_.before, before);
        phase("make ready");
        what_.make_ready();
        phase("the call");
        this_thread_fails.arm(how, at);
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
        may_refuse_ = !said.well() && how != no_memory && says_.failed;
        if (at == 0 && !said.well()) throw std::runtime_error("fails by itself: " + said.text());
        if (how == EINTR && !said.well() && can_be_interrupted(says_.function))
            throw std::runtime_error("a signal is told as a failure: " + said.text());
        phase("go on");
        go_on();
        phase("go on in another thread");
        std::exception_ptr thrown;
        std::thread([&] {
            try {
                go_on();
            } catch (...) {
                thrown = std::current_exception();
            }
        }).join();
        if (thrown) std::rethrow_exception(thrown);
        compare("contents", said, before, at == 0 ? what_.contents() : std::string(expected_after));
        phase("close");
        const outcome ended = what_.end();
        if (!ended.well() && !may_refuse_)
            throw std::runtime_error("close: " + ended.text() + ", after " + said.text());
        phase("check");
        if (const std::string wrong = what_.check(); !wrong.empty()) throw std::runtime_error("check: " + wrong);
        phase("open again");
        compare("contents of the next life", said, before, at == 0 ? says_.after : std::string(expected_after));
        phase("go on in the next life");
        may_refuse_ = false;
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
    void go_on() {
        const outcome said = what_.go_on();
        if (said.well() || (may_refuse_ && said.problem && said.problem->code == errc::poisoned)) return;
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
    bool may_refuse_ = false;
};

/// What a child that is told to end after `seconds` says.
inline run_of_attempt run_attempt(const std::function<std::unique_ptr<attempt>()>& make, int how, unsigned at,
                                  const std::string& expected, unsigned seconds) {
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
            judged_run(*what, says).run(how, at, expected);
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

/// Every run of one attempt with every failure.
class failing_runs {
public:
    failing_runs(std::function<std::unique_ptr<attempt>()> make, std::string directory,
                 std::span<const known_failure> known)
        : make_(std::move(make)), directory_(std::move(directory)), known_(known), name_(make_()->name()) {}

    unsigned runs() const { return runs_; }

    /// `all`: every failure at every number; else a system call fails in one of the ways, which take turns, and of
    /// high numbers some are left out.
    void run(bool all) {
        step_ = all ? 1 : 4;
        const auto clean = one(no_memory, 0);
        ASSERT_TRUE(clean.is_good()) << name_ << ", without a failure, in \"" << clean.says.phase
                                     << "\": " << clean.says.text << ", status " << clean.status;
        expected_ = clean.says.after;
        if (!hangs_without_memory()) each_number(std::array{no_memory}, 1);
        each_number(std::array{half}, 1);
        constexpr std::array ways{EIO, ENOSPC, ENOMEM, EINTR, EAGAIN};
        each_number(ways, all ? ways.size() : 1);
    }

private:
    run_of_attempt one(int how, unsigned at) {
        ++runs_;
        for (const auto& left : std::filesystem::directory_iterator(directory_)) std::filesystem::remove_all(left);
        return detail::run_attempt(make_, how, at, expected_, seconds_allowed);
    }
    /// A hang costs a run all the time that it has.
    bool hangs_without_memory() const {
        return std::any_of(known_.begin(), known_.end(), [&](const known_failure& known) {
            return known.seen == "hangs" && name_.find(known.attempt) != std::string::npos;
        });
    }
    void each_number(std::span<const int> ways, std::size_t at_each) {
        for (std::size_t turn = 0; turn < at_each; ++turn) {
            bool failed = true;
            for (unsigned at = 1; failed && at < most_calls; ++at) {
                if (at > first_numbers && at % step_ != 0) continue;
                const int how = ways[(at + turn) % ways.size()];
                const auto run = one(how, at);
                failed = run.says.failed || !run.is_good();
                if (!run.is_good()) report(how, at, run);
            }
        }
    }
    void report(int how, unsigned at, const run_of_attempt& run) {
        const std::string failure = name_of_failure(how);
        for (const known_failure& known : known_) {
            if (name_.find(known.attempt) == std::string::npos) continue;
            if (std::string_view(run.says.function).find(known.function) == std::string_view::npos) continue;
            if (std::string_view(run.says.text).find(known.seen) != std::string_view::npos) return;
        }
        std::string ended;
        if (WIFSIGNALED(run.status))
            ended = WTERMSIG(run.status) == SIGALRM ? "hangs" : ::strsignal(WTERMSIG(run.status));
        ADD_FAILURE() << name_ << ": " << run.says.function << " number " << at << " fails (" << failure << "), in \""
                      << run.says.phase << "\": " << ended << run.says.text;
    }

    static constexpr unsigned most_calls = 2000;
    static constexpr unsigned first_numbers = 24;
    static constexpr unsigned seconds_allowed = 20;
    std::function<std::unique_ptr<attempt>()> make_;
    std::string directory_;
    std::span<const known_failure> known_;
    std::string name_;
    std::string expected_;
    unsigned step_ = 1;
    unsigned runs_ = 0;
};

}  // namespace holdfast::test

// The states in which any public function may be called, and what each call must do there: work, or refuse with
// misuse. Each call runs in a process of its own, so that a crash or a hang is one call's.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/pool/options.hpp>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace holdfast::test {

/// For the pool with that number in this process, so that several are open at once.
inline create_options entry_options(level durability, std::uint64_t order) {
    create_options options;
    options.durability = durability;
    options.tmpfs_is_nvram = true;
    options.bytes = 512 << 10;
    options.log_bytes = 64 << 10;
    options.reserved_bytes = std::uint64_t{1} << 28;
    options.base = HOLDFAST_TEST_BASE_ADDRESS + (order << 31);
    return options;
}

/// For another pool, while the one of these options is open.
inline create_options beside(create_options options) {
    options.base += std::uint64_t{32} << 31;
    return options;
}

enum class outcome : int { works, misuse, other, data_lost };

/// A bit for each state, for what an entry point refuses.
enum state : unsigned {
    outside = 1,              ///< the usual: an open pool, no transaction
    closed = 2,
    moved_from = 4,
    inside = 8,               ///< in a transaction of this thread on the same pool
    child = 16,               ///< forked, outside of transactions
    grandchild = 32,
    child_inside = 64,        ///< forked inside a transaction
    handler = 128,            ///< a signal handler that interrupted the program outside of transactions
    handler_inside = 256,     ///< one that interrupted a transaction's function
    thread_end = 512,         ///< a thread_local destructor that runs after the library's
    thread_end_first = 1024,  ///< one that runs before
    process_end = 2048,       ///< a static destructor, on a thread that had transactions
};
constexpr unsigned all_states = 4095;
constexpr unsigned no_handle = closed | moved_from;
constexpr unsigned in_child = child | grandchild | child_inside;
constexpr unsigned in_handler = handler | handler_inside;
constexpr unsigned gone = thread_end | process_end;

inline const char* name_of(state which) {
    switch (which) {
        case outside: return "an open pool";
        case closed: return "a closed handle";
        case moved_from: return "a moved-from handle";
        case inside: return "a transaction";
        case child: return "a forked child";
        case grandchild: return "a child of a child";
        case child_inside: return "a child that was forked inside a transaction";
        case handler: return "a signal handler";
        case handler_inside: return "a signal handler during a transaction";
        case thread_end: return "a thread_local destructor";
        case thread_end_first: return "a thread_local destructor before the library's";
        case process_end: return "a static destructor";
    }
    return "?";
}

/// A public function, or several that are called alike.
template <class World>
struct entry_point {
    std::string covers;   ///< the names, as tests/entry_points.py reads them from the headers
    unsigned refused;     ///< states in which it is misuse
    outcome (*call)(World&);
    unsigned faults = 0;  ///< states in which it is not called: it touches memory that is not there
    bool with_wrap = false;
};

inline outcome outcome_of_code(errc code) { return code == errc::misuse ? outcome::misuse : outcome::other; }

template <class F>
outcome outcome_of(F&& f) {
    try {
        if constexpr (requires { f().has_value(); }) {
            const auto done = f();
            return done ? outcome::works : outcome_of_code(done.error().code);
        } else {
            f();
            return outcome::works;
        }
    } catch (const failure& reason) {
        return outcome_of_code(reason.reason().code);
    }
}

/// What a process of its own says of `body`; the signal, negative, where it crashed or hung.
template <class Body>
pid_t start_process(Body&& body) {
    constexpr unsigned hung_s = 120;
    const pid_t process = ::fork();
    if (process == 0) {
        ::alarm(hung_s);
        ::_exit(static_cast<int>(body()));
    }
    return process;
}
inline int said_by(pid_t process) {
    int status = 0;
    ::waitpid(process, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}
template <class Body>
int said_by_process(Body&& body) {
    return said_by(start_process(body));
}

inline std::function<void()> in_the_handler;
inline std::function<void()> at_process_end;

inline void interrupt_with(const std::function<void()>& what) {
    in_the_handler = what;
    struct sigaction action {};
    action.sa_handler = [](int) { in_the_handler(); };
    ::sigaction(SIGUSR1, &action, nullptr);
    ::raise(SIGUSR1);
}

/// Calls what it is told when its thread ends.
struct at_thread_end {
    std::function<void()> what;
    ~at_thread_end() {
        if (what) what();
    }
};

template <class World>
outcome call_at_thread_end(World& world, const entry_point<World>& entry, bool before_the_library) {
    outcome seen = outcome::other;
    std::thread([&] {
        if (before_the_library) world.use();
        // Destroyed in the opposite order.
        thread_local at_thread_end mine;
        mine.what = [&] { seen = entry.call(world); };
        world.use();
    }).join();
    return seen;
}

/// In a child nothing is there; destroying the handle is harmless, and pools of the child's own are as ever.
template <class World>
outcome call_in_child(World& world, const entry_point<World>& entry) {
    const outcome seen = entry.call(world);
    world.drop();
    World own;
    own.use();
    return own.is_intact() ? seen : outcome::data_lost;
}

template <class World>
outcome call_in_state(state which, World& world, const entry_point<World>& entry) {
    outcome seen = outcome::other;
    const auto call = [&] { seen = entry.call(world); };
    const auto in_process = [&] {
        return static_cast<outcome>(said_by_process([&] { return call_in_child(world, entry); }));
    };
    switch (which) {
        case outside: call(); break;
        case closed: world.close(); call(); break;
        case moved_from: world.move_away(); call(); break;
        case inside: world.run_inside(call); break;
        case child: return in_process();
        case grandchild: return static_cast<outcome>(said_by_process(in_process));
        case child_inside: world.run_inside([&] { seen = in_process(); }); break;
        case handler: interrupt_with(call); break;
        case handler_inside: world.run_inside([&] { interrupt_with(call); }); break;
        case thread_end: return call_at_thread_end(world, entry, false);
        case thread_end_first: return call_at_thread_end(world, entry, true);
        case process_end:
            at_process_end = [&] {
                call();
                const outcome said = world.is_intact() ? seen : outcome::data_lost;
                // Nothing destroys the world any more.
                std::error_code ignored;
                std::filesystem::remove_all(world.scratch.path(), ignored);
                ::_exit(static_cast<int>(said));
            };
            std::atexit([] { at_process_end(); });
            std::exit(EXIT_FAILURE);
    }
    return seen;
}

/// Calls each entry point in each state of `states`. World(with_wrap) opens a pool with known data; `is_intact` says,
/// at the end, whether they survived.
template <class World>
void expect_works_or_misuse(const std::vector<entry_point<World>>& entries, unsigned states) {
    for (const auto& entry : entries) {
        // Side by side: most of what they do is waiting for the medium.
        std::vector<std::pair<state, pid_t>> running;
        for (unsigned bit = 1; bit < all_states; bit <<= 1) {
            const auto which = static_cast<state>(bit);
            if ((states & bit) == 0 || (entry.faults & bit) != 0) continue;
            running.emplace_back(which, start_process([&] {
                World world(entry.with_wrap);
                const outcome seen = call_in_state(which, world, entry);
                return world.is_intact() ? seen : outcome::data_lost;
            }));
        }
        for (const auto& [which, process] : running) {
            const int said = said_by(process);
            const outcome wanted = (entry.refused & which) != 0 ? outcome::misuse : outcome::works;
            EXPECT_EQ(said, static_cast<int>(wanted))
                << entry.covers << " in " << name_of(which) << (said < 0 ? " was killed by a signal" : "");
        }
    }
}

}  // namespace holdfast::test

#include <holdfast/dnv/damage_handler.hpp>

#include <holdfast/base/threads.hpp>
#include <holdfast/dnv/attempt.hpp>
#include <holdfast/dnv/damage_list.hpp>
#include <holdfast/dnv/dnv.hpp>
#include <holdfast/dnv/home.hpp>
#include <holdfast/dnv/space.hpp>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>

#include <pthread.h>

namespace holdfast::dnv {
namespace {

std::mutex handler_mutex;  ///< nothing else is taken while it is held
damage_handler handler_of_process;
thread_local damage_handler handler_of_thread;
/// A forked child has the handler of its parent, which another thread may be changing just then.
[[maybe_unused]] const int registered = pthread_atfork([] { handler_mutex.lock(); }, [] { handler_mutex.unlock(); },
                                                       [] { handler_mutex.unlock(); });

std::string hexadecimal(std::uint64_t value) {
    char text[19];
    std::snprintf(text, sizeof text, "0x%016" PRIx64, value);
    return text;
}

}  // namespace

verdict ask_about(const damage& found) noexcept {
    // A thread that is cancelled here would leave from the middle of what begins its block again.
    const cancellation_held uncancelled;
    try {
        damage_handler handler = handler_of_thread;
        if (!handler) {
            const std::lock_guard guard(handler_mutex);
            handler = handler_of_process;
        }
        return handler ? handler(found) : verdict::end();
    } catch (...) {
        return verdict::end();
    }
}

error error_of(const damage& found) {
    error reason{.code = errc::corrupt, .what = "a word has more flipped bits than its code corrects"};
    reason.path = the_space.pool->path();
    reason.offset = the_space.offset_of(found.address);
    reason.expected = "a word and its code";
    reason.found = "word " + hexadecimal(found.word) + ", code " + hexadecimal(found.code) + " at " +
                   hexadecimal(reinterpret_cast<std::uintptr_t>(found.address));
    reason.remedy = "supply the word in a handler (dnv_on_uncorrectable), or go back to a copy of the pool";
    return reason;
}

void note(const damage& found) noexcept {
    try {
        static_cast<void>(note_damage(*the_space.handle, found.address));
    } catch (...) {
        // Without memory the word is found again.
    }
}

void forget(const damage& found) noexcept {
    try {
        static_cast<void>(forget_damage(*the_space.handle, found.address));
    } catch (...) {
        // An entry too many goes with the next look at the whole pool.
    }
}

void home::end_for_damage() noexcept {
    const damage found = this_attempt().found;
    // The pool's transaction needs nothing that this one holds.
    note(found);
    end_for(error_of(found));
}

void end_for(const error& reason) noexcept {
    try {
        std::fprintf(stderr, "holdfast: %s\n", reason.text().c_str());
    } catch (...) {
        std::fputs("holdfast: a transaction of dnv cannot go on\n", stderr);
    }
    std::abort();
}

}  // namespace holdfast::dnv

void dnv_on_uncorrectable(holdfast::dnv::damage_handler handler) {
    {
        const std::lock_guard guard(holdfast::dnv::handler_mutex);
        std::swap(holdfast::dnv::handler_of_process, handler);
    }
    // What the one before held is released here: it may be anything.
}

void dnv_on_uncorrectable_in_this_thread(holdfast::dnv::damage_handler handler) {
    holdfast::dnv::handler_of_thread = std::move(handler);
}

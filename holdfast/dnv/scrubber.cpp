// A scrubber looks at words that nobody reads, before more of their bits are flipped than their codes correct.
//
//   1. A word and its code are loaded, not as one: where they do not fit a store may be in between. So they are loaded
//      again a while later, and count as flipped if they are the same.
//   2. What can be corrected is replaced by one instruction, if word and code are still as they were loaded. No
//      transaction: it would have to hold up all others, and those that store to a block of their own at once are held
//      up by nothing. Such a store is never lost here.
//      Where homes are private memory transactions follow, which only bring the right words to the file
//      (corrections.hpp): those of the scrubber, and those that blocks have corrected.
//   3. What nothing corrects is entered in the pool's list of damages. Nobody is asked: no transaction needs it.
//   4. At the end of a round what is sound leaves the list, and what was corrected is recorded.
#include <holdfast/dnv/scrubber.hpp>

#include <holdfast/dnv/damage_list.hpp>
#include <holdfast/dnv/dnv.hpp>
#include <holdfast/dnv/home.hpp>
#include <holdfast/dnv/space.hpp>
#include <holdfast/ecc/repair.hpp>
#include <holdfast/persist/replace_pair.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <new>
#include <span>
#include <system_error>
#include <thread>
#include <vector>

namespace holdfast::dnv {
namespace {

using range = std::span<const stm::word>;

/// All that have codes, as far as the pool has them now.
std::vector<range> coded_ranges() {
    const auto range_of = [](const void* begin, std::uint64_t bytes) {
        return range(static_cast<const stm::word*>(begin), bytes / sizeof(stm::word));
    };
    std::vector<range> all{range_of(the_space.staged, sizeof(header))};
    if (the_space.has_bins_of(classes))
        all.push_back(range_of(the_space.staged_unprotected, sizeof(unprotected_header)));
    all.push_back(range_of(reinterpret_cast<const void*>(the_placement.statics_begin), the_placement.statics_bytes));
    for (unsigned slot = 0; slot < most_chunks; ++slot)
        if (const auto found = the_space.chunks.at_slot(slot)) all.push_back(found->coded_words());
    return all;
}

class scrubber {
public:
    explicit scrubber(const dnv_scrub_options& options) : options_(options), thread_([this] { run(); }) {}

    /// Called once.
    void stop() {
        {
            const std::lock_guard guard(mutex_);
            stops_ = true;
        }
        changed_.notify_one();
        thread_.join();
    }

private:
    static constexpr std::size_t words_at_once = 2048;
    /// What is longer has no end that a clock can say.
    static constexpr std::chrono::hours for_ever{100 * 365 * 24};

    void run() noexcept {
        try {
            do {
                for (const range each : coded_ranges())
                    if (!walk(each)) return;
                // What fails here is tried again in the next round.
                static_cast<void>(review_damages(*the_space.handle));
                the_space.scrub_rounds.fetch_add(1, std::memory_order_relaxed);
            } while (sleeps(std::min<std::chrono::milliseconds>(options_.between_rounds, for_ever)));
        } catch (...) {
            // Without memory there is no scrubber: dnv_state() counts no more rounds.
        }
    }

    /// False: it is to stop.
    bool sleeps(std::chrono::nanoseconds time) {
        std::unique_lock guard(mutex_);
        return !changed_.wait_for(guard, time, [this] { return stops_; });
    }

    bool walk(range of) {
        for (std::size_t at = 0; at < of.size();) {
            const std::size_t end = std::min(of.size(), at + words_at_once);
            const std::size_t now = end - at;
            for (; at < end; ++at)
                if (!home::look(&of[at]).sound && !look_again(&of[at])) return false;
            the_space.corrected.write();
            the_space.scrubbed_words.fetch_add(now, std::memory_order_relaxed);
            // Some hours at most.
            if (!sleeps(std::chrono::nanoseconds(now * sizeof(stm::word) * 1'000'000'000 / options_.bytes_per_second)))
                return false;
        }
        return true;
    }

    static ecc::coded_word load(const ecc::coded_word* place) noexcept {
        return {stm::detail::load_home(&place->word), stm::detail::load_home(&place->code)};
    }

    bool look_again(const stm::word* at) {
        ecc::coded_word* const place = place_of(at);
        const ecc::coded_word found = load(place);
        if (!sleeps(std::chrono::milliseconds(1))) return false;
        if (ecc::is_valid(found) || load(place) != found) return true;
        const ecc::repair_result repaired = ecc::repair(found);
        if (!repaired) {
            static_cast<void>(note_damage(*the_space.handle, at));
        } else if (persist::replace_pair(&place->word, {found.word, found.code},
                                         {repaired.right.word, repaired.right.code}, persist::site::dnv_mended)) {
            the_space.mended_words.fetch_add(1, std::memory_order_relaxed);
            the_space.mended_bits.fetch_add(repaired.flips(), std::memory_order_relaxed);
            the_space.corrected.note(at);
        }
        return true;
    }

    dnv_scrub_options options_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool stops_ = false;
    std::thread thread_;  ///< the last: it uses what is above
};

/// nullptr: there is none.
scrubber* running = nullptr;

error refused(const char* what) { return error{.code = errc::misuse, .what = what}; }

}  // namespace

void stop_scrubber() noexcept {
    if (running == nullptr) return;
    running->stop();
    delete running;
    running = nullptr;
}

// What it was made of stays: a thread that is not there cannot be waited for.
void forget_scrubber() noexcept { running = nullptr; }

}  // namespace holdfast::dnv

using namespace holdfast;

result<void> dnv_scrub_start(const dnv_scrub_options& options) {
    if (dnv::the_space.pool == nullptr) return dnv::refused("no pool is open");
    if (dnv::running != nullptr) return dnv::refused("a scrubber runs; dnv_scrub_stop it first");
    if (!dnv::the_placement.is_coded) return dnv::refused("the pool has no codes, so flipped bits cannot be found");
    if (options.bytes_per_second == 0 || options.between_rounds.count() < 0)
        return error{.code = errc::invalid_argument,
                     .what = "the scrubber's pace is out of range",
                     .expected = "at least one byte a second, and no time below zero"};
    try {
        // A program may end with its pool open.
        static const int registered = std::atexit([] { dnv::stop_scrubber(); });
        if (registered != 0) throw std::bad_alloc();
        // With its signals: a power-failure handler may stop the threads of a program by one.
        dnv::running = new dnv::scrubber(options);
    } catch (const std::system_error& reason) {
        return error{.code = errc::io, .what = "no thread can be started", .found = reason.what()};
    }
    return {};
}

void dnv_scrub_stop() { dnv::stop_scrubber(); }

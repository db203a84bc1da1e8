// Each thread has a log in memory and a home in a chunk. It stores records to the log for ever, without a write-back or
// a fence, and acknowledges each. After a cut the log must be there, saved by the kernel module: then what it held is
// noted in the home, and the save is acknowledged. Where the module declines, records go to a log in the chunk.
#include "saved.hpp"

#include "log_device_test_support.hpp"
#include "signals.hpp"

#include <holdfast/persist/seam.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>

namespace holdfast::rig {
namespace {

namespace site {
constexpr persist::site_name rig_home{"rig_home"};
}  // namespace site

const persist::line_path path{};
constexpr std::size_t slots = 7;

constexpr __u64 home_key(std::uint64_t thread) { return 2000 + thread; }
constexpr __u64 log_key(std::uint64_t thread) { return 1000 + thread; }

/// In the chunk: what is known to be durable.
struct home {
    std::uint64_t life;      ///< of the thread that works, or has worked
    std::uint64_t done;      ///< transactions at its beginning
    std::uint64_t declined;  ///< its log is behind, in the chunk
    std::uint64_t rest_of_line[5];
};

/// A log, in memory or in a chunk: behind this line are the slots.
struct log_header {
    std::uint64_t published;
    std::uint64_t rest_of_line[7];
};

struct shape {
    std::size_t record_words;
    std::size_t log_bytes() const { return sizeof(log_header) + slots * record_words * 8; }
    std::size_t chunk_bytes() const { return 4096 + log_bytes(); }
};
constexpr shape small{16384}, medium{16384 * 8}, large{16384 * 28};
static_assert(slots * 16384 * 8 % 64 == 0);

void persist_bytes(void* at, std::size_t bytes) {
    persist::write_back(path, at, bytes, site::rig_home);
    persist::fence(path, site::rig_home);
}

class part {
public:
    /// The thread's chunk, made if there is none.
    part(const shape& of, std::uint64_t thread) : thread_(thread) {
        int failed = device_.use(home_key(thread));
        if (failed == ENOENT) failed = device_.make(home_key(thread), of.chunk_bytes());
        if (failed != 0) throw std::system_error(failed, std::generic_category(), "the chunk of a home");
        mapped_.emplace(device_, of.chunk_bytes());
    }

    home& at_home() const { return *reinterpret_cast<home*>(mapped_->data()); }
    unsigned char* log_in_chunk() const { return mapped_->data() + 4096; }
    const chunk_device& device() const { return device_; }
    session session_of(std::uint64_t seed) const { return {{seed, thread_, at_home().life, 0x686f6d65}}; }

    void set_home(const home& to) const {
        at_home() = to;
        persist_bytes(&at_home(), sizeof(home));
    }

private:
    std::uint64_t thread_;
    chunk_device device_;
    std::optional<mapped_chunk> mapped_;
};

std::uint64_t* record_of(unsigned char* log, const shape& of, std::uint64_t number) {
    return reinterpret_cast<std::uint64_t*>(log + sizeof(log_header)) + number % slots * of.record_words;
}

void store_record(unsigned char* log, const shape& of, std::uint64_t seed, std::uint64_t number, bool is_persistent) {
    std::uint64_t* const record = record_of(log, of, number);
    for (std::size_t at = 0; at < of.record_words; ++at) record[at] = stored_word(seed, number, at);
    if (is_persistent) persist_bytes(record, of.record_words * 8);
    auto& published = reinterpret_cast<log_header*>(log)->published;
    std::atomic_ref(published).store(number, std::memory_order_release);
    if (is_persistent) persist_bytes(&published, sizeof published);
}

/// What threads do when they have acknowledged some records: go on, go on without a word, or nothing.
enum class then { acknowledge_all, store_silently, sleep };
constexpr std::uint64_t first_records = 20;

[[noreturn]] void work_in(const shape& of, std::uint64_t thread, std::uint64_t seed, then what) {
    const part mine(of, thread);
    const home before = mine.at_home();
    mine.set_home({before.life + 1, before.done, 0, {}});
    const auto memory = std::make_unique<volatile_memory>(of.log_bytes());
    unsigned char* log = memory->data();
    reinterpret_cast<log_header*>(log)->published = before.done;
    holdfast_log wanted = log_at(log, memory->size(), log_key(thread), mine.session_of(seed));
    const int failed = mine.device().call(HOLDFAST_REGISTER, &wanted);
    if (failed != 0 && failed != EDQUOT) throw std::system_error(failed, std::generic_category(), "register a log");
    if (failed == EDQUOT) {
        log = mine.log_in_chunk();
        reinterpret_cast<log_header*>(log)->published = before.done;
        persist_bytes(log, sizeof(log_header));
        mine.set_home({before.life + 1, before.done, 1, {}});
    }
    for (std::uint64_t number = before.done + 1;; ++number) {
        store_record(log, of, seed + thread, number, failed != 0);
        const bool is_first = number <= before.done + first_records;
        // The console takes turns: who waits for it stores nothing.
        if (is_first || what == then::acknowledge_all) acknowledge(thread, number);
        while (!is_first && what == then::sleep) std::this_thread::sleep_for(std::chrono::hours(1));
    }
}

void work(const shape& of, const request& wanted) {
    const then what = wanted.engine.ends_with("_idle")     ? then::sleep
                      : wanted.engine.ends_with("_silent") ? then::store_silently
                                                           : then::acknowledge_all;
    const signal_line line;
    std::thread([] { obey_console(); }).detach();
    std::vector<std::jthread> others;
    const auto run = [&](std::uint64_t thread) {
        try {
            work_in(of, thread, wanted.seed, what);
        } catch (const std::exception& reason) {
            give_up(thread, reason);
        }
    };
    for (std::uint64_t thread = 1; thread < wanted.threads; ++thread) others.emplace_back(run, thread);
    run(0);
}

/// The published record is whole, and so are those of this life before it, but for the one whose slot is stored next.
void check_log(findings& found, unsigned char* log, const shape& of, std::uint64_t thread, std::uint64_t seed,
               std::uint64_t done_before) {
    const std::uint64_t published = reinterpret_cast<log_header*>(log)->published;
    found.done[thread] = published;
    for (std::uint64_t number = published; number > done_before && number + slots > published + 1; --number) {
        const std::uint64_t* const record = record_of(log, of, number);
        std::size_t at = 0;
        while (at < of.record_words && record[at] == stored_word(seed + thread, number, at)) ++at;
        if (at == of.record_words) continue;
        found.problems.push_back("record " + std::to_string(number) + " of thread " + std::to_string(thread) +
                                 " was acknowledged and is torn from byte " + std::to_string(at * 8));
    }
}

void restore(findings& found, const part& mine, const shape& of, std::uint64_t thread, std::uint64_t seed) {
    const home before = mine.at_home();
    holdfast_saved saved{};
    const bool is_saved = find_saved(mine.device(), log_key(thread), saved);
    found.done[thread] = before.done;
    if (before.declined != 0) {
        if (is_saved) found.problems.push_back("a log that was declined was saved");
        check_log(found, mine.log_in_chunk(), of, thread, seed, before.done);
    } else if (is_saved) {
        const volatile_memory log(of.log_bytes());
        const int failed = read_saved(mine.device(), log_key(thread), mine.session_of(seed), log.data(), log.size());
        if (failed != 0)
            found.problems.push_back("what was saved of thread " + std::to_string(thread) +
                                     " cannot be read: " + std::generic_category().message(failed));
        else
            check_log(found, log.data(), of, thread, seed, before.done);
    }
    mine.set_home({before.life, found.done[thread], 0, {}});
    holdfast_saved acknowledged = saved_as(log_key(thread), mine.session_of(seed));
    if (is_saved && mine.device().call(HOLDFAST_ACKNOWLEDGE, &acknowledged) != 0)
        found.problems.push_back("a save cannot be acknowledged");
}

findings verify(const shape& of, const request& wanted) {
    findings found;
    found.done.resize(wanted.threads);
    for (std::uint64_t thread = 0; thread < wanted.threads; ++thread)
        restore(found, part(of, thread), of, thread, wanted.seed);
    return found;
}

}  // namespace

const workload of_saved{[](const request& wanted) { work(small, wanted); },
                        [](const request& wanted) { return verify(small, wanted); }};
const workload of_saved_medium{[](const request& wanted) { work(medium, wanted); },
                               [](const request& wanted) { return verify(medium, wanted); }};
const workload of_saved_large{[](const request& wanted) { work(large, wanted); },
                              [](const request& wanted) { return verify(large, wanted); }};

}  // namespace holdfast::rig

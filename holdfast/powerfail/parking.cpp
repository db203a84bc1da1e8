#include <holdfast/powerfail/parking.hpp>

#include <holdfast/base/threads.hpp>

#include <atomic>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace holdfast::powerfail::parking {
namespace {

using clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

constexpr std::size_t places = 8192;
constexpr unsigned most_threads = places / 2;

constexpr std::uint64_t is_parked = std::uint64_t{1} << 31;

// What a thread changes names the round: one that is late changes nothing in the next round.
// Static, because a late signal may find its handler at any time.
constinit std::atomic<std::uint64_t> table[places];  ///< round, whether it is parked, thread; an earlier round: free
constinit std::atomic<std::uint64_t> missing{0};     ///< round, and how many threads are not parked yet
constinit std::atomic<std::uint32_t> round_begun{0};
constinit std::atomic<std::uint32_t> round_over{0};
constinit std::atomic<unsigned> found{0};
constinit std::atomic<unsigned> gone{0};

std::uint32_t* half_for_futex(std::atomic<std::uint64_t>& word) noexcept {
    static_assert(std::endian::native == std::endian::little);
    return reinterpret_cast<std::uint32_t*>(&word);
}
std::uint32_t* half_for_futex(std::atomic<std::uint32_t>& word) noexcept {
    return reinterpret_cast<std::uint32_t*>(&word);
}
long futex(std::uint32_t* word, int operation, std::uint32_t value, const timespec* patience) noexcept {
    return ::syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, patience, nullptr, 0);
}

std::uint64_t key_of(std::uint32_t round, pid_t thread) noexcept {
    return std::uint64_t{round} << 32 | static_cast<std::uint32_t>(thread);
}

/// The thread's place in this round, or the one that is free for it.
std::atomic<std::uint64_t>& place_of(std::uint32_t round, pid_t thread) noexcept {
    std::size_t at = static_cast<std::uint32_t>(thread) * std::size_t{2654435761u} % places;
    for (;; at = (at + 1) % places) {
        const std::uint64_t key = table[at].load(std::memory_order_acquire);
        if ((key & ~is_parked) == key_of(round, thread) || key >> 32 != round) return table[at];
    }
}

/// Counts a thread as no longer missing, once. False: it was counted, or is not of this round.
bool counts_as_parked(std::uint32_t round, pid_t thread) noexcept {
    std::uint64_t key = key_of(round, thread);
    if (!place_of(round, thread).compare_exchange_strong(key, key | is_parked, std::memory_order_acq_rel)) return false;
    std::uint64_t before = missing.load(std::memory_order_relaxed);
    do {
        if (before >> 32 != round) return false;
    } while (!missing.compare_exchange_weak(before, before - 1, std::memory_order_acq_rel));
    if (static_cast<std::uint32_t>(before) == 1) futex(half_for_futex(missing), FUTEX_WAKE, 1, nullptr);
    return true;
}

bool is_over(std::uint32_t round, std::uint32_t over) noexcept { return static_cast<std::int32_t>(over - round) >= 0; }

void stay(int) {
    const int kept = errno;
    const std::uint32_t round = round_begun.load(std::memory_order_acquire);
    if (counts_as_parked(round, ::gettid()))
        for (std::uint32_t over = 0; !is_over(round, over = round_over.load(std::memory_order_acquire));)
            futex(half_for_futex(round_over), FUTEX_WAIT, over, nullptr);
    errno = kept;
}

/// A thread's number from its name in /proc; 0 for "." and "..".
pid_t number_of(const char* name) noexcept {
    pid_t number = 0;
    for (; *name >= '0' && *name <= '9'; ++name) number = number * 10 + (*name - '0');
    return number;
}

// Opened in advance: a process may have no descriptor left when the power fails.
constinit std::atomic<int> task_directory{-1};
constinit std::atomic<pid_t> task_owner{0};

void open_task_directory() noexcept {
    if (task_owner.load(std::memory_order_relaxed) == ::getpid()) return;
    const int opened = ::open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (opened < 0) return;
    // A parent's lists the parent's threads.
    if (const int before = task_directory.exchange(opened); before >= 0) ::close(before);
    task_owner.store(::getpid(), std::memory_order_relaxed);
}

/// Calls f for each thread of the process. False: /proc does not say.
template <class F>
bool for_each_thread(F&& f) noexcept {
    struct entry {
        std::uint64_t inode;
        std::int64_t offset;
        unsigned short bytes;
        unsigned char type;
        char name[1];
    };
    const int directory = task_directory.load(std::memory_order_relaxed);
    if (task_owner.load(std::memory_order_relaxed) != ::getpid() || ::lseek(directory, 0, SEEK_SET) != 0) return false;
    // In few pieces: between two calls of the kernel an end of a thread may hide another one.
    alignas(8) static char buffer[64 << 10];
    long bytes = 0;
    while ((bytes = ::syscall(SYS_getdents64, directory, buffer, sizeof buffer)) > 0)
        for (long at = 0; at < bytes;) {
            const auto* const each = reinterpret_cast<const entry*>(buffer + at);
            if (const pid_t thread = number_of(each->name); thread != 0) f(thread);
            at += each->bytes;
        }
    return bytes == 0;
}

/// False: the thread has ended. Where signals cannot be queued, it stays missing, and the round fails.
bool is_signalled(pid_t thread) noexcept {
    for (int tries = 0; tries < 1000; ++tries) {
        if (::tgkill(::getpid(), thread, signal_that_parks()) == 0) return true;
        if (errno == ESRCH) return false;
        ::usleep(10);
    }
    return true;
}

/// Enters a thread and signals it. False: there is no more room.
bool signal_thread(std::uint32_t round, pid_t thread) noexcept {
    if (found.load(std::memory_order_relaxed) == most_threads) return false;
    // First, so that it never counts as the last one while another is being signalled.
    missing.fetch_add(1, std::memory_order_acq_rel);
    place_of(round, thread).store(key_of(round, thread), std::memory_order_release);
    found.fetch_add(1, std::memory_order_relaxed);
    if (!is_signalled(thread) && counts_as_parked(round, thread)) gone.fetch_add(1, std::memory_order_relaxed);
    return true;
}

/// Signals all that this round has not found yet. -1: it cannot go on; else how many there were.
int signal_new_threads(std::uint32_t round) noexcept {
    const pid_t self = ::gettid();
    int fresh = 0;
    const bool listed = for_each_thread([&](pid_t thread) {
        if (thread == self || fresh < 0) return;
        const std::uint64_t key = place_of(round, thread).load(std::memory_order_relaxed);
        if ((key & ~is_parked) == key_of(round, thread)) return;
        fresh = signal_thread(round, thread) ? fresh + 1 : -1;
    });
    return listed ? fresh : -1;
}

/// Whether the thread has ended: it is not listed, or only as what its parent waits for.
bool has_ended(pid_t thread) noexcept {
    if (::tgkill(::getpid(), thread, 0) != 0 && errno == ESRCH) return true;
    char path[48] = "/proc/self/task/";
    char digits[12];
    std::size_t count = 0;
    for (pid_t rest = thread; rest != 0; rest /= 10) digits[count++] = static_cast<char>('0' + rest % 10);
    std::size_t at = std::strlen(path);
    while (count != 0) path[at++] = digits[--count];
    std::memcpy(path + at, "/stat", 6);
    const int file = ::open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return errno == ENOENT;
    char text[256];
    const ssize_t bytes = ::read(file, text, sizeof text - 1);
    ::close(file);
    if (bytes <= 0) return true;
    text[bytes] = '\0';
    const char* const name_end = std::strrchr(text, ')');
    return name_end != nullptr && (name_end[2] == 'Z' || name_end[2] == 'X');
}

void discount_ended(std::uint32_t round) noexcept {
    for (const auto& each : table) {
        const std::uint64_t key = each.load(std::memory_order_acquire);
        if (key >> 32 != round || (key & is_parked) != 0) continue;
        const auto thread = static_cast<pid_t>(key & 0xFFFFFFFF);
        if (has_ended(thread) && counts_as_parked(round, thread)) gone.fetch_add(1, std::memory_order_relaxed);
    }
}

bool wait_for_missing(std::uint32_t round, clock::time_point end) noexcept {
    constexpr nanoseconds slice{500'000};
    for (;;) {
        const auto still = static_cast<std::uint32_t>(missing.load(std::memory_order_acquire));
        if (still == 0) return true;
        const nanoseconds left = end - clock::now();
        if (left <= nanoseconds{0}) return false;
        const timespec patience{0, static_cast<long>((left < slice ? left : slice).count())};
        if (futex(half_for_futex(missing), FUTEX_WAIT, still, &patience) != 0 && errno == ETIMEDOUT)
            discount_ended(round);
    }
}

}  // namespace

void prepare() noexcept {
    open_task_directory();
    struct sigaction park{};
    park.sa_handler = &stay;
    // No other handler runs in a thread that is parked.
    sigfillset(&park.sa_mask);
    park.sa_flags = SA_RESTART | SA_ONSTACK;
    ::sigaction(signal_that_parks(), &park, nullptr);
}

bool stop(nanoseconds patience) noexcept {
    const clock::time_point end = clock::now() + patience;
    const std::uint32_t round = round_begun.load(std::memory_order_relaxed) + 1;
    found.store(0, std::memory_order_relaxed);
    gone.store(0, std::memory_order_relaxed);
    missing.store(std::uint64_t{round} << 32, std::memory_order_release);
    round_begun.store(round, std::memory_order_release);
    for (int quiet = 0; quiet < 2;) {
        const int fresh = signal_new_threads(round);
        if (fresh < 0 || !wait_for_missing(round, end)) {
            release();
            return false;
        }
        quiet = fresh == 0 ? quiet + 1 : 0;
    }
    return true;
}

unsigned count() noexcept { return found.load(std::memory_order_relaxed) - gone.load(std::memory_order_relaxed); }

void release() noexcept {
    round_over.store(round_begun.load(std::memory_order_relaxed), std::memory_order_release);
    // Again where it fails, though it cannot: nobody else would ever wake them.
    while (futex(half_for_futex(round_over), FUTEX_WAKE, 0x7FFFFFFF, nullptr) < 0) {
    }
}

}  // namespace holdfast::powerfail::parking

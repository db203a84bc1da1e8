#include "logs_test.hpp"

#include "log_device_test_support.hpp"

#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fcntl.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::rig {
namespace {

constexpr std::size_t mib = 1 << 20, ended_bytes = 65536;
constexpr __u64 key = 300, kept_key = 350;
constexpr session mine{{1, 2, 3, 4}};

void expect(bool holds, const std::string& sentence) {
    if (!holds) std::printf("problem module: not so: %s\n", sentence.c_str());
}

int register_log(const chunk_device& on, const void* at, std::size_t bytes, __u64 under = key,
                 const session& of = mine, __u32* id = nullptr) {
    holdfast_log log = log_at(at, bytes, under, of);
    const int failed = on.call(HOLDFAST_REGISTER, &log);
    if (id != nullptr) *id = log.id;
    return failed;
}
int unregister_log(const chunk_device& on, __u32 id) {
    holdfast_log log{};
    log.id = id;
    return on.call(HOLDFAST_UNREGISTER, &log);
}
int acknowledge_save(const chunk_device& on, __u64 under = key, const session& of = mine) {
    holdfast_saved saved = saved_as(under, of);
    return on.call(HOLDFAST_ACKNOWLEDGE, &saved);
}
holdfast_powerfail_status status_of(const chunk_device& on) {
    holdfast_powerfail_status status{};
    expect(on.call(HOLDFAST_POWERFAIL_STATUS, &status) == 0, "the module tells its state");
    return status;
}
bool is_offered(const chunk_device& on, __u64 under = key) {
    holdfast_saved found{};
    return find_saved(on, under, found);
}
/// Whether all of the save is this byte.
bool is_saved_as(const chunk_device& on, unsigned char byte, std::size_t bytes, __u64 under = key) {
    std::vector<unsigned char> read(bytes, static_cast<unsigned char>(~byte));
    if (read_saved(on, under, mine, read.data(), bytes) != 0) return false;
    return read[0] == byte && std::memcmp(read.data(), read.data() + 1, bytes - 1) == 0;
}

void bad_registrations_are_refused() {
    const chunk_device one;
    const volatile_memory memory(mib);
    std::memset(memory.data(), 1, mib);
    expect(register_log(one, memory.data() + 8, 64) == EINVAL && register_log(one, memory.data(), 8) == EINVAL &&
               register_log(one, memory.data(), 0) == EINVAL && register_log(one, memory.data(), mib, 0) == EINVAL,
           "addresses, sizes and keys of logs are checked");
    holdfast_log log = log_at(memory.data(), mib, key, mine);
    log.homes_bytes = 1;
    expect(one.call(HOLDFAST_REGISTER, &log) == EINVAL, "homes are whole pages");
    expect(register_log(chunk_device(O_RDONLY), memory.data(), mib) == EACCES, "who may not write has no area");
    expect(register_log(one, reinterpret_cast<void*>(64 * mib), mib) == EFAULT, "what is not mapped is refused");
    ::mprotect(memory.data() + 4096, 4096, PROT_READ);
    expect(register_log(one, memory.data(), mib) == EFAULT, "what cannot be written is refused");
    ::mprotect(memory.data() + 4096, 4096, PROT_READ | PROT_WRITE);
    expect(one.make(key, leaf_bytes) == 0, "a chunk can be made");
    unsigned char* const chunk = one.map(leaf_bytes);
    expect(register_log(chunk_device(), chunk, mib, key + 1) == EFAULT, "a chunk is no volatile memory");
    expect(register_log(chunk_device(), memory.data(), mib) == EEXIST, "a chunk that is no area is left alone");
    if (chunk != nullptr) ::munmap(chunk, leaf_bytes);
}

void a_log_that_would_take_too_long_is_declined() {
    const chunk_device one;
    holdfast_log log = log_at(nullptr, std::size_t{1} << 39, key, mine);
    expect(one.call(HOLDFAST_REGISTER, &log) == EDQUOT, "what cannot be saved in time is declined");
    expect(log.save_ns > log.budget_ns && log.budget_ns > 0, "and it is told by how much");
    const holdfast_powerfail_status status = status_of(one);
    expect(status.stop_ns > 0 && status.flush_ns > 0 && status.copy_ns_per_mib > 0, "rates are measured");
    expect(status.save_ns < status.budget_ns && status.registered == 0, "nothing is registered by that");
}

void pinned_pages_are_limited() {
    const volatile_memory memory(mib);
    const pid_t child = ::fork();
    if (child == 0) {
        const rlimit few{65536, 65536};
        if (::setrlimit(RLIMIT_MEMLOCK, &few) != 0 || ::setgid(1000) != 0 || ::setuid(1000) != 0) ::_exit(77);
        const chunk_device one;
        ::_exit(register_log(one, memory.data(), mib, key + 2) == ENOMEM &&
                        register_log(one, memory.data(), 65536, key + 2) == 0
                    ? 0
                    : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "users pin no more pages than they may lock");
    const chunk_device one;
    expect(acknowledge_save(one, key + 2) == 0 && one.free(key + 2) == 0, "the administrator clears up");
}

void a_registration_is_used_and_ended() {
    const chunk_device one;
    const volatile_memory memory(mib);
    __u32 id = 0;
    expect(chunk_device().free(key) == 0, "a chunk can be freed");
    expect(register_log(one, memory.data(), mib, key, mine, &id) == 0, "a log can be registered");
    expect(status_of(one).registered_here == 1 && status_of(one).registered_bytes == mib, "it is counted");
    expect(register_log(one, memory.data(), mib) == EBUSY, "an area has one log");
    const chunk_device other;
    expect(other.use(key) == EBUSY && other.free(key) == EBUSY, "programs do not use the area of a log");
    expect(unregister_log(other, id) == ENOENT, "another open file does not unregister it");
    expect(unregister_log(one, id + 256) == ENOENT, "nor does another number");
    expect(unregister_log(one, id) == 0 && unregister_log(one, id) == ENOENT, "it is unregistered once");
    expect(!is_offered(one), "what was unregistered is not saved");
    expect(register_log(one, memory.data(), 2 * leaf_bytes) == EFAULT || errno == EFAULT, "a log must be there");
    const volatile_memory larger(2 * leaf_bytes);
    expect(register_log(one, larger.data(), 2 * leaf_bytes) == EFBIG, "a log that does not fit is refused");
}

enum class end { killed, fault, exited, executes, executes_with_descriptor };

/// Registers, stores, and ends in the middle of it.
[[noreturn]] void store_and_end(end how, unsigned stores) {
    const chunk_device own;
    // Logs may be in memory that processes share, too.
    const volatile_memory memory(ended_bytes, stores % 2 == 0 ? MAP_SHARED : MAP_PRIVATE);
    volatile unsigned char* const at = memory.data();
    if (register_log(own, memory.data(), ended_bytes) != 0) ::_exit(77);
    for (std::size_t i = 0;; ++i) {
        at[i % ended_bytes] = 0x77;
        if (i != stores) continue;
        if (how == end::killed) ::raise(SIGKILL);
        if (how == end::fault) ::raise(SIGSEGV);
        if (how == end::exited) ::_exit(0);
        if (how == end::executes_with_descriptor) {
            ::fcntl(own.descriptor(), F_SETFD, 0);
            ::execl("/bin/busybox", "sleep", "1", nullptr);
        }
        ::execl("/bin/busybox", "true", nullptr);
    }
}

void expect_saved_prefix(unsigned stores, const char* how) {
    const chunk_device one;
    std::vector<unsigned char> read(ended_bytes);
    expect(read_saved(one, key, {{1, 2, 3, 5}}, read.data(), ended_bytes) == ESTALE,
           "another session's save is refused");
    expect(read_saved(one, key, mine, read.data(), ended_bytes) == 0 && read[0] == 0x77 && read[stores] == 0x77 &&
               read[stores + 1] == 0,
           std::string("the log of a process is saved when it ") + how);
    const volatile_memory memory(ended_bytes);
    expect(register_log(one, memory.data(), ended_bytes) == ENOTEMPTY, "nothing is saved over it");
    expect(one.free(key) == ENOTEMPTY, "nor is it freed");
    expect(read_saved(one, key, mine, read.data(), ended_bytes, 64) == ERANGE, "nothing behind a save is read");
    expect(acknowledge_save(one, key, {{1, 2, 3, 5}}) == ESTALE, "another session does not acknowledge it");
    expect(acknowledge_save(one) == 0 && acknowledge_save(one) == ENOENT, "it is acknowledged once");
}

void an_ended_process_leaves_its_log(std::uint64_t seed, unsigned times) {
    std::mt19937_64 random(seed);
    const char* const names[] = {"is killed", "fails", "exits", "executes another program"};
    for (unsigned i = 0; i < 4 * times; ++i) {
        const auto stores = static_cast<unsigned>(random() % 5000);
        const pid_t child = ::fork();
        if (child == 0) store_and_end(static_cast<end>(i % 4), stores);
        int status = 0;
        ::waitpid(child, &status, 0);
        expect(!WIFEXITED(status) || WEXITSTATUS(status) == 0, "a process can register its log");
        expect_saved_prefix(stores, names[i % 4]);
    }
}

void another_program_does_not_inherit_a_registration() {
    const pid_t child = ::fork();
    if (child == 0) store_and_end(end::executes_with_descriptor, 100);
    const chunk_device one;
    for (int waits = 0; waits < 100 && !is_offered(one); ++waits) ::usleep(5000);
    expect(::waitpid(child, nullptr, WNOHANG) == 0, "the other program still runs");
    expect_saved_prefix(100, "executes another program, which keeps the descriptor");
    ::waitpid(child, nullptr, 0);
    expect(!is_offered(one), "the end of the other program saves nothing");
}

/// Forks while a log is registered; the parent is killed at last.
[[noreturn]] void fork_and_be_killed() {
    const chunk_device own;
    const volatile_memory memory(mib);
    std::memset(memory.data(), 0x11, mib);
    __u32 id = 0;
    if (register_log(own, memory.data(), mib, key, mine, &id) != 0) ::_exit(77);
    const pid_t child = ::fork();
    if (child == 0) {
        std::memset(memory.data(), 0xCC, mib);
        const volatile_memory other(mib);
        expect(unregister_log(own, id) == EPERM, "a child does not unregister its parent's log");
        expect(register_log(own, other.data(), mib, key + 3) == EPERM, "nor register one with its open file");
        ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
    expect(status_of(own).registered_here == 1 && !is_offered(own), "the end of a child ends nothing");
    std::memset(memory.data(), 0x22, mib);
    ::raise(SIGKILL);
    ::_exit(1);
}

void a_child_inherits_nothing() {
    const pid_t child = ::fork();
    if (child == 0) fork_and_be_killed();
    ::waitpid(child, nullptr, 0);
    const chunk_device one;
    expect(is_saved_as(one, 0x22, mib), "what is saved is the parent's memory");
    expect(acknowledge_save(one) == 0, "and can be acknowledged");
}

void others_do_not_read_a_save() {
    const pid_t child = ::fork();
    if (child == 0) store_and_end(end::killed, 10);
    ::waitpid(child, nullptr, 0);
    if (::setegid(1000) != 0 || ::seteuid(1000) != 0) return expect(false, "the check can be another user");
    {
        const chunk_device other;
        unsigned char byte = 0;
        expect(!is_offered(other), "saves are offered to those who may read them");
        expect(read_saved(other, key, mine, &byte, 1) == EACCES && acknowledge_save(other) == EACCES,
               "others neither read nor acknowledge them");
        holdfast_times times{};
        __u64 triggers = 0;
        expect(other.call(HOLDFAST_DRILL, &times) == EPERM && other.call(HOLDFAST_TRIGGERS, &triggers) == EPERM,
               "users do not stop the machine");
    }
    if (::seteuid(0) != 0 || ::setegid(0) != 0) expect(false, "the check is root again");
    expect(acknowledge_save(chunk_device()) == 0, "the owner acknowledges it");
}

/// Rewrites its log for ever, on one processor after the other.
class wandering_writer {
public:
    explicit wandering_writer(volatile unsigned char* at)
        : thread_([this, at] {
              for (unsigned round = 0; !ends_; ++round) {
                  cpu_set_t one;
                  CPU_ZERO(&one);
                  CPU_SET(round % std::max(1u, std::thread::hardware_concurrency()), &one);
                  ::sched_setaffinity(0, sizeof one, &one);
                  for (std::size_t i = 0; i < mib && !ends_; i += 8) at[i] = static_cast<unsigned char>(round);
              }
          }) {}
    ~wandering_writer() {
        ends_ = true;
        thread_.join();
    }
    wandering_writer(const wandering_writer&) = delete;
    wandering_writer& operator=(const wandering_writer&) = delete;

private:
    std::atomic<bool> ends_{false};
    std::thread thread_;
};

/// Says the times of a drill, for the table.
bool drill(const chunk_device& on, const char* what, std::size_t bytes) {
    holdfast_times times{};
    const __u64 before = status_of(on).saves;
    if (on.call(HOLDFAST_DRILL, &times) != 0) return false;
    expect(times.missed == 0, "all processors stop in time");
    expect(times.copied_bytes == bytes, "all that is registered is copied");
    expect(0 < times.stopped_ns && times.stopped_ns <= times.copied_ns && times.copied_ns <= times.flushed_ns &&
               times.flushed_ns <= times.sealed_ns && times.sealed_ns <= times.ended_ns,
           "a save goes by in order");
    expect(status_of(on).saves > before && status_of(on).last.cause == HOLDFAST_BY_DRILL, "it can be polled for");
    if (what != nullptr)
        std::printf("times %s %.3f %.3f %.3f\n", what, static_cast<double>(times.stopped_ns) / 1e6,
                    static_cast<double>(times.copied_ns) / 1e6, static_cast<double>(times.flushed_ns) / 1e6);
    return true;
}

void a_drill_is_a_false_alarm() {
    const chunk_device one;
    const volatile_memory memory(mib);
    __u32 id = 0;
    expect(register_log(one, memory.data(), mib, key, mine, &id) == 0, "a log can be registered");
    for (int i = 0; i < 20; ++i) expect(drill(one, "idle", mib), "a drill can be had");
    {
        const wandering_writer writer(memory.data());
        for (int i = 0; i < 20; ++i) expect(drill(one, "load", mib), "a drill can be had while a log is stored to");
    }
    expect(!is_offered(one), "what a false alarm saved is not offered");
    expect(unregister_log(one, id) == 0 && !is_offered(one), "nor after the log was unregistered");
}

void registrations_end_in_the_middle_of_saves() {
    std::atomic<bool> ends{false};
    std::thread driller([&] {
        const chunk_device one;
        holdfast_times times{};
        while (!ends) {
            const int failed = one.call(HOLDFAST_DRILL, &times);
            expect(failed == 0 || failed == EBUSY, "saves exclude each other");
            ::usleep(2000);
        }
    });
    const chunk_device one;
    for (int i = 0; i < 40; ++i) {
        const volatile_memory memory(mib);
        __u32 id = 0;
        expect(register_log(one, memory.data(), mib, key, mine, &id) == 0, "a log is registered amid saves");
        if (i % 4 == 0) ::usleep(3000);
        expect(unregister_log(one, id) == 0, "and unregistered");
        const pid_t child = i % 4 == 1 ? ::fork() : -1;
        if (child == 0) store_and_end(end::killed, 10);
        if (child > 0) {
            ::waitpid(child, nullptr, 0);
            expect_saved_prefix(10, "is killed amid saves");
        }
    }
    ends = true;
    driller.join();
}

bool write_to(const char* path, const std::string& text) {
    const int opened = ::open(path, O_WRONLY | O_CLOEXEC);
    const auto size = static_cast<ssize_t>(text.size());
    const bool is_written = opened >= 0 && ::write(opened, text.data(), text.size()) == size;
    if (opened >= 0) ::close(opened);
    return is_written;
}

void who_has_lost_the_region_is_told() {
    const chunk_device one;
    const volatile_memory memory(mib);
    expect(register_log(one, memory.data(), mib) == 0, "a log can be registered");
    pollfd waits{one.descriptor(), 0, 0};
    expect(::poll(&waits, 1, 0) == 0, "nothing is lost yet");
    expect(write_to("/sys/bus/nd/drivers/holdfast/unbind", "namespace0.0"), "the region can be taken away");
    expect(::poll(&waits, 1, 100) == 1 && (waits.revents & POLLHUP) != 0, "a program is told that its log is lost");
    holdfast_powerfail_status status{};
    expect(one.call(HOLDFAST_POWERFAIL_STATUS, &status) == ENODEV, "there is no region");
    expect(!write_to("/sys/kernel/debug/holdfast/fail", "1"), "and no save without one");
    expect(write_to("/sys/bus/nd/drivers/holdfast/bind", "namespace0.0"), "the region can come back");
    expect(!is_offered(one), "what was lost is not offered");
    expect(register_log(one, memory.data(), mib) == 0, "the log can be registered anew");
    expect(::poll(&waits, 1, 0) == 0, "then nothing is lost");
}

void any_calls_are_survived(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const unsigned long numbers[] = {HOLDFAST_REGISTER,   HOLDFAST_UNREGISTER,  HOLDFAST_NEXT_SAVED,
                                     HOLDFAST_READ_SAVED, HOLDFAST_ACKNOWLEDGE, HOLDFAST_POWERFAIL_STATUS};
    const volatile_memory memory(mib);
    std::uint64_t succeeded = 0;
    for (int round = 0; round < 300; ++round) {
        const chunk_device one;
        for (int call = 0; call < 6; ++call) {
            alignas(8) unsigned char bytes[512];
            for (unsigned char& byte : bytes) byte = random() % 2 == 0 ? 0 : static_cast<unsigned char>(random());
            holdfast_log log = log_at(memory.data() + random() % 4 * 64, random() % 8 * 64, 400 + random() % 4, mine);
            if (random() % 4 != 0) std::memcpy(bytes, &log, sizeof log);
            succeeded += one.call(numbers[random() % std::size(numbers)], bytes) == 0;
        }
    }
    expect(succeeded > 100, "some of the calls do something");
    const chunk_device one;
    holdfast_saved each{};
    while (one.call(HOLDFAST_NEXT_SAVED, &each) == 0) {
        expect(one.call(HOLDFAST_ACKNOWLEDGE, &each) == 0, "each save that is offered can be acknowledged");
        one.free(each.key);
        each = {};
    }
    for (__u64 under = 400; under < 404; ++under) one.free(under);
    expect(status_of(one).registered == 0, "nothing stays registered");
}

}  // namespace

void try_logs(std::uint64_t seed, unsigned times) {
    bad_registrations_are_refused();
    a_log_that_would_take_too_long_is_declined();
    pinned_pages_are_limited();
    a_registration_is_used_and_ended();
    an_ended_process_leaves_its_log(seed, times);
    another_program_does_not_inherit_a_registration();
    a_child_inherits_nothing();
    others_do_not_read_a_save();
    a_drill_is_a_false_alarm();
    registrations_end_in_the_middle_of_saves();
    who_has_lost_the_region_is_told();
    expect(acknowledge_save(chunk_device()) == 0 && chunk_device().free(key) == 0, "closing saves, too");
    any_calls_are_survived(seed);
}

void leave_a_log() {
    const pid_t child = ::fork();
    if (child == 0) {
        const chunk_device own;
        const volatile_memory memory(mib);
        std::memset(memory.data(), 0x44, mib);
        ::_exit(register_log(own, memory.data(), mib, kept_key) == 0 ? 0 : 77);
    }
    ::waitpid(child, nullptr, 0);
}

void find_the_log() {
    const chunk_device one;
    expect(is_saved_as(one, 0x44, mib, kept_key), "a save outlives the module");
    expect(acknowledge_save(one, kept_key) == 0 && one.free(kept_key) == 0, "and can be acknowledged");
}

void find_every_log_declined() {
    const chunk_device one;
    const volatile_memory memory(mib);
    expect(register_log(one, memory.data(), mib) == EDQUOT && status_of(one).stop_ns == 0,
           "every log is declined where processors do not stop in time");
}

}  // namespace holdfast::rig

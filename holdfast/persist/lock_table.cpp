#include <holdfast/persist/lock_table.hpp>

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <vector>

namespace holdfast::persist::detail {
namespace {

struct held_file {
    file_identity identity;
    int descriptor = -1;
    std::vector<int> parked;
};

struct lock_table {
    std::mutex mutex;
    std::vector<held_file> held;

    lock_table();

    held_file* find(const file_identity& identity) noexcept {
        for (auto& entry : held)
            if (entry.identity == identity) return &entry;
        return nullptr;
    }
};

/// Never destroyed: a pool with static storage duration may close after this file's statics.
lock_table& table() {
    static auto& the_table = *new lock_table;
    return the_table;
}

void before_fork() { table().mutex.lock(); }

void after_fork_in_parent() { table().mutex.unlock(); }

/// fcntl locks are not inherited, so the child holds nothing; its copies of parked descriptors go.
void after_fork_in_child() {
    for (const auto& entry : table().held)
        for (const int descriptor : entry.parked) ::close(descriptor);
    table().held.clear();
    table().mutex.unlock();
}

lock_table::lock_table() { pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child); }

struct flock whole_file(bool exclusive) noexcept {
    struct flock request {};
    request.l_type = exclusive ? F_WRLCK : F_RDLCK;
    request.l_whence = SEEK_SET;
    return request;
}

/// Asks the kernel once. `again`: the lock was refused, but its holder let go before it was named.
lock_answer ask_kernel(int descriptor, bool exclusive, bool& again) noexcept {
    again = false;
    struct flock request = whole_file(exclusive);
    if (::fcntl(descriptor, F_SETLK, &request) == 0) return {lock_outcome::taken, 0, 0};
    if (errno != EACCES && errno != EAGAIN) return {lock_outcome::failed, 0, errno};
    request = whole_file(exclusive);
    if (::fcntl(descriptor, F_GETLK, &request) != 0) return {lock_outcome::held_elsewhere, 0, 0};
    again = request.l_type == F_UNLCK;
    return {lock_outcome::held_elsewhere, again ? 0 : std::max<pid_t>(request.l_pid, 0), 0};
}

}  // namespace

bool held_by_this_process(const file_identity& identity) noexcept {
    const std::lock_guard guard(table().mutex);
    return table().find(identity) != nullptr;
}

lock_answer take_lock(const file_identity& identity, int descriptor, bool exclusive) {
    const std::lock_guard guard(table().mutex);
    if (const auto* entry = table().find(identity))
        return {entry->descriptor == descriptor ? lock_outcome::taken : lock_outcome::held_here, ::getpid(), 0};
    table().held.reserve(table().held.size() + 1);
    lock_answer answer;
    bool again = true;
    for (int attempt = 0; attempt < 3 && again; ++attempt) answer = ask_kernel(descriptor, exclusive, again);
    if (answer.outcome == lock_outcome::taken) table().held.push_back({identity, descriptor, {}});
    return answer;
}

lock_answer change_lock(const file_identity& identity, int descriptor, bool exclusive) {
    const std::lock_guard guard(table().mutex);
    const auto* entry = table().find(identity);
    if (entry == nullptr || entry->descriptor != descriptor) return {lock_outcome::failed, 0, EBADF};
    bool again = false;
    return ask_kernel(descriptor, exclusive, again);
}

void close_or_park(int descriptor) noexcept {
    const std::lock_guard guard(table().mutex);
    struct stat status {};
    if (::fstat(descriptor, &status) != 0) {
        ::close(descriptor);
        return;
    }
    auto* entry = table().find({status.st_dev, status.st_ino});
    if (entry != nullptr && entry->descriptor != descriptor) {
        try {
            entry->parked.push_back(descriptor);
        } catch (...) {
            // Out of memory: a descriptor that stays open is the lesser evil to a lost lock.
        }
        return;
    }
    if (entry != nullptr) {
        for (const int parked : entry->parked) ::close(parked);
        *entry = std::move(table().held.back());
        table().held.pop_back();
    }
    ::close(descriptor);
}

}  // namespace holdfast::persist::detail

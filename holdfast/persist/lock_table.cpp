#include <holdfast/persist/lock_table.hpp>

#include <holdfast/base/checksum.hpp>
#include <holdfast/base/threads.hpp>

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

/// The bytes that are locked of a file, or of a part of a node.
struct lock_bytes {
    off_t holder = 0;
    off_t holder_count = off_t{1} << 62;
    off_t name = holder_count;

    lock_bytes() noexcept = default;
    explicit lock_bytes(std::uint64_t part) noexcept {
        if (part == 0) return;
        holder = off_t{crc32c(&part, sizeof part, ~0u)} << 2;
        holder_count = 1;
        name = holder + 1;
    }
    off_t turn() const noexcept { return name + 1; }
    off_t sharers() const noexcept { return name + 2; }
};

struct open_descriptor {
    int descriptor = -1;
    file_identity file;
    std::uint64_t part = 0;
    bool locked = false;
};

struct descriptor_table {
    std::mutex mutex;
    std::vector<open_descriptor> open;

    descriptor_table();

    open_descriptor* find(int descriptor) noexcept {
        for (auto& entry : open)
            if (entry.descriptor == descriptor) return &entry;
        return nullptr;
    }
    open_descriptor* find_holder(const file_identity& file, std::uint64_t part) noexcept {
        for (auto& entry : open)
            if (entry.locked && entry.file == file && entry.part == part) return &entry;
        return nullptr;
    }
    lock_bytes bytes_of(int descriptor) noexcept {
        const auto* const entry = find(descriptor);
        return entry != nullptr ? lock_bytes(entry->part) : lock_bytes();
    }
};

/// Never destroyed: a pool with static storage duration may close after this file's statics.
descriptor_table& table() {
    static auto& the_table = *new descriptor_table;
    return the_table;
}

void before_fork() { table().mutex.lock(); }

void after_fork_in_parent() { table().mutex.unlock(); }

/// The child's copies would keep the parent's locks alive. Objects that the child inherited still know the numbers:
/// each is given to a descriptor that refuses every use, until its object closes it.
void after_fork_in_child() {
    for (const auto& entry : table().open) {
        ::close(entry.descriptor);
        const int refusing = ::open("/", O_PATH | O_CLOEXEC);
        if (refusing < 0 || refusing == entry.descriptor) continue;
        ::dup3(refusing, entry.descriptor, O_CLOEXEC);
        ::close(refusing);
    }
    table().open.clear();
    table().mutex.unlock();
}

descriptor_table::descriptor_table() { pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child); }

/// Registered first, it is locked last at a fork: behind the locks of transactions and of pools, in which files may be
/// opened.
[[gnu::constructor(101)]] void follow_forks() { table(); }

struct flock request_for(short type, off_t begin, off_t bytes) noexcept {
    struct flock request {};
    request.l_type = type;
    request.l_whence = SEEK_SET;
    request.l_start = begin;
    request.l_len = bytes;
    return request;
}

struct flock request_for(const lock_bytes& bytes, lock_range range, short type) noexcept {
    switch (range) {
        case lock_range::turn: return request_for(type, bytes.turn(), 1);
        case lock_range::sharers: return request_for(type, bytes.sharers(), 1);
        case lock_range::holder: break;
    }
    return request_for(type, bytes.holder, bytes.holder_count);
}

short lock_type(bool exclusive) noexcept { return exclusive ? F_WRLCK : F_RDLCK; }

int ask(int descriptor, int command, struct flock& request) noexcept {
    int answer = 0;
    do {
        answer = ::fcntl(descriptor, command, &request);
    } while (answer != 0 && errno == EINTR);
    return answer;
}

/// A failure leaves the holder without a name, and no more.
void write_name(int descriptor, const lock_bytes& bytes) noexcept {
    struct flock request = request_for(F_RDLCK, bytes.name, 1);
    static_cast<void>(ask(descriptor, F_SETLK, request));
}

pid_t read_name(int descriptor, const lock_bytes& bytes) noexcept {
    struct flock request = request_for(F_WRLCK, bytes.name, 1);
    if (ask(descriptor, F_GETLK, request) != 0 || request.l_type == F_UNLCK) return unknown_holder;
    return std::max<pid_t>(request.l_pid, 0);
}

/// Asks the kernel once. `again`: the lock was refused, but its holder let go before it was named, or has not written
/// its name yet.
lock_answer ask_kernel(int descriptor, const lock_bytes& bytes, bool exclusive, bool& again) noexcept {
    again = false;
    struct flock request = request_for(bytes, lock_range::holder, lock_type(exclusive));
    if (ask(descriptor, F_OFD_SETLK, request) == 0) return {lock_outcome::taken, 0, 0};
    if (errno != EACCES && errno != EAGAIN) return {lock_outcome::failed, unknown_holder, errno};
    const pid_t named = read_name(descriptor, bytes);
    again = named == unknown_holder;
    return {lock_outcome::held_elsewhere, named, 0};
}

void unlock_all(int descriptor, const lock_bytes& bytes) noexcept {
    struct flock name = request_for(F_UNLCK, bytes.name, 1);
    static_cast<void>(ask(descriptor, F_SETLK, name));
    // One call for all ranges: nobody sees one of them free and the other held.
    struct flock all = request_for(F_UNLCK, 0, 0);
    static_cast<void>(ask(descriptor, F_OFD_SETLK, all));
}

}  // namespace

fork_gate::fork_gate() { table().mutex.lock(); }

fork_gate::~fork_gate() { table().mutex.unlock(); }

int remember_opened(const std::function<int()>& open, std::uint64_t part) {
    const std::lock_guard guard(table().mutex);
    table().open.reserve(table().open.size() + 1);
    const int descriptor = open();
    struct stat status {};
    if (descriptor < 0) return descriptor;
    if (::fstat(descriptor, &status) != 0) {
        const int number = errno;
        ::close(descriptor);
        errno = number;
        return -1;
    }
    table().open.push_back({descriptor, file_identity(status), part, false});
    return descriptor;
}

void close_descriptor(int descriptor) noexcept {
    const cancellation_held uncancelled;
    const std::lock_guard guard(table().mutex);
    auto* entry = table().find(descriptor);
    if (entry == nullptr) {
        ::close(descriptor);
        return;
    }
    const open_descriptor closed = *entry;
    *entry = table().open.back();
    table().open.pop_back();
    unlock_all(descriptor, lock_bytes(closed.part));
    ::close(descriptor);
    // Closing dropped the classic locks of the whole process on this file.
    for (const auto& each : table().open)
        if (each.locked && each.file == closed.file)
            write_name(each.descriptor, lock_bytes(each.part));
}

bool held_by_this_process(const struct stat& of, std::uint64_t part) noexcept {
    const std::lock_guard guard(table().mutex);
    return table().find_holder(file_identity(of), part) != nullptr;
}

lock_answer take_lock(int descriptor, bool exclusive) {
    const std::lock_guard guard(table().mutex);
    auto* entry = table().find(descriptor);
    if (entry == nullptr) return {lock_outcome::failed, unknown_holder, EBADF};
    if (entry->locked) return {lock_outcome::taken, 0, 0};
    if (table().find_holder(entry->file, entry->part) != nullptr)
        return {lock_outcome::held_here, ::getpid(), 0};
    const lock_bytes bytes(entry->part);
    lock_answer answer;
    bool again = true;
    for (int attempt = 0; attempt < 3 && again; ++attempt) answer = ask_kernel(descriptor, bytes, exclusive, again);
    if (answer.outcome != lock_outcome::taken) return answer;
    entry->locked = true;
    write_name(descriptor, bytes);
    return answer;
}

lock_answer change_lock(int descriptor, bool exclusive) {
    const std::lock_guard guard(table().mutex);
    const auto* entry = table().find(descriptor);
    if (entry == nullptr || !entry->locked) return {lock_outcome::failed, unknown_holder, EBADF};
    bool again = false;
    return ask_kernel(descriptor, lock_bytes(entry->part), exclusive, again);
}

void drop_locks(int descriptor) noexcept {
    const std::lock_guard guard(table().mutex);
    auto* entry = table().find(descriptor);
    if (entry == nullptr) return;
    unlock_all(descriptor, lock_bytes(entry->part));
    entry->locked = false;
}

namespace {
lock_bytes bytes_of(int descriptor) noexcept {
    const std::lock_guard guard(table().mutex);
    return table().bytes_of(descriptor);
}
}  // namespace

lock_answer take_range(int descriptor, lock_range range, bool exclusive, bool wait) {
    const lock_bytes bytes = bytes_of(descriptor);
    const struct flock request = request_for(bytes, range, lock_type(exclusive));
    for (int command = F_OFD_SETLK;; command = F_OFD_SETLKW) {
        struct flock tried = request;
        if (ask(descriptor, command, tried) == 0) return {lock_outcome::taken, 0, 0};
        if (errno != EACCES && errno != EAGAIN) return {lock_outcome::failed, unknown_holder, errno};
        // Turns are exclusive. A shared lock there is on the whole file, by a library that knows of no turns and keeps
        // it as long as it has the file open.
        struct flock found = request;
        if (range == lock_range::turn && ask(descriptor, F_OFD_GETLK, found) == 0 && found.l_type == F_RDLCK)
            return {lock_outcome::taken, 0, 0};
        if (!wait) return {lock_outcome::held_elsewhere, read_name(descriptor, bytes), 0};
    }
}

void drop_range(int descriptor, lock_range range) noexcept {
    struct flock request = request_for(bytes_of(descriptor), range, F_UNLCK);
    static_cast<void>(ask(descriptor, F_OFD_SETLK, request));
}

bool range_is_held(int descriptor, lock_range range) noexcept {
    struct flock request = request_for(bytes_of(descriptor), range, F_WRLCK);
    return ask(descriptor, F_OFD_GETLK, request) == 0 && request.l_type != F_UNLCK;
}

pid_t holder_of(int descriptor) noexcept { return read_name(descriptor, bytes_of(descriptor)); }

}  // namespace holdfast::persist::detail

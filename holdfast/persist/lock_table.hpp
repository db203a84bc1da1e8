// Which descriptors this process has open, and the locks that they hold. Internal to this room.
//
// Locks are open-file-description locks: they belong to what `open` made, a second open in the same process conflicts
// with them, and closing any other descriptor of the file leaves them alone. They live as long as any copy of the
// descriptor, so a forked child closes its copies at once, and a close unlocks first.
//
// Bytes that are locked, all far after the end of any file:
//   [0, 2^62)   the holder's lock: exclusive, or shared by readers and sharers
//   2^62        a classic read lock of each holder. An open-file-description lock names no process, this one does. It
//               decides nothing: closing another descriptor of the file may drop it.
//   2^62 + 1    the turn: one at a time begins or ends to share the file
//   2^62 + 2    the sharers' own lock, which readers do not hold
// Several files may be parts of one node, as chunks are. Each has four bytes in place of these, in the same order; its
// number decides where, and two numbers hardly ever decide the same.
// A library that takes one classic lock on the whole file conflicts with each of them.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>

namespace holdfast::persist::detail {

enum class lock_outcome : std::uint8_t { taken, held_here, held_elsewhere, failed };

/// The holder is another process that left no name.
inline constexpr pid_t unknown_holder = -1;

struct lock_answer {
    lock_outcome outcome = lock_outcome::failed;
    pid_t holder = unknown_holder;  ///< held_elsewhere: 0 where the holder is in another process-id namespace
    int number = 0;                 ///< failed: errno
};

enum class lock_range : std::uint8_t { holder, turn, sharers };

/// Keeps this process from being forked while it lives: a child would inherit what is not in order yet.
class fork_gate {
public:
    fork_gate();
    ~fork_gate();
    fork_gate(const fork_gate&) = delete;
    fork_gate& operator=(const fork_gate&) = delete;
};

/// Calls `open`, which returns a descriptor or -1 and errno, and remembers the descriptor: a forked child closes it.
/// Thread-safe.
/// `part` is the number of a part of that node, 0: the whole.
int remember_opened(const std::function<int()>& open, std::uint64_t part = 0);

/// Unlocks and closes `descriptor`. Thread-safe.
void close_descriptor(int descriptor) noexcept;

/// What tells files apart. Two nodes of one device are two inodes.
struct file_identity {
    dev_t device = 0;
    std::uint64_t number = 0;

    file_identity() noexcept = default;
    explicit file_identity(const struct stat& of) noexcept
        : device(S_ISCHR(of.st_mode) ? 0 : of.st_dev), number(S_ISCHR(of.st_mode) ? of.st_rdev : of.st_ino) {}
    bool operator==(const file_identity&) const = default;
};

/// True when a descriptor of this process holds the lock of the file, whatever its name; of a device, also through
/// another node. Thread-safe.
bool held_by_this_process(const struct stat& of, std::uint64_t part = 0) noexcept;

/// Tries to take the holder's lock through `descriptor`; `taken` as well when this very descriptor holds it already.
/// Thread-safe.
lock_answer take_lock(int descriptor, bool exclusive);

/// Makes the holder's lock that this very descriptor holds exclusive or shared; `held_elsewhere` where others' shared
/// locks are in the way, and then it is what it was. Thread-safe.
lock_answer change_lock(int descriptor, bool exclusive);

/// Lets go of all that `descriptor` has locked. Thread-safe.
void drop_locks(int descriptor) noexcept;

/// Takes another range than the holder's, or changes how it is held; waits for it if `wait`. Thread-safe.
lock_answer take_range(int descriptor, lock_range range, bool exclusive, bool wait);
void drop_range(int descriptor, lock_range range) noexcept;
/// True when another descriptor has the range locked in whatever way.
bool range_is_held(int descriptor, lock_range range) noexcept;
/// A process that has left its name as a holder, other than this one; or unknown_holder.
pid_t holder_of(int descriptor) noexcept;

}  // namespace holdfast::persist::detail

// Which files this process holds. Internal to this room.
//
// fcntl locks belong to the process: a second open in the same process does not see them, and
// closing any descriptor of the file drops them. So the process keeps this table beside them, and
// a descriptor whose closing would drop another object's lock is parked until the holder lets go.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace holdfast::persist::detail {

/// A file's identity, whatever its name.
struct file_identity {
    dev_t device = 0;
    ino_t inode = 0;
    friend bool operator==(const file_identity&, const file_identity&) = default;
};

enum class lock_outcome : std::uint8_t { taken, held_here, held_elsewhere, failed };

struct lock_answer {
    lock_outcome outcome = lock_outcome::failed;
    pid_t holder = 0;  ///< held_elsewhere: 0 where the holder is in another process-id namespace
    int number = 0;    ///< failed: errno
};

/// True when some object of this process holds the file's lock. Thread-safe.
bool held_by_this_process(const file_identity& identity) noexcept;

/// Tries to lock through `descriptor`, a write lock or a read lock; `taken` as well when this very
/// descriptor holds it already. Thread-safe.
lock_answer take_lock(const file_identity& identity, int descriptor, bool exclusive);

/// Makes the lock that this very descriptor holds a write lock or a read lock; `held_elsewhere` where others' read
/// locks are in the way, and then it is what it was. Thread-safe.
lock_answer change_lock(const file_identity& identity, int descriptor, bool exclusive);

/// Closes `descriptor`, which ends its lock; or parks it while another descriptor of this process
/// holds the file's lock. Thread-safe.
void close_or_park(int descriptor) noexcept;

}  // namespace holdfast::persist::detail

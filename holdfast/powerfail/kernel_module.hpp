// What the library asks of the kernel module (kernel/): to save a log when the power fails, and for what it has saved.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/powerfail/save_name.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace holdfast::powerfail {

/// How the library reaches the module. Tests put a module of their own in its place while no pool is open.
struct module_calls {
    int (*open)(const char* path);  ///< negative: errno says why
    int (*control)(int descriptor, unsigned long request, void* argument);
};
extern constinit module_calls module_calls_now;

/// What the module says of itself, and has measured.
struct module_state {
    using time = std::chrono::nanoseconds;
    std::vector<std::string> triggers;  ///< that are on, such as `carrier`
    time hold_up{};                     ///< the power lasts so long after a trigger
    time budget{};                      ///< of that, what a save may take
    time save{};                        ///< what it would take now
    time stop{}, flush{}, copy_of_mib{};
    std::uint64_t registered_bytes = 0;  ///< of all programs
};

/// A save that is not acknowledged yet.
struct module_save {
    save_name name;
    std::uint64_t bytes = 0;
};

/// A false alarm of the whole machine. Times count from its beginning.
struct module_drill {
    using time = std::chrono::nanoseconds;
    time stopped{}, copied{}, flushed{}, sealed{}, ended{};
    std::uint64_t copied_bytes = 0;
    unsigned processors = 0;  ///< that were to be stopped
    unsigned missed = 0;      ///< of these, that did not stop in time
};

/// An open file of the module's. Move-only; closing it ends its registrations, with a save.
/// Thread safety: calls of one object come one at a time.
class kernel_module {
public:
    /// 64 bytes of what was saved, which is a log as it was in memory.
    struct alignas(64) line {
        std::byte bytes[64];
    };

    /// Errors: not_found (there is no module), permission_denied, io.
    static result<kernel_module> open(const std::string& device = usual_module_device);
    kernel_module(kernel_module&& other) noexcept;
    kernel_module& operator=(kernel_module&& other) noexcept;
    ~kernel_module();

    /// Its poll has POLLHUP once nothing of this file is saved any more.
    int descriptor() const noexcept { return descriptor_; }

    /// From now on these bytes are saved when the power fails, and when the process ends. Returns what gives them back.
    /// `homes`: the addresses of the persistent memory that the log repeats, which a panic of the kernel writes back as
    /// far as it is mapped then. Requires: whole lines; whole pages of homes. Errors: level_unavailable (declined: a
    /// save would take too long), already_exists (a save under the key has not been acknowledged), no_space, io.
    result<std::uint32_t> keep(std::span<const std::byte> log, std::span<const std::byte> homes, const save_name& name);
    /// Waits for the end of a save in progress. Nothing is left to be found, and the key's room in the region is free.
    void release(std::uint32_t kept, std::uint64_t key) noexcept;

    /// What was saved under this name, by a save that counts. Errors: not_found (nothing); not_durable (only of another
    /// session); corrupt (it is damaged); permission_denied, io.
    result<std::vector<line>> saved(const save_name& name);
    /// The log has been replayed, durably: the save is gone, and its room in the region is free. Errors: as saved.
    result<void> acknowledge(const save_name& name);
    /// All that this user may read.
    std::vector<module_save> saves();
    /// The session of the save under the key, whatever it is. Errors: not_found.
    result<save_name> name_of_save(std::uint64_t key);

    /// Errors: not_found (its region is not there), io.
    result<module_state> state();
    /// All threads of all programs stand still meanwhile. Errors: permission_denied (it takes CAP_SYS_ADMIN), busy (a
    /// save is in progress), not_found, io.
    result<module_drill> drill();

private:
    void free_room(std::uint64_t key) noexcept;
    kernel_module(int descriptor, std::string device) : descriptor_(descriptor), device_(std::move(device)) {}
    error failed(const char* what, int number) const;

    int descriptor_ = -1;
    std::string device_;
};

}  // namespace holdfast::powerfail

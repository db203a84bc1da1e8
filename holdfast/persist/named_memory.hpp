// Memory under a name, which outlives the process and not the boot: a file of the kernel's tmpfs at /dev/shm.
#pragma once

#include <holdfast/base/result.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace holdfast::persist {

/// Move-only. A forked child does not have it. On destruction the memory is unmapped and keeps its name and contents.
/// Thread safety: none. Who uses a name sees to it that nobody else does.
class named_memory {
public:
    named_memory() = default;
    /// Zeros, `bytes` large and all of it there, mapped at `base` (0: anywhere). What had the name before is gone.
    /// Requires: base and bytes are whole pages. What holds if the process dies inside: the name has nothing, zeros, or
    /// less than `bytes` of them.
    /// Errors: address_taken, no_space, permission_denied (the name is another user's), not_found (there is no
    /// /dev/shm), level_unavailable (it is no tmpfs), io.
    static result<named_memory> create(const std::string& name, std::uintptr_t base, std::uint64_t bytes);
    /// What this user left under the name, mapped anywhere. Errors: not_found, permission_denied, io.
    static result<named_memory> open(const std::string& name);
    /// Frees the name. Without one it does nothing.
    static void remove(const std::string& name) noexcept;

    named_memory(named_memory&& other) noexcept;
    named_memory& operator=(named_memory&& other) noexcept;
    ~named_memory();

    std::byte* data() const noexcept { return base_; }
    std::uint64_t size() const noexcept { return bytes_; }

private:
    static result<named_memory> map(const std::string& path, int descriptor, std::uintptr_t base, std::uint64_t bytes);

    std::byte* base_ = nullptr;
    std::uint64_t bytes_ = 0;
    std::uint64_t fork_generation_ = 0;
};

}  // namespace holdfast::persist

// The log of a pool at `on_power_fail`, in memory that outlives the process: named by pool, file and boot. When the
// power fails the kernel module may save it; then it is found again as it was.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/format/log_record.hpp>
#include <holdfast/format/shadow_log.hpp>
#include <holdfast/persist/named_memory.hpp>
#include <holdfast/powerfail/kernel_module.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::powerfail {

/// Move-only. On destruction it stays under its name, for the next opening.
class shadow_log {
public:
    /// What it occupies for a pool with a log of this size.
    static std::uint64_t bytes_for(std::uint64_t log_bytes) noexcept { return format::shadow_log_offset + log_bytes; }

    /// Makes it for that pool, whose log is empty, at the address `at`; nothing is sealed yet. `of`: the superblock of
    /// this opening, with its boot and file mark; `pool`: where the pool is mapped; `life`: the number that the pool
    /// has at armed_life_offset. What an earlier life left under the name is gone.
    /// Errors: those of named_memory; level_unavailable (the file cannot be told from its copies).
    static result<shadow_log> create(const format::superblock& of, const std::byte* pool, format::armed_life life,
                                     std::uintptr_t at);
    /// What a life of the pool of this superblock left in this boot; `life` says which.
    /// Errors: not_found; permission_denied, io.
    static result<shadow_log> find(const format::superblock& of);
    /// What the kernel module saved of a life that began with this superblock, or later; `life` says which.
    /// Errors: not_found (there is no module, or no save, or it is of an earlier life); not_durable (it is of another
    /// boot or file); corrupt; permission_denied, io.
    static result<shadow_log> find_saved(const format::superblock& of, const save_name& name);
    /// Frees the name.
    static void remove(const format::superblock& of) noexcept;
    /// The same if it is of that life. That of another one belongs to a state of the file that somebody keeps, and may
    /// put back.
    static void remove(const format::superblock& of, const format::armed_life& life) noexcept;

    format::shadow_header& header() const noexcept { return *reinterpret_cast<format::shadow_header*>(first_); }
    /// Of the life that it belongs to.
    format::armed_life life() const noexcept;
    bool is_saved() const noexcept { return !saved_.empty(); }
    /// From here on this is what a save writes last. Requires: `seal` has its checksum and says `saved`; one thread at
    /// a time. A save at any moment takes the one before, or this one.
    void publish(const format::superblock& seal);
    /// From here on nothing is to be saved.
    void withdraw();

private:
    explicit shadow_log(persist::named_memory memory) noexcept : memory_(std::move(memory)), first_(memory_.data()) {}
    explicit shadow_log(std::vector<kernel_module::line> saved) noexcept
        : saved_(std::move(saved)), first_(saved_.empty() ? nullptr : saved_.front().bytes) {}

    // One of them has the log; moving it leaves it where it is.
    persist::named_memory memory_;
    std::vector<kernel_module::line> saved_;
    std::byte* first_;
};

}  // namespace holdfast::powerfail

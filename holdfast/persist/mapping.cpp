#include <holdfast/persist/addresses.hpp>
#include <holdfast/persist/counters.hpp>
#include <holdfast/persist/file.hpp>
#include <holdfast/persist/lock_table.hpp>
#include <holdfast/persist/seam.hpp>
#include <holdfast/persist/system_error.hpp>

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#ifdef HOLDFAST_OBSERVED
#include <holdfast/persist/observer.hpp>
#endif

// Newer than the oldest C library headers that this is built with.
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MAP_SYNC
#define MAP_SYNC 0x80000
#endif
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

namespace holdfast::persist {
namespace {

using detail::system_error;

std::uint64_t page_bytes() noexcept { return memory_page_bytes(); }

std::string hexadecimal(std::uintptr_t value) {
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    do {
        text.insert(text.begin(), digits[value % 16]);
        value /= 16;
    } while (value != 0);
    return "0x" + text;
}

std::string range_text(std::uintptr_t base, std::uint64_t bytes) {
    return hexadecimal(base) + "-" + hexadecimal(base + bytes);
}

error address_taken(const std::string& path, std::uintptr_t base, std::uint64_t reserved) {
    return error{.code = errc::address_taken,
                 .what = "the address range is in use in this process",
                 .path = path,
                 .expected = "nothing mapped at " + range_text(base, reserved)};
}

error no_addresses(const std::string& path, std::uintptr_t base, std::uint64_t reserved, int number) {
    error reason = system_error("mmap", path, number);
    reason.expected = std::to_string(reserved) + " bytes of addresses" +
                      (base != 0 ? " at " + range_text(base, reserved) : std::string());
    struct rlimit limit {};
    if (number != ENOMEM || ::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return reason;
    reason.what = "this process may not use that many addresses";
    reason.found = "a limit of " + std::to_string(limit.rlim_cur) + " bytes in total";
    reason.remedy = "raise the limit (ulimit -v), or create the pool with a smaller address reserve (reserved_bytes, "
                    "holdfast pool create --reserve)";
    return reason;
}

error bad_argument(const std::string& path, std::string expected, std::string found) {
    return error{.code = errc::invalid_argument,
                 .what = "cannot map that range",
                 .path = path,
                 .expected = std::move(expected),
                 .found = std::move(found)};
}

result<void> check_arguments(const file& from, std::uintptr_t base, std::uint64_t reserved, std::uint64_t size) {
    if (base % page_bytes() != 0)
        return bad_argument(from.path(), "a base aligned to " + std::to_string(page_bytes()), hexadecimal(base));
    if (size == 0 || size > reserved)
        return bad_argument(from.path(), "1 to " + std::to_string(reserved) + " bytes", std::to_string(size));
    if (base + reserved < base)
        return bad_argument(from.path(), "a range below the end of the address space", range_text(base, reserved));
    const auto file_bytes = from.size();
    if (!file_bytes) return file_bytes.error();
    if (*file_bytes >= size) return {};
    // A touch beyond the end of the file would be SIGBUS.
    return error{.code = errc::truncated,
                 .what = "the file is shorter than the mapping",
                 .path = from.path(),
                 .expected = std::to_string(size) + " bytes",
                 .found = std::to_string(*file_bytes) + " bytes"};
}

std::uint64_t rounded_up(std::uint64_t bytes, std::uint64_t alignment) noexcept {
    return (bytes + alignment - 1) / alignment * alignment;
}

/// A device is mapped in whole pages of its own size. What is private is a copy in memory, in the processor's pages.
std::uint64_t alignment_of(const file& from, mapping::kind how) noexcept {
    return how == mapping::kind::private_copy ? page_bytes() : from.mapping_alignment();
}

/// Stores only to blocks that differ: those of zeros, of which a young pool has most, then need no memory.
result<void> copy_what_differs(const file& from, std::byte* base, std::uint64_t offset, std::uint64_t end) {
    constexpr std::uint64_t block_bytes = 4096;
    std::array<std::byte, block_bytes> block;
    for (std::uint64_t at = offset; at < end; at += block_bytes) {
        const std::uint64_t count = std::min(block_bytes, end - at);
        if (auto read = from.read_at(at, block.data(), count); !read) return read;
        if (std::memcmp(base + at, block.data(), count) != 0) std::memcpy(base + at, block.data(), count);
    }
    return {};
}

/// For devices, which cannot be mapped privately: memory with what is on it now.
result<void> map_copy(const file& from, std::byte* base, std::uint64_t offset, std::uint64_t end) {
    constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    if (::mmap(base + offset, end - offset, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED)
        return no_addresses(from.path(), reinterpret_cast<std::uintptr_t>(base + offset), end - offset, errno);
    return copy_what_differs(from, base, offset, end);
}

/// Maps the file's bytes from `offset` to `end` at their places behind `base`.
result<void> map_file(const file& from, std::byte* base, std::uint64_t offset, std::uint64_t end, mapping::kind how) {
    if (offset == end) return {};
    if (from.is_device() && how == mapping::kind::private_copy) return map_copy(from, base, offset, end);
    const int protection = how == mapping::kind::read_only ? PROT_READ : PROT_READ | PROT_WRITE;
    int flags = MAP_FIXED;
    switch (how) {
        case mapping::kind::shared:
        case mapping::kind::read_only: flags |= MAP_SHARED; break;
        case mapping::kind::shared_sync: flags |= MAP_SHARED_VALIDATE | MAP_SYNC; break;
        // Pools may be larger than memory; only the pages that are changed need any.
        case mapping::kind::private_copy: flags |= MAP_PRIVATE | MAP_NORESERVE; break;
    }
    if (::mmap(base + offset, end - offset, protection, flags, from.descriptor(), static_cast<off_t>(offset)) !=
        MAP_FAILED)
        return {};
    const int number = errno;
    error reason = no_addresses(from.path(), reinterpret_cast<std::uintptr_t>(base + offset), end - offset, number);
    if (how == mapping::kind::shared_sync && (number == EOPNOTSUPP || number == EINVAL)) {
        reason.code = errc::level_unavailable;
        reason.expected = "storage that accepts MAP_SYNC";
    }
    return reason;
}

/// For kernels before 5.14, which lack MADV_POPULATE_*.
void touch_pages(std::byte* base, std::uint64_t size, bool writing) noexcept {
    for (std::uint64_t at = 0; at < size; at += page_bytes()) {
        auto* byte = reinterpret_cast<unsigned char*>(base + at);
        if (writing) {
            __atomic_fetch_or(byte, static_cast<unsigned char>(0), __ATOMIC_RELAXED);
        } else {
            static_cast<void>(*const_cast<volatile unsigned char*>(byte));
        }
    }
}

}  // namespace

result<std::byte*> detail::reserve_addresses(const std::string& path, std::uintptr_t base, std::uint64_t reserved) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (base != 0 ? MAP_FIXED_NOREPLACE : 0);
    void* wanted = reinterpret_cast<void*>(base);
    void* got = ::mmap(wanted, reserved, PROT_NONE, flags, -1, 0);
    if (got == MAP_FAILED) {
        // ENOMEM for a fixed range means that it lies outside what the processor or kernel offers.
        if (errno == EEXIST) return address_taken(path, base, reserved);
        return no_addresses(path, base, reserved, errno);
    }
    if (base != 0 && got != wanted) {  // a kernel before 4.17 takes the flag for a hint
        ::munmap(got, reserved);
        return address_taken(path, base, reserved);
    }
    return static_cast<std::byte*>(got);
}

result<std::byte*> detail::reserve_aligned(const std::string& path, std::uintptr_t base, std::uint64_t bytes,
                                           std::uint64_t alignment) {
    if (base != 0 || alignment <= page_bytes()) return detail::reserve_addresses(path, base, bytes);
    const auto range = detail::reserve_addresses(path, 0, bytes + alignment);
    if (!range) return range.error();
    const std::uint64_t before = (alignment - reinterpret_cast<std::uintptr_t>(*range) % alignment) % alignment;
    if (before != 0) ::munmap(*range, before);
    ::munmap(*range + before + bytes, alignment - before);
    return *range + before;
}

mapping::mapping(std::byte* base, std::uint64_t size, std::uint64_t reserved, kind how, const file& from,
                 std::string path) noexcept
    : base_(base),
      size_(size),
      reserved_(reserved),
      kind_(how),
      alignment_(alignment_of(from, how)),
      is_of_device_(from.is_device()),
      fork_generation_(detail::fork_generation()),
      path_(std::move(path)) {}

mapping::mapping(mapping&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      reserved_(std::exchange(other.reserved_, 0)),
      kind_(other.kind_),
      alignment_(other.alignment_),
      is_of_device_(other.is_of_device_),
      fork_generation_(other.fork_generation_),
      path_(std::move(other.path_)) {}

mapping& mapping::operator=(mapping&& other) noexcept {
    if (this != &other) {
        release();
        base_ = std::exchange(other.base_, nullptr);
        size_ = std::exchange(other.size_, 0);
        reserved_ = std::exchange(other.reserved_, 0);
        kind_ = other.kind_;
        alignment_ = other.alignment_;
        is_of_device_ = other.is_of_device_;
        fork_generation_ = other.fork_generation_;
        path_ = std::move(other.path_);
    }
    return *this;
}

mapping::~mapping() { release(); }

void mapping::release() noexcept {
    // A child inherits the object and not the range, where it may have mapped something else since.
    if (base_ != nullptr && fork_generation_ == detail::fork_generation()) ::munmap(base_, reserved_);
    base_ = nullptr;
}

result<mapping> mapping::map(const file& from, std::uintptr_t base, std::uint64_t reserved, std::uint64_t size,
                             kind how) {
    if (auto checked = check_arguments(from, base, reserved, size); !checked) return checked.error();
    std::string path = from.path();
    const std::uint64_t alignment = alignment_of(from, how);
    if (base % alignment != 0)
        return bad_argument(path, "a base aligned to " + std::to_string(alignment), hexadecimal(base));
    reserved = rounded_up(reserved, alignment);
    const auto range = detail::reserve_aligned(path, base, reserved, alignment);
    if (!range) return range.error();
    mapping made(*range, size, reserved, how, from, std::move(path));
    // A child forked between the two calls would inherit the mapping, and with it the file's lock.
    const detail::fork_gate no_child;
    if (auto mapped = map_file(from, made.data(), 0, rounded_up(size, alignment), how); !mapped) return mapped.error();
    if (::madvise(made.data(), reserved, MADV_DONTFORK) != 0)
        return system_error("madvise(MADV_DONTFORK)", from.path(), errno);
    return made;
}

result<void> mapping::extend(const file& from, std::uint64_t size) {
    const auto base = reinterpret_cast<std::uintptr_t>(base_);
    if (auto checked = check_arguments(from, base, reserved_, size); !checked) return checked;
    if (size_ % page_bytes() != 0)
        return bad_argument(path_, "an end aligned to " + std::to_string(page_bytes()) + ", to map on from there",
                            std::to_string(size_) + " bytes mapped");
    const std::uint64_t before = rounded_up(size_, alignment_);
    const std::uint64_t end = rounded_up(size, alignment_);
    const detail::fork_gate no_child;
    auto mapped = map_file(from, base_, before, end, kind_);
    if (mapped) {
        // The new pages are a mapping of their own, which forgot what was said of the reserved range.
        if (::madvise(base_ + before, end - before, MADV_DONTFORK) == 0) {
            size_ = size;
            return {};
        }
        mapped = system_error("madvise(MADV_DONTFORK)", path_, errno);
    }
    // A mapping that failed may have unmapped what it was to replace.
    retract(size_);
    return mapped;
}

void mapping::retract(std::uint64_t size) noexcept {
    constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    const std::uint64_t end = rounded_up(size, alignment_);
    if (end < reserved_) {
        static_cast<void>(::mmap(base_ + end, reserved_ - end, PROT_NONE, flags, -1, 0));
        static_cast<void>(::madvise(base_ + end, reserved_ - end, MADV_DONTFORK));
    }
    if (size < reserved_) size_ = size;
}

bool mapping::give_back(std::uint64_t offset, std::uint64_t bytes) noexcept {
    if (is_copy_of_device()) return false;
    return ::madvise(base_ + offset, bytes, MADV_DONTNEED) == 0;
}

result<void> mapping::copy_anew(const file& from) {
    return is_copy_of_device() ? copy_what_differs(from, base_, 0, size_) : result<void>{};
}

result<void> mapping::populate() {
    if (is_copy_of_device()) return {};
    const bool writing = kind_ == kind::shared || kind_ == kind::shared_sync;
    const int advice = writing ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
    if (detail::retried([&] { return ::madvise(base_, size_, advice); }) == 0) return {};
    if (errno != EINVAL) return system_error("madvise(MADV_POPULATE)", path_, errno);
    touch_pages(base_, size_, writing);
    return {};
}

result<void> mapping::sync_all([[maybe_unused]] site_id where) {
    if (is_of_device_) {
        write_back(line_path{}, base_, size_, where);
        fence(line_path{}, where);
        return {};
    }
    ++detail::this_thread.syncs;
    if (detail::retried([&] { return ::msync(base_, size_, MS_SYNC); }) != 0)
        return system_error("msync", path_, errno);
#ifdef HOLDFAST_OBSERVED
    observe_mapping_sync(base_, size_, where);
#endif
    return {};
}

void mapping::note_stored([[maybe_unused]] site_id where) const {
#ifdef HOLDFAST_OBSERVED
    observe_mapping_write(base_, size_, where);
#endif
}

}  // namespace holdfast::persist

#include <sim/front/address_space.hpp>

#include <sim/front/hart.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace holdfast::sim {

address_space::address_space(std::byte* base) : base_(base), pages_((limit >> page_bits) + 1, no_access) {}

void address_space::unmap::operator()(std::byte* base) const noexcept { munmap(base, limit); }

result<address_space> address_space::create() {
    void* const base = mmap(nullptr, limit, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) {
        return problem{"no room for the guest's address space", {}, std::to_string(limit) + " bytes of addresses",
                       std::strerror(errno)};
    }
    // Guests follow pointers all over their footprint. A host that has no huge pages to give refuses, and is slower.
    madvise(base, limit, MADV_HUGEPAGE);
    return address_space(static_cast<std::byte*>(base));
}

result<bool> address_space::map(std::uint64_t address, std::uint64_t bytes, permission allowed) {
    if (bytes == 0 || bytes > limit || address > limit - bytes) {
        return problem{"range outside the guest's address space", hexadecimal(address),
                       "an end up to " + hexadecimal(limit), std::to_string(bytes) + " bytes"};
    }
    const std::uint64_t first = address >> page_bits;
    const std::uint64_t last = (address + bytes - 1) >> page_bits;
    std::byte* const begin = base_.get() + (first << page_bits);
    if (mprotect(begin, (last - first + 1) << page_bits, PROT_READ | PROT_WRITE) != 0) {
        return problem{"no memory for the guest", hexadecimal(address), std::to_string(bytes) + " bytes",
                       std::strerror(errno)};
    }
    for (std::uint64_t page = first; page <= last; ++page) pages_[page] |= allowed;
    return true;
}

bool address_space::is_free(std::uint64_t address, std::uint64_t bytes) const noexcept {
    if (bytes == 0 || bytes > limit || address > limit - bytes) return false;
    const auto first = pages_.begin() + static_cast<std::ptrdiff_t>(address >> page_bits);
    const auto end = pages_.begin() + static_cast<std::ptrdiff_t>(((address + bytes - 1) >> page_bits) + 1);
    return std::all_of(first, end, [](std::uint8_t page) { return page == no_access; });
}

std::span<std::byte> address_space::find_range(std::uint64_t address, std::uint64_t bytes,
                                              permission wanted) const noexcept {
    if (bytes == 0 || bytes > limit || address > limit - bytes) return {};
    for (std::uint64_t page = address >> page_bits; page <= (address + bytes - 1) >> page_bits; ++page) {
        if ((pages_[page] & wanted) == 0) return {};
    }
    return {base_.get() + address, bytes};
}

std::string address_space::describe(std::uint64_t address) const {
    const std::uint8_t page = address < limit ? pages_[address >> page_bits] : std::uint8_t{no_access};
    if (page == no_access) return "nothing mapped";
    if ((page & executable) != 0) return "code, which may not change while it runs";
    return (page & writable) != 0 ? "memory that may be read and written" : "memory that may only be read";
}

}  // namespace holdfast::sim

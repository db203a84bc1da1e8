// The calls by which libpmemobj asks libpmem to write back, stream and fence, taken over by this program: counted as
// the seam counts ours, and followed by the same added delay. The dynamic linker prefers a program's own exported
// symbols to a library's, so nothing is preloaded and libpmemobj is the packaged one.
//
// Write-backs and fences are the seam's own, the same instructions that libpmem issues: calling libpmem's behind ours
// cost 4 % of a small transaction. Copies are libpmem's, without their fence, which is paid here, once. Where
// PMEM_NO_FLUSH says that nothing is to be written back, all is left to libpmem, and nothing is counted.
#include <bench/rivals/pmem_calls.hpp>

#include <holdfast/persist/seam.hpp>
#include <holdfast/persist/sites.hpp>

#include <dlfcn.h>
#include <libpmem.h>

#include <cstdlib>
#include <cstring>

namespace holdfast::bench {
namespace {

persist::line_path path{true, 0};

template <class F>
F* of_libpmem(const char* name) noexcept {
    return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
}

/// Looked up when the program starts: libpmemobj calls none of them before.
const struct {
    decltype(pmem_flush)* flush = of_libpmem<decltype(pmem_flush)>("pmem_flush");
    decltype(pmem_drain)* drain = of_libpmem<decltype(pmem_drain)>("pmem_drain");
    decltype(pmem_msync)* msync = of_libpmem<decltype(pmem_msync)>("pmem_msync");
    decltype(pmem_memcpy)* memcpy = of_libpmem<decltype(pmem_memcpy)>("pmem_memcpy");
    decltype(pmem_memmove)* memmove = of_libpmem<decltype(pmem_memmove)>("pmem_memmove");
    decltype(pmem_memset)* memset = of_libpmem<decltype(pmem_memset)>("pmem_memset");
} libpmem;

/// libpmem goes by it from the start as well.
const bool writes_back = [] {
    const char* const no_flush = std::getenv("PMEM_NO_FLUSH");
    return no_flush == nullptr || std::strcmp(no_flush, "1") != 0;
}();

/// libpmem streams from this size on, unless flags say otherwise or PMEM_MOVNT_THRESHOLD does.
constexpr std::size_t streamed_from_bytes = 256;

void count_copy(const void* begin, std::size_t size, unsigned flags) noexcept {
    if (size == 0 || (flags & PMEM_F_MEM_NOFLUSH) != 0 || !writes_back) return;
    const std::uint64_t lines = persist::detail::lines_of(begin, size);
    persist::detail::lines_owed_delay += lines;
    const bool streams = (flags & (PMEM_F_MEM_NONTEMPORAL | PMEM_F_MEM_WC)) != 0;
    const bool stores = (flags & (PMEM_F_MEM_TEMPORAL | PMEM_F_MEM_WB)) != 0;
    if (!streams && (stores || size < streamed_from_bytes)) {
        persist::detail::this_thread.write_backs += lines;
    } else {
        persist::detail::this_thread.streamed_bytes += size;
    }
}

/// The fence of a copy that was made without.
void drain_after_copy(unsigned flags) noexcept {
    if ((flags & (PMEM_F_MEM_NODRAIN | PMEM_F_MEM_NOFLUSH)) == 0) pmem_drain();
}

}  // namespace

void set_libpmem_delay(std::uint32_t delay_ns) noexcept { path.delay_ns = delay_ns; }

}  // namespace holdfast::bench

namespace bench = holdfast::bench;
namespace persist = holdfast::persist;

extern "C" {

void pmem_flush(const void* begin, size_t size) {
    if (!bench::writes_back) return bench::libpmem.flush(begin, size);
    persist::write_back(bench::path, begin, size, persist::site::measure);
}

/// On memory without a DIMM's own buffers it is a flush.
void pmem_deep_flush(const void* begin, size_t size) { pmem_flush(begin, size); }

void pmem_drain(void) {
    if (!bench::writes_back) return bench::libpmem.drain();
    persist::fence(bench::path, persist::site::measure);
}

void pmem_persist(const void* begin, size_t size) {
    pmem_flush(begin, size);
    pmem_drain();
}

int pmem_msync(const void* begin, size_t size) {
    ++persist::detail::this_thread.syncs;
    return bench::libpmem.msync(begin, size);
}

void* pmem_memcpy(void* to, const void* from, size_t size, unsigned flags) {
    bench::count_copy(to, size, flags);
    bench::libpmem.memcpy(to, from, size, flags | PMEM_F_MEM_NODRAIN);
    bench::drain_after_copy(flags);
    return to;
}

void* pmem_memmove(void* to, const void* from, size_t size, unsigned flags) {
    bench::count_copy(to, size, flags);
    bench::libpmem.memmove(to, from, size, flags | PMEM_F_MEM_NODRAIN);
    bench::drain_after_copy(flags);
    return to;
}

void* pmem_memset(void* to, int byte, size_t size, unsigned flags) {
    bench::count_copy(to, size, flags);
    bench::libpmem.memset(to, byte, size, flags | PMEM_F_MEM_NODRAIN);
    bench::drain_after_copy(flags);
    return to;
}
}

// The offline check of a heap: all metadata, and the blocks against those who own them. Blocks come in address
// order and the owners are sorted, so one pass over both finds leaks, double and dangling owners.
#include <holdfast/heap/zone.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace holdfast {

using namespace heap_format;

namespace {

constexpr std::size_t problems_max = 16;

class auditor {
public:
    auditor(const std::byte* pool, std::span<const void* const> owned, bool check_owners)
        : check_owners_(check_owners) {
        if (!check_owners) return;
        owners_.reserve(owned.size());
        // Distances from the pool: one below it wraps to a number past every block.
        for (const void* each : owned)
            owners_.push_back(reinterpret_cast<std::uintptr_t>(each) - reinterpret_cast<std::uintptr_t>(pool));
        std::sort(owners_.begin(), owners_.end());
    }

    void block(std::uint64_t offset, std::uint64_t bytes) {
        audit.usage.allocated_bytes += bytes;
        ++audit.usage.allocated_blocks;
        if (!check_owners_) return;
        dangling_below(offset);
        std::size_t owners = 0;
        for (; next_ < owners_.size() && owners_[next_] == offset; ++next_) ++owners;
        if (owners == 0) {
            ++audit.leaked_blocks;
            note("the block of " + std::to_string(bytes) + " bytes at offset " + std::to_string(offset) +
                 " has no owner");
        } else if (owners > 1) {
            ++audit.double_owners;
            note("the block at offset " + std::to_string(offset) + " has " + std::to_string(owners) + " owners");
        }
    }
    void slab(std::uint64_t pages) noexcept { audit.usage.slab_pages += pages; }
    void large(std::uint64_t pages) noexcept { audit.usage.large_pages += pages; }
    void free(std::uint64_t pages) noexcept { audit.usage.free_pages += pages; }
    void bad(std::uint64_t offset, const char* what) {
        ++audit.bad_metadata;
        note(std::string(what) + " at offset " + std::to_string(offset));
    }
    void bad(const error& reason) {
        ++audit.bad_metadata;
        note(reason.text());
    }

    void finish() {
        dangling_below(~std::uint64_t{0});
        for (; next_ < owners_.size(); ++next_) dangling(owners_[next_]);
    }

    heap_audit audit;

private:
    void dangling_below(std::uint64_t offset) {
        for (; next_ < owners_.size() && owners_[next_] < offset; ++next_) dangling(owners_[next_]);
    }
    void dangling(std::uint64_t offset) {
        ++audit.dangling_owners;
        note("an owner names offset " + std::to_string(offset) + ", where no allocated block begins");
    }
    void note(std::string problem) {
        if (audit.problems.size() < problems_max) audit.problems.push_back(std::move(problem));
    }

    bool check_owners_;
    std::vector<std::uint64_t> owners_;
    std::size_t next_ = 0;
};

}  // namespace

heap_audit heap::audit(const std::byte* pool, std::span<const heap_zone> zones, std::span<const void* const> owned,
                       bool check_owners) {
    auditor checks(pool, owned, check_owners);
    if (auto fits = detail::check_places(zones); !fits) {
        checks.bad(fits.error());
        return checks.audit;
    }
    std::vector<heap_zone> sorted(zones.begin(), zones.end());
    std::sort(sorted.begin(), sorted.end(),
              [](const heap_zone& a, const heap_zone& b) { return a.offset < b.offset; });
    for (const heap_zone& each : sorted) {
        if (auto good = detail::check_header(pool, each); !good) {
            checks.bad(good.error());
            continue;
        }
        checks.audit.usage.capacity_bytes += data_pages_in(each.bytes) * page_bytes;
        detail::zone_walk(pool, each, checks).run();
    }
    checks.finish();
    return checks.audit;
}

}  // namespace holdfast

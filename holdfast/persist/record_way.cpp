// Measures both ways for records of several sizes.
//
//   1. Each round of a size and way has places of its own, a page from those of others: what one stored through the
//      cache a processor fetches more of, and the next would have to evict it. What is there is read and will be stored
//      again.
//   2. A lap over all places, unmeasured: lines are where a lap of the log leaves them, in a cache or, where a
//      write-back evicts, not.
//   3. A second lap, measured. The median of each size and way counts.
//   4. Records are streamed from the first size on at which that is not clearly dearer.
#include <holdfast/persist/record_way.hpp>

#include <holdfast/persist/counters.hpp>
#include <holdfast/persist/seam.hpp>
#include <holdfast/persist/sites.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <new>

namespace holdfast::persist {
namespace {

using clock = std::chrono::steady_clock;

#ifdef HOLDFAST_OBSERVED
constexpr bool measures = false;
#else
constexpr bool measures = true;
#endif

constexpr std::array<std::string_view, 3> names{"measured", "streamed", "written_back"};

constexpr std::array<std::uint32_t, 3> sizes{64, 256, 1024};
constexpr std::size_t rounds = 9;
constexpr std::size_t records_of_a_round = 24;
constexpr std::size_t gap_bytes = 4096;
/// Of the log, or there are not enough places.
constexpr std::size_t all_places =
    rounds * 2 * (records_of_a_round * (sizes[0] + sizes[1] + sizes[2]) + sizes.size() * gap_bytes);
/// Streaming keeps the log out of the cache: what is saved otherwise must be more than noise.
constexpr double clearly = 0.95;

class trial {
public:
    trial(std::byte* home, const std::byte* saved) : home_(home), saved_(saved) {}

    /// One lap over the places of all sizes and ways.
    void lap(line_path path) {
        at_ = 0;
        for (std::size_t round = 0; round < rounds; ++round)
            for (std::size_t size = 0; size < sizes.size(); ++size) {
                path.streamed_from_bytes = 0;
                streamed_ns_[size][round] = time_round(path, sizes[size]);
                path.streamed_from_bytes = never_streamed;
                written_back_ns_[size][round] = time_round(path, sizes[size]);
            }
    }
    std::uint32_t cheapest() {
        std::array<record_times, sizes.size()> medians;
        for (std::size_t size = 0; size < sizes.size(); ++size)
            medians[size] = {sizes[size], median(streamed_ns_[size]), median(written_back_ns_[size])};
        return streamed_from(medians);
    }

private:
    using times = std::array<double, rounds>;

    double time_round(const line_path& path, std::uint32_t size) {
        const auto begin = clock::now();
        for (std::size_t i = 0; i < records_of_a_round; ++i) {
            send(path, home_ + at_, saved_ + at_, size, site::measure);
            fence(path, site::measure);
            at_ += size;
        }
        const std::chrono::duration<double, std::nano> took = clock::now() - begin;
        at_ += gap_bytes;
        return took.count();
    }
    static double median(times& of) {
        std::nth_element(of.begin(), of.begin() + rounds / 2, of.end());
        return of[rounds / 2];
    }

    std::byte* home_;
    const std::byte* saved_;
    std::size_t at_ = 0;
    std::array<times, sizes.size()> streamed_ns_{};
    std::array<times, sizes.size()> written_back_ns_{};
};

std::uint32_t measure_streamed_from(line_path path, std::span<std::byte> scratch) noexcept {
    if (scratch.size() < all_places) return 0;
    const std::unique_ptr<std::byte[]> saved(new (std::nothrow) std::byte[all_places]);
    if (saved == nullptr) return 0;
    std::memcpy(saved.get(), scratch.data(), all_places);
    // An emulated delay is the same for both.
    path.delay_ns = 0;
    const counters before = detail::this_thread;
    trial both(scratch.data(), saved.get());
    both.lap(path);
    both.lap(path);
    detail::this_thread = before;
    return both.cheapest();
}

}  // namespace

std::string_view name_of(record_way way) noexcept { return names[static_cast<std::size_t>(way)]; }

std::optional<record_way> record_way_named(std::string_view name) noexcept {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) return std::nullopt;
    return static_cast<record_way>(found - names.begin());
}

std::uint32_t streamed_from(std::span<const record_times> measured) noexcept {
    for (const record_times& each : measured)
        if (each.written_back_ns > clearly * each.streamed_ns) return &each == measured.data() ? 0 : each.bytes;
    return never_streamed;
}

std::uint32_t choose_streamed_from(record_way wanted, const line_path& path, std::span<std::byte> scratch) noexcept {
    if (!path.write_back_needed || wanted == record_way::streamed) return 0;
    if (wanted == record_way::written_back) return never_streamed;
    return measures ? measure_streamed_from(path, scratch) : 0;
}

}  // namespace holdfast::persist

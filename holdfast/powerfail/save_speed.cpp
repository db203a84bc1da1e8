#include <holdfast/powerfail/save_speed.hpp>

#include <holdfast/persist/file.hpp>
#include <holdfast/persist/seam.hpp>
#include <holdfast/powerfail/sites.hpp>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <vector>

namespace holdfast::powerfail {
namespace {

namespace site = persist::site;
using clock = std::chrono::steady_clock;

constexpr int repetitions = 5;
constexpr std::uint64_t copied_bytes = 512 << 10;
constexpr std::uint64_t walked_bytes = 16 << 20;
constexpr std::uint64_t touched_step = 4096;
constexpr std::uint64_t synced_bytes_at_most = 4 << 20;
constexpr int syncs = 3;

template <class F>
double ns_of(F&& f) {
    const auto begin = clock::now();
    f();
    return std::chrono::duration<double, std::nano>(clock::now() - begin).count();
}

/// The slowest of some, but one: somebody else may have had the processor.
template <class F>
double cautious_ns_of(F&& f) {
    double all[repetitions];
    for (double& each : all) each = ns_of(f);
    std::ranges::sort(all);
    return all[repetitions - 2];
}

/// "32K", "16M"; 0 where there is no such file.
std::uint64_t size_in(const std::string& path) {
    std::uint64_t size = 0;
    char unit = 0;
    std::ifstream(path) >> size >> unit;
    return unit == 'K' ? size << 10 : unit == 'M' ? size << 20 : size;
}

/// All data caches of all processors, each once; 0: the kernel does not say.
std::uint64_t cache_bytes() {
    std::uint64_t sum = 0;
    for (unsigned processor = 0;; ++processor) {
        const std::string caches = "/sys/devices/system/cpu/cpu" + std::to_string(processor) + "/cache/index";
        unsigned index = 0;
        for (; index < 8; ++index) {
            const std::string cache = caches + std::to_string(index);
            std::string type;
            if (!(std::ifstream(cache + "/type") >> type)) break;
            unsigned first = ~0u;
            std::ifstream(cache + "/shared_cpu_list") >> first;
            if (type != "Instruction" && first == processor) sum += size_in(cache + "/size");
        }
        if (index == 0) return sum;
    }
}

/// Makes the lines dirty and leaves what they hold.
void store_again(std::byte* begin, std::uint64_t bytes) noexcept {
    for (std::uint64_t at = 0; at < bytes; at += persist::line_bytes)
        __atomic_fetch_or(reinterpret_cast<std::uint64_t*>(begin + at), 0, __ATOMIC_RELAXED);
}

void touch(const std::byte* begin, std::uint64_t bytes) noexcept {
    for (std::uint64_t at = 0; at < bytes; at += touched_step)
        static_cast<void>(__atomic_load_n(reinterpret_cast<const std::uint64_t*>(begin + at), __ATOMIC_RELAXED));
}

}  // namespace

save_speed::save_speed() {
    std::vector<std::byte> from(copied_bytes, std::byte{1}), to(copied_bytes);
    const auto copy = [&] { persist::copy(to.data(), from.data(), copied_bytes, site::measured_save); };
    copy_ns_per_byte_ = cautious_ns_of(copy) / copied_bytes;
    const std::uint64_t bytes = cache_bytes();
    cached_lines_ = bytes == 0 ? ~std::uint64_t{0} : bytes / persist::line_bytes;
}

save_cost save_speed::measure(std::byte* pool, std::uint64_t pool_bytes, std::uint64_t log_offset,
                              std::uint64_t log_bytes, const std::byte* shadow_log,
                              const persist::line_path& lines) const {
    persist::line_path undelayed = lines;
    undelayed.delay_ns = 0;
    touch(pool, pool_bytes);
    touch(shadow_log, log_bytes);
    std::byte* const log = pool + log_offset;
    store_again(log, log_bytes);
    const auto write_back = [&](const std::byte* begin, std::uint64_t bytes) {
        persist::write_back(undelayed, begin, bytes, site::measured_save);
        persist::fence(undelayed, site::measured_save);
    };
    double all[repetitions];
    for (double& each : all) {
        store_again(log, log_bytes);
        each = ns_of([&] { write_back(log, log_bytes); });
    }
    std::ranges::sort(all);
    const double dirty_ns = all[repetitions - 2] / static_cast<double>(log_bytes / persist::line_bytes);
    const std::uint64_t walked = std::min(pool_bytes, walked_bytes);
    const double clean_ns = cautious_ns_of([&] { write_back(pool, walked); }) /
                            static_cast<double>(walked / persist::line_bytes);
    const std::uint64_t in_all = pool_bytes / persist::line_bytes;
    const auto dirty = static_cast<double>(std::min(in_all, cached_lines_));
    save_cost cost;
    cost.copy_ns = copy_ns_per_byte_ * static_cast<double>(log_bytes);
    cost.write_back_ns = clean_ns * static_cast<double>(in_all) + std::max(dirty_ns - clean_ns, 0.0) * dirty +
                         static_cast<double>(lines.delay_ns) * static_cast<double>(in_all);
    return cost;
}

result<double> save_speed::measure_sync(const std::string& directory, std::uint64_t bytes) {
    auto scratch = persist::file::create_unnamed(directory);
    if (!scratch) return scratch.error();
    const std::vector<std::byte> content(std::min(bytes, synced_bytes_at_most), std::byte{1});
    double slowest_ns = 0;
    for (int i = 0; i < syncs; ++i) {
        if (auto written = scratch->write_at(0, content.data(), content.size(), site::measured_save); !written)
            return written.error();
        result<void> synced;
        slowest_ns = std::max(slowest_ns, ns_of([&] { synced = scratch->sync(site::measured_save); }));
        if (!synced) return synced.error();
    }
    return slowest_ns * static_cast<double>(bytes) / static_cast<double>(content.size());
}

}  // namespace holdfast::powerfail

// The caches against Valgrind's cachegrind: one native program, traced by lackey and fed in program order.
//
// Cachegrind counts misses, no write-backs, and an access that touches two lines as one; its last level sees what
// either L1 misses. Its caches do not know each other, ours are inclusive and coherent: that, and accesses over the end
// of a line, is what is left between the two.
#include <sim/cache/hierarchy.hpp>
#include <sim/memory/memory_system.hpp>

#include <gtest/gtest.h>

#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace holdfast::sim {

namespace {

struct misses {
    std::uint64_t references = 0, d1 = 0, last_level = 0;
};

/// Both tools have to see the same addresses: nothing may differ in the environment, which lies on the stack.
std::string valgrind(const std::string& options) {
    return "env -i PATH=/usr/bin:/bin valgrind " + options + " " HOLDFAST_TRACED_PROGRAM;
}

std::string geometry(const cache_config& level) {
    return std::to_string(level.bytes) + "," + std::to_string(level.ways) + ",64";
}

std::optional<misses> cachegrind(const hierarchy_config& config) {
    const auto file = std::filesystem::temp_directory_path() / ("holdfast_cachegrind_" + std::to_string(getpid()));
    const std::string command =
        valgrind("--tool=cachegrind --cache-sim=yes --cachegrind-out-file=" + file.string() +
                 " --I1=" + geometry(config.il1) + " --D1=" + geometry(config.dl1) + " --LL=" + geometry(config.l2)) +
        " >/dev/null 2>&1";
    if (std::system(command.c_str()) != 0) return std::nullopt;
    std::ifstream input(file);
    std::optional<misses> found;
    for (std::string line; std::getline(input, line);) {
        if (!line.starts_with("summary:")) continue;
        // Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw
        std::istringstream words(line.substr(8));
        std::array<std::uint64_t, 9> count{};
        for (std::uint64_t& each : count) words >> each;
        found = misses{count[3] + count[6], count[4] + count[7], count[2] + count[5] + count[8]};
    }
    std::filesystem::remove(file);
    return found;
}

class trace_player {
public:
    explicit trace_player(const hierarchy_config& config) : caches_(config, memory_, attached_) {}

    void play(char kind, std::uint64_t at, std::uint64_t size) {
        now_ += ns(1);
        // One access of cachegrind's, however many lines it touches.
        const std::uint64_t d1_before = d1_misses(), last_level_before = last_level_misses();
        const address where{at}, end{at + size};
        for (address line = where.line(); line < end; line = line + line_bytes) touch(kind, line);
        if (kind != 'I') ++counted_.references;
        if (d1_misses() != d1_before) ++counted_.d1;
        if (last_level_misses() != last_level_before) ++counted_.last_level;
    }

    const misses& result() const { return counted_; }

private:
    std::uint64_t d1_misses() const { return caches_.counters(0).data.misses(); }
    std::uint64_t last_level_misses() const { return caches_.l2_counters().read_misses; }

    void touch(char kind, address line) {
        if (kind == 'I') caches_.fetch(0, line, now_);
        if (kind == 'L' || kind == 'M') caches_.load(0, line, 8, now_);
        if (kind == 'S' || kind == 'M') {
            caches_.store({}, line, std::array<std::byte, 8>{}, now_);
        }
    }

    port::ports attached_;
    memory_system memory_{memory_config{}, attached_};
    hierarchy caches_;
    time now_{};
    misses counted_{};
};

/// Plays one trace to all of them.
bool play_trace(std::span<trace_player> players) {
    const std::string command = valgrind("--tool=lackey --trace-mem=yes --log-fd=9") + " 9>&1 >/dev/null 2>/dev/null";
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> trace(popen(command.c_str(), "r"), pclose);
    if (!trace) return false;
    std::array<char, 256> line;
    while (std::fgets(line.data(), line.size(), trace.get())) {
        // "I  04001d20,3", " S 1ffefff8a0,8"; what lackey itself says begins with "==".
        const char kind = line[0] == 'I' ? 'I' : line[1];
        if (line[0] != 'I' && line[0] != ' ') continue;
        char* comma = nullptr;
        const std::uint64_t at = std::strtoull(line.data() + 3, &comma, 16);
        if (*comma != ',') continue;
        const std::uint64_t size = std::strtoull(comma + 1, nullptr, 10);
        for (trace_player& player : players) player.play(kind, at, size);
    }
    return true;
}

double difference(std::uint64_t ours, std::uint64_t theirs) {
    return std::abs(static_cast<double>(ours) - static_cast<double>(theirs)) / static_cast<double>(theirs);
}

void compare(const misses& ours, const misses& theirs) {
    const auto print = [](const char* what, std::uint64_t mine, std::uint64_t other) {
        std::printf("%s: %" PRIu64 ", cachegrind %" PRIu64 ", %.3f %% apart\n", what, mine, other,
                    100 * difference(mine, other));
    };
    print("data references", ours.references, theirs.references);
    print("D1 misses", ours.d1, theirs.d1);
    print("last-level misses", ours.last_level, theirs.last_level);
    EXPECT_EQ(ours.references, theirs.references);
    EXPECT_LT(difference(ours.d1, theirs.d1), 0.005);
    EXPECT_LT(difference(ours.last_level, theirs.last_level), 0.005);
    EXPECT_GT(theirs.last_level, 10'000u);
}

TEST(Cachegrind, CountsTheSameMissesAlsoWhenTheProgramFillsTheLastLevelManyTimes) {
    if (std::system("valgrind --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "valgrind is not installed";
    std::array<hierarchy_config, 2> configs;
    configs[1].l2.bytes = 1024 * 1024;
    configs[1].l2.ways = 8;
    std::array<trace_player, 2> players{trace_player(configs[0]), trace_player(configs[1])};
    ASSERT_TRUE(play_trace(players)) << "lackey did not run";
    for (std::size_t each = 0; each < configs.size(); ++each) {
        const auto theirs = cachegrind(configs[each]);
        ASSERT_TRUE(theirs) << "cachegrind did not run";
        compare(players[each].result(), *theirs);
    }
}

}  // namespace
}  // namespace holdfast::sim

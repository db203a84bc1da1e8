// A program with the installed key-value cache: each of its lives finds what the one before it stored.
#include <cache/pool_cache.hpp>

#include <cstdio>

int main() {
    const std::uint64_t now_s = 1'700'000'000;
    holdfast::pool_cache_options options;
    options.cache.limit_bytes = 1 << 20;
    auto opened = holdfast::pool_cache::open_or_create("cached", options);
    if (!opened) {
        std::puts(opened.error().text().c_str());
        return 1;
    }
    const auto added = opened->add("lives", {"0"}, now_s);
    const auto lives = opened->increment("lives", 1, now_s);
    if (!added || !lives || !opened->close()) return 1;
    std::printf("life %d\n", static_cast<int>(lives->number));
    return 0;
}

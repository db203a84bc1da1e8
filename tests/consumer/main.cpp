// What a program outside this repository does with an installed Holdfast. Both ways of finding the
// library build this file, and the test runs it in an empty directory.
#include <holdfast/holdfast.hpp>

#include <cstdio>
#include <string_view>

using store = holdfast::redo;

int main() {
    holdfast::create_options options;
    options.bytes = 1 << 20;
    options.durability = holdfast::level::process;
    for (int opening = 0; opening < 2; ++opening) {
        auto pool = store::pool::open_or_create("consumer.pool", options);
        if (!pool) return std::puts(pool.error().text().c_str()), 1;
        auto words = pool->root<holdfast::hash_map<int, holdfast::string<store>, store>>("words");
        if (!words) return std::puts(words.error().text().c_str()), 1;
        const bool there = (*words)->contains(7);
        if (there != (opening == 1)) return std::puts("wrong"), 1;
        if (!there) (*words)->insert_or_assign(7, std::string_view("seven"));
        if (!pool->close()) return 1;
    }
    std::puts("right");
    return 0;
}

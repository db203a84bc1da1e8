// What is explored of cc_htm besides containers: the order of commits, over both algorithms and with aliases in each
// place.
#include <crash/subjects/prefix_subject.hpp>
#include <crash/subjects/prefix_subjects.hpp>

#include <holdfast/engine/cc_htm_sets.hpp>
#include <holdfast/engine/cc_htm_table.hpp>

#include <memory>
#include <string>

namespace holdfast::crash {
namespace {

template <class Engine, unsigned Threads>
void add(std::vector<std::unique_ptr<subject>>& all, const std::string& suffix, const lag_options& how = {}) {
    const std::string name =
        "prefix_" + std::string(Engine::description.isolation) + (Threads == 2 ? "" : "_" + std::to_string(Threads));
    lag_options lagging = how;
    lagging.commits = 2;
    all.push_back(std::make_unique<prefix_subject<Engine, Threads>>(name + suffix, level::power, how));
    all.push_back(std::make_unique<prefix_subject<Engine, Threads>>(name + suffix + "_lag", level::lag, lagging));
}

}  // namespace

void add_prefix_subjects(std::vector<std::unique_ptr<subject>>& all) {
    add<cc_htm, 2>(all, "");
    add<cc_htm_versioned, 2>(all, "");
    add<cc_htm, 3>(all, "");
    add<cc_htm_versioned, 3>(all, "");
    add<cc_htm_table, 2>(all, "_table", {.table_words = 2});
    add<cc_htm_versioned_table, 2>(all, "_table", {.table_words = 2});
    // Two words are more than a table holds.
    add<cc_htm_versioned_table, 2>(all, "_small_table", {.table_words = 1});
    // Two sets of one entry: some transactions find none, and some have two words of one set.
    add<cc_htm_sets, 2>(all, "_sets", {.set_bytes = 64, .set_ways = 1});
    add<cc_htm_versioned_sets, 2>(all, "_sets", {.set_bytes = 64, .set_ways = 1});
}

}  // namespace holdfast::crash

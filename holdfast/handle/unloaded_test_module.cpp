// What unloaded_test.cpp loads and unloads: an engine that the program does not instantiate itself, and a user of the
// program's pool.
#include <holdfast/engine/redo.hpp>
#include <holdfast/engine/softwrap.hpp>
#include <holdfast/handle/pool.hpp>
#include <holdfast/handle/wrap.hpp>

#include <cstdint>
#include <optional>
#include <string>

using namespace holdfast;

namespace {

create_options options_at(std::uint64_t base) {
    create_options options;
    options.tmpfs_is_nvram = true;
    options.bytes = 512 << 10;
    options.log_bytes = 64 << 10;
    options.reserved_bytes = std::uint64_t{1} << 28;
    options.base = base;
    return options;
}

/// Never closed but by its destructor, which runs when the module is unloaded or the process ends.
std::optional<softwrap::pool> never_closed;

}  // namespace

extern "C" {

/// Counts the root "count" of the program's pool up.
bool use_pool_of_program(void* pool) {
    auto& theirs = *static_cast<redo::pool*>(pool);
    auto count = theirs.root<redo::field<std::int64_t>>("count");
    return count && theirs.atomically([&] { **count += 1; });
}

/// Opens a pool of the module's own and changes it by a transaction and a wrap.
bool use_pool_of_module(const char* path, std::uint64_t base, bool closes) {
    auto made = softwrap::pool::create(path, options_at(base));
    if (!made) return false;
    auto data = made->root<softwrap::field<std::int64_t>>("data");
    if (!data || !made->atomically([&] { **data = 1; })) return false;
    {
        wrap<softwrap> id(*made);
        const std::int64_t value = 2;
        id.store(*data, &value, sizeof value);
        if (!id.close()) return false;
    }
    if (closes) return made->close().has_value();
    never_closed.emplace(std::move(*made));
    return true;
}

/// Opens a pool that nothing ever closes.
bool leak_pool_of_module(const char* path, std::uint64_t base) {
    auto made = softwrap::pool::create(path, options_at(base));
    if (!made) return false;
    auto* const leaked = new softwrap::pool(std::move(*made));
    auto data = leaked->root<softwrap::field<std::int64_t>>("data");
    return data && leaked->atomically([&] { **data = 1; });
}

}  // extern "C"

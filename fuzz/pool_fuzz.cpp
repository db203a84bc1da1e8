// libFuzzer's target: opening, recovering, checking and repairing pools that were sound before they were edited.
// Nothing crashes, nothing hangs, and of a pool that the check calls sound everything can be read and changed.
#include "edits.hpp"

#include <holdfast/container/corruption_pool_test.hpp>
#include <holdfast/engine/redo.hpp>
#include <holdfast/engine/undo.hpp>
#include <holdfast/handle/repair.hpp>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace holdfast::fuzz {
namespace {

using test::check_corruption_objects;
using test::corruption_objects;

const std::string& path() {
    static const std::string name = "/dev/shm/holdfast-fuzz-" + std::to_string(::getpid());
    return name;
}

void remove_files() {
    std::error_code ignored;
    for (const char* end : {"", ".before-repair"}) std::filesystem::remove(path() + end, ignored);
}

create_options options_at(level durability) {
    create_options options;
    options.durability = durability;
    options.tmpfs_is_nvram = true;
    options.bytes = 256 << 10;
    options.log_bytes = 64 << 10;
    // A sanitizer marks every byte of a range that is mapped.
    options.reserved_bytes = options.bytes;
    options.base = 0x300000000000;
    return options;
}

/// A sound pool in a state of its life: closed, or let go with records in its log, in a transaction if undo.
template <class Engine>
std::vector<std::byte> make_seed(level durability, bool closed) {
    remove_files();
    auto pool = basic_pool<Engine>::create(path(), options_at(durability)).value();
    auto objects = corruption_objects<Engine>::objects_in(pool).value();
    std::uint64_t n = 0;
    for (; n < 60; ++n) pool.atomically([&] { objects.change(n); }).value();
    pool.checkpoint().value();
    for (; n < 90; ++n) pool.atomically([&] { objects.change(n); }).value();
    std::vector<std::byte> bytes;
    if (!closed) bytes.assign(pool.core().base(), pool.core().base() + pool.core().size());
    if (!closed && !Engine::description.logs_new_values) {
        const auto left = pool.atomically([&] {
            for (; n < 110; ++n) objects.change(n);
            bytes.assign(pool.core().base(), pool.core().base() + pool.core().size());
            fail(errc::aborted, "the open transaction was copied");
        });
        if (left) std::abort();
    }
    if (!closed) return pool.abandon(), bytes;
    pool.close().value();
    return test::read_file(path());
}

void write(const std::vector<std::byte>& bytes) {
    std::FILE* file = std::fopen(path().c_str(), "w");
    if (file == nullptr || std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size()) std::abort();
    std::fclose(file);
}

/// What is called sound can be used.
template <class Engine>
void use(level durability) {
    const auto checked = check_pool(path(), check_corruption_objects<Engine>);
    auto options = options_at(durability);
    options.accept_not_durable = true;
    auto pool = basic_pool<Engine>::open(path(), options);
    if (!pool || !checked || !checked->sound()) return;
    auto objects = corruption_objects<Engine>::objects_in(*pool);
    if (!objects) return;
    const std::string before = objects->contents();
    for (std::uint64_t n = 200; n < 204; ++n) static_cast<void>(pool->atomically([&] { objects->change(n); }));
    static_cast<void>(objects->contents());
    static_cast<void>(pool->close());
}

template <class Engine>
void try_one(const std::vector<std::byte>& bytes, level durability, bool repair) {
    write(bytes);
    if (repair) {
        const auto report = repair_pool(path(), check_corruption_objects<Engine>);
        // A repair may fail to save; it must not say that it saved what the check then calls damaged.
        if (report && report->all_saved()) {
            const auto checked = check_pool(path(), check_corruption_objects<Engine>);
            if (!checked || !checked->sound()) std::abort();
        }
    }
    use<Engine>(durability);
    remove_files();
}

}  // namespace
}  // namespace holdfast::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace holdfast;
    static const std::vector<std::byte> seeds[] = {
        fuzz::make_seed<redo>(level::power, false), fuzz::make_seed<undo>(level::power, false),
        fuzz::make_seed<redo>(level::power, true),  fuzz::make_seed<redo>(level::process, false),
        fuzz::make_seed<undo>(level::process, false)};
    fuzz::input from({data, size});
    const std::uint8_t how = from.byte();
    const std::size_t seed = how % std::size(seeds);
    const level durability = seed < 3 ? level::power : level::process;
    const bool repair = (how & 0x80) != 0;
    auto bytes = seeds[seed];
    fuzz::edit(bytes, from);
    if (seed == 1 || seed == 4) {
        fuzz::try_one<undo>(bytes, durability, repair);
    } else {
        fuzz::try_one<redo>(bytes, durability, repair);
    }
    return 0;
}

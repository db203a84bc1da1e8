// libFuzzer's target: opening, recovering, checking and repairing pools that were sound before they were edited.
// Nothing crashes, nothing hangs, and of a pool that the check calls sound everything can be read and changed.
#include "edits.hpp"

#include <holdfast/container/corruption_pool_test.hpp>
#include <holdfast/engine/redo.hpp>
#include <holdfast/engine/softwrap.hpp>
#include <holdfast/engine/softwrap_lat.hpp>
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

/// Where a pool stands and what it promises.
struct place {
    level durability = level::power;
    bool on_file = false;  ///< in the current directory; else on tmpfs that stands for NVRAM

    std::string path() const {
        return (on_file ? "./holdfast-fuzz-" : "/dev/shm/holdfast-fuzz-") + std::to_string(::getpid());
    }
    void remove_files() const {
        std::error_code ignored;
        for (const char* end : {"", ".before-repair"}) std::filesystem::remove(path() + end, ignored);
    }
};

create_options options_at(const place& where) {
    create_options options;
    options.durability = where.durability;
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
std::vector<std::byte> make_seed(const place& where, bool closed) {
    where.remove_files();
    auto pool = basic_pool<Engine>::create(where.path(), options_at(where)).value();
    auto objects = corruption_objects<Engine>::objects_in(pool).value();
    std::uint64_t n = 0;
    for (; n < 60; ++n) pool.atomically([&] { objects.change(n); }).value();
    pool.checkpoint().value();
    for (; n < 90; ++n) pool.atomically([&] { objects.change(n); }).value();
    // What a file holds, its log among it, is not what is mapped where homes are private.
    const auto copy = [&] {
        if (where.on_file) return test::read_file(where.path());
        return std::vector<std::byte>(pool.core().base(), pool.core().base() + pool.core().size());
    };
    std::vector<std::byte> bytes;
    if (!closed) bytes = copy();
    if (!closed && !Engine::description.logs_new_values) {
        const auto left = pool.atomically([&] {
            for (; n < 110; ++n) objects.change(n);
            bytes = copy();
            fail(errc::aborted, "the open transaction was copied");
        });
        if (left) std::abort();
    }
    if (!closed) return pool.abandon(), bytes;
    pool.close().value();
    return test::read_file(where.path());
}

void write(const place& where, const std::vector<std::byte>& bytes) {
    std::FILE* file = std::fopen(where.path().c_str(), "w");
    if (file == nullptr || std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size()) std::abort();
    std::fclose(file);
}

/// What is called sound can be used, and what is acknowledged is there when it is opened again.
template <class Engine>
void use(const place& where) {
    const auto checked = check_pool(where.path(), check_corruption_objects<Engine>);
    auto options = options_at(where);
    options.accept_not_durable = true;
    std::string after;
    {
        auto pool = basic_pool<Engine>::open(where.path(), options);
        if (!pool || !checked || !checked->sound()) return;
        auto objects = corruption_objects<Engine>::objects_in(*pool);
        if (!objects) return;
        for (std::uint64_t n = 200; n < 204; ++n) static_cast<void>(pool->atomically([&] { objects->change(n); }));
        after = objects->contents();
        if (!pool->close()) return;
    }
    auto again = basic_pool<Engine>::open(where.path(), options);
    if (!again) std::abort();
    auto objects = corruption_objects<Engine>::objects_in(*again);
    if (!objects || objects->contents() != after) std::abort();
}

template <class Engine>
void try_one(const place& where, const std::vector<std::byte>& bytes, bool repair) {
    write(where, bytes);
    if (repair) {
        const auto report = repair_pool(where.path(), check_corruption_objects<Engine>);
        // A repair may fail to save; it must not say that it saved what the check then calls damaged.
        if (report && report->all_saved()) {
            const auto checked = check_pool(where.path(), check_corruption_objects<Engine>);
            if (!checked || !checked->sound()) std::abort();
        }
    }
    use<Engine>(where);
    where.remove_files();
}

/// A pool to begin from, and what is done with its edited bytes.
struct seed {
    place where;
    std::vector<std::byte> bytes;
    void (*try_bytes)(const place& where, const std::vector<std::byte>& bytes, bool repair);
};

template <class Engine>
seed seed_of(const place& where, bool closed = false) {
    return {where, make_seed<Engine>(where, closed), try_one<Engine>};
}

}  // namespace
}  // namespace holdfast::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace holdfast;
    constexpr fuzz::place nvram{level::power, false}, killed{level::process, false}, file{level::power, true};
    static const fuzz::seed seeds[] = {
        fuzz::seed_of<redo>(nvram),  fuzz::seed_of<undo>(nvram),     fuzz::seed_of<redo>(nvram, true),
        fuzz::seed_of<redo>(killed), fuzz::seed_of<undo>(killed),    fuzz::seed_of<softwrap_lat>(nvram),
        fuzz::seed_of<redo>(file),   fuzz::seed_of<softwrap>(nvram), fuzz::seed_of<softwrap>(file)};
    fuzz::input from({data, size});
    const std::uint8_t how = from.byte();
    const fuzz::seed& chosen = seeds[(how & 0x7F) % std::size(seeds)];
    auto bytes = chosen.bytes;
    fuzz::edit(bytes, from);
    chosen.try_bytes(chosen.where, bytes, (how & 0x80) != 0);
    return 0;
}

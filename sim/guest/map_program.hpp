// What the programs for maps have in common: look a key up; insert it if it is absent, remove it if it is there.
//
// The map is divided into shards with a lock each, chosen by the key. Each thread has keys of its own, so that what is
// in the map at the end does not depend on the order of the threads, and the check can do the operations over again.
#pragma once

#include <sim/guest/choose_access.hpp>
#include <sim/guest/element.hpp>
#include <sim/guest/heap.hpp>
#include <sim/guest/keys.hpp>
#include <sim/guest/parameters.hpp>

namespace holdfast::guest {

/// Structure says which map it is: its root, its map<Access>, how to create a shard, bytes_per_entry, name. The
/// operations that are measured go through `Access`, what comes before and behind them through a plain one.
template <class Structure, class Element, class Access>
class map_program {
public:
    map_program(const parameters& given, std::uint64_t entries) noexcept
        : given_(given), entries_(entries / given.threads * given.threads),
          arena_(arena::create(room_for(entries, given.threads), given.threads)),
          tops_(static_cast<top*>(arena_.root())),
          locks_(static_cast<lock*>(allocate_volatile(given.shards * sizeof(lock)))), all_there_(given.threads) {}

    int run() noexcept {
        auto work = [this](std::uint32_t thread) { work_as(thread); };
        run_threads(given_.threads, work);
        return verify();
    }

private:
    using root = typename Structure::root;
    template <class By>
    using map = typename Structure::template map<By>;

    /// Of a shard, alone on its line. Its lock is volatile: a crash must not leave it held.
    struct alignas(64) top {
        root of_map;
    };
    static_assert(sizeof(top) * parameters::most_shards <= arena::root_bytes);

    /// Of one thread's part of the arena: chance may give it more entries, and every size of block has a slab.
    static std::uint64_t room_for(std::uint64_t entries, std::uint32_t threads) noexcept {
        return (entries * (Structure::bytes_per_entry + Element::bytes) * 2) / threads + (4u << 20);
    }

    /// Twice as many keys as entries: half of them are in the map.
    std::uint64_t keys_of_thread() const noexcept { return 2 * entries_ / given_.threads; }
    std::int64_t key(std::uint32_t thread, std::uint64_t i) const noexcept {
        return workload::scattered_key(i * given_.threads + thread);
    }
    /// By the upper end of the key: keys are spread over all 64-bit numbers.
    std::uint64_t shard_of(std::int64_t key) const noexcept {
        return static_cast<std::uint64_t>(
            (static_cast<unsigned __int128>(static_cast<std::uint64_t>(key)) * given_.shards) >> 64);
    }
    key_numbers numbers_of(std::uint32_t thread) const noexcept {
        return key_numbers(given_.seed * most_threads + thread, keys_of_thread());
    }
    std::uint64_t operations_of(std::uint32_t thread) const noexcept {
        return given_.operations / given_.threads + (thread < given_.operations % given_.threads ? 1 : 0);
    }

    void work_as(std::uint32_t thread) noexcept {
        const guest_access memory(arena_, thread);
        for (std::uint64_t i = thread; i < given_.shards; i += given_.threads) {
            Structure::create(map<guest_access>(memory, &tops_[i].of_map), entries_ / given_.shards + 1);
        }
        all_there_.arrive_and_wait();
        for (std::uint64_t i = 0; i < keys_of_thread(); i += 2) insert(memory, key(thread, i));
        all_there_.arrive_and_wait();
        const Access logged(arena_, thread);
        if (thread == 0) begin_region_of_interest();
        key_numbers numbers = numbers_of(thread);
        const std::uint64_t operations = operations_of(thread);
        const std::uint64_t keys = keys_of_thread();
        for (std::uint64_t i = 0; i < operations; ++i) toggle(logged, key(thread, numbers.below(keys)));
        all_there_.arrive_and_wait();
        if (thread == 0) end_region_of_interest();
    }

    void insert(const guest_access& memory, std::int64_t key) noexcept {
        const std::uint64_t at = shard_of(key);
        memory.atomically(locks_[at], [&] {
            map<guest_access>(memory, &tops_[at].of_map).insert(key, Element::make(memory, key));
        });
    }

    /// One operation.
    void toggle(const Access& memory, std::int64_t key) noexcept {
        const std::uint64_t at = shard_of(key);
        memory.atomically(locks_[at], [&] {
            const map<Access> entries(memory, &tops_[at].of_map);
            std::int64_t value = 0;
            if (entries.get(key, value)) {
                Element::drop(memory, value);
                entries.remove(key);
            } else {
                entries.insert(key, Element::make(memory, key));
            }
        });
    }

    /// Does the operations again, on a bit for each key, and compares.
    int verify() noexcept {
        std::uint64_t count = 0;
        std::uint64_t sum = 0;
        for (std::uint32_t thread = 0; thread < given_.threads; ++thread) {
            if (!verify_keys(thread, count, sum)) return failed("a key is there that should not be, or is missing");
        }
        std::uint64_t found = 0;
        for (std::uint64_t i = 0; i < given_.shards; ++i) {
            const auto report = map<guest_access>(guest_access(arena_, 0), &tops_[i].of_map).check();
            if (!report.ok()) return failed(report.problem);
            found += report.count;
        }
        if (found != count) return failed("more entries than keys");
        line said;
        said.add(Structure::name).add(" verified: ").add_decimal(count).add(" entries, checksum ").add_hexadecimal(sum);
        if (given_.prints_image) said.add(", image ").add_hexadecimal(arena_.image_checksum());
        said.write();
        return 0;
    }

    bool verify_keys(std::uint32_t thread, std::uint64_t& count, std::uint64_t& sum) noexcept {
        const std::uint64_t keys = keys_of_thread();
        auto* const present = static_cast<unsigned char*>(allocate_volatile(keys));
        for (std::uint64_t i = 0; i < keys; i += 2) present[i] = 1;
        key_numbers numbers = numbers_of(thread);
        for (std::uint64_t i = operations_of(thread); i > 0; --i) present[numbers.below(keys)] ^= 1;
        for (std::uint64_t i = 0; i < keys; ++i) {
            const std::int64_t each = key(thread, i);
            std::int64_t value = 0;
            const map<guest_access> entries(guest_access(arena_, 0), &tops_[shard_of(each)].of_map);
            if (entries.get(each, value) != (present[i] != 0)) return false;
            if (present[i] == 0) continue;
            ++count;
            std::uint64_t mixed = static_cast<std::uint64_t>(each) ^ Element::content(value);
            sum += workload::splitmix(mixed);
        }
        return true;
    }

    static int failed(const char* problem) noexcept {
        write_line("failed: ", problem);
        return 1;
    }

    parameters given_;
    std::uint64_t entries_;
    arena& arena_;
    top* tops_;
    lock* locks_;  // all zero is free
    barrier all_there_;
};

template <class Structure>
int run_map_program(int count, char** arguments) noexcept {
    const parameters given = read_parameters(count, arguments);
    return with_access(given.logging, [&]<class Access>() {
        if (given.element == element_kind::string) {
            const std::uint64_t entry = Structure::bytes_per_entry + string_element::bytes;
            return map_program<Structure, string_element, Access>(given, given.footprint_bytes / entry).run();
        }
        const std::uint64_t entries = given.footprint_bytes / Structure::bytes_per_entry;
        return map_program<Structure, integer_element, Access>(given, entries).run();
    });
}

}  // namespace holdfast::guest

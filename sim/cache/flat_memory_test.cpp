// Whatever the caches, queues and ports do with time, a program sees a flat memory.
#include <sim/cache/hierarchy.hpp>
#include <sim/cache/tag_walker.hpp>
#include <sim/memory/memory_system.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

namespace holdfast::sim {

namespace {

/// Small enough that every line is evicted, recalled and queued soon.
hierarchy_config small_caches() {
    hierarchy_config config;
    config.il1 = config.dl1 = {4 * 64 * 2, 2, ps(1600), ps(400)};
    config.l2 = {16 * 64 * 4, 4, ps(4400), ps(4400)};
    return config;
}

memory_config small_memory(drain_policy drain, persist_point persist) {
    memory_config config;
    config.controller.write_entries = 8;
    config.controller.high_mark = 6;
    config.controller.low_mark = 2;
    config.controller.combining_entries = 2;
    config.controller.log_entries = 3;
    config.controller.drain = drain;
    config.controller.persist = persist;
    return config;
}

/// Holds every third write-back at the controller until it is pressed, and the others for a while.
class holding_port : public port::write_back {
public:
    port::permission leave(const port::write_back_event& event) override {
        ++events_;
        if (event.from == port::level::controller) return {event.at + ns(events_ % 7), events_ % 3 == 0};
        return {event.at + ns(events_ % 5), false};
    }
    time press(address, time at) override { return at + ns(3); }

private:
    std::uint64_t events_ = 0;
};

enum class step : std::uint8_t { load, store, add, fetch, stream, write_back, fence, walk_data, walk_l2, settle };

class flat_memory_run {
public:
    flat_memory_run(drain_policy drain, persist_point persist, bool hold)
        : memory_(small_memory(drain, persist), attached_), caches_(small_caches(), memory_, attached_) {
        if (hold) attached_.on_write_back = &holding_;
    }

    void go(step what, std::uint32_t core, std::uint64_t at, std::uint64_t value, std::uint32_t size_bits) {
        const std::uint32_t size = 1u << size_bits;
        const store_source who{core, hart_id{core}, transaction_id{1}};
        // Lines in DRAM and in NVRAM; unaligned ones cross from one to the next.
        address where{at % (96 * 64)};
        if (at & 1u << 20) where.value += memory_.map().nvram_begin.value;
        now_ += ns(value % 40);
        // Harts run ahead of each other and loads of their stores.
        const time when = now_ + ns(core * 13 + at % 29);
        std::array<std::byte, 8> bytes;
        std::memcpy(bytes.data(), &value, 8);
        const std::span<const std::byte> piece = std::span<const std::byte>(bytes).first(size);
        switch (what) {
        case step::load: RC_ASSERT(caches_.load(core, where, size, when).value == expected(where, size)); break;
        case step::store: caches_.store(who, where, piece, when), put(where, piece); break;
        case step::add: add(who, address{where.value & ~std::uint64_t{7}}, value, when); break;
        case step::fetch: caches_.fetch(core, where, when); break;
        case step::stream:
            where.value &= ~std::uint64_t{7};
            caches_.stream(who, where, piece, when), put(where, piece);
            break;
        case step::write_back: caches_.write_back(who, where, when); break;
        case step::fence: RC_ASSERT(caches_.fence(hart_id{core}, when) >= when); break;
        case step::walk_data: walk(core, value, when, false); break;
        case step::walk_l2: walk(core, value, when, true); break;
        case step::settle: memory_.settle(now_); break;
        }
    }

    /// All bytes at once, through every layer.
    void compare_all() {
        for (const auto& [at, value] : flat_) {
            std::byte found{};
            caches_.peek(address{at}, {&found, 1});
            RC_ASSERT(found == value);
        }
    }

    /// What the caches still have goes to memory, and then the NVRAM alone has the bytes.
    void compare_image_after_cleaning() {
        for (const auto& [at, value] : flat_) caches_.force_write_back(address{at}, now_);
        memory_.nvram().finish(now_);
        for (const auto& [at, value] : flat_) {
            if (!memory_.map().is_nvram(address{at})) continue;
            std::byte found{};
            memory_.nvram().image().read_bytes(address{at}, {&found, 1});
            RC_ASSERT(found == value);
        }
    }

private:
    void add(const store_source& who, address where, std::uint64_t value, time when) {
        const std::uint64_t before = expected(where, 8), after = before + value;
        // A comparison that fails now and then.
        const auto result = caches_.update(who, where, 8, when, [&](std::uint64_t old) {
            return value % 4 == 0 ? std::optional<std::uint64_t>{} : std::optional(old + value);
        });
        RC_ASSERT(result.value == before);
        std::array<std::byte, 8> bytes;
        std::memcpy(bytes.data(), &after, 8);
        if (value % 4 != 0) put(where, bytes);
    }

    void walk(std::uint32_t core, std::uint64_t value, time when, bool l2) {
        tag_walker walker(caches_);
        const auto visit = [](walked_line& line) {
            RC_ASSERT(line.dirty || line.spare == 0);
            const bool force = line.dirty && line.spare == 1;
            line.spare = line.dirty ? 1 : 0;
            return force;
        };
        if (l2) {
            walker.walk_l2(value % walker.l2_sets(), when, visit);
        } else {
            walker.walk_data(core, value % walker.data_sets(), when, visit);
        }
    }

    std::uint64_t expected(address where, std::uint32_t size) {
        std::uint64_t value = 0;
        for (std::uint32_t each = 0; each < size; ++each) {
            const auto found = flat_.find(where.value + each);
            value |= (found == flat_.end() ? 0 : std::to_integer<std::uint64_t>(found->second)) << (8 * each);
        }
        return value;
    }
    void put(address where, std::span<const std::byte> bytes) {
        for (std::size_t each = 0; each < bytes.size(); ++each) flat_[where.value + each] = bytes[each];
    }

    port::ports attached_;
    holding_port holding_;
    memory_system memory_;
    hierarchy caches_;
    std::map<std::uint64_t, std::byte> flat_;
    time now_{};
};

rc::Gen<step> any_step() {
    return rc::gen::weightedElement<step>({{30, step::load},
                                           {30, step::store},
                                           {4, step::add},
                                           {4, step::fetch},
                                           {8, step::stream},
                                           {5, step::write_back},
                                           {3, step::fence},
                                           {5, step::walk_data},
                                           {5, step::walk_l2},
                                           {6, step::settle}});
}

void run_one(drain_policy drain, persist_point persist, bool hold) {
    flat_memory_run run(drain, persist, hold);
    const auto steps = *rc::gen::container<std::vector<std::tuple<step, std::uint64_t, std::uint64_t>>>(
        800, rc::gen::tuple(any_step(), rc::gen::resize(1000, rc::gen::arbitrary<std::uint64_t>()),
                            rc::gen::resize(1000, rc::gen::arbitrary<std::uint64_t>())));
    for (const auto& [what, at, value] : steps) {
        run.go(what, static_cast<std::uint32_t>(value >> 3 & 3), at, value, static_cast<std::uint32_t>(value >> 5 & 3));
    }
    run.compare_all();
    run.compare_image_after_cleaning();
}

}  // namespace

RC_GTEST_PROP(FlatMemory, IsWhatSeveralCoresSeeUnderAnyDrainPolicy, ()) {
    const auto drain = *rc::gen::element(drain_policy::marks, drain_policy::marks_block, drain_policy::marks_between,
                                         drain_policy::until_full, drain_policy::idle);
    run_one(drain, *rc::gen::element(persist_point::array, persist_point::controller), *rc::gen::arbitrary<bool>());
}

}  // namespace holdfast::sim

// What a subject needs whose pool is at `on_power_fail`: a handler that is always armed, and its save, recorded. The
// log in memory, which ordinary files have not, is mapped behind the pool, and counts as the last part of an image.
#pragma once

#include <crash/record/seam_recorder.hpp>
#include <crash/subjects/recorded_file.hpp>
#include <crash/subjects/subject.hpp>

#include <holdfast/persist/file.hpp>
#include <holdfast/pool/options.hpp>
#include <holdfast/pool/superblock.hpp>
#include <holdfast/powerfail/handler.hpp>
#include <holdfast/powerfail/save.hpp>
#include <holdfast/powerfail/shadow_log.hpp>
#include <holdfast/powerfail/sites.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::crash {

class armed_for_all final : public powerfail::handler {
public:
    std::function<void()> when_armed;

    bool arm(powerfail::charge& taken) override {
        if (when_armed) when_armed();
        charge_ = &taken;
        return true;
    }
    bool arm_on_file(powerfail::charge& taken) override {
        charge_ = &taken;
        return true;
    }
    void disarm(powerfail::charge&) noexcept override { charge_ = nullptr; }
    /// The power will fail: the pool goes on at `power`. Requires: a pool is armed.
    bool lose() { return charge_->lost(); }
    /// The power fails and stays after all. Requires: a pool is armed.
    void save_and_resume() {
        powerfail::save(*charge_->shadow, charge_->pool, charge_->lines);
        powerfail::resume(*charge_->shadow, charge_->pool, charge_->lines);
    }

private:
    powerfail::charge* charge_ = nullptr;
};

inline armed_for_all handler_of_all;

/// From here on the pools of this process are armed, or none.
inline void arm_pools(bool all) { powerfail::use_handler(all ? &handler_of_all : nullptr); }

/// What the log in memory adds to an image.
inline std::size_t shadow_bytes(const open_pool& pool) {
    return powerfail::shadow_log::bytes_for(pool.info().log_bytes);
}

/// The power fails while the image is what all see: what the handler does. Its end is an operation's. The log in memory
/// lies behind `most_bytes` of the image.
inline trace record_save(const std::string& path, std::byte* base, std::size_t most_bytes, const lazy_memory& image) {
    auto file = persist::file::open(path, persist::file::access::read_write).value();
    const auto mapped = persist::mapping::map(file, reinterpret_cast<std::uintptr_t>(base), most_bytes,
                                              std::min<std::uint64_t>(file.size().value(), most_bytes),
                                              persist::mapping::kind::shared).value();
    std::vector<std::uint64_t> shadow((image.bytes().size() - most_bytes) / sizeof(std::uint64_t));
    std::memcpy(shadow.data(), image.bytes().data() + most_bytes, shadow.size() * sizeof(std::uint64_t));
    seam_recorder seen(base, image.bytes());
    seen.operation_begins(thread_afterwards);
    powerfail::save(*reinterpret_cast<format::shadow_header*>(shadow.data()), base, {});
    seen.operation_done(thread_afterwards);
    return std::move(seen.recorded());
}

/// The machine went down: its memory is empty.
inline void forget_shadow_of(const std::string& path) {
    const auto file = persist::file::open(path, persist::file::access::read_only);
    if (!file) return;
    if (const auto block = read_superblock(*file)) powerfail::shadow_log::remove(*block);
}

/// The machine ran on: the log in memory is there, as the image behind `most_bytes` has it. Returns whether it
/// counts.
inline bool bring_back_shadow_of(const std::string& path, std::size_t most_bytes, const lazy_memory& image) {
    const auto block = read_superblock(persist::file::open(path, persist::file::access::read_only).value()).value();
    if ((block.required_features & format::feature_shadow_log) == 0) return false;
    format::armed_life life;
    std::memcpy(&life, image.bytes().data() + block.log_offset + format::armed_life_offset, sizeof life);
    const auto shadow = powerfail::shadow_log::create(block, image.bytes().data(), life, 0).value();
    const auto kept = image.bytes().subspan(most_bytes);
    std::memcpy(&shadow.header(), kept.data(), kept.size());
    return shadow.header().sealed != 0;
}

/// What is cut inside of a cut: a save, and inside of that the opening that follows it. An opening has parts, each an
/// operation: adoption, if there is a log in memory; what is left until a handler has charge; and what comes then.
struct saved_stage {
    progress entered;
    bool is_opening = false;
    bool adopts = false;
    bool was_saved = false;   ///< before it: a save had run to its end
    bool was_refused = false;
    std::optional<std::string> wrong{};  ///< with what the opening found

    std::size_t done(const progress& made) const {
        return made.done[thread_afterwards] - entered.done[thread_afterwards];
    }
    unsigned parts() const { return adopts ? 3 : 2; }
    /// Whether a pool may be refused, cut here: where nothing is saved yet, and where a handler would have to do it.
    bool may_refuse(const progress& made) const {
        if (!is_opening) return done(made) == 0;
        const std::size_t begun = made.begun[thread_afterwards] - entered.begun[thread_afterwards];
        return was_refused || begun >= parts() || (adopts && begun <= 1 && !was_saved);
    }
};

/// Adoption is an operation of its own, up to where the seal is durable.
inline void end_part_at_seal(trace& opening) {
    const auto seal = std::ranges::find_if(opening.events, [](const event& each) {
        return each.kind == event_kind::fence && each.where == persist::site::save_seal_fence;
    });
    if (seal == opening.events.end()) return;
    event done{event_kind::operation_done, {}, 0, 0, nullptr, thread_afterwards, 0};
    event begins = done;
    begins.kind = event_kind::operation_begins;
    opening.events.insert(seal + 1, {done, begins});
}

}  // namespace holdfast::crash

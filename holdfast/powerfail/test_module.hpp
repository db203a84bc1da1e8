// A kernel module of tests, in the process itself: it keeps what is registered, and saves when a test says so.
#pragma once

#include <holdfast/powerfail/kernel_module.hpp>
#include <kernel/holdfast_chunks.h>
#include <kernel/holdfast_powerfail.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include <sys/socket.h>
#include <unistd.h>

namespace holdfast::powerfail::test {

/// In force from construction to destruction; one at a time.
class test_module {
public:
    struct save {
        std::uint64_t session[HOLDFAST_SESSION_WORDS];
        std::vector<std::byte> bytes;
        bool is_damaged = false;
    };

    explicit test_module(std::uint64_t bytes_at_most = ~std::uint64_t{0}) : bytes_at_most_(bytes_at_most) {
        in_force_ = this;
        before_ = module_calls_now;
        module_calls_now = {&open, &control};
    }
    ~test_module() {
        module_calls_now = before_;
        in_force_ = nullptr;
        take_region_away();
    }
    test_module(const test_module&) = delete;
    test_module& operator=(const test_module&) = delete;

    std::size_t registered() const {
        const std::lock_guard lock(mutex_);
        return logs_.size();
    }
    /// The power fails, and what is in memory is lost behind it: nothing is registered any more. A process that is
    /// killed leaves the same.
    void fail_power() {
        const std::lock_guard lock(mutex_);
        for (const auto& [id, log] : logs_) {
            save made{};
            std::memcpy(made.session, log.session, sizeof made.session);
            const auto* const first = reinterpret_cast<const std::byte*>(log.address);
            made.bytes.assign(first, first + log.bytes);
            saves[log.key] = std::move(made);
        }
        logs_.clear();
    }
    /// Nothing is saved any more, and the files say so.
    void take_region_away() {
        const std::lock_guard lock(mutex_);
        logs_.clear();
        for (const auto& [descriptor, peer] : files_) ::close(peer);
        files_.clear();
    }

    std::map<std::uint64_t, save> saves;  ///< by key; each counts
    std::set<std::uint64_t> areas;        ///< keys that have room in the region
    std::function<void()> when_acknowledged;

private:
    static int open(const char*) {
        const std::lock_guard lock(in_force_->mutex_);
        int both[2];
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both) != 0) return -1;
        // The number may be that of a file that the library has closed.
        const auto before = in_force_->files_.find(both[0]);
        if (before != in_force_->files_.end()) ::close(before->second);
        in_force_->files_[both[0]] = both[1];
        return both[0];
    }
    static int control(int, unsigned long request, void* argument) {
        const std::lock_guard lock(in_force_->mutex_);
        const int failed = in_force_->answer(request, argument);
        if (failed != 0) errno = failed;
        return failed == 0 ? 0 : -1;
    }

    int answer(unsigned long request, void* argument) {
        auto* const log = static_cast<holdfast_log*>(argument);
        auto* const saved = static_cast<holdfast_saved*>(argument);
        switch (request) {
        case HOLDFAST_REGISTER: return keep(*log);
        case HOLDFAST_FREE: return free_area(static_cast<const holdfast_chunk*>(argument)->key);
        case HOLDFAST_UNREGISTER: return logs_.erase(log->id) == 1 ? 0 : ENOENT;
        case HOLDFAST_NEXT_SAVED: return next(*saved);
        case HOLDFAST_READ_SAVED: return read(*saved);
        case HOLDFAST_ACKNOWLEDGE: return acknowledge(*saved);
        case HOLDFAST_POWERFAIL_STATUS: return describe(*static_cast<holdfast_powerfail_status*>(argument));
        case HOLDFAST_DRILL: return EPERM;
        default: return ENOTTY;
        }
    }
    int keep(holdfast_log& log) {
        const bool is_sensible = log.bytes % 64 == 0 && log.address % 64 == 0 && log.homes_address % 4096 == 0 &&
                                 log.homes_bytes % 4096 == 0 && log.key != 0 && log.key < ~std::uint64_t{1};
        if (!is_sensible) return EINVAL;
        log.save_ns = log.bytes;
        log.budget_ns = bytes_at_most_;
        if (log.bytes > bytes_at_most_) return EDQUOT;
        if (saves.contains(log.key)) return ENOTEMPTY;
        log.id = ++last_id_;
        logs_[log.id] = log;
        areas.insert(log.key);
        return 0;
    }
    int free_area(std::uint64_t key) {
        if (saves.contains(key)) return ENOTEMPTY;
        const bool is_used = std::ranges::any_of(logs_, [&](const auto& each) { return each.second.key == key; });
        if (is_used) return EBUSY;
        return areas.erase(key) == 1 ? 0 : ENOENT;
    }
    int describe(holdfast_powerfail_status& now) const {
        now.triggers = 1 << HOLDFAST_BY_CARRIER | 1 << HOLDFAST_BY_DEBUG;
        now.hold_up_ns = 10'000'000;
        now.budget_ns = bytes_at_most_;
        for (const auto& [id, log] : logs_) now.registered_bytes += log.bytes;
        now.save_ns = now.registered_bytes;
        return 0;
    }
    /// The number of a save among all stands for its place in the region.
    int next(holdfast_saved& about) const {
        if (about.offset >= saves.size()) return ENOENT;
        const auto found = std::next(saves.begin(), static_cast<std::ptrdiff_t>(about.offset));
        about.key = found->first;
        std::memcpy(about.session, found->second.session, sizeof about.session);
        about.bytes = found->second.bytes.size();
        return 0;
    }
    int find(const holdfast_saved& about) const {
        const auto found = saves.find(about.key);
        if (found == saves.end()) return ENOENT;
        if (found->second.is_damaged) return EBADMSG;
        return std::memcmp(about.session, found->second.session, sizeof about.session) == 0 ? 0 : ESTALE;
    }
    int read(holdfast_saved& about) const {
        if (const int failed = find(about); failed != 0) return failed;
        const save& found = saves.at(about.key);
        if (about.from > found.bytes.size() || about.wanted > found.bytes.size() - about.from) return ERANGE;
        if (about.wanted != 0)
            std::memcpy(reinterpret_cast<void*>(about.address), found.bytes.data() + about.from, about.wanted);
        about.bytes = found.bytes.size();
        return 0;
    }
    int acknowledge(const holdfast_saved& about) {
        if (const int failed = find(about); failed != 0 && failed != EBADMSG) return failed;
        saves.erase(about.key);
        if (when_acknowledged) when_acknowledged();
        return 0;
    }

    static inline test_module* in_force_ = nullptr;
    mutable std::mutex mutex_;
    module_calls before_{};
    std::uint64_t bytes_at_most_;
    std::map<int, int> files_;  ///< the library's descriptor, and whose end it hears
    std::map<std::uint32_t, holdfast_log> logs_;
    std::uint32_t last_id_ = 0;
};

}  // namespace holdfast::powerfail::test

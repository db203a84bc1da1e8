// An open pool with what it owns: file, mapping, log and heap, recovered and ready.
#pragma once

#include <holdfast/format/superblock.hpp>
#include <holdfast/log/alias_buffers.hpp>
#include <holdfast/log/alias_sets.hpp>
#include <holdfast/log/group_lag.hpp>
#include <holdfast/log/groups.hpp>
#include <holdfast/log/lanes.hpp>
#include <holdfast/log/pacer.hpp>
#include <holdfast/log/replay.hpp>
#include <holdfast/log/retirement.hpp>
#include <holdfast/persist/file.hpp>
#include <holdfast/persist/storage.hpp>
#include <holdfast/pool/open_pool.hpp>
#include <holdfast/pool/options.hpp>
#include <holdfast/powerfail/handler.hpp>
#include <holdfast/powerfail/shadow_log.hpp>

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace holdfast {

/// What every open_pool is.
class mapped_pool final : public open_pool {
public:
    ~mapped_pool() override;

    result<void> close() override;
    void abandon() noexcept override;
    pool_info info() const override;
    result<void> checkpoint() override;
    result<void> fence() override;
    result<void> barrier(const std::function<void()>& f) override;
    result<void> grow(std::uint64_t bytes) override;
    result<void> fall_back() override;
    bool on_fall_back(std::function<void()> before) override;
    result<snapshot_report> snapshot(const std::string& path, const snapshot_options& options) override;
    void bring_home() override {
        if (retiring_ != nullptr) retiring_->bring_home();
        if (aliases_ != nullptr) aliases_->bring_home();
    }
    void read(const void* home, void* to, std::size_t bytes) const noexcept override;
    const persist::storage& storage() const noexcept override { return storage_; }
    const replay_report& recovery() const noexcept override { return recovery_; }
    std::span<const heap_zone> zones() const noexcept override {
        return {zones_.data(), zone_count_.load(std::memory_order_acquire)};
    }
    bool has_sealed_roots() const noexcept override {
        return (superblock_.required_features & format::feature_seals) != 0;
    }
    const wrap_options& wraps() const noexcept override { return wraps_; }
    persist::file& backing_file() noexcept override { return *file_; }

private:
    mapped_pool() { level_ = level::power; }
    friend class open_pool;
    friend struct pool_opener;

    /// Takes what a part of the pool becomes, and shows it to those who see an open_pool; nullptr ends it.
    template <class T>
    static void own(std::unique_ptr<T>& owner, T*& seen, std::unique_ptr<T> made) noexcept {
        seen = made.get();
        owner = std::move(made);
    }
    void connect_heap();
    static result<std::unique_ptr<mapped_pool>> begin_sharing(persist::file file, const engine_description& engine,
                                                              const open_options& options);
    static result<std::unique_ptr<mapped_pool>> join(persist::file file, const engine_description& engine,
                                                     const open_options& options);
    result<void> close_shared();
    result<void> write_superblock(format::pool_state state, level promise);
    result<void> put_superblock(const format::superblock& next);
    result<void> strengthen(persist::site_id where);
    void take_zones(std::span<const heap_zone> zones) noexcept;
    result<void> prepare_zone(heap_zone zone);
    void take_back(std::uint64_t bytes) noexcept;
    result<void> write_grown_superblocks(heap_zone zone);
    error note_failed_sync(error reason) noexcept;
    result<void> hold_at_barrier();
    result<std::uint64_t> hold_commits(std::chrono::milliseconds patience_in_all);
    void release_commits() noexcept;
    result<std::uint64_t> copy_at_boundary(persist::file& copy, const snapshot_options& options,
                                           snapshot_report& report, format::superblock& block);
    enum class copying : std::uint8_t { all, changes };
    result<void> copy_homes(persist::file& copy, const format::superblock& now, copying how,
                            const snapshot_options& options) const;
    result<void> copy_whole(persist::file& copy) const;
    static result<void> finish_copy(persist::file& copy, format::superblock block, std::uint64_t last_sequence);
    format::superblock superblock_now() const;
    // armed.cpp: at `on_power_fail`.
    result<void> adopt_log_outside_pool();
    result<void> save_into_file(const format::shadow_header& log);
    void forget_saves();
    void arm();
    void forget_shadow_of(const format::superblock& before) noexcept;
    format::armed_life begin_armed_life();
    void become_ready();
    std::function<bool()> lost_call();
    void seal_next(const format::superblock& now);
    result<void> fall_back(bool waits);
    result<bool> prepare_fall_back(bool waits);
    error busy_error() const;
    void end_all_charge() noexcept;
    result<void> close_charge();
    bool is_in_force(const format::superblock& block) const noexcept;
    result<void> end_charge();
    result<void> write_armed_in_place_of(const format::superblock& seal);
    result<void> become_power();
    // armed_on_file.cpp: the same on an ordinary file.
    void arm_on_file();
    bool is_armed_on_file() const noexcept { return has_charge_ && !shadow_; }
    result<void> become_power_on_file();
    void disown_boot() noexcept;
    void let_handler_go() noexcept;
    void leave_shadow() noexcept;
    log_geometry geometry_of_log() const noexcept;
    error poisoned_error() const;
    result<void> check_usable(const char* what_for) const;
    result<void> check_here(const char* what_for) const;

    std::optional<persist::file> file_;
    std::optional<persist::mapping> mapping_;
    std::optional<persist::mapping> medium_mapping_;  ///< where the program's mapping is private, and the log is mapped
    std::optional<powerfail::shadow_log> shadow_;
    powerfail::handler* handler_ = nullptr;  ///< who has charge of the pool
    powerfail::charge charge_;
    std::atomic<bool> has_charge_ = false;
    bool publishes_seals_ = false;
    // Guarded by growing_.
    std::function<void()> before_fall_back_;
    bool is_ready_ = false;
    bool is_closing_ = false;
    bool unsettled_ = false;  ///< below `power`: a life before did not end cleanly
    std::uint64_t private_bytes_ = 0;
    pid_t process_ = ::getpid();
    replay_report recovery_;
    std::vector<used_segment> kept_segments_;
    named_pages named_at_open_;  ///< by the records in these
    wrap_options wraps_;
    lag_options lag_;
    pace_options pace_;
    persist::storage storage_;
    format::superblock superblock_{};
    std::array<heap_zone, format::zone_limit> zones_{};
    std::atomic<std::size_t> zone_count_{0};
    // Apart, because a snapshot may wait for a transaction that grows.
    std::mutex growing_;         ///< one growth at a time
    std::mutex copying_;         ///< one snapshot at a time
    mutable std::mutex header_;  ///< guards superblock_ against who looks while it grows
    /// A sync that was not the log's own failed: nobody knows what the file lacks.
    std::atomic<bool> sync_failed_{false};
    std::unique_ptr<lane_log> owned_lanes_;
    std::unique_ptr<alias_buffers> owned_aliases_;
    std::unique_ptr<retirement> owned_retiring_;
    std::unique_ptr<alias_sets> owned_sets_;
    std::unique_ptr<group_lag> owned_lagging_;
    std::unique_ptr<pacer> owned_pacing_;
    std::unique_ptr<private_pages> owned_pages_;
    std::unique_ptr<group_log> owned_groups_;
    std::unique_ptr<class heap> owned_heap_;
};

/// The same pool, for those who need not know what it owns.
inline result<std::unique_ptr<open_pool>> as_open_pool(result<std::unique_ptr<mapped_pool>> made) {
    if (!made) return std::move(made).give_error();
    return std::unique_ptr<open_pool>(std::move(*made));
}

/// The heap zone that a pool with that header gets when it grows to `bytes`. Errors: invalid_argument (see
/// open_pool::grow), which a tool can thus give before it opens the pool.
result<heap_zone> zone_of_growth(const std::string& path, const format::superblock& now, std::uint64_t bytes);

}  // namespace holdfast

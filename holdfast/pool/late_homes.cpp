// Opening a pool whose homes reach the medium later than their commits: alias tables and sets, who retires, who paces.
#include <holdfast/pool/opener.hpp>

#include <holdfast/base/threads.hpp>
#include <holdfast/pool/stand_ins.hpp>

#include <string>
#include <utility>

namespace holdfast {
namespace {

constexpr std::uint32_t most_alias_words = 1 << 24;
constexpr std::uint64_t most_set_bytes = std::uint64_t{1} << 36;
constexpr std::uint32_t most_ways = 64;

result<void> check_way(const std::string& path, std::string_view option, retiring way) {
    if (way <= retiring::by_thread) return {};
    error reason = pool_opener::about(path, errc::invalid_argument, std::string(option) + " is out of range");
    reason.expected = "automatic, cooperative or by_thread";
    reason.found = std::to_string(static_cast<unsigned>(way));
    return reason;
}

result<void> check_pace(const std::string& path, const pace_options& options) {
    if (auto checked = check_way(path, "pace.write_back", options.write_back); !checked) return checked;
    if (options.percent <= 100) return {};
    error reason = pool_opener::about(path, errc::invalid_argument, "pace.percent is out of range");
    reason.expected = "0 to 100";
    reason.found = std::to_string(options.percent);
    return reason;
}

result<void> check_table(const std::string& path, std::uint32_t words) {
    if (words >= 1 && words <= most_alias_words) return {};
    error reason =
        pool_opener::about(path, errc::invalid_argument, "an alias table (lag.table_words) cannot have that size");
    reason.expected = "1 to " + std::to_string(most_alias_words) + " words";
    reason.found = std::to_string(words);
    return reason;
}

result<void> check_sets(const std::string& path, const lag_options& options) {
    const auto refuse = [&](std::string what, std::string expected, std::uint64_t found) {
        error reason = pool_opener::about(path, errc::invalid_argument, std::move(what));
        reason.expected = std::move(expected);
        reason.found = std::to_string(found);
        return reason;
    };
    if (options.set_ways < 1 || options.set_ways > most_ways)
        return refuse("a set of aliases (lag.set_ways) cannot have that many entries",
                      "1 to " + std::to_string(most_ways), options.set_ways);
    const std::uint64_t least = alias_sets::bytes_of_set(options.set_ways);
    if (options.set_bytes >= least && options.set_bytes <= most_set_bytes) return {};
    return refuse("sets of aliases (lag.set_bytes) cannot have that size",
                  std::to_string(least) + " to " + std::to_string(most_set_bytes) + " bytes", options.set_bytes);
}

bool needs_thread(retiring way, unsigned fewest_processors) {
    return way == retiring::by_thread ||
           (way == retiring::automatic && processors_of_this_thread() >= fewest_processors);
}

}  // namespace

result<void> pool_opener::check_late_homes(const std::string& path, const engine_description& engine,
                                      const open_options& options) {
    if (engine.checkpoints)
        if (auto checked = check_way(path, "lag.retire", options.lag.retire); !checked) return checked;
    if (engine.paces) return check_pace(path, options.pace);
    if (engine.aliases == aliases_in::table) return check_table(path, options.lag.table_words);
    if (engine.aliases == aliases_in::sets) return check_sets(path, options.lag);
    if (engine.stores_homes_late)
        if (auto checked = check_table(path, options.wraps.alias_words); !checked) return checked;
    const bool has_wraps = engine.writes_homes_back || engine.stores_homes_late;
    if (!has_wraps || options.wraps.logs || options.durability < level::power) return {};
    return about(path, errc::level_unavailable, "wraps without a log are not atomic against a power cut");
}

alias_options pool_opener::aliases_of_wraps(const mapped_pool& pool) {
    alias_options options;
    options.persists = pool.persists_lines_;
    options.lines = pool.lines_;
    options.words = pool.wraps_.alias_words;
    options.in_background = pool.wraps_.retires_in_background;
    return options;
}

/// Requires: retirement was started.
alias_options pool_opener::aliases_of_commits(mapped_pool& pool) {
    alias_options options;
    options.persists = pool.persists_lines_;
    options.lines = pool.lines_;
    options.words = pool.lag_.table_words;
    options.in_background = retires_in_background(pool);
    options.wait_for_log = [queue = pool.retiring_](std::uint64_t number) { queue->wait_for_log(number); };
    return options;
}

void pool_opener::start_aliases(mapped_pool& pool, const alias_options& options) {
    mapped_pool::own(pool.owned_aliases_, pool.aliases_,
                     std::make_unique<alias_buffers>(pool.base_, pool.size_, *pool.lanes_, options));
    pool.alias_values_ = pool.aliases_;
    pool.lanes_->follow(*pool.aliases_);
}

std::uint32_t pool_opener::lag_of(const mapped_pool& pool) noexcept {
    return pool.level_ == level::lag ? pool.lag_.commits : 0;
}

bool pool_opener::retires_in_background(const mapped_pool& pool) {
    // A thread on one of two processors takes more from the commits than it spares them.
    constexpr unsigned fewest_for_a_thread = 3;
    return needs_thread(pool.lag_.retire, fewest_for_a_thread);
}

void pool_opener::start_pacer(mapped_pool& pool) {
    pacer_options options;
    options.lines = pool.lines_;
    options.percent = pool.pace_.percent;
    if (stand_ins_now.pace_share != 0) options.least_share = stand_ins_now.pace_share;
    constexpr unsigned fewest_for_a_thread = 2;
    options.in_background = needs_thread(pool.pace_.write_back, fewest_for_a_thread);
    mapped_pool::own(pool.owned_pacing_, pool.pacing_,
                     std::make_unique<pacer>(pool.base_, pool.size_, *pool.lanes_, options));
    pool.lanes_->follow(*pool.pacing_);
}

void pool_opener::start_retirement(mapped_pool& pool, const engine_description& engine) {
    const lag_options& lag = pool.lag_;
    retirement_options options;
    options.persists = pool.persists_lines_;
    options.lines = pool.lines_;
    options.lag = lag_of(pool);
    options.stores_homes = engine.aliases != aliases_in::table;
    options.waits_for_homes = lag.waits_for_homes;
    options.backlog = lag.backlog;
    options.in_background = options.stores_homes && retires_in_background(pool);
    mapped_pool::own(pool.owned_retiring_, pool.retiring_,
                     std::make_unique<retirement>(pool.medium_, pool.size_, *pool.lanes_, options));
    pool.lanes_->follow(*pool.retiring_);
}

void pool_opener::start_late_homes(mapped_pool& pool, const engine_description& engine) {
    if (engine.stores_homes_late) start_aliases(pool, aliases_of_wraps(pool));
    if (engine.checkpoints) start_retirement(pool, engine);
    if (paces(pool, engine)) start_pacer(pool);
    if (engine.aliases == aliases_in::table) start_aliases(pool, aliases_of_commits(pool));
    if (engine.aliases == aliases_in::sets)
        mapped_pool::own(pool.owned_sets_, pool.sets_,
                         std::make_unique<alias_sets>(pool.base_, pool.lag_.set_bytes, pool.lag_.set_ways));
}

}  // namespace holdfast

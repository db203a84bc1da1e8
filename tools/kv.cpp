// `holdfast kv`: the command line of kv.hpp.
#include "kv.hpp"

#include "command.hpp"
#include "engines.hpp"
#include "kv_load.hpp"
#include "output.hpp"
#include "suggestion.hpp"

#include <holdfast/log/replay.hpp>

#include <fmt/core.h>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>

namespace holdfast::tools {
namespace {

struct kv_options {
    std::string pool;
    std::string engine;
    std::string promise;
    create_options create;
    std::string key;
    std::string value;
    kv_range range;
    load_options load;
};

template <class F>
auto with_engine(std::string_view name, F&& f) {
    static_cast<void>(engine_named(name));
    std::unique_ptr<kv_store> store;
    for_each_engine_of_command([&]<class Engine>() {
        if (Engine::description.name == name) store = f.template operator()<Engine>();
    });
    return store;
}

/// The pool, or nullptr when there is none at that path.
std::unique_ptr<kv_store> open_existing(const kv_options& options) {
    const auto info = open_pool::info(options.pool);
    if (!info && info.error().code == errc::not_found) return nullptr;
    const pool_info& header = info.value();
    open_options how = options.create;
    how.layout = kv_layout;
    // What the pool was made for is what its next user most likely wants.
    how.durability = options.promise.empty() ? header.last_level : *level_named(options.promise);
    return with_engine(options.engine.empty() ? header.engine : options.engine,
                       [&]<class Engine>() { return open_kv<Engine>(options.pool, how); });
}

std::unique_ptr<kv_store> open_required(const kv_options& options) {
    if (auto store = open_existing(options)) return store;
    // The same error as any other opening of it.
    static_cast<void>(open_pool::info(options.pool).value());
    fail(errc::busy, "the pool was created while it was being opened");
}

/// Opens the pool or creates one of `bytes`. `created` tells which.
std::unique_ptr<kv_store> open_or_create(const kv_options& options, std::uint64_t bytes, bool& created) {
    created = false;
    if (auto store = open_existing(options)) return store;
    create_options how = options.create;
    how.layout = kv_layout;
    how.durability = options.promise.empty() ? level::power : *level_named(options.promise);
    if (how.bytes == 0) how.bytes = bytes;
    created = true;
    return with_engine(options.engine.empty() ? std::string(redo::description.name) : options.engine,
                       [&]<class Engine>() { return create_kv<Engine>(options.pool, how); });
}

constexpr std::uint64_t default_pool_bytes = 256 << 20;

/// Runs a change; a pool that was made for one that failed is removed again.
template <class F>
void change(const kv_options& options, std::uint64_t bytes, F&& f) {
    bool created = false;
    auto store = open_or_create(options, bytes, created);
    try {
        f(*store);
    } catch (...) {
        store.reset();
        if (created) ::unlink(options.pool.c_str());
        throw;
    }
    store->close();
}

error no_such_key(const kv_options& options) {
    return error{.code = errc::not_found,
                 .what = "there is no entry with the key \"" + options.key + "\"",
                 .path = options.pool};
}

int put(const kv_options& options, bool as_json) {
    change(options, default_pool_bytes, [&](kv_store& store) { store.put(options.key, options.value); });
    if (as_json) print_json_line(json{{"put", options.key}});
    return exit_success;
}

int get(const kv_options& options, bool as_json) {
    auto store = open_required(options);
    const auto value = store->get(options.key);
    store->close();
    if (!value) throw failure(no_such_key(options));
    if (as_json) {
        print_json_line(json{{"key", options.key}, {"value", *value}});
    } else {
        print(*value + "\n");
    }
    return exit_success;
}

int erase(const kv_options& options, bool as_json) {
    auto store = open_required(options);
    const bool erased = store->erase(options.key);
    store->close();
    if (!erased) throw failure(no_such_key(options));
    if (as_json) print_json_line(json{{"deleted", options.key}});
    return exit_success;
}

/// Text is one "key<TAB>value" a line; JSON is one array, an entry a line.
int scan(const kv_options& options, bool as_json) {
    auto store = open_required(options);
    bool first = true;
    if (as_json) print("[");
    store->scan(options.range, [&](std::string_view key, std::string_view value) {
        if (!as_json) return print(fmt::format("{}\t{}\n", key, value));
        const json entry{{"key", key}, {"value", value}};
        const std::string text = entry.dump(-1, ' ', false, json::error_handler_t::replace);
        return print((std::exchange(first, false) ? "\n" : ",\n") + text);
    });
    if (as_json) print("\n]\n");
    store->close();
    return exit_success;
}

int stats(const kv_options& options, bool as_json) {
    const auto begin = std::chrono::steady_clock::now();
    auto store = open_required(options);
    const double open_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    const std::uint64_t entries = store->size();
    const heap_usage usage = store->usage();
    const replay_report recovery = store->core().recovery();
    const pool_info info = store->core().info();
    const auto at = store->core().durability();
    store->close();
    if (as_json) {
        json value{{"entries", entries},          {"engine", info.engine},
                   {"level", name_of(at)},        {"medium", persist::name_of(info.storage.kind)},
                   {"pool_bytes", info.bytes},    {"log_bytes", info.log_bytes},
                   {"open_ms", open_ms},          {"recovered_records", recovery.applied}};
        value["heap"] = {{"capacity_bytes", usage.capacity_bytes},
                         {"allocated_bytes", usage.allocated_bytes},
                         {"allocated_blocks", usage.allocated_blocks}};
        print_json(value);
        return exit_success;
    }
    table facts;
    facts.add("entries", readable_count(entries));
    facts.add("engine", info.engine);
    facts.add("level", std::string(name_of(at)));
    facts.add("medium", fmt::format("{} on {}", persist::name_of(info.storage.kind), info.storage.file_system));
    facts.add("pool", fmt::format("{}, of which {} log", readable_bytes(info.bytes), readable_bytes(info.log_bytes)));
    facts.add("heap", fmt::format("{} in {} blocks, of {}", readable_bytes(usage.allocated_bytes),
                                  readable_count(usage.allocated_blocks), readable_bytes(usage.capacity_bytes)));
    facts.add("opened", fmt::format("in {:.2f} ms, {} records recovered", open_ms, recovery.applied));
    print(facts.text());
    return exit_success;
}

int load(const kv_options& options, bool as_json) {
    // Before a pool is made for it.
    const input from = input::read(options.load.file).value();
    const acknowledgements told(options.load);
    bool created = false;
    // A word of ten letters takes about 150 bytes of a pool.
    const std::uint64_t bytes = std::max<std::uint64_t>(default_pool_bytes, from.text().size() * 32);
    const auto begin = std::chrono::steady_clock::now();
    auto store = open_or_create(options, bytes, created);
    const double open_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    load_summary summary = run_load(*store, from, options.load, told);
    summary.open_ms = open_ms;
    summary.recovered_records = store->core().recovery().applied;
    summary.entries = store->size();
    store->close();
    print_summary(summary, as_json);
    return exit_success;
}

void add_pool_options(CLI::App& kv, const std::shared_ptr<kv_options>& options) {
    kv.add_option("POOL", options->pool, "The pool's file; put and load create it if it does not exist")->required();
    kv.add_option("--engine", options->engine, "Engine (default: the pool's own, or redo for a new pool)")
        ->check(one_of(engine_names()));
    kv.add_option("--level", options->promise,
                  "When a commit is durable; lag is for cc_htm (default: the level of the pool's last use, or power "
                  "for a new pool)")
        ->check(one_of({"process", "lag", "power"}));
    options->create.bytes = 0;
    kv.add_option("--size", options->create.bytes, "Size of a new pool, such as 64M or 2G (default: 256M, or more for "
                                                   "a large file to load)")
        ->transform(CLI::AsSizeValue(false));
    kv.add_flag("--nvram", options->create.tmpfs_is_nvram,
                "Let tmpfs emulate byte-addressable NVRAM (for measurements)");
    kv.add_option("--delay-ns", options->create.delay_ns, "Extra time per written line, to emulate slower memory");
    kv.add_flag("--accept-not-durable", options->create.accept_not_durable,
                "Open a pool whose latest changes may be lost or torn");
}

/// One of the commands behind POOL.
CLI::App* add(CLI::App& kv, command_line& line, const std::shared_ptr<kv_options>& options, const char* name,
              const char* words, int (*run)(const kv_options&, bool)) {
    auto* command = kv.add_subcommand(name, words);
    add_json_flag(*command, line);
    command->fallthrough();
    command->callback([options, &line, run] {
        line.run = [options, &line, run] { return run(*options, line.json); };
    });
    return command;
}

}  // namespace

kv_findings check_kv(const open_pool& pool, const std::vector<root_listing>& roots) {
    kv_findings found;
    found.problem = "this command does not know the pool's engine";
    for_each_engine_of_command([&]<class Engine>() {
        if (Engine::description.name == pool.engine_name()) found = check_kv_of<Engine>(pool, roots);
    });
    return found;
}

void visit_kv(const open_pool& pool, const std::vector<root_listing>& roots,
              const std::function<void(std::string_view key, std::string_view value)>& visit) {
    for_each_engine_of_command([&]<class Engine>() {
        if (Engine::description.name == pool.engine_name()) visit_kv_of<Engine>(pool, roots, visit);
    });
}

void add_kv_command(CLI::App& application, command_line& line) {
    auto* kv = application.add_subcommand("kv", "A persistent ordered map from strings to strings");
    auto options = std::make_shared<kv_options>();
    kv->require_subcommand(1);
    add_pool_options(*kv, options);
    kv->footer("Exit status 1 also means that get or del found no such key. Write a key that begins with - after --.");

    auto* put_command = add(*kv, line, options, "put", "Put an entry, replacing one with the same key", put);
    put_command->add_option("KEY", options->key)->required();
    put_command->add_option("VALUE", options->value)->required();
    auto* get_command = add(*kv, line, options, "get", "Print the value of a key", get);
    get_command->add_option("KEY", options->key)->required();
    auto* del_command = add(*kv, line, options, "del", "Delete an entry", erase);
    del_command->add_option("KEY", options->key)->required();

    auto* scan_command =
        add(*kv, line, options, "scan", "Print the entries in order of their keys, KEY<TAB>VALUE", scan);
    scan_command->add_option("FROM", options->range.from, "The first key to print");
    scan_command->add_option("TO", options->range.to, "Print only keys before this one");
    scan_command->add_option("--limit", options->range.limit, "Print at most this number of entries");
    add(*kv, line, options, "stats", "Print counts and sizes", stats);

    auto* load_command =
        add(*kv, line, options, "load", "Put every line of a file; continues a load that was killed", load);
    add_load_options(*load_command, options->load);
}

}  // namespace holdfast::tools

// The command as its users meet it: exit status, what it prints, and what it leaves behind.
#include "command_test_support.hpp"

#include <holdfast/engine/redo.hpp>
#include <holdfast/handle/pool.hpp>

#include <tools/engines.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace holdfast::tools::test {
namespace {

TEST_F(Command, WrongUsageExitsWith2AndSaysWhy) {
    const std::vector<std::vector<std::string>> wrong = {
        {},
        {"nonsense"},
        {"kv"},
        {"kv", in("p")},
        {"kv", in("p"), "put", "key"},
        {"kv", "--engine", "nonsense", in("p"), "get", "key"},
        {"kv", "--level", "nonsense", in("p"), "get", "key"},
        {"pool"},
        {"pool", "create"},
        {"pool", "create", in("p"), "--mode", "9999"},
        {"pool", "create", in("p"), "--base", "nowhere"},
        {"pool", "create", in("p"), "--base", "4097"},
        {"pool", "create", in("p"), "--size", "4K"},
        {"pool", "grow", in("p")},
        {"pool", "grow", in("p"), "much"},
        {"pool", "snapshot", in("p")},
        {"doctor"},
        {"bench", "nonsense"},
        {"bench", "stamp", "--case", "nonsense"},
        {"bench", "sps", "--case", "kmeans-low"},
    };
    for (const auto& words : wrong) {
        const outcome done = run(words);
        EXPECT_EQ(done.status, 2) << ::testing::PrintToString(words);
        EXPECT_FALSE(done.err.empty()) << ::testing::PrintToString(words);
        EXPECT_FALSE(std::filesystem::exists(in("p"))) << ::testing::PrintToString(words);
    }
}

TEST_F(Command, HelpIsThereForEveryCommand) {
    const std::vector<std::vector<std::string>> all = {{},
                                                       {"kv"},
                                                       {"kv", "put"},
                                                       {"kv", "load"},
                                                       {"pool"},
                                                       {"pool", "create"},
                                                       {"pool", "check"},
                                                       {"pool", "grow"},
                                                       {"pool", "snapshot"},
                                                       {"doctor"},
                                                       {"bench"}};
    for (auto words : all) {
        words.emplace_back("--help");
        const outcome done = run(words);
        EXPECT_EQ(done.status, 0) << ::testing::PrintToString(words);
        EXPECT_NE(done.out.find("Usage"), std::string::npos) << ::testing::PrintToString(words);
    }
}

TEST_F(Command, KvKeepsEntriesInOrder) {
    const std::string pool = in("pool");
    EXPECT_EQ(run({"kv", pool, "--size", "1M", "put", "b", "two"}).status, 0);
    EXPECT_EQ(run({"kv", pool, "put", "a", "one"}).status, 0);
    EXPECT_EQ(run({"kv", pool, "put", "get", "names of commands are keys like others"}).status, 0);
    EXPECT_EQ(run({"kv", pool, "put", "b", "new"}).status, 0);
    EXPECT_EQ(run({"kv", pool, "get", "b"}).out, "new\n");
    EXPECT_EQ(run({"kv", pool, "scan"}).out, "a\tone\nb\tnew\nget\tnames of commands are keys like others\n");
    EXPECT_EQ(run({"kv", pool, "scan", "b"}).out, "b\tnew\nget\tnames of commands are keys like others\n");
    EXPECT_EQ(run({"kv", pool, "scan", "a", "b"}).out, "a\tone\n");
    EXPECT_EQ(run({"kv", pool, "scan", "--limit", "1"}).out, "a\tone\n");
    EXPECT_EQ(run({"kv", pool, "del", "a"}).status, 0);
    EXPECT_EQ(run_json({"kv", pool, "stats", "--json"})["entries"], 2);
    EXPECT_EQ(run_json({"kv", pool, "get", "b", "--json"}), (json{{"key", "b"}, {"value", "new"}}));
    EXPECT_EQ(run_json({"kv", pool, "scan", "b", "c", "--json"}), (json::array({{{"key", "b"}, {"value", "new"}}})));
    EXPECT_EQ(run({"pool", "check", pool}).status, 0);
}

TEST_F(Command, MissingKeysAndPoolsExitWith1) {
    const std::string pool = in("pool");
    const std::vector<std::vector<std::string>> reading = {{"get", "key"}, {"del", "key"}, {"scan"}, {"stats"}};
    for (const auto& words : reading) {
        std::vector<std::string> all = {"kv", pool};
        all.insert(all.end(), words.begin(), words.end());
        const outcome done = run(all);
        EXPECT_EQ(done.status, 1);
        EXPECT_NE(done.err.find(pool), std::string::npos) << done.err;
        EXPECT_FALSE(std::filesystem::exists(pool));
    }
    EXPECT_EQ(run({"kv", pool, "--size", "1M", "put", "a", "one"}).status, 0);
    EXPECT_EQ(run({"kv", pool, "get", "key"}).status, 1);
    EXPECT_EQ(run_json({"kv", pool, "del", "key", "--json"}, 1)["error"]["code"], "not_found");
}

TEST_F(Command, AFailedCommandLeavesNothingBehind) {
    EXPECT_EQ(run({"kv", in("pool"), "load", in("missing")}).status, 1);
    EXPECT_FALSE(std::filesystem::exists(in("pool")));
    EXPECT_EQ(run({"kv", "--engine", "undo", "--level", "power", in("pool"), "put", "key", "value"}).status, 1);
    EXPECT_FALSE(std::filesystem::exists(in("pool")));
    EXPECT_EQ(run({"pool", "create", in("no/such/directory/pool")}).status, 1);
    const std::string large(100'000, 'x');
    EXPECT_EQ(run({"kv", in("small"), "--size", "256K", "put", "first", large}).status, 0);
    EXPECT_EQ(run_json({"kv", in("small"), "put", "second", large, "--json"}, 1)["error"]["code"], "out_of_space");
    EXPECT_EQ(run({"kv", in("small"), "scan"}).out, "first\t" + large + "\n");
    EXPECT_EQ(run({"pool", "check", in("small")}).status, 0);
}

TEST_F(Command, EveryEngineKeepsEntries) {
    for (const std::string& engine : engine_names()) {
        const std::string pool = in(engine);
        const outcome made =
            run({"kv", "--engine", engine, "--level", "process", "--size", "1M", pool, "put", "a", "b"});
        EXPECT_EQ(made.status, 0) << made.err;
        // Engine and level are those of the pool.
        EXPECT_EQ(run({"kv", pool, "get", "a"}).out, "b\n") << engine;
        const json stats = run_json({"kv", pool, "stats", "--json"});
        EXPECT_EQ(stats["engine"], engine);
        EXPECT_EQ(stats["level"], "process");
        EXPECT_EQ(run({"pool", "check", pool}).status, 0) << engine;
    }
    const outcome other = run({"kv", "--engine", "redo", in("undo"), "get", "a"});
    EXPECT_EQ(other.status, 1);
    EXPECT_NE(other.err.find("expected redo, found undo"), std::string::npos) << other.err;
}

TEST_F(Command, LoadTakesKeysAndValuesFromLinesAndAcknowledgesThem) {
    write("lines", "apple\n\ncherry\tred\nbanana\ttab\tin the value\nlast line without an end");
    const json summary = run_json({"kv", in("pool"), "--size", "1M", "load", in("lines"), "--ack", in("acknowledged"),
                                   "--batch", "2", "--threads", "2", "--json"});
    EXPECT_EQ(summary["lines"], 5);
    EXPECT_EQ(summary["entries"], 4);
    EXPECT_EQ(run({"kv", in("pool"), "scan"}).out,
              "apple\t1\nbanana\ttab\tin the value\ncherry\tred\nlast line without an end\t5\n");
    // Each thread tells its own part once committed, in whatever order.
    std::string told = contents_of(in("acknowledged"));
    EXPECT_NE(told.find("apple\n"), std::string::npos);
    EXPECT_NE(told.find("last line without an end\n"), std::string::npos);
    EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 4);
}

TEST_F(Command, PoolCreateInfoAndCheckAgree) {
    const std::string pool = in("pool");
    const json made = run_json({"pool", "create", pool, "--size", "2M", "--layout", "notes", "--engine", "undo",
                                "--base", "0x300000000000", "--log-size", "256K", "--mode", "0640", "--json"});
    EXPECT_EQ(made["bytes"], 2 << 20);
    EXPECT_EQ(made["layout"], "notes");
    EXPECT_EQ(made["engine"], "undo");
    EXPECT_EQ(made["base"], 0x300000000000);
    EXPECT_EQ(made["clean"], true);
    EXPECT_EQ(run_json({"pool", "info", pool, "--json"}), made);
    EXPECT_EQ(std::filesystem::status(pool).permissions(), static_cast<std::filesystem::perms>(0640));
    EXPECT_EQ(run_json({"pool", "check", pool, "--json"})["sound"], true);
    EXPECT_EQ(run({"pool", "create", pool}).status, 1);
    const outcome other = run({"kv", pool, "put", "a", "b"});
    EXPECT_EQ(other.status, 1);
    EXPECT_NE(other.err.find("layout"), std::string::npos) << other.err;
}

TEST_F(Command, CheckFindsDamageAndChangesNothing) {
    const std::string pool = in("pool");
    write("lines", "one\ntwo\nthree\n");
    ASSERT_EQ(run({"kv", pool, "--size", "1M", "load", in("lines")}).status, 0);
    const std::string sound = contents_of(pool);
    ASSERT_EQ(run({"pool", "check", pool}).status, 0);
    EXPECT_EQ(contents_of(pool), sound);
    const auto damaged_at = [&](std::size_t offset) {
        std::string bytes = sound;
        bytes[offset] = static_cast<char>(bytes[offset] ^ 0x55);
        std::ofstream(pool, std::ios::binary) << bytes;
        const outcome done = run({"pool", "check", pool});
        EXPECT_EQ(contents_of(pool), bytes);
        return done.status;
    };
    EXPECT_EQ(damaged_at(8192 + 80), 1) << "a root entry";
    // The zone's header stands behind superblocks, roots and log.
    const std::uint64_t log_bytes = run_json({"pool", "info", pool, "--json"})["log_bytes"];
    EXPECT_EQ(damaged_at(12288 + log_bytes + 16), 1) << "the heap's header";
    EXPECT_EQ(damaged_at(12288), 0) << "one of two truncation points";
    EXPECT_EQ(damaged_at(100), 0) << "one of two superblocks";
    std::ofstream(pool, std::ios::binary) << sound.substr(0, 100'000);
    EXPECT_EQ(run({"pool", "check", pool}).status, 1);
    EXPECT_EQ(run({"pool", "info", pool}).status, 1);
    write("foreign", std::string(300'000, 'x'));
    EXPECT_EQ(run_json({"pool", "check", in("foreign"), "--json"}, 1)["error"]["code"], "not_a_pool");
}

TEST_F(Command, RepairSavesWhatItCanAndKeepsTheFileAsItWas) {
    const std::string pool = in("pool");
    write("lines", "one\ntwo\nthree\n");
    ASSERT_EQ(run({"kv", pool, "--size", "1M", "load", in("lines")}).status, 0);
    const std::string sound = contents_of(pool);
    const outcome nothing = run({"pool", "check", "--repair", pool});
    EXPECT_EQ(nothing.status, 0) << nothing.err;
    EXPECT_NE(nothing.out.find("was not touched"), std::string::npos) << nothing.out;
    EXPECT_FALSE(std::filesystem::exists(pool + ".before-repair"));

    std::string bytes = sound;
    const std::uint64_t zone = 12288 + run_json({"pool", "info", pool, "--json"})["log_bytes"].get<std::uint64_t>();
    for (const std::uint64_t offset : {std::uint64_t{100}, std::uint64_t{8192 + 80}, std::uint64_t{12288}, zone + 16})
        bytes[offset] = static_cast<char>(bytes[offset] ^ 0x55);
    std::ofstream(pool, std::ios::binary) << bytes;
    const json mended = run_json({"pool", "check", "--repair", pool, "--json"});
    EXPECT_EQ(mended["all_saved"], true) << mended;
    EXPECT_EQ(mended["steps"].size(), 4u) << mended;
    EXPECT_EQ(contents_of(pool + ".before-repair"), bytes);
    EXPECT_EQ(run({"kv", pool, "scan"}).out, "one\t1\nthree\t3\ntwo\t2\n");

    // What is gone is named, and the first copy stays.
    bytes = contents_of(pool);
    for (std::uint64_t i = 0; i < 4096; ++i) bytes[8192 + i] = 0;
    std::ofstream(pool, std::ios::binary) << bytes;
    const outcome lost = run({"pool", "check", "--repair", pool});
    EXPECT_EQ(lost.status, 1);
    EXPECT_NE(lost.out.find("not everything could be saved"), std::string::npos) << lost.out;
    EXPECT_TRUE(std::filesystem::exists(pool + ".before-repair-2"));
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(pool).parent_path()))
        EXPECT_EQ(entry.path().string().find(".repairing"), std::string::npos) << entry.path();
}

TEST_F(Command, DumpShowsEveryPartAndWhatIsDamaged) {
    const std::string pool = in("pool");
    write("lines", "one\ntwo\nthree\n");
    ASSERT_EQ(run({"kv", pool, "--size", "1M", "load", in("lines")}).status, 0);
    const json dump = run_json({"pool", "dump", pool, "--payload", "--json"});
    EXPECT_EQ(dump["superblocks"][0]["engine"], "redo");
    EXPECT_EQ(dump["log"]["needed"], 0);
    ASSERT_FALSE(dump["log"]["segments"].empty());
    EXPECT_EQ(dump["log"]["segments"][0]["records"][0]["kind"], "redo");
    EXPECT_FALSE(dump["log"]["segments"][0]["records"][0]["entries"][0]["values"].empty());
    EXPECT_EQ(dump["roots"]["entries"].size(), 2u);
    EXPECT_EQ(dump["kv"]["entries"][1]["key"], "three");
    EXPECT_GT(dump["heap"][0]["blocks"], 2);
    const std::string text = run({"pool", "dump", pool}).out;
    EXPECT_NE(text.find("key three"), std::string::npos) << text;

    std::string bytes = contents_of(pool);
    bytes[100] = static_cast<char>(bytes[100] ^ 1);
    bytes[8192 + 80] = static_cast<char>(bytes[8192 + 80] ^ 1);
    std::ofstream(pool, std::ios::binary) << bytes;
    const json damaged = run_json({"pool", "dump", pool, "--json"});
    EXPECT_TRUE(damaged["superblocks"][0].contains("damage"));
    EXPECT_FALSE(damaged["roots"]["damage"].empty());
}

TEST_F(Command, DoctorMeasuresAndNamesEveryLevel) {
    const json found = run_json({"doctor", directory_, "--json"});
    EXPECT_EQ(found["levels"].size(), 2 * engine_names().size() + 1) << "two levels of each engine, and lag";
    EXPECT_GT(found["costs"]["durable64"]["ns"], 0);
    EXPECT_FALSE(found["file_system"].get<std::string>().empty());
    const char* const obstacle = htm::obstacle_here();
    EXPECT_EQ(found["hardware_transactions"], obstacle == nullptr);
    EXPECT_NE(run({"doctor", directory_}).out.find(obstacle == nullptr ? "RTM, for" : obstacle), std::string::npos);
    const json memory = run_json({"doctor", "/dev/shm", "--nvram", "--json"});
    EXPECT_EQ(memory["medium"], "nvram");
    for (const json& each : memory["levels"])
        if (each["engine"] == "redo") {
            EXPECT_EQ(each["offered"], true);
        }
    EXPECT_NE(run({"doctor", directory_}).out.find("Available durability levels"), std::string::npos);
    EXPECT_EQ(run({"doctor", in("missing")}).status, 1);
}

TEST_F(Command, DoctorRemovesWhatAKilledOneLeftAndNothingElse) {
    const std::string no_process = std::to_string(std::numeric_limits<int>::max());
    const auto scratch = [&](const std::string& name) { return in("holdfast-doctor-" + name + ".pool"); };
    const auto make = [&](const std::string& path, const char* layout) {
        create_options options;
        options.bytes = 8 << 20;
        options.durability = level::process;
        options.layout = layout;
        redo::pool::create(path, options).value().close().value();
    };
    make(scratch(no_process), "holdfast doctor");
    make(scratch("findings"), "holdfast doctor");
    make(scratch(std::to_string(std::numeric_limits<int>::max() - 1)), "of a user");
    std::ofstream(scratch(std::to_string(std::numeric_limits<int>::max() - 2))) << "a user's text";
    const auto count = [&] {
        const auto is_pool = [](const auto& each) { return each.path().extension() == ".pool"; };
        const std::filesystem::directory_iterator all(directory_);
        return std::count_if(begin(all), end(all), is_pool);
    };
    ASSERT_EQ(count(), 4);
    EXPECT_EQ(run({"doctor", directory_}).status, 0);
    EXPECT_EQ(count(), 3);
    EXPECT_FALSE(std::filesystem::exists(scratch(no_process)));
}

TEST_F(Command, DoctorForgetsNoSaveThatIsNotThere) {
    const outcome unreadable = run({"doctor", "/dev/shm", "--nvram", "--forget-save", "12x"});
    EXPECT_EQ(unreadable.status, 2);
    EXPECT_NE(unreadable.err.find("hexadecimal"), std::string::npos) << unreadable.err;
    EXPECT_EQ(run({"doctor", "/dev/shm", "--nvram", "--forget-save", "12ab"}).status, 1);
}

TEST_F(Command, DoctorSaysWhoWouldSavePoolsAndADrillLosesNothing) {
    const json file = run_json({"doctor", directory_, "--json"})["power_failure"];
    EXPECT_TRUE(file["obstacle"].is_null()) << file.dump();
    EXPECT_EQ(file["on_file"], true);
    EXPECT_GT(file["save"]["write_back_us"], 0);
    const json synced = run_json({"doctor", directory_, "--drill", "--json"})["power_failure"]["drill"];
    EXPECT_EQ(synced["clean"], true);
    EXPECT_GT(synced["at_power_ns"], 0);
    const json all = run_json({"doctor", "/dev/shm", "--nvram", "--drill", "--threads", "3", "--json"});
    const json& memory = all["power_failure"];
    EXPECT_TRUE(memory["obstacle"].is_null()) << memory.dump();
    EXPECT_GT(memory["save"]["write_back_us"], 0);
    const json& drill = memory["drill"];
    EXPECT_EQ(drill["clean"], true);
    EXPECT_GE(drill["stopped"], 3);
    EXPECT_LE(drill["parked_ns"], drill["sealed_ns"]);
    EXPECT_LE(drill["sealed_ns"], drill["released_ns"]);
    EXPECT_NE(run({"doctor", "/dev/shm", "--nvram", "--drill"}).out.find("pool afterwards"), std::string::npos);
    const outcome refused = run({"doctor", "/dev/shm", "--drill"});
    EXPECT_EQ(refused.status, 1);
    EXPECT_NE(refused.err.find("no drill here"), std::string::npos) << refused.err;
}

TEST_F(Command, AGrownPoolHoldsWhatItHeldAndMore) {
    std::string lines;
    for (int i = 0; i < 4000; ++i) lines += "key " + std::to_string(i) + "\t" + std::string(100, 'v') + "\n";
    write("lines", lines);
    for (const std::string engine : {"redo", "softwrap_lat", "softwrap", "undo"}) {
        const std::string pool = in(engine);
        const std::vector<std::string> load = {"kv", pool, "--engine", engine, "--size", "512K", "--level", "process",
                                               "load", in("lines"), "--batch", "20"};
        const outcome full = run(load);
        EXPECT_EQ(full.status, 1);
        EXPECT_NE(full.err.find("holdfast pool grow"), std::string::npos) << full.err;
        const std::uint64_t before = run_json({"kv", pool, "stats", "--json"})["entries"];
        EXPECT_GT(before, 0u);
        const json grown = run_json({"pool", "grow", pool, "4M", "--json"});
        EXPECT_EQ(grown["bytes_before"], 512 << 10);
        EXPECT_EQ(grown["bytes"], 4 << 20);
        EXPECT_EQ(grown["zones"], 2);
        EXPECT_EQ(run_json({"kv", pool, "stats", "--json"})["entries"], before);
        EXPECT_EQ(run(load).status, 0) << "it goes on behind the last line that was committed";
        EXPECT_EQ(run_json({"kv", pool, "stats", "--json"})["entries"], 4000);
        EXPECT_EQ(run({"pool", "check", pool}).status, 0);
        EXPECT_NE(run({"pool", "grow", pool, "5M"}).out.find("29 of 31 growths are left"), std::string::npos);
    }
}

TEST_F(Command, WhatIsAcknowledgedAtLagSurvivesAKill) {
    std::string lines;
    for (int i = 0; i < 300'000; ++i) lines += "key" + std::to_string(i) + "\n";
    write("lines", lines);
    if (run({"kv", in("probe"), "--engine", "cc_htm", "--level", "lag", "put", "a", "b"}).status != 0)
        GTEST_SKIP() << "the file system of the build does not offer level lag";
    std::size_t acknowledged = 0;
    // Longer and longer, until enough was told before the kill.
    for (int tenths = 1; acknowledged < 5'000 && tenths < 200; tenths *= 2) {
        const std::string seconds = std::to_string(tenths / 10.0);
        const std::string pool = in(seconds), told = in("told " + seconds);
        // In the foreground, or timeout kills itself, too, and the pool is opened while its holder is still ending.
        run({"kv", pool, "--engine", "cc_htm", "--level", "lag", "--size", "64M", "load", in("lines"), "--batch", "20",
             "--ack", told},
            "timeout --foreground -s KILL " + seconds);
        if (!std::filesystem::exists(told)) continue;
        std::set<std::string> kept;
        std::istringstream found(run({"kv", pool, "scan"}).out);
        for (std::string line; std::getline(found, line);) kept.insert(line.substr(0, line.find('\t')));
        std::ifstream said(told);
        for (std::string key; std::getline(said, key); ++acknowledged)
            ASSERT_TRUE(kept.contains(key)) << key << ", killed after " << seconds << " s";
        EXPECT_EQ(run({"pool", "check", pool}).status, 0);
    }
    EXPECT_GT(acknowledged, 0u);
}

TEST_F(Command, ARefusedGrowthChangesNothing) {
    const std::string pool = in("pool");
    ASSERT_EQ(run({"pool", "create", pool, "--size", "1M", "--reserve", "2M"}).status, 0);
    const std::string before = contents_of(pool);
    EXPECT_EQ(run({"pool", "grow", pool, "1M"}).status, 2);
    const outcome beyond = run({"pool", "grow", pool, "3M"});
    EXPECT_EQ(beyond.status, 2);
    EXPECT_NE(beyond.err.find("at most 2097152 bytes"), std::string::npos) << beyond.err;
    EXPECT_EQ(contents_of(pool), before);
    EXPECT_EQ(run({"pool", "grow", in("missing"), "3M"}).status, 1);
    EXPECT_EQ(run({"pool", "grow", pool, "2M"}).status, 0);
}

TEST_F(Command, ASnapshotIsAnotherPoolWithTheSameEntries) {
    for (const std::string& engine : engine_names()) {
        const std::string pool = in(engine), copy = in(engine + "-copy");
        ASSERT_EQ(run({"kv", pool, "--engine", engine, "--size", "1M", "--level", "process", "put", "a", "b"}).status,
                  0);
        const json original = run_json({"pool", "info", pool, "--json"});
        const json copied = run_json({"pool", "snapshot", pool, copy, "--json"});
        EXPECT_EQ(copied["copy_of"], pool);
        EXPECT_EQ(copied["clean"], true);
        EXPECT_NE(copied["pool_id"], original["pool_id"]);
        EXPECT_EQ(run({"kv", copy, "get", "a"}).out, "b\n");
        EXPECT_EQ(run({"kv", pool, "get", "a"}).out, "b\n");
        EXPECT_EQ(run({"pool", "check", copy}).status, 0);
        EXPECT_EQ(std::filesystem::status(copy).permissions(), std::filesystem::status(pool).permissions());
        EXPECT_EQ(run({"kv", copy, "put", "a", "c"}).status, 0);
        EXPECT_EQ(run({"kv", pool, "get", "a"}).out, "b\n") << "they are apart";
        EXPECT_EQ(run({"pool", "snapshot", copy, in(engine + "-second")}).status, 0);
        EXPECT_EQ(run({"kv", in(engine + "-second"), "get", "a"}).out, "c\n");
    }
}

TEST_F(Command, ARefusedSnapshotChangesNothing) {
    const std::string pool = in("pool");
    ASSERT_EQ(run({"pool", "create", pool, "--size", "1M"}).status, 0);
    const std::string before = contents_of(pool);
    write("letter", "dear reader");
    EXPECT_EQ(run({"pool", "snapshot", pool, pool}).status, 1);
    EXPECT_EQ(run({"pool", "snapshot", pool, in("letter")}).status, 1);
    EXPECT_EQ(run_json({"pool", "snapshot", pool, in("no/such"), "--json"}, 1)["error"]["code"], "not_found");
    EXPECT_EQ(run_json({"pool", "snapshot", in("letter"), in("copy"), "--json"}, 1)["error"]["code"], "not_a_pool");
    EXPECT_EQ(contents_of(pool), before);
    EXPECT_EQ(contents_of(in("letter")), "dear reader");
    EXPECT_FALSE(std::filesystem::exists(in("copy")));
}

TEST_F(Command, AReaderThatGoesAwayLeavesThePoolClean) {
    std::string lines;
    for (int i = 0; i < 5000; ++i) lines += "key " + std::to_string(i) + "\n";
    write("lines", lines);
    ASSERT_EQ(run({"kv", in("pool"), "--size", "4M", "load", in("lines"), "--batch", "100"}).status, 0);
    const std::string line = quoted(HOLDFAST_COMMAND) + " kv " + quoted(in("pool")) + " scan | head -n 1 >/dev/null";
    ASSERT_EQ(std::system(line.c_str()), 0);
    EXPECT_EQ(run_json({"pool", "info", in("pool"), "--json"})["clean"], true);
}

}  // namespace
}  // namespace holdfast::tools::test

// The command as its users meet it: exit status, what it prints, and what it leaves behind.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <stdlib.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

using nlohmann::json;

struct outcome {
    int status;
    std::string out;
    std::string err;
};

std::string contents_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::string quoted(const std::string& word) {
    std::string text = "'";
    for (const char letter : word) text += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
    return text + "'";
}

class command : public ::testing::Test {
protected:
    void SetUp() override {
        directory_ = "./holdfast-command-XXXXXX";
        ASSERT_NE(::mkdtemp(directory_.data()), nullptr);
    }
    void TearDown() override { std::filesystem::remove_all(directory_); }

    std::string in(const std::string& name) const { return directory_ + "/" + name; }

    outcome run(const std::vector<std::string>& words, const std::string& before = "") const {
        std::string line = before + " " + quoted(HOLDFAST_COMMAND);
        for (const auto& word : words) line += " " + quoted(word);
        line += " >" + quoted(in("out")) + " 2>" + quoted(in("err")) + " </dev/null";
        const int status = std::system(line.c_str());
        return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), contents_of(in("out")),
                contents_of(in("err"))};
    }
    json run_json(const std::vector<std::string>& words, int status = 0) const {
        const outcome done = run(words);
        EXPECT_EQ(done.status, status) << done.err;
        return json::parse(done.out);
    }
    void write(const std::string& name, const std::string& text) const { std::ofstream(in(name)) << text; }

    std::string directory_;
};

TEST_F(command, WrongUsageExitsWith2AndSaysWhy) {
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
        {"doctor"},
        {"bench", "nonsense"},
    };
    for (const auto& words : wrong) {
        const outcome done = run(words);
        EXPECT_EQ(done.status, 2) << ::testing::PrintToString(words);
        EXPECT_FALSE(done.err.empty()) << ::testing::PrintToString(words);
        EXPECT_FALSE(std::filesystem::exists(in("p"))) << ::testing::PrintToString(words);
    }
}

TEST_F(command, HelpIsThereForEveryCommand) {
    const std::vector<std::vector<std::string>> all = {{},
                                                       {"kv"},
                                                       {"kv", "put"},
                                                       {"kv", "load"},
                                                       {"pool"},
                                                       {"pool", "create"},
                                                       {"pool", "check"},
                                                       {"doctor"},
                                                       {"bench"}};
    for (auto words : all) {
        words.emplace_back("--help");
        const outcome done = run(words);
        EXPECT_EQ(done.status, 0) << ::testing::PrintToString(words);
        EXPECT_NE(done.out.find("Usage"), std::string::npos) << ::testing::PrintToString(words);
    }
}

TEST_F(command, KvKeepsEntriesInOrder) {
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

TEST_F(command, MissingKeysAndPoolsExitWith1) {
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

TEST_F(command, AFailedCommandLeavesNothingBehind) {
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

TEST_F(command, EveryEngineKeepsEntries) {
    for (const std::string engine : {"redo", "undo", "undo_paper", "volatile_only"}) {
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

TEST_F(command, LoadTakesKeysAndValuesFromLinesAndAcknowledgesThem) {
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

TEST_F(command, PoolCreateInfoAndCheckAgree) {
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

TEST_F(command, CheckFindsDamageAndChangesNothing) {
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

TEST_F(command, DoctorMeasuresAndNamesEveryLevel) {
    const json found = run_json({"doctor", directory_, "--json"});
    EXPECT_EQ(found["levels"].size(), 8u);
    EXPECT_GT(found["costs"]["durable64"]["ns"], 0);
    EXPECT_FALSE(found["file_system"].get<std::string>().empty());
    const json memory = run_json({"doctor", "/dev/shm", "--nvram", "--json"});
    EXPECT_EQ(memory["medium"], "nvram");
    for (const json& each : memory["levels"])
        if (each["engine"] == "redo") {
            EXPECT_EQ(each["offered"], true);
        }
    EXPECT_NE(run({"doctor", directory_}).out.find("Durability levels on offer"), std::string::npos);
    EXPECT_EQ(run({"doctor", in("missing")}).status, 1);
}

TEST_F(command, AReaderThatGoesAwayLeavesThePoolClean) {
    std::string lines;
    for (int i = 0; i < 5000; ++i) lines += "key " + std::to_string(i) + "\n";
    write("lines", lines);
    ASSERT_EQ(run({"kv", in("pool"), "--size", "4M", "load", in("lines"), "--batch", "100"}).status, 0);
    const std::string line = quoted(HOLDFAST_COMMAND) + " kv " + quoted(in("pool")) + " scan | head -n 1 >/dev/null";
    ASSERT_EQ(std::system(line.c_str()), 0);
    EXPECT_EQ(run_json({"pool", "info", in("pool"), "--json"})["clean"], true);
}

}  // namespace

// Runs the command in a directory of its own, and catches what it prints. For tests.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <stdlib.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace holdfast::tools::test {

using nlohmann::json;

struct outcome {
    int status;
    std::string out;
    std::string err;
};

inline std::string contents_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

inline std::string quoted(const std::string& word) {
    std::string text = "'";
    for (const char letter : word) text += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
    return text + "'";
}

class Command : public ::testing::Test {
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

}  // namespace holdfast::tools::test

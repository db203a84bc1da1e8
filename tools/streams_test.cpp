// The command where standard output and error are closed, full, or pipes that nobody reads.
#include "command_test_support.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::tools::test {
namespace {

enum class stream { kept, closed, full, unread };

const char* name_of(stream which) {
    switch (which) {
        case stream::kept: return "kept";
        case stream::closed: return "closed";
        case stream::full: return "full";
        case stream::unread: return "unread";
    }
    return "?";
}

using words = std::vector<std::string>;

class Streams : public Command {
protected:
    /// In a child: descriptor `number` becomes what `which` says; what is kept goes to the file.
    static void place(int number, stream which, const std::string& file) {
        if (which == stream::closed) {
            ::close(number);
            return;
        }
        int opened = -1;
        if (which == stream::kept) opened = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (which == stream::full) opened = ::open("/dev/full", O_WRONLY);
        if (which == stream::unread) {
            int ends[2];
            if (::pipe(ends) != 0) ::_exit(99);
            ::close(ends[0]);
            opened = ends[1];
        }
        if (opened < 0 || ::dup2(opened, number) != number) ::_exit(99);
        ::close(opened);
    }

    outcome run_with(stream out, stream err, const words& line, stream in = stream::kept) const {
        std::vector<std::string> all = {HOLDFAST_COMMAND};
        all.insert(all.end(), line.begin(), line.end());
        std::vector<char*> pointers;
        for (auto& each : all) pointers.push_back(each.data());
        pointers.push_back(nullptr);
        const std::string out_file = this->in("out"), err_file = this->in("err");
        std::filesystem::remove(out_file);
        std::filesystem::remove(err_file);
        const pid_t child = ::fork();
        if (child == 0) {
            place(STDOUT_FILENO, out, out_file);
            place(STDERR_FILENO, err, err_file);
            if (in == stream::closed) ::close(STDIN_FILENO);
            ::execv(HOLDFAST_COMMAND, pointers.data());
            ::_exit(98);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), contents_of(out_file),
                contents_of(err_file)};
    }

    void make_pool(const std::string& name) const {
        ASSERT_EQ(run({"kv", in(name), "--size", "1M", "put", "key", "value"}).status, 0);
    }
};

TEST_F(Streams, AnErrorThatNobodyCanReadHasItsExitStatus) {
    make_pool("pool");
    write("letter", "dear reader");
    const std::vector<std::pair<words, int>> lines = {
        {{"nonsense"}, 2},
        {{}, 2},
        {{"kv", in("missing"), "get", "key"}, 1},
        {{"kv", in("missing"), "get", "key", "--json"}, 1},
        {{"kv", in("pool"), "get", "none"}, 1},
        {{"pool", "info", in("letter")}, 1},
        {{"pool", "create", in("other"), "--size", "1"}, 2},
        {{"doctor", in("missing")}, 1},
        {{"figures", "--records", in("letter")}, 1},
        {{"bench", "nonsense"}, 2},
        {{"ecc", "inject", "--bits", "0"}, 2},
#ifdef HOLDFAST_HAS_CRASH
        {{"crash", "--nonsense"}, 2},
        {{"crash", "--engine", "nonsense"}, 2},
        {{"crash", "--replay", "nonsense"}, 2},
#endif
#ifdef HOLDFAST_HAS_SIM
        {{"sim", "hash", "sps", "--trace", in("trace")}, 2},
        {{"sim", "nonsense"}, 2},
#endif
    };
    for (const auto& [line, status] : lines)
        for (const stream err : {stream::kept, stream::closed, stream::full, stream::unread}) {
            const outcome done = run_with(stream::kept, err, line);
            EXPECT_EQ(done.status, status) << ::testing::PrintToString(line) << ", standard error " << name_of(err);
            EXPECT_EQ(done.err.empty(), err != stream::kept) << ::testing::PrintToString(line);
        }
}

TEST_F(Streams, AnErrorIsNeverWrittenIntoAPoolThatTookTheNumberOfAClosedStream) {
    make_pool("pool");
    for (const stream err : {stream::kept, stream::closed})
        for (const stream out : {stream::kept, stream::closed})
            for (const stream input : {stream::kept, stream::closed}) {
                run_with(out, err, {"kv", in("pool"), "get", "none"}, input);
                run_with(out, err, {"kv", in("pool"), "scan"}, input);
                EXPECT_EQ(run({"pool", "check", in("pool")}).status, 0) << name_of(out) << ' ' << name_of(err);
                EXPECT_EQ(run({"kv", in("pool"), "scan"}).out, "key\tvalue\n");
            }
}

TEST_F(Streams, OutputThatGoesNowhereIsAnErrorWithASentence) {
    make_pool("pool");
    const std::vector<std::pair<words, int>> lines = {
        {{"kv", in("pool"), "get", "key"}, 1},
        {{"kv", in("pool"), "scan"}, 1},
        {{"kv", in("pool"), "scan", "--json"}, 1},
        {{"kv", in("pool"), "stats", "--json"}, 1},
        {{"pool", "info", in("pool")}, 1},
        {{"pool", "dump", in("pool")}, 1},
        {{"kv", in("missing"), "get", "key", "--json"}, 1},
        {{"ecc", "explain", "0x8000000100000001", "10000000000"}, 1},
        {{"--help"}, 1},
        {{"--version"}, 1},
        {{"kv", "--help"}, 1},
#ifdef HOLDFAST_HAS_CRASH
        {{"crash", "--help"}, 2},
        {{"crash", "--engine", "redo", "--workload", "queue", "--model", "kill", "--operations", "1"}, 2},
#endif
#ifdef HOLDFAST_HAS_SIM
        {{"sim", "hash", "--print-config"}, 1},
#endif
    };
    for (const auto& [line, status] : lines) {
        for (const stream out : {stream::full, stream::closed}) {
            const outcome done = run_with(out, stream::kept, line);
            EXPECT_EQ(done.status, status) << ::testing::PrintToString(line) << ", standard output " << name_of(out);
            EXPECT_NE(done.err.find("cannot write to standard output"), std::string::npos)
                << ::testing::PrintToString(line) << ", standard output " << name_of(out) << ": " << done.err;
            EXPECT_EQ(run_with(out, out, line).status, status) << ::testing::PrintToString(line);
        }
        EXPECT_EQ(run({"pool", "check", in("pool")}).status, 0);
        EXPECT_EQ(run_json({"pool", "info", in("pool"), "--json"})["clean"], true) << ::testing::PrintToString(line);
    }
}

TEST_F(Streams, AReaderThatIsGoneEndsTheCommandQuietly) {
    make_pool("pool");
    const std::vector<words> lines = {
        {"kv", in("pool"), "get", "key"},
        {"kv", in("pool"), "scan"},
        {"pool", "dump", in("pool")},
        {"--help"},
        {"kv", "--help"},
#ifdef HOLDFAST_HAS_CRASH
        {"crash", "--help"},
        {"crash", "--engine", "redo", "--workload", "queue", "--model", "kill", "--operations", "1"},
#endif
    };
    for (const auto& line : lines) {
        const outcome done = run_with(stream::unread, stream::kept, line);
        EXPECT_EQ(done.status, 0) << ::testing::PrintToString(line);
        EXPECT_EQ(done.err, "") << ::testing::PrintToString(line);
    }
    EXPECT_EQ(run_with(stream::unread, stream::kept, {"kv", in("missing"), "get", "key", "--json"}).status, 1);
}

TEST_F(Streams, AMeasurementWhoseTableGoesNowhereKeepsItsRecordsAndExitsWith1) {
    const std::string records = in("records.json");
    const words line = {"bench", "ecc", "--quick", "--json", records};
    const outcome full = run_with(stream::full, stream::kept, line);
    EXPECT_EQ(full.status, 1) << full.err;
    EXPECT_NE(full.err.find("cannot write to standard output"), std::string::npos) << full.err;
    EXPECT_FALSE(json::parse(contents_of(records)).empty());
    EXPECT_EQ(full.err.find('\033'), std::string::npos) << "no bar where there is no terminal";
}

/// What the command draws on a terminal with this number of columns that is its standard error.
std::string drawn_on_terminal(unsigned short columns, const words& line) {
    const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (terminal < 0 || ::grantpt(terminal) != 0 || ::unlockpt(terminal) != 0) return "there is no terminal";
    struct winsize size {};
    size.ws_col = columns;
    size.ws_row = 24;
    static_cast<void>(::ioctl(terminal, TIOCSWINSZ, &size));
    const std::string name = ::ptsname(terminal);
    std::string order = quoted(HOLDFAST_COMMAND);
    for (const auto& each : line) order += " " + quoted(each);
    order += " >/dev/null 2>" + quoted(name);
    const pid_t child = ::fork();
    if (child == 0) {
        ::execl("/bin/sh", "sh", "-c", order.c_str(), nullptr);
        ::_exit(98);
    }
    std::string drawn;
    int status = 0;
    bool running = true;
    while (running) {
        running = ::waitpid(child, &status, WNOHANG) == 0;
        int waiting = 0;
        while (::ioctl(terminal, FIONREAD, &waiting) == 0 && waiting > 0) {
            char text[4096];
            const ssize_t count = ::read(terminal, text, sizeof text);
            if (count <= 0) break;
            drawn.append(text, static_cast<std::size_t>(count));
        }
        ::usleep(1000);
    }
    ::close(terminal);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? drawn : "it failed";
}

TEST_F(Streams, ABarIsOneLineOnATerminalOf40Columns) {
    const std::string drawn = drawn_on_terminal(40, {"bench", "ecc", "--quick"});
    const std::string begin = "\r\033[K";
    ASSERT_EQ(drawn.rfind(begin, 0), 0u) << drawn;
    std::size_t longest = 0;
    for (std::size_t at = 0; at < drawn.size();) {
        const std::size_t from = at + begin.size();
        at = std::min(drawn.find(begin, from), drawn.size());
        longest = std::max(longest, at - from);
    }
    EXPECT_GE(longest, 30u) << "there is a bar";
    EXPECT_LT(longest, 40u);
}

}  // namespace
}  // namespace holdfast::tools::test

// What the command says went wrong: what, where, what was expected and found, and what to do; no name of a system call
// comes first.
#include "command_test_support.hpp"

#include <sys/statvfs.h>

#include <string>
#include <vector>

namespace holdfast::tools::test {
namespace {

using words = std::vector<std::string>;

class ErrorText : public Command {
protected:
    /// Its sentence begins with `what`, names the path and holds every one of `parts`.
    void expect_said(const outcome& done, int status, const std::string& what, const std::string& path,
                     const words& parts) const {
        EXPECT_EQ(done.status, status) << done.err;
        EXPECT_EQ(done.err.rfind("holdfast: " + what + ": " + path, 0), 0u) << done.err;
        for (const auto& each : parts)
            EXPECT_NE(done.err.find(each), std::string::npos) << each << " is not in " << done.err;
    }
};

TEST_F(ErrorText, AMissingPoolIsCalledThat) {
    const std::string pool = in("missing");
    for (const words& line : {words{"kv", pool, "get", "key"}, words{"kv", pool, "del", "key"},
                              words{"kv", pool, "scan"}, words{"kv", pool, "stats"}, words{"pool", "info", pool},
                              words{"pool", "check", pool}, words{"pool", "check", "--repair", pool},
                              words{"pool", "dump", pool}, words{"pool", "grow", pool, "1G"},
                              words{"pool", "snapshot", pool, in("copy")}})
        expect_said(run(line), 1, "there is no such pool", pool,
                    {"expected a pool's file", "found nothing of that name", "; make one with"});
    const std::string below = in("none/pool");
    expect_said(run({"kv", below, "get", "key"}), 1, "there is no such pool", below, {"found no directory"});
    const json found = run_json({"kv", pool, "get", "key", "--json"}, 1)["error"];
    EXPECT_EQ(found["code"], "not_found");
    EXPECT_EQ(found["path"], pool);
    EXPECT_FALSE(found["remedy"].get<std::string>().empty());
}

TEST_F(ErrorText, ANewPoolWithoutADirectoryOrInThePlaceOfAFileSaysWhatToDo) {
    const std::string below = in("none/pool");
    expect_said(run({"pool", "create", below}), 1, "there is no directory for the new file", below,
                {"expected a directory", "; create the directory first"});
    expect_said(run({"kv", below, "put", "a", "b"}), 1, "there is no directory for the new file", below, {"; create"});
    write("letter", "dear reader");
    expect_said(run({"pool", "create", in("letter")}), 1, "a file of that name already exists", in("letter"),
                {"; open the existing file"});
}

TEST_F(ErrorText, ASizeThatCannotBeNamesTheBoundThatItPasses) {
    const std::string pool = in("pool");
    for (const std::string size : {"999T", "16000P", "4K"})
        expect_said(run({"pool", "create", pool, "--size", size}), 2, "a pool cannot have that size", pool,
                    {"expected 262144 to ", " bytes, found "});
    const outcome large = run({"kv", pool, "--size", "999T", "put", "a", "b"});
    expect_said(large, 2, "a pool cannot have that size", pool, {"found 1098412116148224"});
}

TEST_F(ErrorText, AFileSystemThatIsFullIsNamedWithWhatIsFreeAndARemedy) {
    struct statvfs room {};
    ASSERT_EQ(::statvfs(directory_.c_str(), &room), 0);
    const std::uint64_t free_bytes = std::uint64_t{room.f_bavail} * room.f_frsize;
    const std::uint64_t wanted = free_bytes + (std::uint64_t{8} << 30);
    const std::string pool = in("pool");
    const outcome done = run({"pool", "create", pool, "--size", std::to_string(wanted)});
    expect_said(done, 1, "the file system has no room for it", pool, {" bytes free, found ", "; make room"});
    EXPECT_FALSE(std::filesystem::exists(pool));
    EXPECT_EQ(run_json({"pool", "create", pool, "--size", std::to_string(wanted), "--json"}, 1)["error"]["code"],
              "no_space");
}

TEST_F(ErrorText, ALimitOfAddressesIsNamed) {
    const std::string pool = in("pool");
    const outcome done = run({"pool", "create", pool, "--size", "1M"}, "ulimit -v 4000000;");
    expect_said(done, 1, "this process may not use that many addresses", pool,
                {"expected 68719476736 bytes of addresses", "found a limit of 4096000000 bytes", "ulimit -v",
                 "--reserve"});
    EXPECT_EQ(run({"pool", "create", pool, "--size", "1M", "--reserve", "1G"}, "ulimit -v 4000000;").status, 0)
        << "the remedy is one";
}

TEST_F(ErrorText, APoolThatIsFullSaysWhichAndHowToGrowIt) {
    const std::string pool = in("pool");
    ASSERT_EQ(run({"kv", pool, "--size", "256K", "put", "a", "b"}).status, 0);
    const outcome done = run({"kv", pool, "put", "large", std::string(100'000, 'x'), "--engine", "redo"});
    ASSERT_EQ(done.status, 0);
    const outcome full = run({"kv", pool, "put", "more", std::string(100'000, 'x')});
    expect_said(full, 1, "the heap has no free block of 100000 bytes", pool, {});
    EXPECT_NE(full.err.find(pool), std::string::npos) << full.err;
    EXPECT_NE(full.err.find("holdfast pool grow"), std::string::npos) << full.err;
}

TEST_F(ErrorText, AFileOfLinesThatCannotBeReadOrWrittenIsNamed) {
    const outcome input = run({"kv", in("pool"), "load", in("missing")});
    expect_said(input, 1, "the input cannot be read", in("missing"), {"found No such file"});
    write("lines", "one\n");
    const outcome told = run({"kv", in("pool"), "load", in("lines"), "--ack", in("none/told")});
    expect_said(told, 1, "acknowledgements cannot be written", in("none/told"), {"found No such file"});
    EXPECT_FALSE(std::filesystem::exists(in("pool")));
}

}  // namespace
}  // namespace holdfast::tools::test

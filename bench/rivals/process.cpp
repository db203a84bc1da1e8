#include <bench/rivals/process.hpp>

#include <holdfast/base/result.hpp>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <vector>

extern char** environ;

namespace holdfast::bench {
namespace {

[[noreturn]] void give_up(const std::string& what, const std::string& path = {}) {
    throw failure({errc::io, what, path, {}, {}, {}});
}

std::string rival_program() {
    const auto beside = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "holdfast-rivals";
    if (!std::filesystem::exists(beside))
        throw failure({errc::not_found, "the rivals' program is not beside this one", beside.string(), {}, {}, {}});
    return beside.string();
}

/// libpmem reads its environment when it is loaded: it has to be right before the child begins.
std::vector<std::string> environment_for(bool flushes_lines, bool survives_power) {
    std::vector<std::string> all;
    for (char** each = environ; *each != nullptr; ++each)
        if (std::string_view(*each).substr(0, 5) != "PMEM_") all.emplace_back(*each);
    if (flushes_lines) all.emplace_back("PMEM_IS_PMEM_FORCE=1");
    if (flushes_lines && !survives_power) all.emplace_back("PMEM_NO_FLUSH=1");
    // One address for the child that fills and the child that is measured: the data hold native pointers.
    all.emplace_back("PMEM_MMAP_HINT=0x600000000000");
    return all;
}

/// A started rivals program with pipes to it.
class child_process {
public:
    child_process(const std::vector<std::string>& arguments, const std::vector<std::string>& environment) {
        std::array<int, 2> in{}, out{};
        if (::pipe2(in.data(), O_CLOEXEC) != 0 || ::pipe2(out.data(), O_CLOEXEC) != 0) give_up("no pipe to a rival");
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
        posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
        posix_spawnattr_t attributes;
        posix_spawnattr_init(&attributes);
        sigset_t none;
        sigemptyset(&none);
        posix_spawnattr_setsigmask(&attributes, &none);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
        const int failed = ::posix_spawn(&id_, arguments[0].c_str(), &actions, &attributes,
                                         pointers(arguments).data(), pointers(environment).data());
        posix_spawn_file_actions_destroy(&actions);
        posix_spawnattr_destroy(&attributes);
        ::close(in[0]);
        ::close(out[1]);
        to_ = ::fdopen(in[1], "w");
        from_ = ::fdopen(out[0], "r");
        if (failed != 0) give_up("a rival could not be started", arguments[0]);
        watch_child(id_);
    }
    ~child_process() {
        std::fclose(to_);
        std::fclose(from_);
        if (id_ > 0) {
            ::kill(id_, SIGKILL);
            ::waitpid(id_, nullptr, 0);
            forget_child(id_);
        }
    }
    child_process(const child_process&) = delete;
    child_process& operator=(const child_process&) = delete;

    void say(const std::string& text) {
        std::fputs((text + "\n").c_str(), to_);
        std::fflush(to_);
    }
    /// The next line. Throws failure when it is an error or there is none.
    std::string hear(const std::string& who) {
        std::array<char, 4096> line{};
        if (std::fgets(line.data(), static_cast<int>(line.size()), from_) == nullptr) give_up(who + " ended unasked");
        std::string text = line.data();
        while (!text.empty() && text.back() == '\n') text.pop_back();
        if (text.substr(0, 6) == "error ") give_up(who + ": " + text.substr(6));
        return text;
    }

private:
    static std::vector<char*> pointers(const std::vector<std::string>& texts) {
        std::vector<char*> all;
        for (const auto& text : texts) all.push_back(const_cast<char*>(text.c_str()));
        all.push_back(nullptr);
        return all;
    }

    pid_t id_ = 0;
    std::FILE* to_ = nullptr;
    std::FILE* from_ = nullptr;
};

class rival_contestant final : public contestant {
public:
    rival_contestant(const std::string& rival, const std::string& suite, const setting& where, scratch& space)
        : rival_(rival), directory_(space.path(where.medium, rival)) {
        std::filesystem::create_directory(directory_);
        const bool power = where.level == "power";
        // Filled as if on NVRAM: with one msync per range it would take hours on a file.
        start(suite, where, "fill", environment_for(true, false));
        child_.reset();
        start(suite, where, "run", environment_for(where.medium != "file" || !power, power));
    }
    ~rival_contestant() override {
        child_.reset();
        std::error_code ignored;
        std::filesystem::remove_all(directory_, ignored);
    }

    batch run(const std::string& name, std::uint64_t transactions) override {
        child_->say("run " + name + " " + std::to_string(transactions));
        std::istringstream said(child_->hear(rival_));
        batch done;
        int counted = 0;
        said >> done.transactions >> done.ns >> counted;
        if (counted != 0) {
            auto& medium = done.spent.emplace().medium;
            said >> medium.write_backs >> medium.fences >> medium.streamed_bytes;
        }
        if (!said) give_up(rival_ + " was not understood: " + said.str());
        observation one;
        while (said >> one.metric >> one.unit >> one.value) done.seen.push_back(one);
        return done;
    }

private:
    void start(const std::string& suite, const setting& where, const std::string& stage,
               const std::vector<std::string>& environment) {
        const std::vector<std::string> arguments{rival_program(),
                                                 rival_,
                                                 stage,
                                                 suite,
                                                 where.level,
                                                 directory_,
                                                 std::to_string(where.elements),
                                                 std::to_string(where.swaps),
                                                 std::to_string(where.threads),
                                                 where.shared_lock ? "shared" : "own",
                                                 std::to_string(where.delay_ns),
                                                 std::to_string(where.rate)};
        child_ = std::make_unique<child_process>(arguments, environment);
        if (child_->hear(rival_) != "ready") give_up(rival_ + " did not say that it is ready");
    }

    std::string rival_;
    std::string directory_;
    std::unique_ptr<child_process> child_;
};

}  // namespace

std::unique_ptr<contestant> start_rival(const std::string& rival, const std::string& suite, const setting& where,
                                        scratch& space) {
    return std::make_unique<rival_contestant>(rival, suite, where, space);
}

}  // namespace holdfast::bench

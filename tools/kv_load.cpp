#include "kv_load.hpp"

#include "output.hpp"
#include "progress.hpp"

#include <fmt/core.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <thread>
#include <vector>

namespace holdfast::tools {

void add_load_options(CLI::App& command, load_options& options) {
    command
        .add_option("FILE", options.file,
                    "Text; in each line the part before the first tab is the key and the rest the value; without a "
                    "tab the line is the key and its number the value. - is standard input, which cannot be resumed")
        ->required();
    command.add_option("--batch", options.batch, "Lines per transaction")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 20))
        ->capture_default_str();
    command.add_option("--threads", options.threads, "Threads that commit; at level power on a file they share syncs")
        ->check(CLI::Range(1, 64))
        ->capture_default_str();
    auto* file = command.add_option("--ack", options.acknowledge_file,
                                    "Append each key to this file or pipe once its entry is committed");
    command.add_option("--ack-fd", options.acknowledge_descriptor, "The same, to an open file descriptor")
        ->check(CLI::NonNegativeNumber)
        ->excludes(file);
}

namespace {

[[noreturn]] void fail_acknowledgement(const std::string& path) {
    throw failure({.code = errno == ENOENT ? errc::not_found : errc::io,
                   .what = "acknowledgements cannot be written",
                   .path = path,
                   .found = std::strerror(errno),
                   .remedy = "name a file that can be written"});
}

}  // namespace

acknowledgements::acknowledgements(const load_options& options) : descriptor_(options.acknowledge_descriptor) {
    if (options.acknowledge_file.empty()) return;
    descriptor_ = ::open(options.acknowledge_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    opened_here_ = true;
    if (descriptor_ < 0) fail_acknowledgement(options.acknowledge_file);
}

acknowledgements::~acknowledgements() {
    if (opened_here_) ::close(descriptor_);
}

void acknowledgements::tell(const input& from, const input_part& part) const {
    if (descriptor_ < 0) return;
    std::string text;
    from.walk(part.begin, part.end.line - part.begin.line, [&](std::string_view key, std::string_view) {
        text.append(key);
        text.push_back('\n');
    });
    const std::lock_guard held(lock_);
    for (std::size_t done = 0; done < text.size();) {
        const ssize_t count = ::write(descriptor_, text.data() + done, text.size() - done);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) fail_acknowledgement({});
        done += static_cast<std::size_t>(count);
    }
}

load_summary run_load(kv_store& store, const input& from, const load_options& options, const acknowledgements& told) {
    load_summary summary;
    const auto begin = std::chrono::steady_clock::now();
    const input_place place = store.begin_load(from);
    summary.resumed_at_line = place.line;
    progress bar("loading", from.text().size());
    std::atomic<std::uint64_t> lines{0};
    std::atomic<std::uint64_t> transactions{0};
    std::atomic<bool> stop{false};
    std::vector<std::exception_ptr> failures(options.threads);
    const auto work = [&](unsigned thread) {
        try {
            while (!stop) {
                const input_part part = store.load_step(from, options.batch);
                if (part.empty()) return;
                if (told.are_wanted() && store.core().durability() == level::lag) store.fence();
                told.tell(from, part);
                lines += part.end.line - part.begin.line;
                ++transactions;
                if (thread == 0) bar.at(part.end.offset);
            }
        } catch (...) {
            failures[thread] = std::current_exception();
            stop = true;
        }
    };
    std::vector<std::jthread> others;
    for (unsigned thread = 1; thread < options.threads; ++thread) others.emplace_back(work, thread);
    work(0);
    others.clear();
    for (const auto& each : failures)
        if (each) std::rethrow_exception(each);
    store.end_load();
    summary.lines = lines;
    summary.transactions = transactions;
    summary.load_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return summary;
}

void print_summary(const load_summary& summary, bool as_json) {
    const double per_s = summary.load_s > 0 ? static_cast<double>(summary.lines) / summary.load_s : 0;
    if (as_json) {
        print_json(json{{"resumed_at_line", summary.resumed_at_line},
                   {"lines", summary.lines},
                   {"transactions", summary.transactions},
                   {"entries", summary.entries},
                   {"recovered_records", summary.recovered_records},
                   {"open_ms", summary.open_ms},
                   {"load_s", summary.load_s},
                   {"lines_per_s", per_s}});
        return;
    }
    std::string text;
    if (summary.resumed_at_line > 0)
        text += fmt::format("Resumed after line {} ({} records recovered in {:.2f} ms).\n",
                            readable_count(summary.resumed_at_line), readable_count(summary.recovered_records),
                            summary.open_ms);
    text += fmt::format("Loaded {} lines in {:.2f} s, {} a second; {} entries in the map.\n",
                        readable_count(summary.lines), summary.load_s,
                        readable_count(static_cast<std::uint64_t>(per_s)), readable_count(summary.entries));
    print(text);
}

}  // namespace holdfast::tools

// Suite open: how long opening takes after a kill, with 1 GiB of data and a log full of uniform
// single-word records, the page cache warm.
#include <bench/pools.hpp>
#include <bench/suites.hpp>

#include <holdfast/engine/redo.hpp>
#include <holdfast/format/superblock.hpp>

#include <holdfast/log/replay.hpp>
#include <holdfast/persist/file.hpp>
#include <holdfast/persist/sites.hpp>
#include <workload/random.hpp>

#include <filesystem>
#include <memory>

namespace holdfast::bench {
namespace {

constexpr std::uint64_t data_bytes = std::uint64_t{1} << 30;
constexpr std::uint64_t log_bytes = 4u << 20;  // the default of a pool this large

struct data_root {
    std::uint64_t* words;
};

/// A pool that was killed once, and is put back to that moment before each opening.
/// The log is filled on nvram for both media, where it takes a moment: a record is the same on each, and
/// what a single committer leaves on a file is one record a commit too.
class open_contestant final : public contestant {
public:
    open_contestant(const std::string& medium, scratch& space) : path_(space.path("nvram", "open")) {
        options_.tmpfs_is_nvram = true;
        fill_data();
        auto pool = redo::pool::open(path_, options_).value();
        fill_log(pool);
        as_killed_.resize(format::log_offset + pool.info().log_bytes);
        pool.abandon();
        persist::file::open(path_, persist::file::access::read_only)
            .value()
            .read_at(0, as_killed_.data(), as_killed_.size())
            .value();
        if (medium == "file") move_to(space.path(medium, "open"));
    }
    ~open_contestant() override { std::remove(path_.c_str()); }

    batch run(const std::string&, std::uint64_t openings) override {
        batch done{0, openings, costs{}};
        for (std::uint64_t i = 0; i < openings; ++i) {
            put_back();
            const persist::counters before = persist::thread_counters();
            const auto begin = clock::now();
            auto opened = redo::pool::open(path_, options_);
            done.ns += ns_since(begin);
            done.spent->medium = done.spent->medium + (persist::thread_counters() - before);
            opened.value();
            if (opened->core().recovery().applied == 0) fail(errc::corrupt, "there was nothing to recover");
            opened->abandon();
        }
        return done;
    }

private:
    void fill_data() {
        create_options made;
        made.durability = level::process;
        made.tmpfs_is_nvram = true;
        made.bytes = data_bytes + data_bytes / 16 + log_bytes;
        made.log_bytes = log_bytes;
        auto pool = redo::pool::create(path_, made).value();
        auto* const root = pool.plain_root<data_root>("data").value();
        pool.atomically([&] {
                auto& transaction = current_transaction<redo>();
                auto* const words = reinterpret_cast<std::uint64_t*>(redo::allocate(data_bytes));
                store_value(transaction, &root->words, words);
                // The block is fresh: these stores need no log.
                const std::vector<std::uint64_t> ones(512, 1);
                for (std::uint64_t at = 0; at < data_bytes / 8; at += ones.size())
                    store_bytes(transaction, words + at, ones.data(), ones.size() * 8);
            }).value();
        pool.close().value();
    }

    void fill_log(redo::pool& pool) {
        auto* const words = pool.plain_root<data_root>("data").value()->words;
        workload::random numbers(1);
        const auto info = pool.info();
        // Until the last segment is reached: going on would truncate. Nothing else is sent or written back meanwhile.
        const std::uint64_t enough = info.log_bytes - format::log_header_bytes - info.segment_bytes;
        const persist::counters before = persist::thread_counters();
        while ((persist::thread_counters() - before).medium_bytes() < enough)
            pool.atomically([&] {
                    store_value(current_transaction<redo>(), words + numbers.below(data_bytes / 8), std::uint64_t{2});
                }).value();
    }

    void move_to(const std::string& path) {
        std::filesystem::copy_file(path_, path);
        std::filesystem::remove(path_);
        path_ = path;
        options_.tmpfs_is_nvram = false;
        persist::file::open(path_, persist::file::access::read_write).value().sync(persist::site::measure).value();
    }

    void put_back() {
        auto file = persist::file::open(path_, persist::file::access::read_write).value();
        file.write_at(0, as_killed_.data(), as_killed_.size(), persist::site::measure).value();
        file.sync(persist::site::measure).value();
    }

    std::string path_;
    open_options options_;
    std::vector<std::byte> as_killed_;  ///< everything before the heap
};

}  // namespace

std::vector<planned_match> plan_open(const options&, scratch& space) {
    std::vector<planned_match> plan;
    for (const std::string medium : {"nvram", "file"}) {
        plan.push_back([medium, &space] {
            setting where;
            where.medium = medium;
            where.elements = data_bytes / 8;
            where.log_bytes = log_bytes;
            match made;
            made.suite = "open";
            made.title = where.title("open after a kill") + "   data 1 GiB";
            made.limits.fixed_transactions = 1;
            made.also_named = "ns_per_open";
            made.entries.push_back({"redo", std::make_unique<open_contestant>(medium, space),
                                    {"open"}, where.as_parameters()});
            return made;
        });
    }
    return plan;
}

}  // namespace holdfast::bench

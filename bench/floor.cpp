#include <bench/contest/threads.hpp>
#include <bench/floor.hpp>
#include <bench/nvram.hpp>
#include <bench/suites.hpp>

#include <holdfast/persist/file.hpp>
#include <holdfast/persist/seam.hpp>
#include <holdfast/persist/sites.hpp>

#include <array>

namespace holdfast::bench {
namespace {

namespace site = persist::site;

std::size_t append_bytes(floor_operation operation) {
    if (operation == floor_operation::append128) return 128;
    return operation == floor_operation::append256 ? 256 : 64;
}

/// Lines of a mapping that stands for NVRAM.
class line_floor final : public contestant {
public:
    line_floor(floor_operation operation, unsigned threads, std::uint64_t ring_bytes, const std::string& directory)
        : operation_(operation),
          threads_(threads),
          slice_bytes_(ring_bytes / threads / 4096 * 4096),
          ring_(directory, ring_bytes),
          path_(ring_.path()) {}

    batch run(const std::string&, std::uint64_t transactions) override {
        return run_on_threads(threads_, transactions, [&](unsigned thread, std::uint64_t count) {
            std::byte* const slice = ring_.data() + thread * slice_bytes_;
            switch (operation_) {
                case floor_operation::line: return store_lines(slice, slice_bytes_, count, 1);
                case floor_operation::line_again: return store_lines(slice, persist::line_bytes, count, 1);
                case floor_operation::lines8: return store_lines(slice, slice_bytes_, count, 8);
                case floor_operation::fence:
                    for (std::uint64_t i = 0; i < count; ++i) persist::fence(path_, site::measure);
                    return;
                default: return append(slice, count, append_bytes(operation_));
            }
        });
    }

private:
    void store_lines(std::byte* slice, std::uint64_t bytes, std::uint64_t count, std::uint64_t lines) {
        std::uint64_t at = 0;
        for (std::uint64_t i = 0; i < count; ++i) {
            for (std::uint64_t line = 0; line < lines; ++line) {
                auto* const home = slice + at;
                persist::store_word(reinterpret_cast<std::uint64_t*>(home), i + 1, 0xFF, site::measure);
                persist::write_back(path_, home, 8, site::measure);
                at = at + persist::line_bytes < bytes ? at + persist::line_bytes : 0;
            }
            persist::fence(path_, site::measure);
        }
    }
    void append(std::byte* slice, std::uint64_t count, std::size_t bytes) {
        alignas(persist::line_bytes) std::array<std::uint64_t, 32> record{};
        std::uint64_t at = 0;
        for (std::uint64_t i = 0; i < count; ++i) {
            record[0] = i + 1;
            persist::stream(path_, slice + at, record.data(), bytes, site::measure);
            persist::fence(path_, site::measure);
            at = at + 2 * bytes <= slice_bytes_ ? at + bytes : 0;
        }
    }

    floor_operation operation_;
    unsigned threads_;
    std::uint64_t slice_bytes_;
    nvram ring_;
    persist::line_path path_;
};

/// Writes to a file, each durable.
class sync_floor final : public contestant {
public:
    sync_floor(floor_operation operation, unsigned threads, std::uint64_t ring_bytes, const std::string& directory)
        : operation_(operation),
          threads_(threads),
          ring_bytes_(ring_bytes),
          file_(persist::file::create_unnamed(directory).value()) {
        // Written and not only allocated: the first write to an allocated block changes metadata.
        const std::vector<std::byte> zeros(ring_bytes);
        file_.write_at(0, zeros.data(), zeros.size(), site::measure).value();
        file_.sync(site::measure).value();
    }

    batch run(const std::string&, std::uint64_t transactions) override {
        return run_on_threads(threads_, transactions, [&](unsigned, std::uint64_t count) {
            alignas(4096) std::array<std::byte, 4096> page{};
            for (std::uint64_t i = 0; i < count; ++i) {
                page[0] = static_cast<std::byte>(i);
                if (operation_ == floor_operation::sync) {
                    file_.write_at(next_.fetch_add(4096) % ring_bytes_, page.data(), 4096, site::measure).value();
                    file_.sync(site::measure).value();
                } else {
                    const std::size_t bytes = append_bytes(operation_);
                    const iovec piece{page.data(), bytes};
                    file_.write_durable(next_.fetch_add(bytes) % ring_bytes_, {&piece, 1}, site::measure).value();
                }
            }
        });
    }

private:
    floor_operation operation_;
    unsigned threads_;
    std::uint64_t ring_bytes_;
    persist::file file_;
    std::atomic<std::uint64_t> next_{0};
};

parameters floor_parameters(const std::string& medium) {
    return {{"level", std::string("power")}, {"medium", medium}, {"delay_ns", std::uint64_t{0}}};
}

}  // namespace

std::string name_of(floor_operation operation) {
    constexpr std::array names{"fence",    "line",      "line-again", "lines8",
                                "append64", "append128", "append256", "sync"};
    return names[static_cast<std::size_t>(operation)];
}

std::unique_ptr<contestant> make_floor(floor_operation operation, const std::string& medium, unsigned threads,
                                       std::uint64_t ring_bytes, scratch& space) {
    if (medium == "file")
        return std::make_unique<sync_floor>(operation, threads, ring_bytes, space.file_directory());
    return std::make_unique<line_floor>(operation, threads, ring_bytes, space.memory_directory());
}

entry floor_entry(const std::string& medium, unsigned threads, std::uint64_t ring_bytes, scratch& space,
                  bool recorded) {
    return {"none", make_floor(floor_operation::append64, medium, threads, ring_bytes, space), {"floor"},
            floor_parameters(medium), recorded};
}

std::vector<planned_match> plan_floor(const options&, scratch& space) {
    std::vector<planned_match> plan;
    const auto add = [&](const std::string& medium, std::vector<floor_operation> operations, double wanted_ns) {
        plan.push_back([=, &space] {
            match made;
            made.suite = "floor";
            made.title = "floor   level power   medium " + medium + "   threads 1";
            made.limits.wanted_ns = wanted_ns;
            for (const auto operation : operations)
                made.entries.push_back({"none", make_floor(operation, medium, 1, 4u << 20, space),
                                        {name_of(operation)}, floor_parameters(medium)});
            return made;
        });
    };
    add("nvram",
        {floor_operation::fence, floor_operation::line, floor_operation::line_again, floor_operation::lines8,
         floor_operation::append64, floor_operation::append128, floor_operation::append256},
        50e6);
    add("file", {floor_operation::append64, floor_operation::append256, floor_operation::sync}, 200e6);
    return plan;
}

}  // namespace holdfast::bench

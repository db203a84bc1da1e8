// The guest program for workload/sps.hpp: each thread swaps entries of a range of its own.
#include <sim/guest/choose_access.hpp>
#include <sim/guest/keys.hpp>
#include <sim/guest/lock.hpp>
#include <sim/guest/parameters.hpp>
#include <sim/guest/string_entries.hpp>
#include <workload/sps.hpp>

namespace {

using namespace holdfast::guest;
using holdfast::workload::sps;
using holdfast::workload::sps_root;

/// The accesses that create, swap and check go through: for numbers plain ones.
struct integer_entries {
    static constexpr std::uint64_t bytes = 8;
    using creating = guest_access;
    template <class Access>
    using swapping = Access;
    using checking = guest_access;
};
struct string_entries {
    static constexpr std::uint64_t bytes = string_bytes;
    using creating = creating_strings;
    template <class Access>
    using swapping = swapping_strings<Access>;
    using checking = checking_strings;
};

template <class Entries, class Access>
class sps_program {
public:
    explicit sps_program(const parameters& given) noexcept
        : given_(given), count_(given.footprint_bytes / Entries::bytes),
          arena_(arena::create(given.footprint_bytes + (1u << 20), given.threads)),
          root_(static_cast<sps_root*>(arena_.root())), all_there_(given.threads) {}

    int run() noexcept {
        sps(typename Entries::creating(arena_, 0), root_).create(count_);
        auto work = [this](std::uint32_t thread) { swap_as(thread); };
        run_threads(given_.threads, work);
        return verify();
    }

private:
    void swap_as(std::uint32_t thread) noexcept {
        const typename Entries::template swapping<Access> memory(arena_, thread);
        const sps entries(memory, root_);
        const std::uint64_t range = count_ / given_.threads;
        const std::uint64_t swaps =
            given_.operations / given_.threads + (thread < given_.operations % given_.threads ? 1 : 0);
        key_numbers numbers(given_.seed * most_threads + thread, range);
        all_there_.arrive_and_wait();
        if (thread == 0) begin_region_of_interest();
        for (std::uint64_t i = 0; i < swaps; ++i) {
            memory.atomically([&] { entries.swap_random(numbers, 1, thread * range, range); });
        }
        all_there_.arrive_and_wait();
        if (thread == 0) end_region_of_interest();
    }

    int verify() noexcept {
        const typename Entries::checking memory(arena_, 0);
        const auto report = sps(memory, root_).check();
        if (!report.ok()) {
            write_line("failed: ", report.problem);
            return 1;
        }
        std::uint64_t sum = 0;
        for (std::uint64_t i = 0; i < count_; ++i) {
            std::uint64_t mixed = memory.load(root_->entries + i) * count_ + i;
            sum += holdfast::workload::splitmix(mixed);
        }
        line said;
        said.add("sps verified: ").add_decimal(count_).add(" entries, checksum ").add_hexadecimal(sum);
        if (given_.prints_image) said.add(", image ").add_hexadecimal(arena_.image_checksum());
        said.write();
        return 0;
    }

    parameters given_;
    std::uint64_t count_;
    arena& arena_;
    sps_root* root_;
    barrier all_there_;
};

}  // namespace

int main(int count, char** arguments) {
    const parameters given = read_parameters(count, arguments);
    return with_access(given.logging, [&]<class Access>() {
        if (given.element == element_kind::string) return sps_program<string_entries, Access>(given).run();
        return sps_program<integer_entries, Access>(given).run();
    });
}

// What is explored: an engine and a workload with its operations, and what must hold after a cut.
#pragma once

#include <crash/cut/lazy_memory.hpp>
#include <crash/cut/model.hpp>
#include <crash/cut/trace.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::crash {

/// Operations by their numbers, each one transaction or one call.
using workload = std::vector<unsigned>;

/// By thread, how many of its operations have begun, and how many are done.
struct progress {
    std::array<std::size_t, threads_at_most> begun{};
    std::array<std::size_t, threads_at_most> done{};

    bool is_at_rest() const noexcept { return begun == done; }
    void count(const event& each) noexcept {
        if (each.kind == event_kind::operation_begins) ++begun[each.thread];
        if (each.kind == event_kind::operation_done) ++done[each.thread];
    }
};

/// As whose operation the one after a recovery counts.
inline constexpr unsigned thread_afterwards = threads_at_most - 1;

/// What a recovery left, for a comparison with what another one left.
struct recovered_pool {
    struct range {
        std::size_t begin;
        std::size_t end;
    };
    std::vector<std::byte> bytes;  ///< empty: there is no pool
    /// Those that somebody owns: metadata and allocated blocks. What is in the log, or free, is nobody's.
    std::vector<range> owned;
};

class subject {
public:
    virtual ~subject() = default;

    virtual std::string_view engine() const = 0;
    virtual std::string_view name() const = 0;
    /// Whether there is anything to explore under this model.
    virtual bool knows(const model& how) const = 0;
    /// How many different operations there are.
    virtual unsigned universe() const = 0;
    virtual std::string describe(unsigned operation) const = 0;
    /// How long workloads are to be where others have `wanted` operations: each may be many interleavings.
    virtual unsigned longest_workload(unsigned wanted) const { return wanted; }
    /// How many images of one cut are tried in order; beyond, as many more are drawn.
    virtual std::uint64_t images_of_a_cut() const { return 4096; }
    /// How many times less often than others' its recoveries are cut: each may have many more cuts.
    virtual std::uint64_t nested_less_often() const { return 1; }

    /// Runs the operations on a pool of its own at the level that the model stands for.
    /// With several threads there are several interleavings: `schedule` counts them.
    virtual trace record(const workload& operations, const model& how, std::size_t schedule = 0) = 0;
    virtual std::size_t schedules(const workload& /*operations*/, const model& /*how*/) { return 1; }
    /// Where the pool of the last recording was mapped, and how many bytes.
    virtual std::byte* base() const = 0;
    virtual std::size_t size() const = 0;
    /// The file from which images are opened; empty: they are recovered in memory at `base`.
    virtual std::string image_path() const { return {}; }

    /// Recovers the image. Returns what is wrong.
    virtual std::optional<std::string> recover(const lazy_memory& image) = 0;
    /// After `recover`: the effect of all operations that were done is there, and of no other but those that
    /// had begun; the heap is whole. Returns what is wrong.
    virtual std::optional<std::string> check(const progress& made) = 0;
    /// Records the recovery of an image after that progress and, where that can be, operations after it (as the
    /// last thread's): those of `life`, or one without. Until `leave_recovery`, a cut inside must be recovered to
    /// what this one was. `killed`: the image is what the caches held, and less than that may be durable.
    virtual trace enter_recovery(const lazy_memory& image, const progress& made, bool killed,
                                 const workload* life = nullptr) = 0;
    virtual void leave_recovery() = 0;
    /// Whether it does what `life` says. One that does not has the same to do in each life.
    virtual bool has_lives() const { return false; }
    /// Whether it is there for several lives, and shows nothing in one that others do not.
    virtual bool is_for_lives() const { return false; }
    /// A whole program, which is explored only if it is asked for: it takes long.
    virtual bool is_program() const { return false; }
    /// Draws an operation to follow that one; the first of a workload follows `universe()`.
    virtual unsigned draw_operation(unsigned /*before*/, std::mt19937_64& random) const {
        return static_cast<unsigned>(random() % universe());
    }
    /// After a recovery that was right: what was found. Two of the same number need not both live on.
    virtual std::uint64_t result_number() const { return 0; }
    /// Whether what was acknowledged so far was promised at level `power`, and nothing is under way.
    virtual bool has_promised(const progress& /*made*/) const { return false; }
    /// After `recover`, outside of it: what it left.
    virtual recovered_pool recovered() { return {}; }
    /// The bytes of the pool before this offset are the library's own: damage there must be told, or do no harm.
    /// 0: not asked.
    virtual std::size_t metadata_bytes() const { return 0; }
    /// Instead of `recover` and `check`, for an image with damage in them: what is wrong, and nobody says so.
    /// A commit that a damaged record held may be gone: no log can tell its newest record, damaged, from a torn one.
    virtual std::optional<std::string> recover_damaged(const lazy_memory& /*image*/, const progress& /*made*/) {
        return {};
    }
    /// Whether damage there may do harm untold: in records, for the same reason, when homes are half written.
    virtual bool is_record(std::size_t /*offset*/) const { return false; }
    /// Lets go of the image.
    virtual void close() {}
};

/// All that there is, but for programs: every engine with every workload.
std::vector<std::unique_ptr<subject>> all_subjects();
std::vector<std::unique_ptr<subject>> all_subjects_and_programs();
/// Whether those of dnv are among them: they have atomic blocks, which not every compiler has.
bool has_dnv_subjects() noexcept;

}  // namespace holdfast::crash

// A structure, whatever its type and its engine, as the explorer needs it: one of a user's, or a container of the
// library's own.
#pragma once

#include <crash/subjects/expectation.hpp>
#include <crash/subjects/inspect.hpp>

#include <holdfast/pool/open_pool.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::crash {

/// One pool at a time, with the structure under the root `explored_root`.
class structure {
public:
    virtual ~structure() = default;

    virtual const engine_description& engine() const = 0;
    virtual std::string_view name() const { return "structure"; }
    /// Names of the operations.
    virtual const std::vector<std::string>& operations() const = 0;

    /// Makes an empty pool. Throws failure, as all that follow.
    virtual void create(const std::string& path, const create_options& options) = 0;
    /// Makes the structure in the open pool, as it is before any operation.
    virtual void make() = 0;
    /// The same in one transaction, if it can, so that a pool has neither the root nor the structure, or both. What has
    /// a life can.
    virtual void make_at_once() { make(); }
    virtual result<void> open(const std::string& path, const open_options& options) = 0;
    virtual result<void> close() = 0;
    virtual void abandon() = 0;
    virtual bool is_open() const = 0;
    /// Requires: open.
    virtual open_pool& pool() = 0;
    /// Runs the operation on the structure at `root` of the open pool. `value`: another one at each step of a workload,
    /// for what stores one. Throws what the operation throws.
    virtual void apply(unsigned operation, std::uint64_t value, std::byte* root) = 0;

    /// What the structure at `root` holds, flattened.
    virtual contents state(const std::byte* root) const = 0;
    /// What it is to hold after all that was made of it and done to it. One with no other account of that believes what
    /// it does hold.
    virtual contents expected(const std::byte* root) const { return state(root); }
    /// A recovery found that it holds this: what is expected follows from there.
    virtual void go_on_from(const contents& /*found*/) {}
    /// What is wrong with the structure at `root`.
    virtual std::optional<std::string> invariant(const std::byte* root) const = 0;
    /// Adds every block that the structure owns, its own excepted; false: it does not say.
    virtual bool list_blocks(const std::byte* root, std::vector<const void*>& owned) const = 0;

    /// One of the library's own. All that it stores goes through the library, so that every byte of what was
    /// acknowledged was promised. Its checks stand whatever they find. An operation that finds no room in a file
    /// changes nothing.
    virtual bool is_own() const { return false; }
    /// As of a subject. (A user's exploration says itself how many images of a cut are tried.)
    virtual std::uint64_t images_of_a_cut() const { return ~std::uint64_t{0}; }
    virtual std::uint64_t nested_less_often() const { return 1; }
    virtual bool is_for_lives() const { return false; }
};

/// The first operation, counted from 1, after which the structure is wrong although nothing was cut; 0: it is before
/// any. None: it is right.
std::optional<std::size_t> wrong_without_a_crash(structure& what, std::size_t pool_bytes,
                                                 const std::vector<unsigned>& operations);

/// The structure explored in memory that stands for NVRAM.
std::unique_ptr<subject> explored_in_memory(std::shared_ptr<structure> what, std::size_t pool_bytes = explored_bytes);
/// In an ordinary file at level `power`, whose images are opened as a program opens a pool, and used afterwards.
std::unique_ptr<subject> explored_in_file(std::shared_ptr<structure> what, std::size_t pool_bytes = explored_bytes);
/// In a file that is also made, grown, closed, dropped and reopened, at `power` or `process`, under every model.
std::unique_ptr<subject> explored_for_life(std::shared_ptr<structure> what);
/// The same of an ordinary file at `power` or `on_power_fail`.
std::unique_ptr<subject> explored_for_warned_life(std::shared_ptr<structure> what);

}  // namespace holdfast::crash

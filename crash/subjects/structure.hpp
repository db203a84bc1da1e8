// A structure of a user's, whatever its type and its engine, as the explorer needs it.
#pragma once

#include <crash/subjects/expectation.hpp>

#include <holdfast/pool/open_pool.hpp>

#include <cstddef>
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
    /// Names of the operations.
    virtual const std::vector<std::string>& operations() const = 0;

    /// Makes a pool with the structure as it is before any operation. Throws failure.
    virtual void create(const std::string& path, const create_options& options) = 0;
    virtual result<void> open(const std::string& path, const open_options& options) = 0;
    virtual void abandon() = 0;
    /// Requires: created or opened.
    virtual open_pool& pool() = 0;
    /// Runs the operation on the structure at `root` of the open pool. Throws what the operation throws.
    virtual void apply(unsigned operation, std::byte* root) = 0;

    /// What the structure at `root` holds, flattened.
    virtual contents state(const std::byte* root) const = 0;
    /// What is wrong with the structure at `root`.
    virtual std::optional<std::string> invariant(const std::byte* root) const = 0;
    /// Adds every block that the structure owns, its own excepted; false: it does not say.
    virtual bool list_blocks(const std::byte* root, std::vector<const void*>& owned) const = 0;
};

/// The first operation, counted from 1, after which the structure is wrong although nothing was cut; 0: it is before
/// any. None: it is right.
std::optional<std::size_t> wrong_without_a_crash(structure& what, std::size_t pool_bytes,
                                                 const std::vector<unsigned>& operations);

/// The structure, to be explored in memory that stands for NVRAM, and where its engine can, in a file. Requires:
/// the structure outlives them.
std::vector<std::unique_ptr<subject>> subjects_of(structure& what, std::size_t pool_bytes);

}  // namespace holdfast::crash

// Named typed roots: where a program finds its data again.
#pragma once

#include <holdfast/engine/transaction.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace holdfast {

/// What a root must be: compared in full with what the pool says.
struct root_type {
    std::uint64_t bytes = 0;
    std::uint64_t alignment = 0;
    std::string_view version;  ///< the user's; change it when the meaning of the bytes changes
    std::uint64_t fingerprint() const noexcept;
};

/// A root as the pool lists it.
struct root_listing {
    std::string name;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::uint64_t alignment = 0;
    std::string version;
};

/// The object of root `name`; or nullptr when there is none yet, and then no other transaction makes a root until the
/// open one, with all that it joins, is decided. Sees what the transaction wrote. Thread-safe.
/// A root that another transaction is making is waited for. So a transaction that holds a lock while it makes its first
/// use of a root must not be waited for by one that made a root and wants that lock.
/// Errors: root_mismatch, corrupt (it, or one that it may be, is damaged), invalid_argument (empty or over 71 bytes).
result<std::byte*> find_root_or_prepare(transaction_base& transaction, std::string_view name, const root_type& type);

/// The object of root `name`, or nullptr, in a pool that no transaction is changing. Errors: the same.
result<std::byte*> find_root(const open_pool& pool, std::string_view name, const root_type& type);

/// Enters a root in the open transaction. Requires: find_root_or_prepare said nullptr in it. Errors: out_of_space
/// (all 32 are in use).
result<void> enter_root(transaction_base& transaction, std::string_view name, const root_type& type,
                        const std::byte* object);

/// The roots of a pool that no transaction is changing. Errors: corrupt.
result<std::vector<root_listing>> list_roots(const open_pool& pool);
/// The same of a damaged pool: those that can be read, and what is wrong with the others.
std::vector<root_listing> list_roots(const open_pool& pool, std::vector<error>& damaged);

}  // namespace holdfast

#include <holdfast/handle/roots.hpp>

#include <holdfast/base/checksum.hpp>
#include <holdfast/engine/run.hpp>
#include <holdfast/format/roots.hpp>
#include <holdfast/format/superblock.hpp>
#include <holdfast/pool/superblock.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <string>

namespace holdfast {

/// A lock that the library acquires inside a transaction: released at once, or kept until the outermost call is
/// decided. A lock that the transaction already holds is not acquired again.
template <class Lock>
class transaction_runner::late_lock {
public:
    late_lock(transaction_base& transaction, Lock& lock)
        : transaction_(transaction), lock_(lock), held_(lock, std::defer_lock), is_new_(!transaction.holds(&lock)) {
        transaction.joined_locks_.reserve(transaction.joined_locks_.size() + 1);
        if (!is_new_ || held_.try_lock()) return;
        if (transaction.must_not_wait()) {
            transaction.give_way();
        } else {
            held_.lock();
        }
    }
    late_lock(const late_lock&) = delete;
    late_lock& operator=(const late_lock&) = delete;

    /// False: the transaction has given way, and nothing may be thrown.
    explicit operator bool() const noexcept { return !is_new_ || held_.owns_lock(); }
    /// False if the transaction already held it.
    bool is_new() const noexcept { return is_new_; }
    void keep() noexcept {
        if (!held_.owns_lock()) return;
        held_.release();
        transaction_.joined_locks_.push_back({&lock_, [](void* lock) { static_cast<Lock*>(lock)->unlock(); }});
    }

private:
    transaction_base& transaction_;
    Lock& lock_;
    std::unique_lock<Lock> held_;
    bool is_new_;
};

namespace {

using format::root_entry;

bool in_use(const root_entry& entry) noexcept { return entry.name[0] != 0; }

error about(const open_pool& pool, std::uint64_t offset, errc code, std::string what) {
    return error{.code = code, .what = std::move(what), .path = pool.path(), .offset = offset};
}

std::uint64_t entry_offset(std::size_t index) noexcept { return format::roots_offset + index * sizeof(root_entry); }

/// Errors: corrupt when the entry can neither be used nor unused.
result<void> check_entry(const open_pool& pool, std::size_t index, const root_entry& entry) {
    static constexpr root_entry zeros{};
    if (!pool.has_sealed_roots() && std::memcmp(&entry, &zeros, sizeof entry) == 0) return {};
    // Aligned and in the heap even where the checksum holds: a program is about to follow it.
    const bool in_heap = !pool.zones().empty() && entry.offset >= pool.zones().front().offset &&
                         entry.offset < pool.size() && entry.bytes <= pool.size() - entry.offset &&
                         std::has_single_bit(entry.alignment) && entry.offset % entry.alignment == 0;
    if (entry.checksum == checksum_of(entry) && (in_heap || !in_use(entry))) return {};
    error reason = about(pool, entry_offset(index), errc::corrupt, "a root entry fails its checksum or bounds");
    reason.expected = std::to_string(checksum_of(entry));
    reason.found = std::to_string(entry.checksum);
    return reason;
}

std::string describe(std::uint64_t bytes, std::uint64_t alignment, std::string_view version) {
    return std::to_string(bytes) + " bytes aligned to " + std::to_string(alignment) + ", version \"" +
           std::string(version) + "\"";
}

constexpr std::uint32_t all_entries = ~std::uint32_t{0};
static_assert(format::root_limit == 32, "a bit for each entry");

/// What a look at the entries found.
struct found_entry {
    std::size_t index = format::root_limit;  ///< of the one named so; root_limit: there is none
    root_entry entry;
    std::size_t free = format::root_limit;  ///< the first unused one
    std::uint32_t used = 0;                 ///< those that were seen in use, a bit for each
};

/// Looks among `entries`, a bit for each. `load` reads one.
template <class Load>
result<found_entry> search(const open_pool& pool, Load&& load, std::string_view name,
                           std::uint32_t entries = all_entries) {
    found_entry found;
    std::optional<error> damaged;
    for (std::uint32_t left = entries; left != 0; left &= left - 1) {
        const auto index = static_cast<std::size_t>(std::countr_zero(left));
        load(pool.base() + entry_offset(index), found.entry);
        if (auto checked = check_entry(pool, index, found.entry); !checked) {
            if (!damaged) damaged = checked.error();
        } else if (!in_use(found.entry)) {
            found.free = std::min(found.free, index);
        } else {
            found.used |= std::uint32_t{1} << index;
            if (text_of(found.entry.name) != name) continue;
            found.index = index;
            return found;
        }
    }
    // The one that cannot be read may be the one that is looked for.
    if (damaged) return *damaged;
    return found;
}

}  // namespace

std::uint64_t root_type::fingerprint() const noexcept {
    const std::uint64_t shape[] = {bytes, alignment};
    const std::uint32_t of_version = ~crc32c(version.data(), version.size(), ~0u);
    const std::uint32_t of_all = ~crc32c(shape, sizeof shape, of_version);
    return of_version | std::uint64_t{of_all} << 32;
}

namespace {

auto loads_of(transaction_base& transaction) {
    return [&transaction](const std::byte* at, root_entry& entry) { transaction.load_into(at, &entry, sizeof entry); };
}

result<void> check_name(const open_pool& pool, std::string_view name) {
    if (!name.empty() && name.size() < sizeof root_entry::name && name.find('\0') == name.npos) return {};
    error reason = about(pool, format::roots_offset, errc::invalid_argument, "a root cannot have that name");
    reason.expected = "1 to 71 bytes, none of them zero";
    reason.found = std::to_string(name.size()) + " bytes";
    return reason;
}

/// The object of the entry that was found, or nullptr where none was.
result<std::byte*> object_of(const open_pool& pool, const found_entry& found, std::string_view name,
                             const root_type& type) {
    if (found.index == format::root_limit) return static_cast<std::byte*>(nullptr);
    if (found.entry.fingerprint == type.fingerprint()) return pool.base() + found.entry.offset;
    error reason = about(pool, entry_offset(found.index), errc::root_mismatch,
                         "root \"" + std::string(name) + "\" has another type");
    reason.expected = describe(type.bytes, type.alignment, type.version);
    reason.found = describe(found.entry.bytes, found.entry.alignment, text_of(found.entry.version));
    return reason;
}

}  // namespace

result<std::byte*> find_root_or_prepare(transaction_base& transaction, std::string_view name, const root_type& type) {
    open_pool& pool = *transaction.pool();
    if (auto checked = check_name(pool, name); !checked) return checked.error();
    // Without the lock only what nobody changes any more: a transaction of `undo` stores its entry before it commits.
    auto settled = search(pool, loads_of(transaction), name, pool.settled_roots());
    if (settled && settled->index != format::root_limit) return object_of(pool, *settled, name, type);
    transaction_runner::late_lock<std::mutex> alone(transaction, pool.making_roots());
    if (!alone) return bare_error(errc::aborted);
    auto found = search(pool, loads_of(transaction), name);
    if (!found) return found.error();
    // Taken just now, so this transaction made none of them, and whoever did has committed.
    if (alone.is_new()) pool.note_settled_roots(found->used);
    if (found->index == format::root_limit) alone.keep();
    return object_of(pool, *found, name, type);
}

result<std::byte*> find_root(const open_pool& pool, std::string_view name, const root_type& type) {
    if (auto checked = check_name(pool, name); !checked) return checked.error();
    const auto load = [&](const std::byte* at, root_entry& entry) { pool.read(at, &entry, sizeof entry); };
    auto found = search(pool, load, name);
    if (!found) return found.error();
    return object_of(pool, *found, name, type);
}

result<void> enter_root(transaction_base& transaction, std::string_view name, const root_type& type,
                        const std::byte* object) {
    const open_pool& pool = *transaction.pool();
    auto found = search(pool, loads_of(transaction), name);
    if (!found) return found.error();
    if (found->free == format::root_limit)
        return about(pool, format::roots_offset, errc::out_of_space, "all 32 roots are in use");
    root_entry entry{};
    put_text(entry.name, name);
    put_text(entry.version, type.version);
    entry.offset = static_cast<std::uint64_t>(object - pool.base());
    entry.bytes = type.bytes;
    entry.alignment = type.alignment;
    entry.fingerprint = type.fingerprint();
    entry.checksum = checksum_of(entry);
    transaction.store(pool.base() + entry_offset(found->free), &entry, sizeof entry);
    return {};
}

std::vector<root_listing> list_roots(const open_pool& pool, std::vector<error>& damaged) {
    std::vector<root_listing> roots;
    for (std::size_t index = 0; index < format::root_limit; ++index) {
        root_entry entry;
        pool.read(pool.base() + entry_offset(index), &entry, sizeof entry);
        if (auto checked = check_entry(pool, index, entry); !checked) {
            damaged.push_back(checked.error());
        } else if (in_use(entry)) {
            roots.push_back({std::string(text_of(entry.name)), entry.offset, entry.bytes, entry.alignment,
                             std::string(text_of(entry.version))});
        }
    }
    return roots;
}

result<std::vector<root_listing>> list_roots(const open_pool& pool) {
    std::vector<error> damaged;
    auto roots = list_roots(pool, damaged);
    if (!damaged.empty()) return damaged.front();
    return roots;
}

}  // namespace holdfast

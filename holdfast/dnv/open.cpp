// Opening and closing the pool of a process.
//
//   1. The pool is opened, which recovers it: replay stores words and codes alike.
//   2. Half of its address range is reserved as the window, without access.
//   3. The root and what it names are made, if they are not there, in one transaction.
//   4. Chunks: those of the directory that the Chunk Table names are used; others were taken for a transaction that did
//      not commit, and are given back.
//   5. Static variables (statics.cpp), then the guard of the window.
#include <holdfast/dnv/dnv.hpp>

#include <holdfast/dnv/attempt.hpp>
#include <holdfast/dnv/home.hpp>
#include <holdfast/dnv/misuse.hpp>
#include <holdfast/dnv/opening.hpp>
#include <holdfast/dnv/planted.hpp>
#include <holdfast/dnv/space.hpp>
#include <holdfast/dnv/statics.hpp>
#include <holdfast/dnv/thread_heap.hpp>
#include <holdfast/pool/address.hpp>

#include <cstring>
#include <random>
#include <utility>

namespace holdfast::dnv {
namespace {

/// Half of it must be where AddressSanitizer lets programs map.
constexpr std::uint64_t lowest_base_of_dnv = 0x2200'0000'0000;

error misuse(std::string what) { return error{.code = errc::misuse, .what = std::move(what)}; }

result<engine::pool> open_or_create(const std::string& path, const dnv_options& options) {
    create_options wanted;
    wanted.durability = options.durability;
    wanted.tmpfs_is_nvram = options.tmpfs_is_nvram;
    wanted.accept_not_durable = options.accept_not_durable;
    wanted.bytes = options.bytes;
    wanted.reserved_bytes = options.reserved_bytes;
    wanted.log_bytes = options.log_bytes;
    // A random address may be taken by chance, and so may its half.
    for (unsigned attempts = 0;; ++attempts) {
        do {
            wanted.base = random_base(options.reserved_bytes != 0 ? options.reserved_bytes : std::uint64_t{1} << 36);
        } while (wanted.base < lowest_base_of_dnv);
        auto opened = engine::pool::open_or_create(path, wanted);
        if (opened || opened.error().code != errc::address_taken || attempts == 8) return opened;
    }
}

/// Zeros are words with their codes.
std::uint64_t make_zeros(std::size_t bytes) {
    std::byte* const made = engine::allocate(bytes, 64);
    engine::fill_zero(made, bytes);
    return static_cast<std::uint64_t>(made - the_space.pool->base());
}

result<void> open_root(bool is_coded) {
    auto found = the_space.handle->root<root>(root::name, root::version);
    if (!found) return std::move(found).give_error();
    the_space.in_pool = *found;
    if (the_space.in_pool->header.get() == 0) {
        auto made = the_space.handle->atomically([&] {
            the_space.in_pool->is_coded = is_coded ? 1 : 0;
            the_space.in_pool->header = make_zeros(sizeof(header) * expansion);
            the_space.in_pool->directory = make_zeros(most_chunks * sizeof(directory_entry));
        });
        if (!made) return made;
    }
    std::byte* const base = the_space.pool->base();
    the_placement.is_coded = the_space.in_pool->is_coded.get() != 0;
    the_space.staged = reinterpret_cast<header*>(window_of(base + the_space.in_pool->header.get()));
    the_space.directory = reinterpret_cast<directory_entry*>(base + the_space.in_pool->directory.get());
    return {};
}

/// A word of the Chunk Table, corrected if need be.
result<std::uint64_t> table_word(unsigned slot) {
    const stm::word* const at = &the_space.staged->chunks[slot];
    if (!home::look(at).sound && !home::mend(at)) {
        this_attempt().is_damaged = false;
        error reason{.code = errc::corrupt,
                     .what = "a word of the table of chunks has more flipped bits than its code corrects"};
        reason.path = the_space.pool->path();
        reason.offset = the_space.offset_of(at);
        return reason;
    }
    return home::look(at).value;
}

result<void> open_chunks() {
    the_space.slot_is_used.assign(most_chunks, false);
    for (auto& each : the_space.idle) each.clear();
    for (unsigned slot = 0; slot < most_chunks; ++slot) {
        directory_entry& entry = the_space.directory[slot];
        const std::uint64_t word = entry.word.get();
        auto named = table_word(slot);
        if (!named) return std::move(named).give_error();
        if (*named == 0 && word == 0) continue;
        if (*named == 0) {
            if (is_planted(planted::unnamed_chunk_kept)) continue;
            auto freed = the_space.handle->atomically([&] {
                engine::deallocate(place_of(reinterpret_cast<const void*>(chunk::of(word).begin)));
                entry.word = 0;
                entry.bytes = 0;
            });
            if (!freed) return freed;
            continue;
        }
        if (*named != word || entry.bytes.get() == 0 || entry.bytes.get() % window_page != 0 ||
            chunk::of(word).begin - the_placement.heap_begin >= the_placement.heap_bytes) {
            error reason{.code = errc::corrupt, .what = "the table and the directory of chunks disagree"};
            reason.path = the_space.pool->path();
            reason.offset = static_cast<std::uint64_t>(reinterpret_cast<std::byte*>(&entry) - the_space.pool->base());
            reason.expected = std::to_string(*named);
            reason.found = std::to_string(word);
            return reason;
        }
        the_space.slot_is_used[slot] = true;
        the_space.chunks.add(slot, chunk::of(word), entry.bytes.get());
    }
    return {};
}

void forget() noexcept {
    close_statics(the_space);
    the_placement = {};
    the_space.chunks.release();
    the_space.window = {};
    the_space.handle.reset();
    the_space.pool = nullptr;
    the_space.staged = nullptr;
}

result<void> open_parts(engine::pool opened, bool protects) {
    the_space.handle.emplace(std::move(opened));
    the_space.pool = &the_space.handle->core();
    const auto base = reinterpret_cast<std::uintptr_t>(the_space.pool->base());
    const std::uint64_t reserved = the_space.handle->info().reserved_bytes;
    auto window = persist::address_range::reserve(the_space.pool->path(), base / expansion, reserved / expansion);
    if (!window) return std::move(window).give_error();
    the_space.window = std::move(*window);
    the_placement.heap_begin = base / expansion;
    the_placement.heap_bytes = reserved / expansion;
    auto mapped = the_space.chunks.reserve(the_placement.heap_begin, the_placement.heap_bytes);
    if (!mapped) return mapped;
    if (auto made = open_root(protects); !made) return made;
    if (auto made = open_chunks(); !made) return made;
    forget_heap_claims();
    if (auto made = open_statics(the_space); !made) return made;
    guard_window();
    return {};
}

}  // namespace

result<void> take_over(engine::pool opened, bool protects) {
    try {
        auto made = open_parts(std::move(opened), protects);
        if (!made) forget();
        return made;
    } catch (const failure& reason) {
        forget();
        return reason.reason();
    }
}

void abandon() noexcept {
    if (the_space.handle) the_space.handle->abandon();
    forget();
}

namespace detail {

/// As dnv.hpp has it for sources with blocks.
class leavable {
public:
    leavable() noexcept;
    ~leavable();
    result<void> reason() noexcept;
};

leavable::leavable() noexcept { this_attempt().leaves = true; }
leavable::~leavable() { this_attempt().leaves = false; }

result<void> leavable::reason() noexcept {
    attempt& mine = this_attempt();
    if (mine.problem != nullptr) return holdfast::detail::kept_error(std::exchange(mine.problem, nullptr));
    return error{.code = errc::aborted, .what = "the transaction was cancelled"};
}

}  // namespace detail
}  // namespace holdfast::dnv

using namespace holdfast;

result<void> dnv_open(const std::string& path, const dnv_options& options) {
    if (dnv::the_space.pool != nullptr) return dnv::misuse("a pool is open in this process; dnv_close it first");
    try {
        auto opened = dnv::open_or_create(path, options);
        if (!opened) return std::move(opened).give_error();
        return dnv::take_over(std::move(*opened), options.protect);
    } catch (const failure& reason) {
        return reason.reason();
    }
}

result<void> dnv_grow(std::uint64_t bytes) {
    if (dnv::the_space.pool == nullptr) return dnv::misuse("no pool is open");
    return dnv::the_space.handle->grow(bytes);
}

result<void> dnv_close() {
    if (dnv::the_space.pool == nullptr) return dnv::misuse("no pool is open");
    dnv::close_statics(dnv::the_space);
    auto closed = dnv::the_space.handle->close();
    dnv::forget();
    return closed;
}

dnv_statistics dnv_state() {
    dnv_statistics state;
    state.mended_words = dnv::the_space.mended_words.load(std::memory_order_relaxed);
    state.mended_bits = dnv::the_space.mended_bits.load(std::memory_order_relaxed);
    for (unsigned slot = 0; slot < dnv::most_chunks; ++slot)
        if (dnv::home::look(&dnv::the_space.staged->chunks[slot]).value != 0) ++state.chunks;
    return state;
}

// Opening and closing the pool of a process.
//
//   1. The pool is opened, which recovers it: replay stores words and codes alike.
//   2. The window is reserved, without access: it begins at half of the pool's address and is as long as the pool may
//      grow.
//   3. The root and what it names are made, if they are not there, in one transaction.
//   4. Chunks: those of the directory that the Chunk Table names are used; others were taken for a transaction that did
//      not commit, and are given back.
//   5. Static variables (statics.cpp), then the guard of the window.
#include <holdfast/dnv/dnv.hpp>

#include <holdfast/dnv/attach.hpp>
#include <holdfast/dnv/attempt.hpp>
#include <holdfast/dnv/damage_list.hpp>
#include <holdfast/dnv/home.hpp>
#include <holdfast/dnv/misuse.hpp>
#include <holdfast/dnv/opening.hpp>
#include <holdfast/dnv/planted.hpp>
#include <holdfast/dnv/scrubber.hpp>
#include <holdfast/dnv/space.hpp>
#include <holdfast/dnv/statics.hpp>
#include <holdfast/dnv/thread_heap.hpp>
#include <holdfast/ecc/word_code.hpp>
#include <holdfast/pool/address.hpp>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <pthread.h>

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

/// The root with all that it names, made in one transaction if there is none.
result<root*> open_root(bool is_coded) {
    auto found = the_space.handle->root<root>(root::name, root::version);
    if (!found || (*found)->header.get() != 0) return found;
    root& made = **found;
    auto done = the_space.handle->atomically([&] {
        made.is_coded = is_coded ? 1 : 0;
        made.header = make_zeros(sizeof(header) * expansion_of(is_coded));
        made.directory = make_zeros(most_chunks * sizeof(directory_entry));
        made.checksum = made.checksum_of_words();
    });
    if (!done) return std::move(done).give_error();
    return &made;
}

/// Makes zeros of pages in [begin, end) whose words do not fit their codes, up to `at_most` bytes. Returns where it has
/// ended. Requires: a transaction of the pool is open.
std::byte* zero_some(std::byte* begin, std::byte* end, std::uint64_t at_most) {
    constexpr std::uint64_t page = window_page * coded_expansion;
    for (std::uint64_t zeroed = 0; begin != end && zeroed < at_most; begin += page) {
        // A copy: where loads are observed it is one.
        ecc::coded_word copy[page / sizeof(ecc::coded_word)];
        std::memcpy(copy, begin, page);
        if (ecc::first_invalid(copy, std::size(copy)) == std::size(copy)) continue;
        engine::fill_zero(begin, page);
        zeroed += page;
    }
    return begin;
}

/// A transaction that did not commit may have stored words to fresh blocks without codes. What is the pool's again has
/// words with their codes: another chunk may be made of it. Most pages of a large chunk were never stored to.
/// By transactions, since their log reaches every medium. Each waits for the medium, so they are as large as the log
/// takes. A cut between two of them leaves the chunk in the directory: the next opening looks at all of it again.
result<void> zero_codes(const chunk& each, std::uint64_t bytes) {
    constexpr std::uint64_t fits_into_any_log = 16 << 10;
    std::uint64_t at_once = 1 << 20;
    auto* begin = reinterpret_cast<std::byte*>(place_of(reinterpret_cast<const void*>(each.begin)));
    for (std::byte* const end = begin + bytes * coded_expansion; begin != end;) {
        auto done = the_space.handle->atomically([&] { return zero_some(begin, end, at_once); });
        if (done)
            begin = *done;
        else if (done.error().code == errc::transaction_too_large && at_once > fits_into_any_log)
            at_once /= 2;
        else
            return std::move(done).give_error();
    }
    return {};
}

/// What the directory knows of a slot is what the Chunk Table said, if nothing corrects the word there.
result<void> tell_table(unsigned slot) {
    const std::uint64_t word = the_space.directory[slot].word.get();
    const ecc::coded_word both{word, ecc::encode(word)};
    return the_space.handle->atomically([&] {
        store_bytes(current_transaction<engine>(), place_of(&the_space.staged->chunks[slot]), &both, sizeof both);
    });
}

/// Chunks that no transaction named are the pool's again.
result<void> settle_chunks() {
    the_space.slot_is_used.assign(most_chunks, false);
    for (auto& each : the_space.idle) each.clear();
    for (unsigned slot = 0; (slot = the_space.next_slot_in_use(slot)) < most_chunks; ++slot) {
        if (!table_word(slot))
            if (auto told = tell_table(slot); !told) return told;
        directory_entry& entry = the_space.directory[slot];
        const std::uint64_t word = entry.word.get();
        the_space.slot_is_used[slot] = the_space.chunks.at_slot(slot).has_value();
        if (the_space.slot_is_used[slot] || (word == 0 && entry.checksum.get() == 0)) continue;
        if (is_planted(planted::unnamed_chunk_kept)) continue;
        // Where bits were flipped it is not known which run it was: the pool's repair finds it.
        const bool is_known = entry.checksum.get() == entry.checksum_of_words();
        const bool has_no_codes = is_unprotected(chunk::of(word).of_class);
        if (is_known && has_no_codes && !is_planted(planted::unprotected_chunk_not_zeroed))
            if (auto zeroed = zero_codes(chunk::of(word), entry.bytes.get()); !zeroed) return zeroed;
        auto freed = the_space.handle->atomically([&] {
            if (is_known)
                engine::deallocate(place_of(reinterpret_cast<const void*>(chunk::of(word).begin)));
            entry.set(0, 0);
        });
        if (!freed) return freed;
    }
    return {};
}

void forget() noexcept {
    the_space.corrected.begin(nullptr);
    close_statics();
    the_space.of_parent = {};
    detach();
    the_space.window = {};
    the_space.handle.reset();
}

/// Another thread may have held it, or have been changing it, at a fork. It is not in the child, so nobody gives back
/// or completes anything: it is made anew, and what was there is left as it is. To hold all mutexes at a fork instead
/// is not possible: a thread takes some alone among all transactions, and others before it is alone.
template <class T>
void make_anew(T& each) noexcept {
    static_assert(std::is_nothrow_default_constructible_v<T>);
    std::construct_at(&each);
}

/// A forked child has neither the pool's pages nor its threads.
void leave_pool_to_parent() noexcept {
    make_anew(the_space.taking);
    make_anew(the_space.mutex);
    for (auto& each : the_space.idle) make_anew(each);
    make_anew(the_space.slot_is_used);
    make_anew(the_space.listing);
    make_anew(the_space.unlisted);
    make_anew(the_space.corrected);
    forget_scrubber();
    if (the_space.pool == nullptr) return;
    the_space.of_parent = the_placement;
    the_placement = {};
    the_space.pool = nullptr;
    the_space.staged = nullptr;
}

void notice_forks() {
    static const int registered = pthread_atfork(nullptr, nullptr, leave_pool_to_parent);
    if (registered != 0) throw std::bad_alloc();
}

result<void> open_parts(engine::pool opened, bool protects) {
    // What a fork has left here.
    if (the_space.handle) forget();
    notice_forks();
    the_space.handle.emplace(std::move(opened));
    the_space.pool = &the_space.handle->core();
    the_space.forget_mended();
    the_space.corrected.begin(the_space.pool->homes_are_private() ? &home::rewrite : nullptr);
    // The commit of a block that is open then may be a durable one. (On a file each logs all that it stores, and none
    // is waited for: batteries do not last for a block.) A handler may be lost as soon as this is registered.
    the_space.stores_fresh_home = the_space.pool->lanes() != nullptr;
    const bool may_wait = the_space.stores_fresh_home;
    const bool persists = may_wait && the_space.pool->on_fall_back([] {
        the_space.stores_fresh_home = false;
        home::wait_for_others();
    });
    if (persists) the_space.stores_fresh_home = false;
    const auto base = reinterpret_cast<std::uintptr_t>(the_space.pool->base());
    const std::uint64_t reserved = the_space.handle->info().reserved_bytes;
    auto window = persist::address_range::reserve(the_space.pool->path(), base / coded_expansion, reserved);
    if (!window) return std::move(window).give_error();
    the_space.window = std::move(*window);
    auto in_pool = open_root(protects);
    if (!in_pool) return std::move(in_pool).give_error();
    if (auto attached = attach(*in_pool, reserved); !attached) return attached;
    if (auto settled = settle_chunks(); !settled) return settled;
    forget_heap_claims();
    if (auto made = open_statics(the_space); !made) return made;
    if (auto reviewed = review_damages(*the_space.handle); !reviewed) return reviewed;
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
    } catch (const std::bad_alloc&) {
        forget();
        throw;
    }
}

void abandon() noexcept {
    stop_scrubber();
    if (the_space.handle) the_space.handle->abandon();
    forget();
}

namespace detail {

leavable::leavable() noexcept : before_(std::exchange(this_attempt().leaves, true)) {}
leavable::~leavable() { this_attempt().leaves = before_; }

result<void> leavable::outcome(bool committed) noexcept {
    attempt& mine = this_attempt();
    if (mine.problem != nullptr) return holdfast::detail::kept_error(std::exchange(mine.problem, nullptr));
    if (committed) return {};
    return error{.code = errc::aborted, .what = "the transaction was cancelled"};
}

}  // namespace detail
}  // namespace holdfast::dnv

using namespace holdfast;

result<void> dnv_open(const std::string& path, const dnv_options& options) {
    if (dnv::the_space.pool != nullptr) return dnv::misuse("a pool is open in this process; dnv_close it first");
    try {
        // Before a pool is made that cannot keep them.
        if (auto known = dnv::list_program_statics(); !known) return std::move(known).give_error();
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
    dnv::stop_scrubber();
    dnv::the_space.corrected.write();
    dnv::close_statics();
    // What is not recorded was corrected nevertheless.
    static_cast<void>(dnv::record_mended(*dnv::the_space.handle));
    auto closed = dnv::the_space.handle->close();
    dnv::forget();
    return closed;
}

dnv_statistics dnv_state() {
    dnv_statistics state;
    state.durability = dnv::the_space.pool->durability();
    state.mended_words = dnv::the_space.mended_words.load(std::memory_order_relaxed);
    state.mended_bits = dnv::the_space.mended_bits.load(std::memory_order_relaxed);
    state.scrubbed_words = dnv::the_space.scrubbed_words.load(std::memory_order_relaxed);
    state.scrub_rounds = dnv::the_space.scrub_rounds.load(std::memory_order_relaxed);
    {
        const std::lock_guard guard(dnv::the_space.listing);
        const dnv::damage_listing now = dnv::read_damages(*dnv::the_space.in_pool);
        state.damaged_words = now.words.size() + now.further;
        state.mended_words_of_life = now.mended_words + state.mended_words - dnv::the_space.recorded_words;
        state.mended_bits_of_life = now.mended_bits + state.mended_bits - dnv::the_space.recorded_bits;
    }
    state.bytes_stored_by_this_thread = dnv::stored_bytes_of_this_thread;
    for (unsigned slot = 0; (slot = dnv::the_space.next_slot_in_use(slot)) < dnv::most_chunks; ++slot)
        if (dnv::home::look(&dnv::the_space.staged->chunks[slot]).value != 0) ++state.chunks;
    return state;
}

#include <holdfast/log/private_pages.hpp>

#include <holdfast/base/assertion.hpp>

#include <algorithm>
#include <cstring>

namespace holdfast {

private_pages::private_pages(persist::mapping& homes, persist::file& file, std::uint64_t bytes_at_most)
    : homes_(homes),
      file_(file),
      bytes_at_most_(bytes_at_most),
      chunks_(homes.reserved() / page_bytes / chunk_pages + 1),
      of_file_(std::make_unique<std::byte[]>(pages_at_once * page_bytes)) {}

private_pages::chunk& private_pages::make_chunk(std::uint64_t page) {
    auto& place = chunks_[page / chunk_pages];
    if (chunk* there = place.load(std::memory_order_acquire)) return *there;
    const std::lock_guard guard(growing_);
    if (chunk* there = place.load(std::memory_order_relaxed)) return *there;
    owned_.push_back(std::make_unique<chunk>());
    place.store(owned_.back().get(), std::memory_order_release);
    return *owned_.back();
}

std::uint64_t private_pages::prepare(const std::uint64_t* payload, std::uint64_t payload_words) {
    std::uint64_t missing = 0;
    std::uint64_t newest_page = ~std::uint64_t{0};
    for (std::uint64_t at = 0; at < payload_words;) {
        const format::entry each = format::entry_of(payload[at]);
        for_each_page(each.offset, each.words * 8, [&](std::uint64_t page) {
            // A page that comes again later counts again: the bound is kept, if not reached.
            if (page == newest_page) return;
            newest_page = page;
            const auto& its = make_chunk(page).newest[page % chunk_pages];
            missing += its.load(std::memory_order_relaxed) == not_held ? 1u : 0u;
        });
        at += 1 + each.words;
    }
    return missing;
}

void private_pages::storing::note_all(const std::uint64_t* payload, std::uint64_t words, std::uint64_t group) noexcept {
    for (std::uint64_t at = 0; at < words;) {
        const format::entry each = format::entry_of(payload[at]);
        note(each.offset, each.words * sizeof *payload, group);
        at += 1 + each.words;
    }
}

void private_pages::put(std::uint64_t page, std::uint64_t group) noexcept {
    HOLDFAST_ASSERT(chunks_[page / chunk_pages].load(std::memory_order_relaxed) != nullptr,
                    "a page is prepared before it is noted");
    newest_group& newest = newest_of(page);
    std::uint64_t before = newest.load(std::memory_order_relaxed);
    while (before < group && !newest.compare_exchange_weak(before, group, std::memory_order_relaxed)) {
    }
    if (before != not_held) return;
    held_.fetch_add(1, std::memory_order_relaxed);
    chunks_[page / chunk_pages].load(std::memory_order_relaxed)->held.fetch_add(1, std::memory_order_relaxed);
}

void private_pages::forget(std::uint64_t page) noexcept {
    if (newest_of(page).exchange(not_held, std::memory_order_relaxed) == not_held) return;
    [[maybe_unused]] const std::uint64_t held_before = held_.fetch_sub(1, std::memory_order_relaxed);
    HOLDFAST_ASSERT(held_before != 0, "a page is counted once");
    chunks_[page / chunk_pages].load(std::memory_order_relaxed)->held.fetch_sub(1, std::memory_order_relaxed);
}

void private_pages::note(std::uint64_t offset, std::uint64_t bytes, std::uint64_t group) noexcept {
    for_each_page(offset, bytes, [&](std::uint64_t page) { put(page, group); });
}

void private_pages::pin(std::uint64_t offset, std::uint64_t bytes) {
    for_each_page(offset, bytes, [&](std::uint64_t page) { make_chunk(page); });
    // Closed and opened once: whoever gives back looks at a page with the gate closed.
    const std::shared_lock gate(gate_);
    for_each_page(offset, bytes, [&](std::uint64_t page) { put(page, pinned); });
}

void private_pages::unpin(std::uint64_t offset, std::uint64_t bytes, std::uint64_t group) noexcept {
    for_each_page(offset, bytes,
                  [&](std::uint64_t page) { newest_of(page).store(group, std::memory_order_relaxed); });
}

void private_pages::drop(std::uint64_t offset, std::uint64_t bytes) noexcept {
    // Memory that is locked cannot be dropped. It is looked at again after a checkpoint.
    if (!homes_.give_back(offset, bytes)) return unpin(offset, bytes, oldest_group);
    for_each_page(offset, bytes, [&](std::uint64_t page) { forget(page); });
}

void private_pages::found(std::uint64_t page, std::uint64_t group) {
    make_chunk(page);
    put(page, group);
}

void private_pages::give_back(std::uint64_t truncated) noexcept {
    for (std::uint64_t index = 0; index < chunks_.size(); ++index) {
        chunk* const each = chunks_[index].load(std::memory_order_acquire);
        if (each == nullptr) continue;
        for (std::uint64_t first = 0; first < chunk_pages && each->held.load(std::memory_order_relaxed) != 0;
             first += pages_at_once)
            give_back_some(index * chunk_pages + first, index * chunk_pages + first + pages_at_once, truncated);
    }
}

/// The gate is closed for so few pages at a time that commits hardly wait.
void private_pages::give_back_some(std::uint64_t first, std::uint64_t end, std::uint64_t truncated) noexcept {
    const auto is_home = [&](std::uint64_t page) {
        const std::uint64_t newest = newest_of(page).load(std::memory_order_relaxed);
        return newest != not_held && newest <= truncated;
    };
    while (first < end && !is_home(first)) ++first;
    if (first == end) return;
    const std::unique_lock gate(gate_);
    for (std::uint64_t page = first; page < end;) {
        std::uint64_t run = 0;
        while (page + run < end && is_home(page + run)) ++run;
        if (run != 0) drop_those_like_the_file(page, run, truncated);
        page += run + 1;
    }
}

void private_pages::drop_those_like_the_file(std::uint64_t first, std::uint64_t pages,
                                             [[maybe_unused]] std::uint64_t truncated) noexcept {
    if (!file_.read_at(first * page_bytes, of_file_.get(), pages * page_bytes)) return;
    const auto is_like_the_file = [&](std::uint64_t i) {
        return std::memcmp(homes_.data() + (first + i) * page_bytes, of_file_.get() + i * page_bytes,
                           page_bytes) == 0;
    };
    for (std::uint64_t i = 0; i < pages;) {
        std::uint64_t run = 0;
        while (i + run < pages && is_like_the_file(i + run)) ++run;
        if (run != 0 && homes_.give_back((first + i) * page_bytes, run * page_bytes))
            for (std::uint64_t page = first + i; page < first + i + run; ++page) {
                HOLDFAST_ASSERT(newest_of(page).load(std::memory_order_relaxed) <= truncated,
                                "a page of homes is given back when every record that names it is home");
                forget(page);
            }
        i += run + 1;
    }
}

}  // namespace holdfast

// What a pool knows of flipped bits over its life: how many were corrected, and which words nothing corrects. Its own
// words have codes and are corrected when they are read.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/dnv/layout.hpp>
#include <holdfast/handle/pool.hpp>

#include <cstdint>
#include <vector>

namespace holdfast::dnv {

/// Plain data.
struct damage_listing {
    std::uint64_t mended_words = 0;  ///< in the pool's life; a kill loses those of the last opening
    std::uint64_t mended_bits = 0;
    std::vector<const void*> words;  ///< that nothing corrects, by their addresses in the window
    std::uint64_t further = 0;       ///< more of them, for which the list had no room
    std::uint64_t lost = 0;          ///< words of the list itself that nothing corrects
};

damage_listing read_damages(const root& in_pool);

/// Of the_space.pool, each in a transaction of the pool, if something changes. Thread-safe.
/// What holds if the process dies inside: the list as before, or changed. Requires: the thread has no transaction open.
/// Errors: those of a commit.
result<void> note_damage(engine::pool& handle, const void* word);
/// It was supplied, or is sound again.
result<void> forget_damage(engine::pool& handle, const void* word);
/// All words were looked at, and these are damaged: the list has no others then.
result<void> list_damages(engine::pool& handle, const std::vector<const void*>& words);
/// Entries that are sound leave the list.
result<void> review_damages(engine::pool& handle);
/// What was corrected since the last change of the list.
result<void> record_mended(engine::pool& handle);

}  // namespace holdfast::dnv

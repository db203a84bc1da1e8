#include <holdfast/dnv/audit.hpp>

#include <holdfast/dnv/attempt.hpp>
#include <holdfast/dnv/damage_handler.hpp>
#include <holdfast/dnv/damage_list.hpp>
#include <holdfast/dnv/home.hpp>
#include <holdfast/dnv/space.hpp>
#include <holdfast/ecc/repair.hpp>

#include <algorithm>
#include <cstring>
#include <string>
#include <unordered_map>
#include <utility>

namespace holdfast::dnv {
namespace {

class auditor {
public:
    explicit auditor(bool mends) : mends_(mends) {}

    audit_report run() {
        look_at_range(the_space.staged, sizeof(header));
        if (the_space.has_bins_of(classes)) look_at_range(the_space.staged_unprotected, sizeof(unprotected_header));
        if (the_placement.statics_bytes != 0)
            look_at_range(reinterpret_cast<const void*>(the_placement.statics_begin), the_placement.statics_bytes);
        for (unsigned slot = 0; (slot = the_space.next_slot_in_use(slot)) < most_chunks; ++slot) {
            const auto found = the_space.chunks.at_slot(slot);
            if (!found || value_of(&the_space.staged->chunks[slot]) == 0) continue;
            ++report_.chunks;
            blocks_left_ += found->blocks;
            const auto coded = found->coded_words();
            look_at_range(coded.data(), coded.size_bytes());
            report_.unprotected_words += found->bytes / sizeof(stm::word) - coded.size();
        }
        follow_all(*the_space.staged, 0);
        if (the_space.has_bins_of(classes)) follow_all(*the_space.staged_unprotected, classes);
        report_.blocks = blocks_left_ - report_.free_blocks - report_.unused_blocks;
        return std::move(report_);
    }

private:
    static constexpr std::uint64_t at_once = 256;

    /// As it is once its flipped bits are corrected.
    static stm::word value_of(const stm::word* at) noexcept {
        const auto found = home::look(at);
        return found.sound ? found.value : ecc::repair(*place_of(at)).right.word;
    }

    void look_at_range(const void* begin, std::uint64_t bytes) {
        // Nearly all words are sound. `at_once` words are checked together.
        const auto* const words = static_cast<const stm::word*>(begin);
        const std::uint64_t count = bytes / sizeof *words;
        for (std::uint64_t done = 0; done < count; done += at_once) {
            const std::uint64_t now = std::min(at_once, count - done);
            if (!are_sound(words + done, now)) look_at_each(words + done, now);
            report_.words += now;
        }
    }
    static bool are_sound(const stm::word* first, std::uint64_t count) noexcept {
        if (count == 0 || !the_placement.has_code(first)) return true;
        // A copy: where loads are observed it is one.
        ecc::coded_word copy[at_once];
        std::memcpy(copy, place_of(first), count * sizeof *copy);
        return ecc::first_invalid(copy, count) == count;
    }
    void look_at_each(const stm::word* first, std::uint64_t count) {
        for (const stm::word* at = first; at != first + count; ++at) {
            if (home::look(at).sound) continue;
            if (mends_) the_space.corrected.write(corrections::most / 2);
            if (mends_ ? home::mend(at) : static_cast<bool>(ecc::repair(*place_of(at)))) {
                ++report_.flipped_words;
                continue;
            }
            this_attempt().is_damaged = false;
            report_.damaged.push_back(at);
            report_.problems.push_back(
                error_of({.address = at, .word = place_of(at)->word, .code = place_of(at)->code}));
        }
    }

    void complain(std::string what, const void* at) {
        error reason{.code = errc::corrupt, .what = std::move(what)};
        reason.path = the_space.pool->path();
        if (the_placement.holds(at)) reason.offset = the_space.offset_of(at);
        report_.problems.push_back(std::move(reason));
    }

    /// Marks a block as free. Returns false, and complains, if it is none of that class, or was free already.
    bool mark_free(stm::word block, unsigned of_class, const void* link) {
        const auto found = the_space.chunks.find(reinterpret_cast<const void*>(block));
        if (!found || found->which.of_class != of_class || !found->begins_block(reinterpret_cast<const void*>(block))) {
            complain("a free list leads to what is no block of its size", link);
            return false;
        }
        std::vector<bool>& free = free_of_chunk_[found->slot];
        free.resize(found->blocks);
        const std::uint64_t bit = found->number_of(reinterpret_cast<const void*>(block));
        if (free[bit]) {
            complain("a block is free twice", link);
            return false;
        }
        free[bit] = true;
        return true;
    }

    void follow_list(const stm::word* link, unsigned of_class) {
        for (stm::word each = value_of(link); each != 0; each = value_of(link)) {
            if (!mark_free(each, of_class, link)) return;
            ++report_.free_blocks;
            link = the_space.link_of(reinterpret_cast<void*>(each), of_class);
        }
    }

    void follow(const bin& from, unsigned of_class) {
        follow_list(&from.free, of_class);
        const stm::word end = value_of(&from.unused_end);
        for (stm::word each = value_of(&from.unused); each != end; each += block_bytes(of_class)) {
            if (each > end) return complain("blocks that were never used begin behind their end", &from.unused);
            if (!mark_free(each, of_class, &from.unused)) return;
            ++report_.unused_blocks;
        }
    }

    template <class Header>
    void follow_all(const Header& header, unsigned first_class) {
        constexpr std::size_t bin_words = sizeof(bin) / sizeof(stm::word);
        for (const auto& of_heap : header.bins) {
            if (space::are_zeros(&of_heap[0].free, classes * bin_words)) continue;
            for (unsigned each = 0; each < classes; ++each) follow(of_heap[each], first_class + each);
        }
        for (unsigned each = 0; each < classes; ++each) follow_list(&header.parked[each], first_class + each);
    }

    bool mends_;
    audit_report report_;
    std::uint64_t blocks_left_ = 0;
    std::unordered_map<unsigned, std::vector<bool>> free_of_chunk_;
};

}  // namespace

audit_report audit_open_pool(bool mends) {
    audit_report report = auditor(mends).run();
    if (mends) the_space.corrected.write();
    if (mends)
        if (auto listed = list_damages(*the_space.handle, report.damaged); !listed)
            report.problems.push_back(listed.error());
    return report;
}

}  // namespace holdfast::dnv

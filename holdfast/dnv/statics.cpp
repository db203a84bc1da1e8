// Static variables.
//
//   1. The linker collects what is marked in one section at a fixed low address (holdfast_dnv.ld). What the program
//      starts with there are the initial values.
//   2. A pool that has no such variables gets a region for them: initial values, coded, are stored and made durable;
//      then one transaction enters region and names. New variables of a later program lie behind the old ones, and come
//      into the pool in the same way.
//   3. The section loses all access: from then on it is a window. It is at the same address in every life, since words
//      of the pool may point to a variable.
// Source: DNV Memory, section 3.2, Figure 3; section 4.1.
#include <holdfast/dnv/statics.hpp>

#include <holdfast/base/checksum.hpp>
#include <holdfast/dnv/attach.hpp>
#include <holdfast/dnv/placement.hpp>
#include <holdfast/dnv/planted.hpp>
#include <holdfast/dnv/program_file.hpp>
#include <holdfast/dnv/space.hpp>
#include <holdfast/ecc/repair.hpp>
#include <holdfast/persist/addresses.hpp>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

extern "C" {
// Of the linker script; without it, or without any such variable, there are none.
extern std::byte holdfast_dnv_statics_begin[] __attribute__((weak));
extern std::byte holdfast_dnv_statics_end[] __attribute__((weak));
}

namespace holdfast::dnv {
namespace {

std::vector<static_variable> open_variables;

std::uint64_t section_bytes() noexcept {
    return static_cast<std::uint64_t>(holdfast_dnv_statics_end - holdfast_dnv_statics_begin);
}
bool has_statics() noexcept { return holdfast_dnv_statics_begin != nullptr && section_bytes() != 0; }

constexpr std::uint64_t up_to(std::uint64_t bytes, std::uint64_t unit) noexcept {
    return (bytes + unit - 1) / unit * unit;
}

/// The bytes of the pages that the section is on.
std::uint64_t section_pages() noexcept { return up_to(section_bytes(), 4096); }

error not_placed() {
    error reason{.code = errc::misuse,
                 .what = "the static variables of this program are not where a pool can keep them"};
    reason.expected = "the section at 0x20000000";
    char found[32];
    std::snprintf(found, sizeof found, "0x%zx", reinterpret_cast<std::size_t>(holdfast_dnv_statics_begin));
    reason.found = holdfast_dnv_statics_begin == nullptr ? "another place" : found;
    reason.remedy = "link with holdfast_target_dnv (-no-pie, and its linker script)";
    return reason;
}

std::string place_of_variable(const static_variable& each) {
    char text[64];
    std::snprintf(text, sizeof text, "%llu bytes at 0x%zx", static_cast<unsigned long long>(each.bytes),
                  static_cast<std::size_t>(each.address));
    return text;
}

error mismatch(const space& open, const static_variable& variable, std::string what, std::string found) {
    error reason{.code = errc::layout_mismatch, .what = std::move(what)};
    reason.path = open.pool->path();
    reason.expected = variable.name + ", " + place_of_variable(variable);
    reason.found = std::move(found);
    reason.remedy = "keep the old variables and their types, and put new ones behind them, or link the program by what "
                    "`holdfast pool layout` prints (holdfast_target_dnv, LAYOUT)";
    return reason;
}

result<void> compare(const space& open, const std::vector<static_variable>& in_pool,
                     const std::vector<static_variable>& in_program, std::uint64_t bytes_in_pool) {
    std::map<std::string, const static_variable*> by_name;
    for (const static_variable& each : in_program) by_name[each.name] = &each;
    for (const static_variable& each : in_pool) {
        const auto found = by_name.find(each.name);
        if (found == by_name.end())
            return mismatch(open, each, "the program lacks a static variable of the pool", "no such variable");
        const static_variable& now = *found->second;
        if (now.address != each.address || now.bytes != each.bytes)
            return mismatch(open, each, "a static variable of the pool is another one in the program",
                            place_of_variable(now));
        by_name.erase(found);
    }
    for (const auto& [name, each] : by_name)
        if (each->address < statics_address + bytes_in_pool)
            return mismatch(open, *each, "a new static variable lies among those of the pool", "it, before their end");
    return {};
}

/// As it is once its flipped bits are corrected, if they can be.
std::optional<std::uint64_t> word_in_pool(const std::byte* region, std::uint64_t at) noexcept {
    const auto& place = *reinterpret_cast<const ecc::coded_word*>(region + at * the_placement.expansion);
    if (!the_placement.is_coded) return place.word;
    const ecc::repair_result repaired = ecc::repair(place);
    return repaired ? std::optional(repaired.right.word) : std::nullopt;
}

/// Stores the program's initial values of [from, to) of the window in the pool. Nothing names them yet. The window is
/// accessible.
result<void> store_initial_values(space& open, std::byte* region, std::uint64_t from, std::uint64_t to) {
    // Transactions of this size fit into any log.
    constexpr std::uint64_t at_once = 8 << 10;
    for (std::uint64_t begin = from / sizeof(stm::word) * sizeof(stm::word); begin < to; begin += at_once) {
        auto stored = open.handle->atomically([&] {
            for (std::uint64_t at = begin; at < std::min(to, begin + at_once); at += sizeof(stm::word)) {
                ecc::coded_word both;
                std::memcpy(&both.word, holdfast_dnv_statics_begin + at, sizeof both.word);
                // A variable of the pool may end in the middle of the word in which the first new one begins.
                const std::size_t kept = at < from ? from - at : 0;
                const std::optional<std::uint64_t> there = kept != 0 ? word_in_pool(region, at) : 0;
                // Who reads either of them is told: a new code would hide what is lost.
                if (!there) continue;
                std::memcpy(&both.word, &*there, kept);
                if (the_placement.is_coded) both.code = ecc::encode(both.word);
                store_bytes(current_transaction<engine>(), region + at * the_placement.expansion, &both,
                            sizeof both.word * the_placement.expansion);
            }
        });
        if (!stored) return stored;
    }
    return {};
}

/// The region moves: words and codes as they are, damaged ones, too. What was there has sound words: chunks may be made
/// of it. Requires: a transaction of the pool is open.
void copy_region(std::byte* to, std::byte* from, std::uint64_t words) {
    auto& open = current_transaction<engine>();
    store_bytes(open, to, from, words * sizeof(stm::word) * the_placement.expansion);
    if (!the_placement.is_coded) return;
    constexpr ecc::coded_word zeros;
    for (std::uint64_t at = 0; at < words; ++at, from += sizeof zeros)
        if (!ecc::is_valid(*reinterpret_cast<const ecc::coded_word*>(from)))
            store_bytes(open, from, &zeros, sizeof zeros);
}

/// A region with room for `bytes` and more: the one that there is, or a new one, in one transaction.
result<std::uint64_t> region_for(space& open, std::uint64_t bytes) {
    root& in_pool = *open.in_pool;
    const std::uint64_t there = in_pool.statics.get();
    if (there != 0 && up_to(bytes, sizeof(stm::word)) <= in_pool.statics_room.get()) return there;
    const std::uint64_t wanted = up_to(std::max<std::uint64_t>(2 * bytes, 32 << 10), window_page);
    return open.handle->atomically([&] {
        std::byte* const base = open.pool->base();
        std::byte* const made = engine::allocate(wanted * the_placement.expansion, 64);
        if (there != 0) {
            copy_region(made, base + there, up_to(in_pool.statics_bytes.get(), sizeof(stm::word)) / sizeof(stm::word));
            engine::deallocate(base + there);
        }
        in_pool.statics = static_cast<std::uint64_t>(made - base);
        in_pool.statics_room = wanted;
        in_pool.checksum = in_pool.checksum_of_words();
        return in_pool.statics.get();
    });
}

result<void> enter_names(space& open, const std::string& names, std::uint64_t bytes) {
    return open.handle->atomically([&] {
        if (names.size() > open.in_pool->names_room.get()) {
            // What was there is not freed: all memory that chunks are made of has codes.
            const std::size_t room = up_to(2 * names.size(), 4096);
            std::byte* const made = engine::allocate(room);
            open.in_pool->names = static_cast<std::uint64_t>(made - open.pool->base());
            open.in_pool->names_room = room;
        }
        store_bytes(current_transaction<engine>(), open.pool->base() + open.in_pool->names.get(), names.data(),
                    names.size());
        open.in_pool->names_bytes = names.size();
        open.in_pool->names_checksum = crc32c(names.data(), names.size());
        open.in_pool->statics_bytes = bytes;
        open.in_pool->checksum = open.in_pool->checksum_of_words();
    });
}

}  // namespace

result<std::vector<static_variable>> list_program_statics() {
    // A program's variables stay as they are, and its file may be large.
    static std::vector<static_variable> known;
    static bool are_known = false;
    if (are_known) return known;
    auto program = program_file::open();
    if (!has_statics()) {
        // Without the linker script they are somewhere else, and would be forgotten.
        const bool has_script = holdfast_dnv_statics_begin != nullptr;
        if (!has_script && program && program->has_section_like("holdfast_dnv_statics")) return not_placed();
        are_known = true;
        return known;
    }
    if (!program) return std::move(program).give_error();
    std::vector<static_variable> variables;
    if (reinterpret_cast<std::uintptr_t>(holdfast_dnv_statics_begin) != statics_address) return not_placed();
    program->for_each_symbol(
        [](const Elf64_Sym& symbol) {
            return ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT && symbol.st_value - statics_address < section_bytes();
        },
        [&](const Elf64_Sym& symbol, std::string name) {
            variables.push_back({std::move(name), symbol.st_value, symbol.st_size});
        });
    if (variables.empty())
        return error{.code = errc::misuse,
                     .what = "the program has static variables of a pool and no symbols that name them",
                     .remedy = "do not strip it of its symbols"};
    std::sort(variables.begin(), variables.end(), [](const auto& one, const auto& other) {
        return std::pair(one.address, one.name) < std::pair(other.address, other.name);
    });
    std::map<std::string, unsigned> times;
    for (static_variable& each : variables)
        if (const unsigned number = ++times[each.name]; number > 1) each.name += "#" + std::to_string(number);
    known = std::move(variables);
    are_known = true;
    return known;
}

result<void> open_statics(space& open) {
    auto variables = list_program_statics();
    if (!variables) return std::move(variables).give_error();
    if (!has_statics() && open.in_pool->statics_bytes.get() == 0) return {};
    const std::uint64_t bytes = section_bytes();
    const std::uint64_t bytes_in_pool = open.in_pool->statics_bytes.get();
    if (bytes_in_pool != 0) {
        auto names = names_of_statics();
        if (!names) return std::move(names).give_error();
        if (auto same = compare(open, read_names(*names), *variables, bytes_in_pool); !same) return same;
    }
    auto region = region_for(open, bytes);
    if (!region) return std::move(region).give_error();
    if (bytes > bytes_in_pool) {
        std::byte* const homes = open.pool->base() + *region;
        const auto store = [&] { return store_initial_values(open, homes, bytes_in_pool, bytes); };
        const bool too_late = is_planted(planted::statics_named_first);
        if (auto stored = too_late ? result<void>{} : store(); !stored) return stored;
        if (auto entered = enter_names(open, write_names(*variables), bytes); !entered) return entered;
        if (auto stored = too_late ? store() : result<void>{}; !stored) return stored;
    }
    if (auto taken = persist::allow_access(holdfast_dnv_statics_begin, section_pages(), false); !taken) return taken;
    the_placement.put_statics(statics_address, bytes, open.pool->base() + *region);
    open_variables = std::move(*variables);
    return {};
}

void close_statics() noexcept {
    // A page whose access cannot be given back is found by its next use.
    if (!open_variables.empty())
        static_cast<void>(persist::allow_access(holdfast_dnv_statics_begin, section_pages(), true));
    open_variables.clear();
}

const static_variable* find_static(const void* at) noexcept {
    for (const static_variable& each : open_variables)
        if (reinterpret_cast<std::uintptr_t>(at) - each.address < each.bytes) return &each;
    return nullptr;
}

}  // namespace holdfast::dnv

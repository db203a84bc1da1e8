#include <holdfast/dnv/check.hpp>

#include <holdfast/dnv/attach.hpp>
#include <holdfast/dnv/metadata.hpp>
#include <holdfast/dnv/space.hpp>

#include <cstddef>
#include <cstring>
#include <utility>

namespace holdfast::dnv {
namespace {

/// The pool is the process's, as far as an audit needs, while it lives.
class attached {
public:
    attached(open_pool& pool, std::byte* in_pool, std::uint64_t reserved_bytes) {
        the_space.pool = &pool;
        problem_ = attach(reinterpret_cast<root*>(in_pool), reserved_bytes);
    }
    ~attached() { detach(); }
    attached(const attached&) = delete;
    attached& operator=(const attached&) = delete;

    const result<void>& problem() const noexcept { return problem_; }

private:
    result<void> problem_;
};

const root_listing* find_root_of_dnv(const std::vector<root_listing>& roots) noexcept {
    for (const root_listing& each : roots)
        if (each.name == root::name && each.bytes == sizeof(root)) return &each;
    return nullptr;
}

/// Of another version the words are elsewhere. Errors: root_mismatch.
result<void> compare_version(const open_pool& pool) {
    auto found = find_root(pool, root::name, {sizeof(root), alignof(root), root::version});
    return found ? result<void>{} : std::move(found).give_error();
}

/// A program died before its first dnv_open had made what the root names: the next one makes it.
bool is_unmade(const std::byte* in_pool) noexcept {
    static constexpr std::byte zeros[offsetof(root, life)]{};
    return std::memcmp(in_pool, zeros, sizeof zeros) == 0;
}

/// What the pool's list says of damages, to stand behind other words.
std::string words_of(const damage_listing& list) {
    if (list.words.empty() && list.further == 0) return "";
    std::string text = ", " + std::to_string(list.words.size() + list.further) + " in the list of damaged words";
    return list.further == 0 ? text : text + " (" + std::to_string(list.further) + " without an entry)";
}

std::string words_of(const audit_report& report) {
    std::string text = std::to_string(report.blocks) + " blocks in " + std::to_string(report.chunks) + " chunks, " +
                       std::to_string(report.words) + " words";
    if (report.unprotected_words != 0)
        text += ", " + std::to_string(report.unprotected_words) + " more without codes";
    if (report.flipped_words != 0)
        text += ", " + std::to_string(report.flipped_words) + " with flipped bits that are corrected when read";
    return text;
}

/// Of the pool that is mended.
struct let_go {
    ~let_go() { the_space.handle.reset(); }
};

/// Calls `look` while the pool at `path` is attached. Where nothing was made yet it returns `nothing`.
template <class F>
auto look_inside(const std::string& path, decltype(std::declval<F>()()) nothing, F&& look) -> decltype(look()) {
    auto pool = open_pool::inspect(path);
    if (!pool) return std::move(pool).give_error();
    if ((*pool)->engine_name() != engine::description.name)
        return error{.code = errc::engine_mismatch,
                     .what = "the pool is not of DNV Memory",
                     .path = path,
                     .expected = std::string(engine::description.name),
                     .found = std::string((*pool)->engine_name())};
    const auto roots = list_roots(**pool);
    if (!roots) return roots.error();
    if (roots->empty()) return nothing;
    const root_listing* const listed = find_root_of_dnv(*roots);
    if (listed != nullptr && is_unmade((*pool)->base() + listed->offset)) return nothing;
    if (listed == nullptr)
        return error{.code = errc::corrupt, .what = "the root \"dnv\" is missing or has another size", .path = path};
    if (auto same = compare_version(**pool); !same) return std::move(same).give_error();
    const attached read(**pool, (*pool)->base() + listed->offset, (*pool)->info().reserved_bytes);
    if (!read.problem()) return read.problem().error();
    return look();
}

}  // namespace

void list_owned(std::vector<const void*>& owned) {
    const root& in_pool = *the_space.in_pool;
    const std::byte* const base = the_space.pool->base();
    owned.push_back(&in_pool);
    for (const std::uint64_t offset : {in_pool.header.get(), in_pool.unprotected.get(), in_pool.directory.get(),
                                       in_pool.statics.get(), in_pool.names.get()})
        if (offset != 0) owned.push_back(base + offset);
    for (unsigned slot = 0; (slot = the_space.next_slot_in_use(slot)) < most_chunks; ++slot) {
        const std::uint64_t word = the_space.directory[slot].word.get();
        if (word != 0) owned.push_back(place_of(reinterpret_cast<const void*>(chunk::of(word).begin)));
    }
}

std::optional<contents_finding> check_contents(const open_pool& pool, const std::vector<root_listing>& roots) {
    if (pool.engine_name() != engine::description.name) return std::nullopt;
    contents_finding found;
    found.part = "dnv";
    const root_listing* const listed = find_root_of_dnv(roots);
    if (roots.empty() || (listed != nullptr && is_unmade(pool.base() + listed->offset))) {
        found.words = "nothing yet: a program died in its first opening";
        if (listed != nullptr) found.owned.push_back(pool.base() + listed->offset);
        return found;
    }
    if (listed == nullptr) {
        found.problem = "the root \"dnv\" is missing or has another size";
        return found;
    }
    if (auto same = compare_version(pool); !same) {
        found.problem = same.error().text();
        return found;
    }
    auto& inspected = const_cast<open_pool&>(pool);
    const attached audited(inspected, pool.base() + listed->offset, pool.info().reserved_bytes);
    if (!audited.problem()) {
        found.problem = audited.problem().error().text();
        return found;
    }
    audit_report report = audit_open_pool(false);
    if (auto names = names_of_statics(); !names) report.problems.push_back(names.error());
    const damage_listing list = read_damages(*the_space.in_pool);
    if (list.lost != 0)
        report.problems.push_back({.code = errc::corrupt,
                                   .what = "the list of damaged words has more flipped bits than its codes correct",
                                   .path = pool.path()});
    for (const error& each : report.problems)
        found.problem = found.problem.value_or("") + (found.problem ? "\n" : "") + each.text();
    found.words = words_of(report) + words_of(list);
    if (found.problem && !list.words.empty()) *found.problem += "\n" + found.words;
    if (!found.problem) list_owned(found.owned);
    return found;
}

result<damage_listing> list_damages_of(const std::string& path) {
    return look_inside(path, damage_listing(), []() -> result<damage_listing> {
        return read_damages(*the_space.in_pool);
    });
}

result<statics_listing> list_statics_of(const std::string& path) {
    const error none{.code = errc::not_found, .what = "the pool has no static variables", .path = path};
    return look_inside(path, none, [&]() -> result<statics_listing> {
        statics_listing found;
        found.bytes = the_space.in_pool->statics_bytes.get();
        if (found.bytes == 0) return none;
        auto names = names_of_statics();
        if (!names) return std::move(names).give_error();
        found.variables = read_names(*names);
        found.script = linker_script(found.variables, found.bytes);
        return found;
    });
}

result<audit_report> mend_pool(const std::string& path) {
    open_options options;
    options.durability = level::process;
    auto opened = engine::pool::open(path, options);
    if (!opened) return std::move(opened).give_error();
    auto in_pool = find_root(opened->core(), root::name, {sizeof(root), alignof(root), root::version});
    if (!in_pool) return std::move(in_pool).give_error();
    audit_report report;
    // What is listed is written by the pool's own transactions.
    auto& handle = the_space.handle.emplace(std::move(*opened));
    const let_go afterwards;
    if (*in_pool != nullptr && !is_unmade(*in_pool)) {
        const auto mended = mend_metadata(handle, *reinterpret_cast<root*>(*in_pool));
        if (!mended) return mended.error();
        const attached audited(handle.core(), *in_pool, handle.info().reserved_bytes);
        if (!audited.problem()) return audited.problem().error();
        the_space.forget_mended();
        the_space.mended_words = the_space.mended_bits = *mended;
        report = audit_open_pool(true);
        report.flipped_words += *mended;
    }
    if (auto closed = handle.close(); !closed) return std::move(closed).give_error();
    return report;
}

}  // namespace holdfast::dnv

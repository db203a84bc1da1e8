#include <holdfast/dnv/metadata.hpp>

#include <holdfast/base/checksum.hpp>
#include <holdfast/base/words.hpp>

#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

namespace holdfast::dnv {
namespace {

/// The words before it, and a checksum, in memory.
template <std::size_t Count>
struct checked_words {
    std::uint64_t words[Count];

    explicit checked_words(const void* in_pool) { std::memcpy(words, in_pool, sizeof words); }

    /// The one word that is another if the one bit is flipped with which `is_right()`.
    template <class IsRight>
    std::optional<std::size_t> correct(IsRight&& is_right) {
        std::optional<std::size_t> found;
        for (std::size_t bit = 0; bit < Count * 64; ++bit) {
            flip(bit);
            const bool fits = is_right();
            flip(bit);
            if (!fits) continue;
            // Two are none.
            if (found) return std::nullopt;
            found = bit;
        }
        if (!found) return std::nullopt;
        flip(*found);
        return *found / 64;
    }

private:
    void flip(std::size_t bit) noexcept { words[bit / 64] ^= std::uint64_t{1} << bit % 64; }
};

/// Returns how many bits were flipped again: one or none.
template <std::size_t Count, class Sum>
result<unsigned> mend(engine::pool& handle, void* in_pool, Sum&& sum) {
    checked_words<Count> now(in_pool);
    const auto is_right = [&] { return now.words[Count - 1] == sum(now.words); };
    if (is_right()) return 0u;
    const auto word = now.correct(is_right);
    if (!word) return 0u;
    auto stored = handle.atomically([&] {
        store_bytes(current_transaction<engine>(), static_cast<std::byte*>(in_pool) + *word * sizeof now.words[0],
                    &now.words[*word], sizeof now.words[0]);
    });
    if (!stored) return std::move(stored).give_error();
    return 1u;
}

/// Whether [offset, offset + bytes) is in the pool.
bool is_inside(engine::pool& handle, std::uint64_t offset, std::uint64_t bytes) {
    const std::uint64_t size = handle.core().size();
    return offset != 0 && offset % 8 == 0 && offset <= size && bytes <= size - offset;
}

/// Which bit is flipped of bytes whose checksum differs so from the right one. The checksum is linear: what a bit
/// changes of it depends on how many bytes follow.
std::optional<std::uint64_t> find_flip(std::uint64_t bytes, std::uint32_t difference) {
    std::uint32_t of_bit[8];
    for (unsigned bit = 0; bit < 8; ++bit) {
        const auto byte = static_cast<unsigned char>(1u << bit);
        of_bit[bit] = crc32c(&byte, 1);
    }
    for (std::uint64_t at = bytes; at-- != 0;)
        for (unsigned bit = 0; bit < 8; ++bit) {
            if (of_bit[bit] == difference) return at * 8 + bit;
            constexpr unsigned char zero = 0;
            of_bit[bit] = crc32c(&zero, 1, of_bit[bit]);
        }
    return std::nullopt;
}

result<unsigned> mend_names(engine::pool& handle, const root& in_pool) {
    const std::uint64_t bytes = in_pool.names_bytes.get();
    if (!is_inside(handle, in_pool.names.get(), bytes)) return 0u;
    auto* const names = reinterpret_cast<unsigned char*>(handle.core().base() + in_pool.names.get());
    // A copy: where loads are observed it is one.
    const std::string text(reinterpret_cast<const char*>(names), bytes);
    const std::uint64_t difference = crc32c(text.data(), text.size()) ^ in_pool.names_checksum.get();
    if (difference == 0 || difference > ~std::uint32_t{0}) return 0u;
    const auto bit = find_flip(bytes, static_cast<std::uint32_t>(difference));
    if (!bit) return 0u;
    unsigned char* const at = names + *bit / 8;
    const auto right = static_cast<unsigned char>(*at ^ 1u << *bit % 8);
    auto stored = handle.atomically(
        [&] { store_bytes(current_transaction<engine>(), reinterpret_cast<std::byte*>(at), &right, sizeof right); });
    if (!stored) return std::move(stored).give_error();
    return 1u;
}

}  // namespace

result<unsigned> mend_metadata(engine::pool& handle, root& in_pool) {
    constexpr std::size_t root_words = offsetof(root, life) / sizeof(std::uint64_t);
    auto mended = mend<root_words>(handle, &in_pool, &root::checksum_of);
    if (!mended) return mended;
    unsigned all = *mended;
    handle.core().bring_home();
    // What is behind it is trusted if its checksum is right.
    if (in_pool.checksum.get() != in_pool.checksum_of_words()) return all;
    const std::uint64_t directory = in_pool.directory.get();
    if (is_inside(handle, directory, most_chunks * sizeof(directory_entry))) {
        auto* const entries = handle.core().base() + directory;
        for (unsigned slot = 0; slot < most_chunks; ++slot) {
            constexpr std::size_t entry_words = sizeof(directory_entry) / sizeof(std::uint64_t);
            mended = mend<entry_words>(handle, entries + slot * sizeof(directory_entry), &directory_entry::checksum_of);
            if (!mended) return mended;
            all += *mended;
        }
    }
    mended = mend_names(handle, in_pool);
    if (!mended) return mended;
    handle.core().bring_home();
    return all + *mended;
}

}  // namespace holdfast::dnv

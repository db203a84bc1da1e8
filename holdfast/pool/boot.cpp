#include <holdfast/pool/boot.hpp>

#include <holdfast/base/checksum.hpp>
#include <holdfast/pool/stand_ins.hpp>

#include <atomic>
#include <iterator>

namespace holdfast {

constinit stand_ins stand_ins_now;

namespace {

constexpr const char* boot_id_path = "/proc/sys/kernel/random/boot_id";

/// Words, so that threads that learn it at once store the same ones, without a lock that a fork could keep.
struct known_boot_id {
    std::atomic<std::uint64_t> words[sizeof(boot_id) / 8]{};
    std::atomic<bool> is_known{false};
};
constinit known_boot_id known;

bool has_none(errc reason) noexcept { return reason == errc::not_found || reason == errc::permission_denied; }

}  // namespace

result<void> learn_boot_id() {
    if (known.is_known.load(std::memory_order_acquire)) return {};
    boot_id learnt;
    constexpr std::size_t characters = 36;
    const auto from = persist::file::open(boot_id_path, persist::file::access::read_only);
    if (!from && !has_none(from.error().code)) return from.error();
    if (from)
        if (auto read = from->read_at(0, learnt.text_, characters); !read) return read;
    for (std::size_t i = 0; i < std::size(known.words); ++i) {
        std::uint64_t word = 0;
        std::memcpy(&word, learnt.text_ + i * 8, 8);
        known.words[i].store(word, std::memory_order_relaxed);
    }
    known.is_known.store(true, std::memory_order_release);
    return {};
}

boot_id current_boot_id() noexcept {
    boot_id current;
    if (stand_ins_now.boot_id != nullptr) {
        std::strncpy(current.text_, stand_ins_now.boot_id, sizeof current.text_ - 1);
    } else if (known.is_known.load(std::memory_order_acquire)) {
        for (std::size_t i = 0; i < std::size(known.words); ++i) {
            const std::uint64_t word = known.words[i].load(std::memory_order_relaxed);
            std::memcpy(current.text_ + i * 8, &word, 8);
        }
    }
    return current;
}

result<std::uint32_t> mark_of(const persist::file& file) {
    if (stand_ins_now.file_mark != 0) return stand_ins_now.file_mark;
    const auto place = file.place();
    if (!place && place.error().code == errc::permission_denied) return std::uint32_t{0};
    if (!place) return place.error();
    const std::uint32_t mark = ~crc32c(&*place, sizeof *place, ~0u);
    return mark != 0 ? mark : 1;
}

}  // namespace holdfast

// Cuts the power at the n-th call of the seam and leaves a file as the cut may have left it.
//
// Byte-addressable media: what a fence completed is there. A line that was stored to since then
// holds its old or its new bytes, each line independently; an unfenced stream arrives in 8-byte
// pieces, each independently. Files: what a sync completed is there; of each write since then any
// 512-byte sectors arrive. Stores to private mappings never arrive. A file that became longer since the last
// sync has its old length or its new one.
#pragma once

#include <holdfast/base/checksum.hpp>
#include <holdfast/format/superblock.hpp>
#include <holdfast/persist/observer.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

namespace holdfast::power_cut {

/// A medium that remembers what is durable, and the cut itself.
class medium final : public persist::observer {
public:
    /// The file's bytes now are all taken for durable.
    medium(const std::string& path, std::uint64_t seed);

    /// Where the pool is mapped; without, stores are private and only file writes count.
    void attach(const std::byte* mapped) noexcept { mapped_ = mapped; }
    /// The cut comes at the call with this number, counted from now.
    void cut_at(std::uint64_t call) noexcept { calls_left_ = call; }
    std::uint64_t calls() const noexcept { return calls_; }

    /// Where the cut came.
    persist::site_id cut_site() const noexcept { return cut_site_; }
    bool was_cut() const noexcept { return !at_cut_.empty(); }
    /// What the media may hold after the cut, or would after one now.
    std::vector<std::byte> image() {
        if (was_cut()) return at_cut_;
        std::vector<std::byte> bytes = durable_;
        if (bytes.size() < file_bytes() && coin()) bytes.resize(file_bytes());
        if (mapped_ != nullptr) keep_some_lines(bytes);
        for (const pending& each : pending_) keep_some_pieces(bytes, each);
        return bytes;
    }

    void store(const void*, std::size_t, persist::site_id where) override { step(where); }
    void write_back(const void* begin, std::size_t size, persist::site_id where) override {
        const std::uint64_t first = offset(begin) / 64 * 64;
        const std::uint64_t end = (offset(begin) + size + 63) / 64 * 64;
        if (mapped_ != nullptr) remember(first, mapped_ + first, end - first, 64);
        step(where);
    }
    void stream(const void* home, std::size_t size, persist::site_id where) override {
        if (mapped_ != nullptr) remember(offset(home), static_cast<const std::byte*>(home), size, 8);
        step(where);
    }
    void before_fence(persist::site_id where) override { step(where); }
    void after_fence(persist::site_id where) override {
        step(where);
        complete();
    }
    void file_write(std::uint64_t at, const void* bytes, std::size_t size, bool is_durable,
                    persist::site_id where) override {
        remember(at, static_cast<const std::byte*>(bytes), size, 512);
        step(where);
        if (is_durable) complete_last();
    }
    void file_sync(persist::site_id where) override {
        step(where);
        durable_.resize(std::max<std::size_t>(durable_.size(), file_bytes()));
        complete();
    }

private:
    struct pending {
        std::uint64_t offset;
        std::uint64_t piece_bytes;
        std::vector<std::byte> bytes;
    };

    std::uint64_t offset(const void* at) const noexcept {
        return static_cast<std::uint64_t>(static_cast<const std::byte*>(at) - mapped_);
    }
    void step(persist::site_id where) {
        ++calls_;
        if (calls_left_ == 0 || --calls_left_ != 0) return;
        // Taken now: unwinding unmaps the pool.
        at_cut_ = image();
        cut_site_ = where;
        throw persist::simulated_crash{};
    }
    void remember(std::uint64_t at, const std::byte* bytes, std::uint64_t size, std::uint64_t piece_bytes) {
        pending_.push_back({at, piece_bytes, {bytes, bytes + size}});
    }
    void keep(const pending& arrived) {
        std::copy(arrived.bytes.begin(), arrived.bytes.end(),
                  durable_.begin() + static_cast<std::ptrdiff_t>(arrived.offset));
    }
    void complete_last() {
        keep(pending_.back());
        pending_.pop_back();
    }
    void complete() {
        for (const pending& each : pending_) keep(each);
        pending_.clear();
    }
    std::size_t file_bytes() const { return std::filesystem::file_size(path_); }
    bool coin() { return (random_() & 1) != 0; }

    /// The pool may end before its file, and only the pool is mapped.
    std::size_t mapped_bytes() const {
        format::superblock newest{};
        for (const std::uint64_t at : format::superblock_offset) {
            format::superblock copy;
            std::memcpy(&copy, mapped_ + at, sizeof copy);
            const bool valid = copy.checksum == ~crc32c(&copy, offsetof(format::superblock, checksum), ~0u);
            if (valid && copy.generation > newest.generation) newest = copy;
        }
        return newest.pool_bytes;
    }
    void keep_some_lines(std::vector<std::byte>& bytes) {
        const std::size_t end = std::min(bytes.size(), mapped_bytes());
        for (std::size_t line = 0; line < end; line += 64)
            if (std::memcmp(&bytes[line], mapped_ + line, 64) != 0 && coin())
                std::memcpy(&bytes[line], mapped_ + line, 64);
    }
    void keep_some_pieces(std::vector<std::byte>& bytes, const pending& each) {
        const bool none = coin() && coin();
        for (std::uint64_t done = 0; done < each.bytes.size() && !none;) {
            // Pieces end where the medium's own boundaries lie.
            const std::uint64_t at = each.offset + done;
            const std::uint64_t room = each.piece_bytes - at % each.piece_bytes;
            const std::uint64_t count = std::min<std::uint64_t>(room, each.bytes.size() - done);
            if (at + count <= bytes.size() && coin()) std::memcpy(&bytes[at], &each.bytes[done], count);
            done += count;
        }
    }

    std::string path_;
    const std::byte* mapped_ = nullptr;
    std::vector<std::byte> durable_;
    std::vector<std::byte> at_cut_;
    persist::site_id cut_site_{};
    std::vector<pending> pending_;
    std::mt19937_64 random_;
    std::uint64_t calls_ = 0;
    std::uint64_t calls_left_ = 0;
};

inline std::vector<std::byte> read_file(const std::string& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    std::vector<std::byte> bytes(static_cast<std::size_t>(::lseek(descriptor, 0, SEEK_END)));
    const ssize_t got = ::pread(descriptor, bytes.data(), bytes.size(), 0);
    ::close(descriptor);
    bytes.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return bytes;
}

inline medium::medium(const std::string& path, std::uint64_t seed)
    : path_(path), durable_(read_file(path)), random_(seed) {}

inline void write_file(const std::string& path, const std::vector<std::byte>& bytes) {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
    if (::pwrite(descriptor, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) std::abort();
    ::close(descriptor);
}

}  // namespace holdfast::power_cut

// The observed build's hook (HOLDFAST_OBSERVED): the explorer of crashes sees each call of the seam, and may throw from
// it to stand for the cut. Never part of the normal build.
#pragma once

#include <holdfast/persist/site.hpp>

#include <cstddef>
#include <cstdint>

namespace holdfast::persist {

/// Thrown by an observer to simulate the cut: nothing is rolled back, nothing is cleaned up.
struct simulated_crash {};

/// Sees the seam's calls of all threads, in the calling thread, after the effect (before and
/// after for a fence or a durable file operation). May throw: the exception stands for a crash.
class observer {
public:
    virtual ~observer() = default;
    virtual void store(const void* home, std::size_t size, site_id where) = 0;
    /// Of two words that a killed process leaves both or none of.
    virtual void store_pair(const void* home, site_id where) { store(home, 2 * sizeof(std::uint64_t), where); }
    virtual void write_back(const void* begin, std::size_t size, site_id where) = 0;
    virtual void stream(const void* home, std::size_t size, site_id where) = 0;
    virtual void before_fence(site_id where) = 0;
    virtual void after_fence(site_id where) = 0;
    /// Orders stores to one line, and completes nothing.
    virtual void order(site_id /*where*/) {}
    virtual void file_write(std::uint64_t offset, const void* bytes, std::size_t size, bool durable, site_id where) = 0;
    virtual void file_sync(site_id where) = 0;
    /// All of a shared mapping is in the file, however it was stored to.
    virtual void mapping_write(const void* /*base*/, std::size_t /*size*/, site_id /*where*/) {}
    /// The same, and durable.
    virtual void mapping_sync(const void* /*base*/, std::size_t /*size*/, site_id where) { file_sync(where); }
    virtual void file_resize(std::uint64_t /*size*/) {}
    /// The file got its name; a sync of its directory makes it durable.
    virtual void file_publish() {}
    virtual void directory_sync() {}
    /// A transaction or a wrap committed, and its caller is about to be told.
    virtual void committed() {}
};

/// Installs `next` (nullptr: none) and returns the one before. Not while transactions run.
observer* observe(observer* next) noexcept;

void observe_store(const void* home, std::size_t size, site_id where);
void observe_store_pair(const void* home, site_id where);
void observe_write_back(const void* begin, std::size_t size, site_id where);
void observe_stream(const void* home, std::size_t size, site_id where);
void observe_before_fence(site_id where);
void observe_after_fence(site_id where);
void observe_order(site_id where);
void observe_file_write(std::uint64_t offset, const void* bytes, std::size_t size, bool durable, site_id where);
void observe_file_sync(site_id where);
void observe_mapping_write(const void* base, std::size_t size, site_id where);
void observe_mapping_sync(const void* base, std::size_t size, site_id where);
void observe_file_resize(std::uint64_t size);
void observe_file_publish();
void observe_directory_sync();
void observe_committed();

}  // namespace holdfast::persist

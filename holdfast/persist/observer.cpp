// Empty in the normal build, which has no hook.
#ifdef HOLDFAST_OBSERVED

#include <holdfast/persist/observer.hpp>

#include <atomic>

namespace holdfast::persist {
namespace {

std::atomic<observer*> installed{nullptr};

}  // namespace

observer* observe(observer* next) noexcept { return installed.exchange(next); }

void observe_store(const void* home, std::size_t size, site_id where) {
    if (auto* watcher = installed.load(std::memory_order_acquire)) watcher->store(home, size, where);
}

void observe_store_pair(const void* home, site_id where) {
    if (auto* watcher = installed.load(std::memory_order_acquire)) watcher->store_pair(home, where);
}

void observe_write_back(const void* begin, std::size_t size, site_id where) {
    if (auto* watcher = installed.load(std::memory_order_acquire)) watcher->write_back(begin, size, where);
}

void observe_stream(const void* home, std::size_t size, site_id where) {
    if (auto* watcher = installed.load(std::memory_order_acquire)) watcher->stream(home, size, where);
}

void observe_before_fence(site_id where) {
    if (auto* watcher = installed.load(std::memory_order_acquire)) watcher->before_fence(where);
}

void observe_after_fence(site_id where) {
    if (auto* watcher = installed.load(std::memory_order_acquire)) watcher->after_fence(where);
}

void observe_order(site_id where) {
    if (auto* watcher = installed.load(std::memory_order_acquire)) watcher->order(where);
}

void observe_file_write(std::uint64_t offset, const void* bytes, std::size_t size, bool durable, site_id where) {
    if (auto* watcher = installed.load(std::memory_order_acquire))
        watcher->file_write(offset, bytes, size, durable, where);
}

void observe_file_sync(site_id where) {
    if (auto* watcher = installed.load(std::memory_order_acquire)) watcher->file_sync(where);
}

void observe_mapping_write(const void* base, std::size_t size, site_id where) {
    if (auto* watcher = installed.load(std::memory_order_acquire)) watcher->mapping_write(base, size, where);
}

void observe_mapping_sync(const void* base, std::size_t size, site_id where) {
    if (auto* watcher = installed.load(std::memory_order_acquire)) watcher->mapping_sync(base, size, where);
}

void observe_file_resize(std::uint64_t size) {
    if (auto* watcher = installed.load(std::memory_order_acquire)) watcher->file_resize(size);
}

void observe_file_publish() {
    if (auto* watcher = installed.load(std::memory_order_acquire)) watcher->file_publish();
}

void observe_directory_sync() {
    if (auto* watcher = installed.load(std::memory_order_acquire)) watcher->directory_sync();
}

void observe_committed() {
    if (auto* watcher = installed.load(std::memory_order_acquire)) watcher->committed();
}

}  // namespace holdfast::persist

#endif

// The global operators new and delete, counted. A source of its own: the compiler takes those that it knows for safe in
// blocks, and would want to instrument what they do.
#include <cstddef>
#include <cstdlib>
#include <new>

extern constinit thread_local long living_blocks;
constinit thread_local long living_blocks = 0;
/// Called by operator delete, but for what it frees itself.
using void_function = void();
extern constinit thread_local void_function* called_by_delete;
constinit thread_local void_function* called_by_delete = nullptr;

namespace {

void* counted(std::size_t bytes, std::size_t alignment) noexcept {
    if (bytes > (std::size_t{1} << 40)) return nullptr;
    void* const block = std::aligned_alloc(alignment, (bytes + alignment) / alignment * alignment);
    if (block != nullptr) ++living_blocks;
    return block;
}
void uncounted(void* block) noexcept {
    if (block == nullptr) return;
    --living_blocks;
    if (void (*const called)() = called_by_delete; called != nullptr) {
        called_by_delete = nullptr;
        called();
        called_by_delete = called;
    }
    std::free(block);
}
void* or_throw(void* block) {
    if (block == nullptr) throw std::bad_alloc();
    return block;
}

}  // namespace

void* operator new(std::size_t bytes) { return or_throw(counted(bytes, 16)); }
void* operator new[](std::size_t bytes) { return or_throw(counted(bytes, 16)); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return counted(bytes, 16); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return counted(bytes, 16); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return or_throw(counted(bytes, static_cast<std::size_t>(alignment)));
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
    return counted(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* block) noexcept { uncounted(block); }
void operator delete[](void* block) noexcept { uncounted(block); }
void operator delete(void* block, std::size_t) noexcept { uncounted(block); }
void operator delete[](void* block, std::size_t) noexcept { uncounted(block); }
void operator delete(void* block, std::align_val_t) noexcept { uncounted(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { uncounted(block); }

#include <holdfast/dnv/thread_heap.hpp>

#include <holdfast/base/assertion.hpp>
#include <holdfast/dnv/commit_log.hpp>
#include <holdfast/dnv/home.hpp>
#include <holdfast/dnv/space.hpp>

#include <pthread.h>

namespace holdfast::dnv {
namespace {

struct per_thread {
    thread_heap heap;
    bool is_ending = false;
};
constinit thread_local per_thread mine{};

/// Of each heap; nullptr: nobody has it.
std::atomic<const thread_heap*> owner_of[heaps];

bool still_of_open_pool(const thread_heap& heap) noexcept {
    return the_space.pool != nullptr && heap.of_opening == the_space.pool->instance();
}

void give_back(thread_heap& heap) noexcept {
    if (heap.number == thread_heap::unclaimed || !still_of_open_pool(heap)) return;
    for (const thread_heap::grant& each : heap.granted)
        if (home::look(&the_space.staged->chunks[each.slot]).value == 0)
            the_space.give_chunk_back(each.of_class, each.slot);
    if (heap.is_own()) owner_of[heap.number].store(nullptr, std::memory_order_release);
    heap.number = thread_heap::unclaimed;
}

/// At the end of a thread. What else ends then may still roll a transaction back, hence in the second round.
void end_of_thread(void* of_thread);

struct exit_key {
    pthread_key_t key{};
    bool is_made = false;
    exit_key() noexcept { is_made = pthread_key_create(&key, &end_of_thread) == 0; }
};
const exit_key& the_exit_key() noexcept {
    static const exit_key made;
    return made;
}

void end_of_thread(void* of_thread) {
    auto& ending = *static_cast<per_thread*>(of_thread);
    if (!ending.is_ending && pthread_setspecific(the_exit_key().key, of_thread) == 0) {
        ending.is_ending = true;
        return;
    }
    give_back(ending.heap);
    ending.heap.granted.release();
    release_commit_record();
}

bool notice_end() noexcept {
    return the_exit_key().is_made && pthread_setspecific(the_exit_key().key, &mine) == 0;
}

/// 0 where all others are claimed, or where the thread's end would not be noticed.
unsigned claim() noexcept {
    if (!notice_end()) return 0;
    for (unsigned number = 1; number < heaps; ++number) {
        const thread_heap* nobody = nullptr;
        if (owner_of[number].compare_exchange_strong(nobody, &mine.heap, std::memory_order_acquire)) return number;
    }
    return 0;
}

}  // namespace

void release_record_at_end_of_thread() noexcept { notice_end(); }

void forget_heap_claims() noexcept {
    for (auto& each : owner_of) each.store(nullptr, std::memory_order_release);
}

thread_heap& heap_of_this_thread() noexcept {
    thread_heap& heap = mine.heap;
    if (heap.number != thread_heap::unclaimed && still_of_open_pool(heap)) [[likely]] {
        HOLDFAST_ASSERT(!heap.is_own() || owner_of[heap.number].load(std::memory_order_relaxed) == &heap,
                        "a heap with a number above 0 belongs to one thread");
        return heap;
    }
    heap.number = mine.is_ending ? 0 : claim();
    heap.of_opening = the_space.pool->instance();
    heap.granted.clear();
    return heap;
}

}  // namespace holdfast::dnv

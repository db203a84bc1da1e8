#include <holdfast/dnv/dnv_blocks_test.hpp>

#include <cstring>
#include <stdexcept>

namespace holdfast::dnv::test {
namespace {

struct node {
    long id;
    node* next;
    std::size_t payload_bytes;
};

/// Behind the node.
unsigned char* payload_of(node* each) { return reinterpret_cast<unsigned char*>(each + 1); }

struct counters {
    std::uint64_t each[64];
};

DNV_POD node* head;
DNV_POD long count;
DNV_POD long sum = 0;
DNV_POD node* all;
DNV_POD counters* bank;

struct made_once {
    long number;
    long touched;
    long* in_block;

    made_once() : number(42), touched(0), in_block(static_cast<long*>(dnv_malloc(sizeof(long)))) { *in_block = 0; }
    void touch() {
        ++touched;
        ++*in_block;
    }
};
DNV_OBJ(made_once, object);

node* make_node(long id, std::size_t payload_bytes) {
    auto* const made = static_cast<node*>(dnv_malloc(sizeof(node) + payload_bytes));
    made->id = id;
    made->payload_bytes = payload_bytes;
    std::memset(payload_of(made), static_cast<int>(id & 0xFF), payload_bytes);
    return made;
}

void push(long id, std::size_t payload_bytes) {
    node* const made = make_node(id, payload_bytes);
    made->next = head;
    head = made;
    ++count;
    sum += id;
}

long pop() {
    node* const first = head;
    if (first == nullptr) return -1;
    const long id = first->id;
    head = first->next;
    dnv_free(first);
    --count;
    sum -= id;
    return id;
}

}  // namespace

void push_front(long id, std::size_t payload_bytes) {
    __transaction_atomic { push(id, payload_bytes); }
}

long pop_front() {
    __transaction_atomic { return pop(); }
}

void rotate() {
    __transaction_atomic {
        const long id = pop();
        push(id + 1, static_cast<std::size_t>(id & 63));
        push(1, 8);
        pop();
    }
}

list_summary summary() {
    list_summary found{};
    __transaction_atomic {
        found.count = found.sum_of_ids = 0;
        found.payloads_right = true;
        found.said = count;
        found.sum_said = sum;
        for (node* each = head; each != nullptr; each = each->next) {
            ++found.count;
            found.sum_of_ids += each->id;
            for (std::size_t at = 0; at < each->payload_bytes; ++at)
                if (payload_of(each)[at] != (each->id & 0xFF)) found.payloads_right = false;
        }
    }
    return found;
}

long* first_node() {
    __transaction_atomic { return head == nullptr ? nullptr : &head->id; }
}

long read_count() {
    __transaction_atomic { return count; }
}

const long* address_of_count() { return &count; }

void touch_count_plainly() { const_cast<volatile long&>(count) = 1; }
void touch_node_plainly() { *const_cast<volatile long*>(first_node()) = 1; }

void push_and_cancel() {
    __transaction_atomic {
        push(1000, 100);
        if (count != 0) __transaction_cancel;
    }
}

void push_one_after_cancelled_block() {
    __transaction_atomic {
        __transaction_atomic {
            pop();
            push(2000, 16);
            push(3000, 16);
            if (count != 0) __transaction_cancel;
        }
        push(7, 16);
    }
}

void push_irrevocably(long id, void (*call)()) {
    __transaction_relaxed {
        push(id, 24);
        call();
    }
}

void push_and_throw() {
    __transaction_atomic {
        push(11, 8);
        throw 11;
    }
}

void fill_words(std::uint64_t* words, std::size_t words_to_fill, std::uint64_t value) {
    __transaction_atomic {
        for (std::size_t at = 0; at < words_to_fill; ++at) words[at] = value;
    }
}

result<void> try_to_fill_words(std::uint64_t* words, std::size_t words_to_fill, std::uint64_t value) {
    return dnv_atomically([&] {
        for (std::size_t at = 0; at < words_to_fill; ++at) words[at] = value;
    });
}

result<void> try_to_allocate(std::size_t bytes) {
    bool is_made = false;
    auto done = dnv_atomically([&] { is_made = dnv_malloc(bytes) != nullptr; });
    if (!done || is_made) return done;
    return error{.code = errc::out_of_space};
}

std::uint64_t sum_of_words(const std::uint64_t* words, std::size_t words_to_read) {
    std::uint64_t found = 0;
    __transaction_atomic {
        found = 0;
        for (std::size_t at = 0; at < words_to_read; ++at) found += words[at];
    }
    return found;
}

result<void> try_to_sum_words(const std::uint64_t* words, std::size_t words_to_read, std::uint64_t& found) {
    return dnv_atomically([&] {
        found = 0;
        for (std::size_t at = 0; at < words_to_read; ++at) found += words[at];
    });
}

long allocate_all(std::size_t bytes) {
    long made = 0;
    for (;;) {
        bool is_full = false;
        __transaction_atomic {
            auto* const block = static_cast<node*>(dnv_malloc(bytes));
            is_full = block == nullptr;
            if (!is_full) {
                block->next = all;
                all = block;
            }
        }
        if (is_full) return made;
        ++made;
    }
}

void free_all() {
    for (bool is_empty = false; !is_empty;) {
        __transaction_atomic {
            node* const first = all;
            is_empty = first == nullptr;
            if (!is_empty) {
                all = first->next;
                dnv_free(first);
            }
        }
    }
}

long allocate_together(std::size_t bytes, long wanted) {
    long made = 0;
    __transaction_atomic {
        made = 0;
        for (long each = 0; each < wanted; ++each) {
            auto* const block = static_cast<node*>(dnv_malloc(bytes));
            if (block == nullptr) continue;
            block->next = all;
            all = block;
            ++made;
        }
    }
    return made;
}

[[gnu::transaction_pure, gnu::noinline]] static void call(void (*flip)(void*), void* block) { flip(block); }

void push_front_and_call(long id, std::size_t payload_bytes, void (*what)(void*), void* with) {
    __transaction_atomic {
        push(id, payload_bytes);
        call(what, with);
    }
}

std::uint64_t store_around_a_flip(void (*flip)(void* block)) {
    std::uint64_t found = 0;
    __transaction_atomic {
        auto* const block = static_cast<std::uint32_t*>(dnv_malloc(64));
        block[2] = 0x10;
        call(flip, block + 2);
        block[3] = 0x20;
        found = *reinterpret_cast<std::uint64_t*>(block + 2);
        dnv_free(block);
    }
    return found;
}

std::uint64_t* fill_unprotected(std::size_t words, std::uint64_t value, void (*inside)(void* block)) {
    __transaction_atomic {
        auto* const block = static_cast<std::uint64_t*>(dnv_malloc_unprotected(words * sizeof(std::uint64_t)));
        for (std::size_t at = 0; at < words; ++at) block[at] = value;
        call(inside, block);
        return block;
    }
}

void fill_unprotected_and_cancel(std::size_t words) {
    __transaction_atomic {
        auto* const block = static_cast<std::uint64_t*>(dnv_malloc_unprotected(words * sizeof(std::uint64_t)));
        for (std::size_t at = 0; at < words; ++at) block[at] = at;
        if (block[0] == 0) __transaction_cancel;
    }
}

bool mix_kinds(unsigned number) {
    constexpr unsigned count = 6;
    std::uint64_t* blocks[count];
    bool right = true;
    __transaction_atomic {
        for (unsigned each = 0; each < count; ++each) {
            const std::size_t bytes = 16 + (number * 7 + each) % 5 * 24;
            blocks[each] = static_cast<std::uint64_t*>(each % 2 == number % 2 ? dnv_malloc_unprotected(bytes)
                                                                              : dnv_malloc(bytes));
            blocks[each][0] = number;
            blocks[each][1] = each;
        }
    }
    __transaction_atomic {
        right = true;
        for (unsigned each = 0; each < count; ++each) {
            std::uint64_t* const block = blocks[(each + number) % count];
            if (block[0] != number || block[1] != (each + number) % count) right = false;
            dnv_free(block);
            // Another one at once, perhaps the same.
            auto* const again = static_cast<std::uint64_t*>(dnv_malloc_unprotected(16));
            *again = number;
            dnv_free(again);
        }
    }
    return right;
}

bool step_pair(std::uint64_t* pair) {
    bool were_equal = false;
    __transaction_atomic {
        were_equal = pair[0] == pair[1];
        ++pair[0];
        ++pair[1];
    }
    return were_equal;
}

std::uint64_t read_in_block(const std::uint64_t* at) {
    __transaction_atomic { return *at; }
}

void add_one(std::uint64_t* at) {
    __transaction_atomic { ++*at; }
}

void store_parts(unsigned char* at) {
    __transaction_atomic {
        at[3] = 0xAB;
        const std::uint32_t four = 0x01020304;
        std::memcpy(at + 6, &four, sizeof four);
    }
}

object_state touch_object() {
    object_state found{};
    __transaction_atomic {
        object->touch();
        found = {object->number, *object->in_block};
    }
    return found;
}

void touch_object_and_cancel() {
    __transaction_atomic {
        object->touch();
        if (object->touched != 0) __transaction_cancel;
    }
}

[[gnu::transaction_safe]] static void add_one_to_each(const two_arrays& of) {
    for (std::size_t at = 0; at < of.words; ++at) {
        ++of.ordinary[at];
        ++of.kept[at];
    }
    ++*reinterpret_cast<unsigned char*>(of.ordinary + of.words);
    auto* const parts = reinterpret_cast<unsigned char*>(of.kept + of.words);
    ++parts[3];
    ++parts[5];
}
[[gnu::transaction_safe]] static bool all_are(const two_arrays& of, std::uint64_t expected) {
    for (std::size_t at = 0; at < of.words; ++at)
        if (of.ordinary[at] != expected || of.kept[at] != expected) return false;
    const auto* const parts = reinterpret_cast<const unsigned char*>(of.kept + of.words);
    return (of.ordinary[of.words] & 0xFF) == (expected & 0xFF) && parts[3] == parts[5];
}
[[gnu::transaction_pure, gnu::noinline]] static void call_if_any(void (*what)()) {
    if (what != nullptr) what();
}

bool add_to_both(const two_arrays& of, void (*inside)()) {
    bool right = false;
    __transaction_atomic {
        const std::uint64_t before = of.ordinary[0];
        add_one_to_each(of);
        call_if_any(inside);
        right = all_are(of, before + 1);
    }
    return right;
}

bool add_to_both_behind_a_new_block(const two_arrays& of, void (*inside)()) {
    bool right = false;
    __transaction_atomic {
        auto* const block = static_cast<std::uint64_t*>(dnv_malloc(64));
        *block = 1;
        const std::uint64_t before = of.ordinary[0];
        add_one_to_each(of);
        call_if_any(inside);
        right = all_are(of, before + 1) && *block == 1;
        dnv_free(block);
    }
    return right;
}

void add_to_both_and_cancel(const two_arrays& of) {
    __transaction_atomic {
        add_one_to_each(of);
        if (of.words != 0) __transaction_cancel;
    }
}

result<void> try_to_add_to_both(const two_arrays& of) {
    return dnv_atomically([&] { add_one_to_each(of); });
}

void add_to_both_behind_cancelled_block(const two_arrays& of) {
    __transaction_atomic {
        __transaction_atomic {
            add_one_to_each(of);
            if (of.words != 0) __transaction_cancel;
        }
        add_one_to_each(of);
    }
}

void add_to_both_irrevocably(const two_arrays& of, void (*inside)()) {
    __transaction_relaxed {
        add_one_to_each(of);
        inside();
        add_one_to_each(of);
    }
}

bool add_to_both_and_copy(const two_arrays& of, const std::uint64_t* from, bool cancels) {
    bool right = false;
    __transaction_atomic {
        add_one_to_each(of);
        std::memcpy(of.kept, from, of.words * sizeof(std::uint64_t));
        std::memmove(of.kept + 1, of.kept, (of.words - 1) * sizeof(std::uint64_t));
        std::memset(of.kept, 0, sizeof(std::uint64_t));
        right = of.kept[0] == 0;
        for (std::size_t at = 1; at < of.words; ++at) right = right && of.kept[at] == from[at - 1];
        if (cancels) __transaction_cancel;
    }
    return right;
}

bool add_to_both_and_allocate(const two_arrays& of, std::size_t words, std::uint64_t*& kept, bool cancels) {
    bool right = false;
    std::uint64_t* const before = kept;
    __transaction_atomic {
        add_one_to_each(of);
        auto* const first = static_cast<std::uint64_t*>(dnv_malloc(words * sizeof(std::uint64_t)));
        first[0] = before[0];
        first[words - 1] = before[words - 1];
        dnv_free(before);
        auto* const second = static_cast<std::uint64_t*>(dnv_malloc(words * sizeof(std::uint64_t)));
        second[0] = first[0] + 1;
        second[words - 1] = first[words - 1] + 1;
        right = second != first && second[0] == first[0] + 1;
        dnv_free(first);
        kept = second;
        if (cancels) __transaction_cancel;
    }
    return right;
}

bool are_equal_in_block(const two_arrays& both) {
    bool equal = false;
    __transaction_atomic {
        const std::size_t last = both.words - 1;
        equal = both.ordinary[0] == both.kept[last] && both.ordinary[last] == both.kept[0];
    }
    return equal;
}

void make_counters() {
    __transaction_atomic {
        if (bank == nullptr) {
            bank = static_cast<counters*>(dnv_malloc(sizeof(counters)));
            for (auto& each : bank->each) each = 1000;
        }
    }
}

void transfer(unsigned from, unsigned to) {
    __transaction_atomic {
        --bank->each[from];
        ++bank->each[to];
    }
}

std::uint64_t sum_of_counters() {
    std::uint64_t found = 0;
    __transaction_atomic {
        found = 0;
        for (const auto& each : bank->each) found += each;
    }
    return found;
}

}  // namespace holdfast::dnv::test

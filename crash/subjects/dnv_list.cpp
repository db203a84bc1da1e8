// The blocks of the lists that dnv_list.hpp describes. Compiled with -fgnu-tm and without the explorer's
// instrumentation: each access is a call of dnv, which has it. HOLDFAST_DNV_ALGORITHM says of which runtime.
#include <crash/subjects/dnv_list.hpp>

#include <cstring>

#define HOLDFAST_JOINED(a, b) a##b
#define HOLDFAST_NAMED(prefix, algorithm) HOLDFAST_JOINED(prefix, algorithm)
#define HOLDFAST_TEXT_OF(name) #name
#define HOLDFAST_TEXT(name) HOLDFAST_TEXT_OF(name)

namespace holdfast::crash {

extern dnv_list dnv_list_of_threads[dnv_lists];
extern std::uint64_t dnv_total;

namespace {

/// Loads nothing: so nobody is asked whether the block is still the transaction's.
void fill(dnv_node* made, std::uint64_t value, std::size_t bytes) {
    made->value = value;
    made->bytes = bytes;
    std::memset(made->payload, static_cast<int>(value & 0xFF), dnv_node::payload_bytes);
}

void link(dnv_list& list, dnv_node* made, std::uint64_t value) {
    made->next = list.head;
    list.head = made;
    ++list.count;
    list.sum += value;
}

bool push_made(dnv_list& list, void* block, std::uint64_t value, std::size_t bytes) {
    auto* const made = static_cast<dnv_node*>(block);
    if (made == nullptr) return false;
    fill(made, value, bytes);
    pause_in_block();
    link(list, made, value);
    return true;
}

bool push_uncounted(dnv_list& list, std::uint64_t value, std::size_t bytes) {
    return push_made(list, dnv_malloc(bytes), value, bytes);
}

void pop_uncounted(dnv_list& list) {
    dnv_node* const first = list.head;
    if (first == nullptr) return;
    list.head = first->next;
    --list.count;
    list.sum -= first->value;
    dnv_free(first);
}

bool push(unsigned number, std::uint64_t value, std::size_t bytes) {
    bool has_room = false;
    __transaction_atomic {
        dnv_list& list = dnv_list_of_threads[number];
        has_room = push_uncounted(list, value, bytes);
        ++list.operations;
        if (!has_room) HOLDFAST_CANCEL;
    }
    return has_room;
}

bool push_bare(unsigned number, std::uint64_t value, std::size_t bytes) {
    bool has_room = false;
    __transaction_atomic {
        dnv_list& list = dnv_list_of_threads[number];
        has_room = push_made(list, dnv_malloc_unprotected(bytes), value, bytes);
        ++list.operations;
        if (!has_room) HOLDFAST_CANCEL;
    }
    return has_room;
}

bool pop(unsigned number) {
    __transaction_atomic {
        pop_uncounted(dnv_list_of_threads[number]);
        ++dnv_list_of_threads[number].operations;
    }
    return true;
}

void replace_parts(dnv_list& list, std::uint64_t value) {
    list.marks[1] = static_cast<unsigned char>(value);
    if (dnv_node* const first = list.head; first != nullptr) {
        first->payload[3] = static_cast<unsigned char>(value);
        const auto half = static_cast<std::uint32_t>(value);
        std::memcpy(first->payload + 12, &half, sizeof half);
    }
    list.marks[5] = static_cast<unsigned char>(value + 1);
    ++list.operations;
}

bool replace(unsigned number, std::uint64_t value) {
    __transaction_atomic { replace_parts(dnv_list_of_threads[number], value); }
    return true;
}

bool try_to_replace(unsigned number, std::uint64_t value) {
    return static_cast<bool>(dnv_atomically([&] { replace_parts(dnv_list_of_threads[number], value); }));
}

bool rotate(unsigned number, std::uint64_t value) {
    bool has_room = false;
    __transaction_atomic {
        dnv_list& list = dnv_list_of_threads[number];
        pop_uncounted(list);
        pause_in_block();
        has_room = push_uncounted(list, value, small_node_bytes);
        auto* const other = static_cast<dnv_node*>(dnv_malloc(small_node_bytes));
        has_room = has_room && other != nullptr;
        if (other != nullptr) {
            other->value = value + 1;
            other->bytes = 0;
            dnv_free(other);
        }
        ++list.operations;
        if (!has_room) HOLDFAST_CANCEL;
    }
    return has_room;
}

void push_and_cancel(unsigned number, std::uint64_t value) {
    __transaction_atomic {
        dnv_list& list = dnv_list_of_threads[number];
        push_uncounted(list, value, small_node_bytes);
        ++list.operations;
        HOLDFAST_CANCEL;
    }
}

dnv_node* make_small() { return static_cast<dnv_node*>(dnv_malloc(small_node_bytes)); }

/// The nodes are no array, which would be loaded through the runtime.
bool push_several(unsigned number, std::uint64_t value) {
    bool has_room = false;
    __transaction_atomic {
        dnv_list& list = dnv_list_of_threads[number];
        dnv_node* const first = make_small();
        dnv_node* const second = make_small();
        dnv_node* const third = make_small();
        dnv_node* const fourth = make_small();
        // Others may want these blocks, too, before anything is stored to them.
        hand_on_in_block();
        has_room = first != nullptr && second != nullptr && third != nullptr && fourth != nullptr;
        if (has_room) {
            fill(first, value, small_node_bytes);
            fill(second, value + 1, small_node_bytes);
            fill(third, value + 2, small_node_bytes);
            fill(fourth, value + 3, small_node_bytes);
            link(list, first, value);
            link(list, second, value + 1);
            link(list, third, value + 2);
            link(list, fourth, value + 3);
        }
        ++list.operations;
        if (!has_room) HOLDFAST_CANCEL;
    }
    return has_room;
}

bool pop_all(unsigned number) {
    __transaction_atomic {
        dnv_list& list = dnv_list_of_threads[number];
        while (list.head != nullptr) pop_uncounted(list);
        ++list.operations;
    }
    return true;
}

bool share(unsigned number) {
    __transaction_atomic {
        dnv_list& list = dnv_list_of_threads[number];
        const std::uint64_t total = dnv_total;
        pause_in_block();
        dnv_total = total + 1;
        ++list.shares;
        ++list.operations;
    }
    return true;
}

}  // namespace

extern const dnv_operations HOLDFAST_NAMED(dnv_by_, HOLDFAST_DNV_ALGORITHM);
constinit const dnv_operations HOLDFAST_NAMED(dnv_by_, HOLDFAST_DNV_ALGORITHM){
    HOLDFAST_TEXT(HOLDFAST_DNV_ALGORITHM),
    push, push_bare, pop, replace, try_to_replace, rotate, push_and_cancel, push_several, pop_all, share};

}  // namespace holdfast::crash

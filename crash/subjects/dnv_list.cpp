// The blocks of the list that dnv_list.hpp describes. Compiled with -fgnu-tm and without the explorer's
// instrumentation: each access is a call of dnv, which has it.
#include <crash/subjects/dnv_list.hpp>

#include <holdfast/dnv/dnv.hpp>

#include <cstring>

namespace holdfast::crash {
namespace {

DNV_POD dnv_list list;
DNV_POD std::uint64_t operations = operations_at_first;

void push(std::uint64_t value, std::size_t bytes) {
    auto* const made = static_cast<dnv_node*>(dnv_malloc(bytes));
    made->value = value;
    made->next = list.head;
    made->bytes = bytes;
    std::memset(made->payload, static_cast<int>(value & 0xFF), dnv_node::payload_bytes);
    list.head = made;
    ++list.count;
    list.sum += value;
}

void pop() {
    dnv_node* const first = list.head;
    if (first == nullptr) return;
    list.head = first->next;
    --list.count;
    list.sum -= first->value;
    dnv_free(first);
}

}  // namespace

const dnv_list* address_of_dnv_list() noexcept { return &list; }
const std::uint64_t* address_of_dnv_operations() noexcept { return &operations; }

void dnv_push(std::uint64_t value, std::size_t bytes) {
    __transaction_atomic {
        push(value, bytes);
        ++operations;
    }
}

void dnv_pop() {
    __transaction_atomic {
        pop();
        ++operations;
    }
}

void dnv_replace(std::uint64_t value) {
    __transaction_atomic {
        list.marks[1] = static_cast<unsigned char>(value);
        if (dnv_node* const first = list.head; first != nullptr) {
            first->payload[3] = static_cast<unsigned char>(value);
            const auto half = static_cast<std::uint32_t>(value);
            std::memcpy(first->payload + 12, &half, sizeof half);
        }
        list.marks[5] = static_cast<unsigned char>(value + 1);
        ++operations;
    }
}

void dnv_rotate(std::uint64_t value) {
    __transaction_atomic {
        pop();
        push(value, small_node_bytes);
        auto* const other = static_cast<dnv_node*>(dnv_malloc(small_node_bytes));
        other->value = value + 1;
        other->bytes = 0;
        dnv_free(other);
        ++operations;
    }
}

void dnv_push_and_cancel(std::uint64_t value) {
    __transaction_atomic {
        push(value, small_node_bytes);
        ++operations;
        HOLDFAST_CANCEL;
    }
}

}  // namespace holdfast::crash

#include <sim/front/process.hpp>

#include <sim/base/address_map.hpp>

#include <cstring>

namespace holdfast::sim {
namespace {

constexpr std::uint64_t stack_end = first_stack_end.value;
constexpr std::uint64_t stack_bytes = 1u << 20;

/// Puts the arguments where a program finds them when it starts, and returns its stack pointer.
result<std::uint64_t> make_first_stack(address_space& memory, const std::vector<std::string>& arguments) {
    const auto allowed = static_cast<permission>(readable | writable);
    if (auto mapped = memory.map(stack_end - stack_bytes, stack_bytes, allowed); !mapped) return mapped.problem();
    std::uint64_t top = stack_end;
    // From the stack pointer up: the number of arguments, their addresses, 0, no environment (0), no auxiliary
    // vector (0, 0).
    std::vector<std::uint64_t> words{arguments.size()};
    const auto write = [&](const void* bytes, std::uint64_t size) {
        top -= size;
        std::memcpy(memory.find_range(top, size, writable).data(), bytes, size);
    };
    for (const std::string& argument : arguments) {
        if (argument.size() >= stack_bytes / 2 || top - argument.size() < stack_end - stack_bytes / 2) {
            return problem{"too many arguments", {}, std::to_string(stack_bytes / 2) + " bytes of them", "more"};
        }
        write(argument.c_str(), argument.size() + 1);
        words.push_back(top);
    }
    words.insert(words.end(), 4, 0);
    top &= ~std::uint64_t{15};
    if (words.size() % 2 != 0) words.push_back(0);
    if (words.size() > stack_bytes / 32) return problem{"too many arguments", {}, {}, std::to_string(arguments.size())};
    write(words.data(), words.size() * sizeof(std::uint64_t));
    return top;
}

}  // namespace

result<bool> process::start(const std::vector<std::string>& arguments) {
    const result<std::uint64_t> stack = make_first_stack(*space_, arguments);
    if (!stack) return stack.problem();
    hart* const first = harts_.add(hart{});
    first->pc = program_->entry;
    first->registers[2] = *stack;
    return true;
}

}  // namespace holdfast::sim

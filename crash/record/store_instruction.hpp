// An instruction that is about to store, carried out here instead of by the processor: the trap
// behind an instruction that the processor carries out costs as much as the fault before it.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace holdfast::crash {

/// Its registers are those of the machine in which it was found. For signal handlers, too.
class store_instruction {
public:
    /// The one at the machine's instruction pointer, if it is one of those that compilers store with:
    /// mov of a register or a constant, movnti, xchg (no other thread may store there meanwhile), the
    /// SSE moves, and the repeated string instructions upwards; in the usual segments and with 64-bit
    /// addresses. Others are left to the processor.
    /// Source: Intel, Software Developer's Manual, volume 2, chapter 2 and appendix B.
    static std::optional<store_instruction> at(mcontext_t& machine) noexcept;

    std::byte* destination() const noexcept {
        return is_string_ ? reinterpret_cast<std::byte*>(machine_->gregs[REG_RDI]) : destination_;
    }
    /// Of each store, in bytes: at most 16.
    std::size_t size() const noexcept { return size_; }
    /// Whether another store comes, and all of it is in the range.
    bool stores_within(const std::byte* begin, std::size_t size) const noexcept {
        const auto from = static_cast<std::size_t>(destination() - begin);
        return !done_ && from < size && size - from >= size_;
    }
    /// Stores to `place` what the instruction stores to its destination. Requires: another store comes.
    void store_next(std::byte* place) noexcept;

private:
    class decoder;

    explicit store_instruction(mcontext_t& machine) noexcept : machine_(&machine) {}

    mcontext_t* machine_;
    std::size_t length_ = 0;
    std::size_t size_ = 0;
    std::byte* destination_ = nullptr;
    const void* source_ = nullptr;  ///< none: the constant, or what a string instruction copies from
    std::int64_t constant_ = 0;
    std::byte* exchanged_ = nullptr;  ///< the register that gets what was there before
    bool is_string_ = false;
    bool done_ = false;
};

}  // namespace holdfast::crash

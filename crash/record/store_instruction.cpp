#include <crash/record/store_instruction.hpp>

#include <cstring>

namespace holdfast::crash {
namespace {

/// By the processor's numbers.
constexpr int registers[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                               REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

}  // namespace

class store_instruction::decoder {
public:
    explicit decoder(store_instruction& to)
        : to_(to), begin_(reinterpret_cast<const std::uint8_t*>(to.machine_->gregs[REG_RIP])), at_(begin_) {}

    bool decode() {
        read_prefixes();
        const std::uint8_t operation = next();
        const bool known = operation == 0x0F ? decode_long(next()) : decode_short(operation);
        to_.length_ = static_cast<std::size_t>(at_ - begin_);
        return known;
    }

private:
    enum prefix : std::uint8_t { none = 0, operand = 0x66, not_equal = 0xF2, repeat = 0xF3 };

    std::uint8_t next() { return *at_++; }
    template <class T>
    std::int64_t next_number() {
        T number;
        std::memcpy(&number, at_, sizeof number);
        at_ += sizeof number;
        return number;
    }

    /// Another prefix, or a second one of these, makes an operation that is not known.
    void read_prefixes() {
        if (*at_ == operand || *at_ == not_equal || *at_ == repeat) prefix_ = static_cast<prefix>(next());
        if ((*at_ & 0xF0u) == 0x40) rex_ = next();
    }
    bool is_wide() const { return (rex_ & 8u) != 0; }
    std::size_t operand_size() const { return is_wide() ? 8 : prefix_ == operand ? 2 : 4; }
    greg_t& general(unsigned number) const { return to_.machine_->gregs[registers[number]]; }

    bool decode_short(std::uint8_t operation) {
        switch (operation) {
        case 0xA4: case 0xA5: case 0xAA: case 0xAB: return decode_string(operation);
        case 0x88: case 0x89: return prefix_ <= operand && decode_general(operation == 0x88 ? 1 : operand_size());
        case 0x86: case 0x87: return prefix_ <= operand && decode_exchange(operation == 0x86 ? 1 : operand_size());
        case 0xC6: case 0xC7: return prefix_ <= operand && decode_constant(operation == 0xC6 ? 1 : operand_size());
        default: return false;
        }
    }

    bool decode_long(std::uint8_t operation) {
        switch (operation) {
        case 0xC3: return prefix_ == none && decode_general(is_wide() ? 8 : 4);                       // movnti
        case 0x11:                                                                                    // movups, …
            return decode_vector(prefix_ == repeat ? 4 : prefix_ == not_equal ? 8 : 16);
        case 0x29: case 0x2B: return prefix_ <= operand && decode_vector(16);                         // movaps, …
        case 0x7F: return (prefix_ == operand || prefix_ == repeat) && decode_vector(16);             // movdqa, movdqu
        case 0xE7: return prefix_ == operand && decode_vector(16);                                    // movntdq
        case 0xD6: return prefix_ == operand && decode_vector(8);                                     // movq
        case 0x7E: return prefix_ == operand && decode_vector(is_wide() ? 8 : 4);                     // movd, movq
        default: return false;
        }
    }

    bool decode_string(std::uint8_t operation) {
        constexpr greg_t direction_flag = 0x400;
        if (prefix_ != repeat || (to_.machine_->gregs[REG_EFL] & direction_flag) != 0) return false;
        to_.is_string_ = true;
        to_.size_ = (operation & 1u) == 0 ? 1 : is_wide() ? 8 : 4;
        if (operation >= 0xAA) to_.source_ = &to_.machine_->gregs[REG_RAX];
        to_.done_ = to_.machine_->gregs[REG_RCX] == 0;
        return true;
    }
    bool decode_general(std::size_t size) {
        if (!decode_operands(0)) return false;
        // Without a REX prefix 4 to 7 are the second bytes of the first four.
        const bool is_second_byte = size == 1 && rex_ == 0 && register_ >= 4;
        general_ = reinterpret_cast<std::byte*>(&general(is_second_byte ? register_ - 4 : register_));
        if (is_second_byte) ++general_;
        to_.source_ = general_;
        to_.size_ = size;
        return true;
    }
    bool decode_exchange(std::size_t size) {
        if (!decode_general(size)) return false;
        to_.exchanged_ = general_;
        return true;
    }
    bool decode_constant(std::size_t size) {
        const std::size_t bytes = size == 8 ? 4 : size;
        if (!decode_operands(bytes) || (register_ & 7u) != 0) return false;
        to_.constant_ = bytes == 1   ? next_number<std::int8_t>()
                        : bytes == 2 ? next_number<std::int16_t>()
                                     : next_number<std::int32_t>();
        to_.size_ = size;
        return true;
    }
    bool decode_vector(std::size_t size) {
        if (to_.machine_->fpregs == nullptr || !decode_operands(0)) return false;
        to_.source_ = &to_.machine_->fpregs->_xmm[register_];
        to_.size_ = size;
        return true;
    }

    /// The register and the place in memory. A constant of `constant_bytes` bytes follows.
    bool decode_operands(std::size_t constant_bytes) {
        const std::uint8_t operands = next();
        const unsigned mode = operands >> 6;
        register_ = (operands >> 3 & 7u) | (rex_ & 4u) << 1;
        const unsigned base = operands & 7u;
        if (mode == 3) return false;
        std::int64_t address = 0;
        if (base == 4) {
            address = scaled_address(mode);
        } else if (base == 5 && mode == 0) {
            address = next_number<std::int32_t>();
            address += static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(at_ + constant_bytes));
        } else {
            address = general(base | (rex_ & 1u) << 3);
        }
        if (mode == 1) address += next_number<std::int8_t>();
        if (mode == 2) address += next_number<std::int32_t>();
        to_.destination_ = reinterpret_cast<std::byte*>(address);
        return true;
    }
    std::int64_t scaled_address(unsigned mode) {
        const std::uint8_t scaled = next();
        const unsigned index = (scaled >> 3 & 7u) | (rex_ & 2u) << 2;
        const unsigned base = scaled & 7u;
        const std::int64_t offset = index == 4 ? 0 : general(index) * (std::int64_t{1} << (scaled >> 6));
        if (base == 5 && mode == 0) return offset + next_number<std::int32_t>();
        return offset + general(base | (rex_ & 1u) << 3);
    }

    store_instruction& to_;
    const std::uint8_t* begin_;
    const std::uint8_t* at_;
    prefix prefix_ = none;
    std::uint8_t rex_ = 0;
    unsigned register_ = 0;
    std::byte* general_ = nullptr;  ///< where that register is kept
};

std::optional<store_instruction> store_instruction::at(mcontext_t& machine) noexcept {
    store_instruction found(machine);
    if (!decoder(found).decode()) return {};
    return found;
}

void store_instruction::store_next(std::byte* place) noexcept {
    greg_t* const general = machine_->gregs;
    const void* from = source_ != nullptr ? source_
                       : is_string_       ? reinterpret_cast<const void*>(general[REG_RSI])
                                          : static_cast<const void*>(&constant_);
    std::byte element[16];
    std::memcpy(element, from, size_);
    if (exchanged_ != nullptr) {
        // Half a register is never left over.
        if (size_ == 4) std::memset(exchanged_, 0, 8);
        std::memcpy(exchanged_, place, size_);
    }
    std::memcpy(place, element, size_);
    done_ = true;
    if (is_string_) {
        general[REG_RDI] += static_cast<greg_t>(size_);
        if (source_ == nullptr) general[REG_RSI] += static_cast<greg_t>(size_);
        done_ = --general[REG_RCX] == 0;
    }
    if (done_) general[REG_RIP] += static_cast<greg_t>(length_);
}

}  // namespace holdfast::crash

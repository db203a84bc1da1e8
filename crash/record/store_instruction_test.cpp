#include <crash/record/store_instruction.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

namespace holdfast::crash {
namespace {

enum : int { rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15, none = -1 };

constexpr int places_of_registers[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                       REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

enum class source : std::uint8_t { general, second_byte, vector, constant };

struct encoding {
    std::string text;
    std::vector<std::uint8_t> code;
    int base;
    int index;
    int scale;
    std::int64_t offset;
    std::size_t size;
    source from;
    std::int64_t what;  ///< the register's number or the constant
};

/// A machine that is about to carry out some code, with memory around it.
class machine {
public:
    static constexpr std::size_t target = 0x100;

    explicit machine(const std::vector<std::uint8_t>& code) {
        std::memset(memory_.data(), 0xEE, memory_.size());
        std::memcpy(memory_.data(), code.data(), code.size());
        state_.gregs[REG_RIP] = reinterpret_cast<greg_t>(memory_.data());
        state_.fpregs = &vectors_;
        for (int i = 0; i < 16; ++i) {
            general(i) = static_cast<greg_t>(0x7060504030201000 + i * 0x0101010101010101);
            for (unsigned j = 0; j < 4; ++j)
                vectors_._xmm[i].element[j] = 0x10203040u + j + 16u * static_cast<unsigned>(i);
        }
    }
    greg_t& general(int number) { return state_.gregs[places_of_registers[number]]; }
    std::byte* at(std::size_t offset) { return memory_.data() + offset; }
    std::size_t offset_of(const std::byte* place) const { return static_cast<std::size_t>(place - memory_.data()); }
    std::size_t length_done() const {
        return static_cast<std::size_t>(state_.gregs[REG_RIP] - reinterpret_cast<greg_t>(memory_.data()));
    }
    mcontext_t& state() { return state_; }

    void point_at_target(const encoding& how) {
        const auto place = reinterpret_cast<greg_t>(at(target)) - how.offset;
        if (how.index != none) general(how.index) = how.base != none ? 5 : place / how.scale;
        if (how.base != none) general(how.base) = place - (how.index != none ? 5 * how.scale : 0);
    }
    std::array<std::byte, 16> value_of(const encoding& how) {
        std::array<std::byte, 16> value{};
        const auto number = static_cast<int>(how.what);
        switch (how.from) {
        case source::general: std::memcpy(value.data(), &general(number), 8); break;
        case source::second_byte: value[0] = static_cast<std::byte>(general(number) >> 8); break;
        case source::vector: std::memcpy(value.data(), &vectors_._xmm[number], 16); break;
        case source::constant: std::memcpy(value.data(), &how.what, 8); break;
        }
        return value;
    }

private:
    mcontext_t state_{};
    _libc_fpstate vectors_{};
    alignas(16) std::array<std::byte, 0x2000> memory_;
};

const std::vector<encoding> encodings{
    {"mov %rax,(%rbx)", {0x48, 0x89, 0x03}, rbx, none, 0, 0, 8, source::general, rax},
    {"mov %r9,0x10(%r12)", {0x4d, 0x89, 0x4c, 0x24, 0x10}, r12, none, 0, 0x10, 8, source::general, r9},
    {"mov %r13,-8(%r13)", {0x4d, 0x89, 0x6d, 0xf8}, r13, none, 0, -8, 8, source::general, r13},
    {"mov %r15,0x12345(%rsp)", {0x4c, 0x89, 0xbc, 0x24, 0x45, 0x23, 0x01, 0}, rsp, none, 0, 0x12345, 8,
     source::general, r15},
    {"mov %esi,(%rdi,%rcx,4)", {0x89, 0x34, 0x8f}, rdi, rcx, 4, 0, 4, source::general, rsi},
    {"mov %r8d,0x20(%rbp,%r12,8)", {0x46, 0x89, 0x44, 0xe5, 0x20}, rbp, r12, 8, 0x20, 4, source::general, r8},
    {"mov %dx,0x10(%rbx)", {0x66, 0x89, 0x53, 0x10}, rbx, none, 0, 0x10, 2, source::general, rdx},
    {"mov %cl,1(%rbx)", {0x88, 0x4b, 0x01}, rbx, none, 0, 1, 1, source::general, rcx},
    {"mov %bh,1(%rdx)", {0x88, 0x7a, 0x01}, rdx, none, 0, 1, 1, source::second_byte, rbx},
    {"mov %sil,1(%rbx)", {0x40, 0x88, 0x73, 0x01}, rbx, none, 0, 1, 1, source::general, rsi},
    {"mov %r11b,1(%rbx)", {0x44, 0x88, 0x5b, 0x01}, rbx, none, 0, 1, 1, source::general, r11},
    {"mov %rax,0x12340(,%rcx,2)", {0x48, 0x89, 0x04, 0x4d, 0x40, 0x23, 0x01, 0}, none, rcx, 2, 0x12340, 8,
     source::general, rax},
    {"movq $-2,8(%rbx)", {0x48, 0xc7, 0x43, 0x08, 0xfe, 0xff, 0xff, 0xff}, rbx, none, 0, 8, 8, source::constant, -2},
    {"movl $0x12345678,8(%rbx)", {0xc7, 0x43, 0x08, 0x78, 0x56, 0x34, 0x12}, rbx, none, 0, 8, 4, source::constant,
     0x12345678},
    {"movw $0x1234,8(%rbx)", {0x66, 0xc7, 0x43, 0x08, 0x34, 0x12}, rbx, none, 0, 8, 2, source::constant, 0x1234},
    {"movb $0x12,8(%rbx)", {0xc6, 0x43, 0x08, 0x12}, rbx, none, 0, 8, 1, source::constant, 0x12},
    {"movnti %rax,(%rbx)", {0x48, 0x0f, 0xc3, 0x03}, rbx, none, 0, 0, 8, source::general, rax},
    {"movnti %r10d,(%rbx)", {0x44, 0x0f, 0xc3, 0x13}, rbx, none, 0, 0, 4, source::general, r10},
    {"movups %xmm3,(%rbx)", {0x0f, 0x11, 0x1b}, rbx, none, 0, 0, 16, source::vector, 3},
    {"movupd %xmm12,(%rbx)", {0x66, 0x44, 0x0f, 0x11, 0x23}, rbx, none, 0, 0, 16, source::vector, 12},
    {"movaps %xmm3,(%rbx)", {0x0f, 0x29, 0x1b}, rbx, none, 0, 0, 16, source::vector, 3},
    {"movdqa %xmm3,(%rbx)", {0x66, 0x0f, 0x7f, 0x1b}, rbx, none, 0, 0, 16, source::vector, 3},
    {"movdqu %xmm9,(%rbx)", {0xf3, 0x44, 0x0f, 0x7f, 0x0b}, rbx, none, 0, 0, 16, source::vector, 9},
    {"movntdq %xmm3,(%rbx)", {0x66, 0x0f, 0xe7, 0x1b}, rbx, none, 0, 0, 16, source::vector, 3},
    {"movntps %xmm3,(%rbx)", {0x0f, 0x2b, 0x1b}, rbx, none, 0, 0, 16, source::vector, 3},
    {"movss %xmm3,(%rbx)", {0xf3, 0x0f, 0x11, 0x1b}, rbx, none, 0, 0, 4, source::vector, 3},
    {"movsd %xmm3,(%rbx)", {0xf2, 0x0f, 0x11, 0x1b}, rbx, none, 0, 0, 8, source::vector, 3},
    {"movq %xmm3,(%rbx)", {0x66, 0x0f, 0xd6, 0x1b}, rbx, none, 0, 0, 8, source::vector, 3},
    {"movd %xmm3,(%rbx)", {0x66, 0x0f, 0x7e, 0x1b}, rbx, none, 0, 0, 4, source::vector, 3},
};

/// The machine's next instruction, which is the encoding, stores what and where that says, and no more.
void expect_store(machine& runs, const encoding& how) {
    SCOPED_TRACE(how.text);
    runs.point_at_target(how);
    const auto value = runs.value_of(how);
    auto storing = store_instruction::at(runs.state());
    ASSERT_TRUE(storing);
    ASSERT_EQ(runs.offset_of(storing->destination()), machine::target);
    EXPECT_EQ(storing->size(), how.size);
    EXPECT_TRUE(storing->stores_within(runs.at(machine::target), how.size));
    EXPECT_FALSE(storing->stores_within(runs.at(machine::target), how.size - 1));
    EXPECT_FALSE(storing->stores_within(runs.at(machine::target + 1), 64));
    EXPECT_EQ(runs.length_done(), 0u);
    storing->store_next(storing->destination());
    EXPECT_EQ(runs.length_done(), how.code.size());
    EXPECT_EQ(std::memcmp(runs.at(machine::target), value.data(), how.size), 0);
    EXPECT_EQ(*runs.at(machine::target - 1), std::byte{0xEE});
    EXPECT_EQ(*runs.at(machine::target + how.size), std::byte{0xEE});
    EXPECT_FALSE(storing->stores_within(runs.at(0), 0x2000)) << "it is done";
}

TEST(StoreInstruction, EachEncodingStoresWhatAndWhereItSays) {
    for (const encoding& each : encodings) {
        machine runs(each.code);
        expect_store(runs, each);
    }
}

TEST(StoreInstruction, APlaceRelativeToTheCodeCountsFromTheNextInstruction) {
    const std::vector<std::vector<std::uint8_t>> codes{
        {0x48, 0x89, 0x05, 0x00, 0x10, 0, 0},                          // mov %rax,0x1000(%rip)
        {0xc6, 0x05, 0x00, 0x10, 0, 0, 0x12},                          // movb $0x12,0x1000(%rip)
        {0xc7, 0x05, 0x00, 0x10, 0, 0, 0x78, 0x56, 0x34, 0x12},        // movl $0x12345678,0x1000(%rip)
        {0x66, 0xc7, 0x05, 0x00, 0x10, 0, 0, 0x34, 0x12},              // movw $0x1234,0x1000(%rip)
        {0x48, 0xc7, 0x05, 0x00, 0x10, 0, 0, 0xfe, 0xff, 0xff, 0xff},  // movq $-2,0x1000(%rip)
    };
    for (const auto& code : codes) {
        machine before(code);
        auto storing = store_instruction::at(before.state());
        ASSERT_TRUE(storing);
        EXPECT_EQ(before.offset_of(storing->destination()), 0x1000 + code.size());
        storing->store_next(storing->destination());
        EXPECT_EQ(before.length_done(), code.size());
    }
}

TEST(StoreInstruction, AnExchangeLeavesInTheRegisterWhatWasThere) {
    const std::vector<std::pair<encoding, std::uint64_t>> all{
        {{"xchg %rbp,(%rbx)", {0x48, 0x87, 0x2b}, rbx, none, 0, 0, 8, source::general, rbp}, 0xEEEEEEEEEEEEEEEE},
        {{"xchg %r9d,(%rbx)", {0x44, 0x87, 0x0b}, rbx, none, 0, 0, 4, source::general, r9}, 0xEEEEEEEE},
        {{"xchg %dx,(%rbx)", {0x66, 0x87, 0x13}, rbx, none, 0, 0, 2, source::general, rdx}, 0x726252423222EEEE},
        {{"xchg %al,(%rbx)", {0x86, 0x03}, rbx, none, 0, 0, 1, source::general, rax}, 0x70605040302010EE},
        {{"xchg %ch,(%rbx)", {0x86, 0x2b}, rbx, none, 0, 0, 1, source::second_byte, rcx}, 0x716151413121EE01},
    };
    for (const auto& [each, left] : all) {
        machine runs(each.code);
        expect_store(runs, each);
        EXPECT_EQ(static_cast<std::uint64_t>(runs.general(static_cast<int>(each.what))), left) << each.text;
    }
}

struct repeated {
    std::vector<std::uint8_t> code;
    std::size_t size;
    bool copies;
};

TEST(StoreInstruction, ARepeatedOneStoresElementByElement) {
    const std::vector<repeated> all{
        {{0xf3, 0xa4}, 1, true},  {{0xf3, 0xa5}, 4, true},  {{0xf3, 0x48, 0xa5}, 8, true},
        {{0xf3, 0xaa}, 1, false}, {{0xf3, 0xab}, 4, false}, {{0xf3, 0x48, 0xab}, 8, false},
    };
    for (const repeated& each : all) {
        machine before(each.code);
        before.general(rdi) = reinterpret_cast<greg_t>(before.at(machine::target));
        before.general(rsi) = reinterpret_cast<greg_t>(before.at(0x200));
        before.general(rcx) = 3;
        for (std::size_t i = 0; i < 32; ++i) *before.at(0x200 + i) = static_cast<std::byte>(i);
        const greg_t filled = before.general(rax);
        auto storing = store_instruction::at(before.state());
        ASSERT_TRUE(storing);
        for (std::size_t i = 0; i < 3; ++i) {
            EXPECT_EQ(before.length_done(), 0u);
            EXPECT_TRUE(storing->stores_within(before.at(machine::target), 3 * each.size));
            storing->store_next(storing->destination());
            const std::byte* stored = before.at(machine::target + i * each.size);
            const void* source = each.copies ? static_cast<const void*>(before.at(0x200 + i * each.size)) : &filled;
            EXPECT_EQ(std::memcmp(stored, source, each.size), 0);
        }
        EXPECT_FALSE(storing->stores_within(before.at(0), 0x2000));
        EXPECT_EQ(before.length_done(), each.code.size());
        EXPECT_EQ(before.general(rcx), 0);
        EXPECT_EQ(before.offset_of(reinterpret_cast<std::byte*>(before.general(rdi))), machine::target + 3 * each.size);
        const std::size_t read = each.copies ? 3 * each.size : 0;
        EXPECT_EQ(before.offset_of(reinterpret_cast<std::byte*>(before.general(rsi))), 0x200 + read);
    }
}

TEST(StoreInstruction, WhatItDoesNotKnowIsLeftToTheProcessor) {
    const std::vector<std::pair<std::string, std::vector<std::uint8_t>>> others{
        {"mov %rbx,%rax", {0x48, 0x89, 0xd8}},       {"mov (%rbx),%rax", {0x48, 0x8b, 0x03}},
        {"lock xchg", {0xf0, 0x48, 0x87, 0x03}},     {"addq $1,(%rbx)", {0x48, 0x83, 0x03, 0x01}},
        {"mov %rax,%fs:(%rbx)", {0x64, 0x48, 0x89, 0x03}}, {"mov %eax,(%ebx)", {0x67, 0x89, 0x03}},
        {"movq %mm3,(%rbx)", {0x0f, 0x7f, 0x1b}},    {"vmovdqu", {0xc5, 0xfe, 0x7f, 0x03}},
        {"movhps", {0x0f, 0x17, 0x1b}},              {"movq (%rbx),%xmm3", {0xf3, 0x0f, 0x7e, 0x1b}},
        {"movups (%rbx),%xmm3", {0x0f, 0x10, 0x1b}}, {"rep movsw", {0x66, 0xf3, 0xa5}},
        {"stosb", {0xaa}},                           {"repne stosb", {0xf2, 0xaa}},
        {"xrelease mov", {0xf3, 0x89, 0x03}},        {"group 11 /1", {0xc7, 0x0b, 0, 0, 0, 0}},
    };
    for (const auto& [text, code] : others) {
        machine before(code);
        EXPECT_FALSE(store_instruction::at(before.state())) << text;
    }
    machine downwards({0xf3, 0xa4});
    downwards.state().gregs[REG_EFL] = 0x400;
    EXPECT_FALSE(store_instruction::at(downwards.state()));
}

}  // namespace
}  // namespace holdfast::crash

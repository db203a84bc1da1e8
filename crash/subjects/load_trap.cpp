#include <crash/subjects/load_trap.hpp>

#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>

namespace holdfast::crash {
namespace {

constexpr greg_t trap_flag = 0x100;
constexpr greg_t fault_was_a_store = 2;

/// CLWB, CLFLUSHOPT, CLFLUSH: to the page tables they are loads, and bring nothing.
bool is_write_back(const void* code) {
    auto* at = static_cast<const unsigned char*>(code);
    constexpr unsigned char operand_size = 0x66;
    constexpr unsigned char first_rex = 0x40;
    constexpr unsigned char last_rex = 0x4F;
    if (*at == operand_size) ++at;
    if (*at >= first_rex && *at <= last_rex) ++at;
    const unsigned operation = at[2] >> 3 & 7u;
    return at[0] == 0x0F && at[1] == 0xAE && (operation == 6 || operation == 7);
}

}  // namespace

load_trap* load_trap::active_ = nullptr;

load_trap::load_trap(std::span<std::byte> range)
    : range_(range), read_announced_(range.size()), write_announced_(range.size()) {
    active_ = this;
    struct sigaction action {};
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    action.sa_sigaction = on_fault;
    ::sigaction(SIGSEGV, &action, &fault_before_);
    action.sa_sigaction = on_step;
    ::sigaction(SIGTRAP, &action, &step_before_);
}

load_trap::~load_trap() {
    disarm();
    ::sigaction(SIGSEGV, &fault_before_, nullptr);
    ::sigaction(SIGTRAP, &step_before_, nullptr);
    active_ = nullptr;
}

void load_trap::arm() {
    // Nothing may be mapped there yet.
    armed_ = ::mprotect(range_.data(), range_.size(), PROT_NONE) == 0;
}

void load_trap::disarm() {
    if (armed_) ::mprotect(range_.data(), range_.size(), PROT_READ | PROT_WRITE);
    armed_ = false;
}

void load_trap::announce(std::uint64_t offset, std::size_t size, bool writes) {
    auto& announced = writes ? write_announced_ : read_announced_;
    const std::uint64_t end = std::min<std::uint64_t>(offset + size, announced.size());
    for (std::uint64_t byte = offset; byte < end; ++byte) announced[byte] = true;
}

bool load_trap::let_through(void* address, const void* code, bool writes) {
    const auto offset = static_cast<std::size_t>(static_cast<std::byte*>(address) - range_.data());
    if (offset >= range_.size() || open_pages_ == pages_at_once) return false;
    if (!is_write_back(code)) {
        ++(writes ? stores_ : loads_);
        if (!(writes ? write_announced_ : read_announced_)[offset]) escapes_.try_emplace({code, writes}, offset);
    }
    std::byte* const page = range_.data() + offset / page_bytes * page_bytes;
    open_[open_pages_++] = page;
    return ::mprotect(page, page_bytes, PROT_READ | PROT_WRITE) == 0;
}

std::map<load_trap::escape, std::uint64_t> load_trap::escapes() const {
    auto all = escapes_;
    std::erase_if(all, [&](const auto& each) { return each.first.writes && write_announced_[each.second]; });
    return all;
}

void load_trap::on_fault(int, siginfo_t* information, void* context) {
    auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    const auto* code = reinterpret_cast<const void*>(registers[REG_RIP]);
    const bool writes = (registers[REG_ERR] & fault_was_a_store) != 0;
    if (active_ != nullptr && active_->let_through(information->si_addr, code, writes)) {
        registers[REG_EFL] |= trap_flag;
        return;
    }
    // None of ours: the program's own fault, which the default action reports.
    ::signal(SIGSEGV, SIG_DFL);
}

void load_trap::on_step(int, siginfo_t*, void* context) {
    static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] &= ~trap_flag;
    if (active_ == nullptr) return;
    for (std::size_t i = 0; i < active_->open_pages_; ++i) ::mprotect(active_->open_[i], page_bytes, PROT_NONE);
    active_->open_pages_ = 0;
}

}  // namespace holdfast::crash

// Cache-line transactions: an object that lies twice in one line, and a byte that says which is valid. After
// "Cache-Line Transactions: Building Blocks for Persistent Kernel Data Structures Enabled by AspectC++", section 3.
// Freestanding C++17 without exceptions, type information or allocation: what the machine is asked is a `Medium`.
//
// Protocol
//   1. log: copy the object of the valid half over the other, the active one. The object and no more: a copy of all
//      32 bytes would overwrite the index, which is the last byte of the second half.
//   2. The transaction reads and writes the active half.
//   3. ORDER. The stores of step 2 before the store of step 4: else the line may be written back with an index that
//      points to half an object. For x86-64 it binds the compiler, for aarch64 the processor as well.
//   4. commit: one store of the index. The active half is now the valid one.
//   5. Write the line back and FENCE. Nothing is ordered by it; the caller waits until it is durable. Where only a
//      killed process is feared it is no more than an order for the compiler: the copy of the next transaction must not
//      overwrite what the index still points to.
//
// There is no recovery. A line that was written back in the middle of a transaction has the old index; the next
// transaction's step 1 is the rollback.
//
// What it asks of the medium: stores to one line become durable in the order in which they became visible, and a line
// is written back whole. Where a line may tear at 8 bytes, it does not hold.
#pragma once

#include <holdfast/format/cache_line.hpp>
#include <holdfast/line/planted.hpp>

namespace holdfast {
namespace cache_line {

/// An object that a thread has in a transaction, in a list on the thread's stack, innermost first. The line contains
/// nothing of it: a crash leaves nothing to roll back.
struct open_object {
    const void* object;
    open_object* outer;
};

/// Whether this thread has `object` in a transaction. `Medium::innermost()` is the thread's list.
template <class Medium>
inline bool is_open(const void* object) noexcept {
    for (const open_object* each = Medium::innermost(); each != nullptr; each = each->outer)
        if (each->object == object) return true;
    return false;
}

/// Invalid bits of an index do not lead out of the line.
inline size_t valid_offset(const void* line) noexcept {
    return static_cast<const unsigned char*>(line)[format::line_index_offset] & format::half_line_bytes;
}
inline const void* valid_half(const void* line) noexcept {
    return static_cast<const unsigned char*>(line) + valid_offset(line);
}
inline void* active_half(void* line) noexcept {
    return static_cast<unsigned char*>(line) + (valid_offset(line) ^ format::half_line_bytes);
}

/// Makes the stores of a dead process durable before its successor acts on them. Requires: no transaction on the
/// object.
template <class Medium>
inline void take_over(void* line) noexcept(noexcept(Medium::make_durable(nullptr))) {
    Medium::make_durable(line);
}

/// One transaction on the object of `Bytes` bytes in a line, for the lifetime of this object. Without `commit` it is
/// rolled back. Inside another transaction of the same thread on the same object it is part of that one. Requires: no
/// other thread has a transaction on the object.
/// What holds if the process dies inside: the old object, or, from step 4 of `commit` on, the new one.
template <class Medium, size_t Bytes>
class transaction {
    static_assert(Bytes <= format::line_payload_bytes, "the object must fit twice into a line, with its index");

public:
    explicit transaction(void* line) noexcept
        : line_(static_cast<unsigned char*>(line)), active_(active_half(line)), joins_(is_open<Medium>(line)) {
        if (joins_) return;
        mine_.object = line;
        mine_.outer = Medium::innermost();
        Medium::innermost() = &mine_;
        const void* const valid = valid_half(line);
        if (is_planted(planted::line_index_first)) flip();
        if (is_planted(planted::line_copied_whole)) {
            __builtin_memcpy(active_, valid, format::half_line_bytes);
        } else {
            __builtin_memcpy(active_, valid, Bytes);
        }
    }
    ~transaction() {
        if (refused_) flip();
        if (!joins_) Medium::innermost() = mine_.outer;
    }
    transaction(const transaction&) = delete;
    transaction& operator=(const transaction&) = delete;

    void* active() const noexcept { return active_; }

    /// Does nothing in a transaction that is part of another, which commits.
    void commit() noexcept(noexcept(Medium::order()) && noexcept(Medium::make_durable(nullptr))) {
        if (joins_) return;
        Medium::order();
        if (!is_planted(planted::line_index_first)) flip();
        refused_ = true;
        Medium::make_durable(line_);
        refused_ = false;
    }

private:
    void flip() noexcept {
        volatile unsigned char& index = line_[format::line_index_offset];
        index = static_cast<unsigned char>(index ^ format::half_line_bytes);
    }

    unsigned char* line_;
    void* active_;
    open_object mine_;
    bool joins_;
    bool refused_ = false;  ///< the medium threw: the object is again what it was
};

}  // namespace cache_line
}  // namespace holdfast

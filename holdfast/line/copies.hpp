// Transactions on an object of many lines, without a log: two copies, each with a sequence and a sum. The future work
// of the paper's section 6. Freestanding C++17 like mechanism.hpp, and with the same `Medium`.
//
// Protocol
//   1. The copy with the higher sequence is valid. Bring the other one, the active one, up to date: copy the lines in
//      which it differs. They are what the last transaction changed.
//   2. The transaction reads and writes the active copy.
//   3. commit: the lines in which the copies differ now are what this transaction changed. The new sum is the valid
//      copy's, less what these lines added to it there, plus what they add here.
//   4. ORDER. Then store the sum, then the sequence above the valid copy's. For a killed process that is the commit: it
//      sees the stores in this order.
//   5. Write back the lines that steps 1 to 4 stored to, and FENCE. Their order does not matter: until all of them are
//      durable the sum is wrong, and the other copy, which nothing has touched since its own fence, is valid. The
//      caller waits; and the next transaction, which writes over that other copy, must not before this is durable.
// A transaction that is rolled back gives the active copy sequence 0: what is in it and what of it is durable is no
// longer known. Then step 1 of the next copies and writes back all of its lines.
//
// Recovery, when a process takes over the object
//   1. Write back the valid copy, and FENCE: the process that died may not have come to it, and after step 2 there is
//      no other.
//   2. The other copy gets sequence and sum 0. Write them back and FENCE, before the next transaction: it draws the
//      sequence that a torn copy may have, and what its lines have not replaced yet could make that one whole.
//
// It does not rely on the order of stores within a line, nor on whole lines.
#pragma once

#include <holdfast/format/line_copies.hpp>
#include <holdfast/line/mechanism.hpp>
#include <holdfast/line/planted.hpp>

namespace holdfast {
namespace cache_line {

/// Which lines of two copies, one after the other.
template <size_t Lines>
class dirty_lines {
public:
    void add(size_t line) noexcept { bits_[line / 64] |= uint64_t{1} << line % 64; }
    const uint64_t* bits() const noexcept { return bits_; }

private:
    uint64_t bits_[(Lines + 63) / 64] = {};
};

/// An object of `Bytes` bytes, twice. Lies at an address aligned to a line.
template <size_t Bytes>
class copies {
public:
    static constexpr size_t lines = format::lines_of_copy(Bytes);

    struct line {
        format::copy_word words[8];
    };
    struct copy {
        line all[lines];

        uint64_t sequence() const noexcept { return all[0].words[0]; }
        uint64_t sum() const noexcept { return all[0].words[1]; }
        void* object() noexcept { return all[0].words + 2; }
        const void* object() const noexcept { return all[0].words + 2; }
    };
    static_assert(sizeof(copy) == lines * format::cache_line_bytes, "whole lines");

    /// The first copy holds the object `from`, the second nothing.
    void begin_with(const void* from) noexcept {
        __builtin_memset(this, 0, sizeof *this);
        __builtin_memcpy(both_[0].object(), from, Bytes);
        both_[0].all[0].words[0] = 1;
        both_[0].all[0].words[1] = sum_of(both_[0]);
    }

    size_t valid() const noexcept { return both_[1].sequence() > both_[0].sequence() ? 1 : 0; }
    copy& at(size_t which) noexcept { return both_[which]; }
    const copy& at(size_t which) const noexcept { return both_[which]; }

    static uint64_t sum_of(const copy& of) noexcept {
        uint64_t sum = format::sum_of_sequence(of.sequence());
        const size_t summed = is_planted(planted::copy_sum_too_short) && lines > 1 ? lines - 1 : lines;
        for (size_t i = 0; i < summed; ++i) sum += sum_of_line(of, i);
        return sum;
    }
    static bool is_whole(const copy& of) noexcept {
        return of.sequence() != 0 && (of.sum() == sum_of(of) || is_planted(planted::copy_believed_unsummed));
    }

    /// Whether the valid copy is the newer one. Otherwise a commit was not completed.
    bool is_settled() const noexcept { return is_whole(both_[valid()]); }

    /// What a line adds to the sum; the first line without its header.
    static uint64_t sum_of_line(const copy& of, size_t index) noexcept {
        if (index != 0) return format::sum_of_line(of.all[index].words, index);
        line first = of.all[0];
        first.words[0] = first.words[1] = 0;
        return format::sum_of_line(first.words, 0);
    }
    static bool same_line(const copy& a, const copy& b, size_t index) noexcept {
        uint64_t differ = 0;
        for (size_t word = index == 0 ? 2 : 0; word < 8; ++word)
            differ |= a.all[index].words[word] ^ b.all[index].words[word];
        return differ == 0;
    }
    static void copy_line(copy& to, const copy& from, size_t index) noexcept {
        if (index != 0) {
            __builtin_memcpy(to.all[index].words, from.all[index].words, sizeof(line));
        } else {
            __builtin_memcpy(to.all[0].words + 2, from.all[0].words + 2, sizeof(line) - sizeof(format::copy_header));
        }
    }

    /// Repairs the state after a crash or the death of another process. Requires: no transaction on the object. Returns
    /// false, with nothing changed, if neither copy is valid.
    /// What holds if the process dies inside: the same object.
    template <class Medium>
    bool recover() noexcept(noexcept(Medium::make_recovered_durable(nullptr, nullptr, 0))) {
        size_t whole = valid();
        if (!is_whole(both_[whole])) whole = 1 - whole;
        if (!is_whole(both_[whole])) return false;
        dirty_lines<2 * lines> valid_lines, other_header;
        for (size_t i = 0; i < lines; ++i) valid_lines.add(whole * lines + i);
        Medium::make_taken_over_durable(both_, valid_lines.bits(), 2 * lines);
        if (is_planted(planted::torn_copy_kept)) return true;
        Medium::store_recovered_header(both_[1 - whole].all[0].words, 0, 0);
        other_header.add((1 - whole) * lines);
        Medium::make_recovered_durable(both_, other_header.bits(), 2 * lines);
        return true;
    }

private:
    copy both_[2];
};

/// One transaction on such an object, for the lifetime of this object. Otherwise like `transaction`.
template <class Medium, size_t Bytes>
class copies_transaction {
    using all = copies<Bytes>;
    using copy = typename all::copy;

public:
    explicit copies_transaction(all& object) noexcept
        : object_(object), valid_(object.valid()), joins_(is_open<Medium>(&object)) {
        if (is_planted(planted::valid_copy_overwritten)) valid_ = 1 - valid_;
        if (joins_) return;
        mine_.object = &object;
        mine_.outer = Medium::innermost();
        Medium::innermost() = &mine_;
        copy& active = object_.at(1 - valid_);
        const bool is_known = active.sequence() != 0;
        for (size_t i = 0; i < all::lines; ++i)
            if (!is_known || !all::same_line(active, object_.at(valid_), i)) {
                all::copy_line(active, object_.at(valid_), i);
                dirty(i);
            }
    }
    ~copies_transaction() {
        if (joins_) return;
        Medium::innermost() = mine_.outer;
        if (!committed_) object_.at(1 - valid_).all[0].words[0] = 0;
    }
    copies_transaction(const copies_transaction&) = delete;
    copies_transaction& operator=(const copies_transaction&) = delete;

    void* active() const noexcept { return object_.at(1 - valid_).object(); }

    void commit() noexcept(noexcept(Medium::make_durable(nullptr, nullptr, 0))) {
        if (joins_) return;
        copy& active = object_.at(1 - valid_);
        const copy& before = object_.at(valid_);
        uint64_t sum = before.sum() - format::sum_of_sequence(before.sequence());
        for (size_t i = 0; i < all::lines; ++i)
            if (!all::same_line(active, before, i)) {
                sum += all::sum_of_line(active, i) - all::sum_of_line(before, i);
                dirty(i);
            }
        Medium::order();
        const uint64_t sequence = before.sequence() + 1;
        auto* const header = static_cast<volatile format::copy_word*>(active.all[0].words);
        header[1] = sum + format::sum_of_sequence(sequence);
        header[0] = sequence;
        dirty(0);
        Medium::make_durable(&object_, dirty_.bits(), 2 * all::lines);
        committed_ = true;
    }

private:
    void dirty(size_t line) noexcept { dirty_.add((1 - valid_) * all::lines + line); }
    all& object_;
    size_t valid_;
    open_object mine_;
    bool joins_;
    bool committed_ = false;  ///< not if the medium threw: the object is again what it was
    dirty_lines<2 * all::lines> dirty_;
};

}  // namespace cache_line
}  // namespace holdfast

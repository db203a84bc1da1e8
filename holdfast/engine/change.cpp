#include <holdfast/engine/change.hpp>

namespace holdfast {
namespace detail {
namespace {

constexpr const char* half_made = "; a change is left half made, and the transaction can only be rolled back";

error doom_of_exception() {
    try {
        throw;
    } catch (const failure& reason) {
        error doom = reason.reason();
        doom.what += half_made;
        return doom;
    } catch (const std::exception& other) {
        return error{.code = errc::aborted, .what = other.what() + std::string(half_made)};
    } catch (...) {
        return error{.code = errc::aborted, .what = "an exception" + std::string(half_made)};
    }
}

}  // namespace

void doom_by_exception(transaction_base& transaction) noexcept {
    if (transaction.is_doomed()) return;
    try {
        transaction.doom(doom_of_exception());
    } catch (...) {
        // No memory for a sentence; this one needs none.
        transaction.doom(error{.code = errc::aborted, .what = "half changed"});
    }
}

void rethrow_doomed(transaction_base& transaction) {
    if (transaction.is_doomed()) throw;
    doom_by_exception(transaction);
    try {
        throw;
    } catch (const failure&) {
        throw failure(doom_of_exception());
    }
}

}  // namespace detail

void transaction_base::rethrow_from_heap() {
    if (blocks_.writer_failed()) detail::doom_by_exception(*this);
    try {
        throw;
    } catch (const failure& nameless) {
        if (!nameless.reason().path.empty()) throw;
        error named = nameless.reason();
        named.path = pool_->path();
        throw failure(std::move(named));
    }
}

}  // namespace holdfast

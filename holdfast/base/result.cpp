#include <holdfast/base/result.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <new>

namespace holdfast {

std::string_view name_of(errc code) noexcept {
    switch (code) {
        case errc::not_found: return "not_found";
        case errc::already_exists: return "already_exists";
        case errc::permission_denied: return "permission_denied";
        case errc::io: return "io";
        case errc::no_space: return "no_space";
        case errc::truncated: return "truncated";
        case errc::not_a_pool: return "not_a_pool";
        case errc::corrupt: return "corrupt";
        case errc::version_unsupported: return "version_unsupported";
        case errc::feature_unsupported: return "feature_unsupported";
        case errc::layout_mismatch: return "layout_mismatch";
        case errc::engine_mismatch: return "engine_mismatch";
        case errc::root_mismatch: return "root_mismatch";
        case errc::address_taken: return "address_taken";
        case errc::busy: return "busy";
        case errc::not_durable: return "not_durable";
        case errc::level_unavailable: return "level_unavailable";
        case errc::transaction_too_large: return "transaction_too_large";
        case errc::out_of_space: return "out_of_space";
        case errc::misuse: return "misuse";
        case errc::aborted: return "aborted";
        case errc::outcome_unknown: return "outcome_unknown";
        case errc::poisoned: return "poisoned";
        case errc::invalid_argument: return "invalid_argument";
    }
    return "unknown";
}

std::string error::text() const {
    std::string line = what.empty() ? std::string(name_of(code)) : what;
    if (!path.empty()) line += ": " + path;
    if (offset) line += (path.empty() ? ": offset " : ", offset ") + std::to_string(*offset);
    if (!expected.empty()) line += ": expected " + expected;
    if (!found.empty()) line += (expected.empty() ? ": found " : ", found ") + found;
    if (!remedy.empty()) line += "; " + remedy;
    return line;
}

namespace {

constexpr std::size_t most_made = 8;
using lasting_errors = std::array<error, errc_count + most_made>;

/// The bare ones by their code, then those that were made. Built where they stand, so that they need no memory when
/// there is none, and never destroyed.
lasting_errors& all_lasting() noexcept {
    alignas(lasting_errors) static std::byte room[sizeof(lasting_errors)];
    static lasting_errors& all = []() -> lasting_errors& {
        auto* const made = ::new (static_cast<void*>(room)) lasting_errors;
        for (std::size_t index = 0; index < errc_count; ++index) (*made)[index].code = static_cast<errc>(index);
        return *made;
    }();
    return all;
}

bool is_lasting(const error* reason) noexcept {
    const lasting_errors& all = all_lasting();
    const auto distance = reinterpret_cast<std::uintptr_t>(reason) - reinterpret_cast<std::uintptr_t>(all.data());
    return distance < sizeof(lasting_errors);
}

}  // namespace

const error& bare_error(errc code) noexcept {
    const auto index = static_cast<std::size_t>(code);
    return all_lasting()[index < errc_count ? index : static_cast<std::size_t>(errc::io)];
}

namespace detail {

void error_deleter::operator()(error* reason) const noexcept {
    if (!is_lasting(reason)) delete reason;
}

kept_error keep(error&& reason) noexcept {
    const errc code = reason.code;
    if (error* const kept = new (std::nothrow) error(std::move(reason))) return kept_error(kept);
    return keep_lasting(bare_error(code));
}

kept_error keep(const error& reason) noexcept {
    try {
        return keep(error(reason));
    } catch (const std::bad_alloc&) {
        return keep_lasting(bare_error(reason.code));
    }
}

const error& make_lasting(error reason) {
    static std::atomic<std::size_t> made{0};
    const std::size_t index = made.fetch_add(1, std::memory_order_relaxed);
    if (index >= most_made) return bare_error(reason.code);
    return all_lasting()[errc_count + index] = std::move(reason);
}

kept_error keep_lasting(const error& reason) noexcept {
    // Never written to: what is kept is given out as constant.
    return kept_error(const_cast<error*>(&reason));
}

void throw_failure(const error& reason) { throw failure(keep(reason)); }

}  // namespace detail

failure::failure(holdfast::error reason) noexcept : failure(detail::keep(std::move(reason))) {}

failure::failure(detail::kept_error reason) noexcept {
    const errc code = reason->code;
    try {
        text_ = std::make_shared<const std::string>(reason->text());
        reason_ = std::shared_ptr<holdfast::error>(std::move(reason));
    } catch (const std::bad_alloc&) {
        text_.reset();
        // Without a count: it lives for ever.
        reason_ = std::shared_ptr<const holdfast::error>(std::shared_ptr<void>{}, &bare_error(code));
    }
}

void fail(errc code, std::string what) {
    throw failure({.code = code, .what = std::move(what)});
}

}  // namespace holdfast

#include <holdfast/base/result.hpp>

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
    return line;
}

failure::failure(holdfast::error reason)
    : reason_(std::make_shared<const holdfast::error>(std::move(reason))),
      text_(std::make_shared<const std::string>(reason_->text())) {}

void fail(errc code, std::string what) {
    throw failure({.code = code, .what = std::move(what)});
}

}  // namespace holdfast

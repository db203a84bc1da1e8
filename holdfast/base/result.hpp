// Errors as values. A function that can fail for a reason outside the program returns `result<T>`: a T, or an `error`
// with what failed, where, the expected and the found value, and a remedy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast {

/// What went wrong, as a value to branch on. `error::text()` is the sentence for people.
enum class errc : std::uint8_t {
    not_found,              ///< no such file, root or key
    already_exists,         ///< create found a file in its place
    permission_denied,      ///< the file's mode, or a read-only file or file system
    io,                     ///< the kernel reported a failure without its own code here
    no_space,               ///< the file system has no room for the pool
    truncated,              ///< the file is shorter than its header says
    not_a_pool,             ///< the file holds something else
    corrupt,                ///< a checksum or bound does not hold
    version_unsupported,    ///< the format has a major version that this library does not know
    feature_unsupported,    ///< the pool uses a feature this library does not know
    layout_mismatch,        ///< the pool belongs to another application layout
    engine_mismatch,        ///< the pool belongs to another engine
    root_mismatch,          ///< a root of that name has another type
    address_taken,          ///< the pool's address range is in use in this process
    busy,                   ///< another process or handle holds the pool
    not_durable,            ///< unclean, from another boot, last used below `power`
    level_unavailable,      ///< engine or medium cannot keep that promise
    transaction_too_large,  ///< more than the log can hold; nothing was changed
    out_of_space,           ///< the pool's heap has no block of that size; nothing was changed
    misuse,                 ///< the call breaks a rule of the interface
    aborted,                ///< the transaction was rolled back
    outcome_unknown,        ///< a sync failed while this commit waited for it
    poisoned,               ///< a sync failed earlier; the handle refuses further commits
    invalid_argument,       ///< an option or parameter is out of range
};

inline constexpr std::size_t errc_count = static_cast<std::size_t>(errc::invalid_argument) + 1;

/// The stable name of an error code, e.g. "layout_mismatch".
std::string_view name_of(errc code) noexcept;

/// One failure, complete enough for a person to act on. Plain data; copy freely.
struct error {
    errc code = errc::io;
    std::string what{};                     ///< one sentence, without the fields below
    std::string path{};                     ///< the file, where one is concerned
    std::optional<std::uint64_t> offset{};  ///< byte offset in that file
    std::string expected{};
    std::string found{};
    std::string remedy{};  ///< what the reader can do about it, if known; a clause

    /// "what: path, offset N: expected X, found Y; remedy".
    std::string text() const;
};

/// An error that has only its code, for when there is no memory for a complete one. It is never destroyed.
const error& bare_error(errc code) noexcept;

namespace detail {

struct error_deleter {
    /// Does not touch errors that live forever.
    void operator()(error* reason) const noexcept;
};
/// An error on its way to its reader. If memory runs out it keeps its code and loses its text: a commit whose outcome
/// is unknown must never look like one that was rolled back.
using kept_error = std::unique_ptr<error, error_deleter>;

kept_error keep(error&& reason) noexcept;
/// The same for a copy.
kept_error keep(const error& reason) noexcept;

/// An error created in advance, to be returned where nothing may be allocated: in a signal handler. Created at most
/// eight times in a program; never destroyed. Thread-safe.
const error& make_lasting(error reason);
/// Returns one, or a bare one.
kept_error keep_lasting(const error& reason) noexcept;

}  // namespace detail

/// Carries a failure inside a transaction to the `atomically` that returns it, and reports failures of operations
/// without a return value. Do not swallow it.
class failure : public std::exception {
public:
    /// If there is no memory it carries only the code.
    explicit failure(holdfast::error reason) noexcept;
    explicit failure(detail::kept_error reason) noexcept;
    const holdfast::error& reason() const noexcept { return *reason_; }
    const char* what() const noexcept override { return text_ ? text_->c_str() : name_of(reason_->code).data(); }

private:
    std::shared_ptr<const holdfast::error> reason_;
    std::shared_ptr<const std::string> text_;  ///< nullptr: there was no memory for it
};

/// Throws `failure`; out of line so that callers stay small.
[[noreturn]] void fail(errc code, std::string what);

namespace detail {
[[noreturn]] void throw_failure(const error& reason);
}  // namespace detail

/// A value or an error. value() of an error throws `failure`; error() of a value is misuse and throws. Success costs no
/// allocation.
template <class T>
class [[nodiscard]] result {
public:
    using value_type = T;

    result(T value) : value_(std::move(value)) {}
    result(holdfast::error reason) noexcept : error_(detail::keep(std::move(reason))) {}
    result(detail::kept_error reason) noexcept : error_(std::move(reason)) {}

    bool has_value() const noexcept { return value_.has_value(); }
    explicit operator bool() const noexcept { return has_value(); }

    T& value() & { return require(), *value_; }
    const T& value() const& { return require(), *value_; }
    /// By value: a reference into a temporary result would dangle in a range-for.
    T value() && { return require(), std::move(*value_); }
    T& operator*() & { return value(); }
    const T& operator*() const& { return value(); }
    T operator*() && { return std::move(*this).value(); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }

    const holdfast::error& error() const {
        if (!error_) fail(errc::misuse, "asked a successful result for its error");
        return *error_;
    }
    /// Moves the error out, without a copy; nullptr for a success.
    detail::kept_error give_error() && noexcept { return std::move(error_); }

private:
    void require() const {
        if (error_) detail::throw_failure(*error_);
    }

    std::optional<T> value_;
    detail::kept_error error_;
};

/// Success or an error.
template <>
class [[nodiscard]] result<void> {
public:
    using value_type = void;

    result() = default;
    result(holdfast::error reason) noexcept : error_(detail::keep(std::move(reason))) {}
    result(detail::kept_error reason) noexcept : error_(std::move(reason)) {}

    bool has_value() const noexcept { return !error_; }
    explicit operator bool() const noexcept { return has_value(); }
    void value() const {
        if (error_) detail::throw_failure(*error_);
    }

    const holdfast::error& error() const {
        if (!error_) fail(errc::misuse, "asked a successful result for its error");
        return *error_;
    }

    /// Moves the error out, without a copy; nullptr for a success.
    detail::kept_error give_error() && noexcept { return std::move(error_); }

private:
    detail::kept_error error_;
};

}  // namespace holdfast

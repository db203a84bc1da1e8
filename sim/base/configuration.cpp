#include <sim/base/configuration.hpp>

#include <bit>
#include <charconv>

namespace holdfast::sim {

std::string nanoseconds_text(time span) {
    std::string text = std::to_string(span.picoseconds / 1000);
    if (const std::uint64_t rest = span.picoseconds % 1000; rest != 0) {
        std::string digits = std::to_string(1000 + rest).substr(1);
        digits.erase(digits.find_last_not_of('0') + 1);
        text += "." + digits;
    }
    return text;
}

void range_check::number(std::string_view key, std::uint64_t value, std::uint64_t least, std::uint64_t most) {
    if (value < least || value > most) {
        refuse(key, std::to_string(value), std::to_string(least) + " to " + std::to_string(most));
    }
}

void range_check::power_of_two(std::string_view key, std::uint64_t value, std::uint64_t least, std::uint64_t most) {
    if (!std::has_single_bit(value) || value < least || value > most) {
        refuse(key, std::to_string(value),
               "a power of two from " + std::to_string(least) + " to " + std::to_string(most));
    }
}

void range_check::span(std::string_view key, time value, time least, time most) {
    if (value < least || value > most) {
        refuse(key, nanoseconds_text(value), nanoseconds_text(least) + " to " + nanoseconds_text(most));
    }
}

void range_check::refuse(std::string_view key, std::string found, std::string allowed) {
    if (!error_) error_ = configuration_error{prefix_ + std::string(key), std::move(found), std::move(allowed)};
}

std::string range_check::all_of(std::span<const std::string_view> names) {
    std::string text;
    for (const std::string_view name : names) text += (text.empty() ? "" : ", ") + std::string(name);
    return text;
}

bool field_setter::is_mine(std::string_view key) {
    if (prefix_ + std::string(key) != key_) return false;
    found_ = true;
    return true;
}

void field_setter::refuse(std::string allowed) { error_ = configuration_error{key_, text_, std::move(allowed)}; }

std::optional<std::uint64_t> field_setter::whole_number(std::string_view key, std::uint64_t most) {
    if (!is_mine(key)) return std::nullopt;
    std::uint64_t value = 0;
    const char* const end = text_.data() + text_.size();
    const auto [stop, problem] = std::from_chars(text_.data(), end, value);
    if (problem == std::errc{} && stop == end && value <= most) return value;
    refuse("a whole number up to " + std::to_string(most));
    return std::nullopt;
}

void field_setter::span(std::string_view key, time& value, time least, time most) {
    if (!is_mine(key)) return;
    // Digit by digit, since a nanosecond's thousandths are exact here and would not be in a double.
    std::uint64_t picoseconds = 0;
    std::size_t at = 0, thousandths = 0;
    bool point = false, right = !text_.empty();
    for (; right && at < text_.size(); ++at) {
        const char letter = text_[at];
        if (letter == '.' && !point) {
            point = true;
        } else if (letter >= '0' && letter <= '9' && thousandths < 3 && picoseconds <= most.picoseconds) {
            picoseconds = picoseconds * 10 + static_cast<std::uint64_t>(letter - '0');
            thousandths += point ? 1 : 0;
        } else {
            right = false;
        }
    }
    for (; thousandths < 3; ++thousandths) picoseconds *= 10;
    if (right) {
        value = ps(picoseconds);
    } else {
        refuse("nanoseconds from " + nanoseconds_text(least) + " to " + nanoseconds_text(most));
    }
}

void field_setter::flag(std::string_view key, bool& value) {
    if (!is_mine(key)) return;
    if (text_ == "true" || text_ == "false") {
        value = text_ == "true";
    } else {
        refuse("true or false");
    }
}

std::optional<std::size_t> field_setter::one_of(std::string_view key, std::span<const std::string_view> names) {
    if (!is_mine(key)) return std::nullopt;
    const auto found = std::find(names.begin(), names.end(), text_);
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
    std::string allowed;
    for (const std::string_view name : names) allowed += (allowed.empty() ? "" : ", ") + std::string(name);
    refuse(allowed);
    return std::nullopt;
}

}  // namespace holdfast::sim

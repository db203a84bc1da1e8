// Streams of packets, some of which are attacks, for intruder.
#pragma once

#include <workload/random.hpp>

namespace holdfast::workload {

/// What an attack contains. Letters from a to z, as all streams.
struct stream_signatures {
    static constexpr std::uint64_t count = 32;
    static constexpr std::uint64_t length = 12;
    char letters[count][length];

    explicit constexpr stream_signatures(std::uint64_t seed) noexcept : letters{} {
        random numbers(seed);
        for (auto& each : letters)
            for (char& letter : each) letter = static_cast<char>('a' + numbers.below(26));
    }

    /// Whether one of them is in `text`.
    constexpr bool found_in(const char* text, std::uint64_t bytes) const noexcept {
        for (std::uint64_t at = 0; at + length <= bytes; ++at)
            for (const auto& each : letters)
                if (begins_with(text + at, each)) return true;
        return false;
    }

private:
    static constexpr bool begins_with(const char* text, const char* signature) noexcept {
        for (std::uint64_t i = 0; i < length; ++i)
            if (text[i] != signature[i]) return false;
        return true;
    }
};

/// Stream `number` of those that a seed names, without those before it: from one to `packets_max` packets of equal
/// length. An attack has a signature, which may lie in two packets. A stream that is none has no signature: twelve
/// random letters are one of 32 once in 10^15 times.
class stream_generator {
public:
    static constexpr std::uint64_t packet_bytes = 32;

    constexpr stream_generator(std::uint64_t seed, std::uint64_t attack_percent, std::uint64_t packets_max) noexcept
        : seed_(seed), attack_percent_(attack_percent), packets_max_(packets_max) {}

    constexpr std::uint64_t packets(std::uint64_t number) const noexcept { return stream_of(number).packets; }
    constexpr bool is_attack(std::uint64_t number) const noexcept { return stream_of(number).attack; }

    /// Stores the stream's letters: packets(number) * packet_bytes of them.
    constexpr void letters(std::uint64_t number, const stream_signatures& signatures, char* to) const noexcept {
        stream drawn = stream_of(number);
        const std::uint64_t bytes = drawn.packets * packet_bytes;
        for (std::uint64_t i = 0; i < bytes; ++i) to[i] = static_cast<char>('a' + drawn.numbers.below(26));
        if (!drawn.attack) return;
        const auto& planted = signatures.letters[drawn.numbers.below(stream_signatures::count)];
        char* const at = to + drawn.numbers.below(bytes - stream_signatures::length + 1);
        for (std::uint64_t i = 0; i < stream_signatures::length; ++i) at[i] = planted[i];
    }

private:
    struct stream {
        random numbers;
        std::uint64_t packets;
        bool attack;
    };
    constexpr stream stream_of(std::uint64_t number) const noexcept {
        stream drawn{random(seed_ + (number + 1) * 0x9E3779B97F4A7C15ull), 0, false};
        drawn.packets = 1 + drawn.numbers.below(packets_max_);
        drawn.attack = drawn.numbers.below(100) < attack_percent_;
        return drawn;
    }

    std::uint64_t seed_;
    std::uint64_t attack_percent_;
    std::uint64_t packets_max_;
};

}  // namespace holdfast::workload

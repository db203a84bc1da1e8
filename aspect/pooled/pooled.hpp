// A pool of woven objects, for code that no weaver sees. C++17.
#pragma once

#include <stdint.h>
#include <string>

namespace holdfast {
struct create_options;

namespace woven {

struct contents {
    uint64_t number;
    uint32_t count;
    char letter;
    bool operator==(const contents& other) const {
        return number == other.number && count == other.count && letter == other.letter;
    }
};

/// Makes a pool with four records as root "records", and changes the third; then lets it go as a killed process would.
void write(const std::string& path, const create_options& options, uint64_t number);
/// What the third holds.
contents read(const std::string& path, const create_options& options);

}  // namespace woven
}  // namespace holdfast

// A file descriptor that closes itself.
#pragma once

#include <utility>

#include <unistd.h>

namespace holdfast::powerfail {

class owned_descriptor {
public:
    explicit owned_descriptor(int number = -1) noexcept : number_(number) {}
    owned_descriptor(owned_descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    owned_descriptor& operator=(owned_descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~owned_descriptor() {
        if (number_ >= 0) ::close(number_);
    }
    int number() const noexcept { return number_; }
    explicit operator bool() const noexcept { return number_ >= 0; }

private:
    int number_;
};

}  // namespace holdfast::powerfail

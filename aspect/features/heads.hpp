// A woven class in a header with a guard, declared before by one that has the attribute.
#pragma once
#ifndef HOLDFAST_ASPECT_FEATURES_HEADS_HPP
#define HOLDFAST_ASPECT_FEATURES_HEADS_HPP

namespace FEATURES {

class [[NVM::transactional]] head_in_a_header;

}  // namespace FEATURES

namespace FEATURES {

class [[NVM::transactional]] alignas(64) head_in_a_header {
    int a = 1;

public:
    void set(int to);
    int get() const { return a; }
};

inline void head_in_a_header::set(int to) { a = to; }

class head_in_a_header;

}  // namespace FEATURES

#endif  // HOLDFAST_ASPECT_FEATURES_HEADS_HPP

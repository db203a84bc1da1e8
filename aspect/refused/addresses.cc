// What is refused; refused_test.py says what the comments mean.

// CASE a std::array's iterator
// REFUSED the address of a member is returned, by which the object could be written outside a transaction
#include <array>
class [[NVM::transactional]] alignas(64) refused_one {
    std::array<int, 4> a = {};

public:
    std::array<int, 4>::iterator begin() { return a.begin(); }  // HERE
};

// CASE a std::array's iterator whose type is deduced
// REFUSED the address of a member is returned, by which the object could be written outside a transaction
#include <array>
class [[NVM::transactional]] alignas(64) refused_one {
    std::array<int, 4> a = {};

public:
    auto end() { return a.end(); }  // HERE
};

// CASE a reverse iterator
// REFUSED the address of a member is returned, by which the object could be written outside a transaction
#include <array>
#include <iterator>
class [[NVM::transactional]] alignas(64) refused_one {
    std::array<int, 4> a = {};

public:
    std::reverse_iterator<int*> begin() { return a.rbegin(); }  // HERE
};

// CASE a reverse iterator that is made
// REFUSED the address of a member is returned, by which the object could be written outside a transaction
#include <iterator>
class [[NVM::transactional]] alignas(64) refused_one {
    int a[4] = {};

public:
    std::reverse_iterator<int*> begin() { return std::make_reverse_iterator(a + 4); }  // HERE
};

// CASE the iterator of an array by std::begin
// REFUSED the address of a member is returned, by which the object could be written outside a transaction
#include <iterator>
class [[NVM::transactional]] alignas(64) refused_one {
    int a[4] = {};

public:
    using iterator = int*;
    iterator begin() { return std::begin(a); }  // HERE
};

// CASE the data of a std::array
// REFUSED the address of a member is returned, by which the object could be written outside a transaction
#include <array>
class [[NVM::transactional]] alignas(64) refused_one {
    std::array<int, 4> a = {};

public:
    using pointer = int*;
    pointer data() { return a.data(); }  // HERE
};

// CASE a pointer whose type has a name
// REFUSED the address of a member is returned, by which the object could be written outside a transaction
typedef int* pointer;
class [[NVM::transactional]] alignas(64) refused_one {
    int a[4] = {};

public:
    pointer begin() { return a; }  // HERE
};

// CASE a pointer whose type has a name in the class
// REFUSED the address of a member is returned, by which the object could be written outside a transaction
class [[NVM::transactional]] alignas(64) refused_one {
    using pointer = int*;
    int a[4] = {};

public:
    pointer end() { return a + 4; }  // HERE
};

// CASE a pointer whose type is that of an expression
// REFUSED the address of a member is returned, by which the object could be written outside a transaction
class [[NVM::transactional]] alignas(64) refused_one {
    int a[4] = {};

public:
    decltype(&a[0]) begin() { return &a[0]; }  // HERE
};

// CASE a pointer whose type is deduced
// REFUSED the address of a member is returned, by which the object could be written outside a transaction
class [[NVM::transactional]] alignas(64) refused_one {
    int a[4] = {};

public:
    auto* begin() { return a; }  // HERE
};

// CASE a pointer of the type of a member, to another member
// REFUSED the address of a member is returned, by which the object could be written outside a transaction
class [[NVM::transactional]] alignas(64) refused_one {
    int* next = nullptr;
    int a = 0;

public:
    int* get() { return next != nullptr ? next : &a; }  // HERE
};

// CASE a pointer to an element, by arithmetic
// REFUSED the address of a member is returned, by which the object could be written outside a transaction
class [[NVM::transactional]] alignas(64) refused_one {
    using pointer = char*;
    char text[8] = {};

public:
    pointer end(int at) { return text + at; }  // HERE
};

// CASE a pointer to an element of a row
// REFUSED the address of a member is returned, by which the object could be written outside a transaction
class [[NVM::transactional]] alignas(64) refused_one {
    using pointer = int*;
    int rows[2][2] = {};

public:
    pointer row(int at) { return rows[at]; }  // HERE
};

// CASE a pointer to a member of a nested structure
// REFUSED the address of a member is returned, by which the object could be written outside a transaction
class [[NVM::transactional]] alignas(64) refused_one {
    struct point { int x, y; } low = {};
    using pointer = int*;

public:
    pointer y() { return &low.y; }  // HERE
};

// CASE a pointer to a member of a union
// REFUSED the address of a member is returned, by which the object could be written outside a transaction
class [[NVM::transactional]] alignas(64) refused_one {
    union { int word; char bytes[4]; };
    using pointer = int*;

public:
    refused_one() : word(0) {}
    pointer get() { return &word; }  // HERE
};

// CASE a pointer from a conditional
// REFUSED the address of a member is returned, by which the object could be written outside a transaction
class [[NVM::transactional]] alignas(64) refused_one {
    using pointer = int*;
    int a = 0, b = 0;

public:
    pointer get(bool which) { return which ? &a : &b; }  // HERE
};

// CASE a pointer from a comma
// REFUSED the address of a member is returned, by which the object could be written outside a transaction
class [[NVM::transactional]] alignas(64) refused_one {
    using pointer = int*;
    int a = 0;

public:
    pointer get() { return ++a, &a; }  // HERE
};

// CASE a pointer that a local variable holds
// REFUSED the address of a member is returned, by which the object could be written outside a transaction
class [[NVM::transactional]] alignas(64) refused_one {
    using pointer = int*;
    int a = 0;

public:
    pointer get() {
        int* at = &a;
        return at;  // HERE
    }
};

// CASE a pointer that a local variable holds later
// REFUSED the address of a member is returned, by which the object could be written outside a transaction
class [[NVM::transactional]] alignas(64) refused_one {
    using pointer = int*;
    int a = 0;

public:
    pointer get() {
        int* at = nullptr;
        at = &a;
        return at;  // HERE
    }
};

// CASE a pointer through a reference
// REFUSED the address of a member is returned, by which the object could be written outside a transaction
class [[NVM::transactional]] alignas(64) refused_one {
    using pointer = int*;
    int a = 0;

public:
    pointer get() {
        int& alias = a;
        return &alias;  // HERE
    }
};

// CASE a pointer from a range-for
// REFUSED the address of a member is returned, by which the object could be written outside a transaction
class [[NVM::transactional]] alignas(64) refused_one {
    using pointer = int*;
    int a[4] = {};

public:
    pointer find() {
        for (int& each : a)
            if (each == 0) return &each;  // HERE
        return nullptr;
    }
};

// CASE a pointer from an algorithm
// REFUSED the address of a member is returned, by which the object could be written outside a transaction
#include <algorithm>
class [[NVM::transactional]] alignas(64) refused_one {
    using pointer = int*;
    int a[4] = {};

public:
    pointer find() { return std::find(a, a + 4, 1); }  // HERE
};

// CASE a pointer in a structure
// REFUSED the address of a member is returned, by which the object could be written outside a transaction
struct holder { int* at; };
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    holder get() { return {&a}; }  // HERE
};

// CASE a pointer in a local structure
// REFUSED the address of a member is returned, by which the object could be written outside a transaction
struct holder { int* at; };
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    holder get() {
        holder made = {};
        made.at = &a;
        return made;  // HERE
    }
};

// CASE a pointer in a class with a constructor
// REFUSED the address of a member is returned, by which the object could be written outside a transaction
class holder {
    int* at;

public:
    holder(int* of) : at(of) {}
    int* get() const { return at; }
};
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    holder get() { return holder(&a); }  // HERE
};

// CASE a reference in a structure
// REFUSED the address of a member is returned, by which the object could be written outside a transaction
struct holder { int& of; };
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    holder get() { return {a}; }  // HERE
};

// CASE a reference wrapper
// REFUSED the address of a member is returned, by which the object could be written outside a transaction
#include <functional>
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    std::reference_wrapper<int> get() { return a; }  // HERE
};

// CASE std::ref of a member
// REFUSED the address of a member is returned, by which the object could be written outside a transaction
#include <functional>
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    std::reference_wrapper<int> get() { return std::ref(a); }  // HERE
};

// CASE a pair with a pointer
// REFUSED the address of a member is returned, by which the object could be written outside a transaction
#include <utility>
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    std::pair<int*, int> get() { return {&a, 1}; }  // HERE
};

// CASE an optional pointer
// REFUSED the address of a member is returned, by which the object could be written outside a transaction
#include <optional>
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    std::optional<int*> get() { return &a; }  // HERE
};

// CASE a tuple of references
// REFUSED the address of a member is returned, by which the object could be written outside a transaction
#include <tuple>
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0, b = 0;

public:
    std::tuple<int&, int&> get() { return std::tie(a, b); }  // HERE
};

// CASE an array of pointers
// REFUSED the address of a member is returned, by which the object could be written outside a transaction
#include <array>
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0, b = 0;

public:
    std::array<int*, 2> get() { return {&a, &b}; }  // HERE
};

// CASE a lambda that is returned
// REFUSED 'get' returns a lambda
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    auto get() {  // HERE
        return [this] { return ++a; };  // HERE
    }
};

// CASE a pointer to void
// REFUSED the address of a member is returned, by which the object could be written outside a transaction
class [[NVM::transactional]] alignas(64) refused_one {
    void* other = nullptr;
    int a = 0;

public:
    void* get() { return &a; }  // HERE
};

// CASE a class that is made of a reference
// REFUSED the address of a member is returned, by which the object could be written outside a transaction
struct writes_one { writes_one(int& of) : at(&of) {} void set(int to) { *at = to; } private: int* at; };
class [[NVM::transactional]] alignas(64) refused_one {
    int a[4] = {};

public:
    writes_one get() { return writes_one(a[1]); }  // HERE
};

// CASE a class that is made of a reference without being named
// REFUSED the address of a member is returned, by which the object could be written outside a transaction
struct writes_another { writes_another(int& of, int by) : at(&of), step(by) {} private: int* at; int step; };
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    writes_another get() { return {a, 2}; }  // HERE
};

// What is refused; refused_test.py says what the comments mean.

// CASE an address as a number
// REFUSED the address of a member as a number differs between the halves
#include <stdint.h>
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    uintptr_t get() { return reinterpret_cast<uintptr_t>(&a); }  // HERE
};

// CASE an address as a number in a const function
// REFUSED the address of a member as a number differs between the halves
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    unsigned long get() const { return (unsigned long)&a; }  // HERE
};

// CASE an address given to the caller by a local variable
// REFUSED the address of a member is kept
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void get(int** to) {
        int* at = &a;
        *to = at;  // HERE
    }
};

// CASE an address in a structure of the caller
// REFUSED the address of a member is kept
struct holder { int* at; };
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void get(holder& to) { to.at = &a; }  // HERE
};

// CASE an address in a global variable
// REFUSED the address of a member is kept
int* kept;
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() { kept = &a; }  // HERE
};

// CASE an address in a global variable, const
// REFUSED the address of a member is kept
const char* kept;
class [[NVM::transactional]] alignas(64) refused_one {
    char text[8] = {};

public:
    void show() const { kept = text; }  // HERE
};

// CASE a reference that is static
// REFUSED the address of a member is kept
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    int set() {
        static int& kept = a;  // HERE
        return ++kept;
    }
};

// CASE an address in a variable of the thread
// REFUSED the address of a member is kept
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    int set() {
        thread_local int* kept = &a;  // HERE
        return ++*kept;
    }
};

// CASE an address in a vector
// REFUSED the address of a member is kept
#include <vector>
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void get(std::vector<int*>& to) { to.push_back(&a); }  // HERE
};

// CASE an address in a vector, by a local variable
// REFUSED the address of a member is kept
#include <vector>
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void get(std::vector<int*>& to) {
        int* at = &a;
        to.emplace_back(at);  // HERE
    }
};

// CASE a lambda that is kept
// REFUSED the address of a member is kept
#include <functional>
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void get(std::function<int()>& to) {
        to = [this] { return ++a; };  // HERE
    }
};

// CASE a lambda in a vector
// REFUSED the address of a member is kept
#include <functional>
#include <vector>
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void get(std::vector<std::function<int()>>& to) {
        to.push_back([this] { return ++a; });  // HERE
    }
};

// CASE an address that is thrown
// REFUSED the address of a member is kept
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void fail() { throw &a; }  // HERE
};

// CASE an address in a member of a member
// REFUSED the address of a member is kept
class [[NVM::transactional]] alignas(64) refused_one {
    struct cursor { char* at; } here = {};
    char text[8] = {};

public:
    void begin() { here.at = text; }  // HERE
};

// CASE an address in an element of a member
// REFUSED the address of a member is kept
class [[NVM::transactional]] alignas(64) refused_one {
    int* two[2] = {};
    int a = 0;

public:
    void set() { two[1] = &a; }  // HERE
};

// CASE a pointer of another type, whatever it points to
// REFUSED by which the object could be written outside a transaction
int elsewhere;
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    int* get() { return &elsewhere; }  // HERE
};

// CASE a structure with a pointer, whatever it points to
// REFUSED ALONE returns a pointer, a reference or an iterator, by which the object could be written outside a
struct holder { int count; int* at; };
int elsewhere;
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    holder get() { return holder{1, &elsewhere}; }  // HERE
};

// CASE an iterator of the program's own
// REFUSED ALONE returns a pointer, a reference or an iterator, by which the object could be written outside a
struct iterator {
    int& operator*() const;
    iterator& operator++();
};
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    iterator get(iterator from) { return from; }  // HERE
};

// CASE an rvalue reference to a member
// REFUSED 'take' returns 'int &&', by which the object could be written outside a transaction
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    int&& take() { return static_cast<int&&>(a); }  // HERE
};

// CASE a const rvalue reference
// REFUSED 'take' returns 'const int &&'
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    const int&& take() const { return static_cast<const int&&>(a); }  // HERE
};

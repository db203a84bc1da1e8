// What is refused; refused_test.py says what the comments mean.

// CASE a const number returned by a const function
// REFUSED 'f' returns 'const int', which the weaver cannot hand on: leave 'const' out
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    const int f() const { return a; }  // HERE
};

// CASE a const number returned by another function
// REFUSED 'f' returns 'const int'
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    const int f() { return ++a; }  // HERE
};

// CASE a const enumeration returned
// REFUSED 'f' returns 'const colour'
class [[NVM::transactional]] alignas(64) refused_one {
    enum colour { red, green } a = red;

public:
    const colour f() const { return a; }  // HERE
};

// CASE a const structure returned
// REFUSED 'f' returns 'const two'
struct two { int x, y; };
class [[NVM::transactional]] alignas(64) refused_one {
    two a = {};

public:
    const two f() const { return a; }  // HERE
};

// CASE a trailing decltype
// REFUSED 'f' has a trailing decltype, which the weaver cannot move: write the type
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    auto f() const -> decltype(a) { return a; }  // HERE
};

// CASE a trailing decltype of a parameter
// REFUSED 'f' has a trailing decltype
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    auto f(int b) -> decltype(b + 1) { return a = b + 1; }  // HERE
};

// CASE a trailing decltype of an operator
// REFUSED 'operator()' has a trailing decltype
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    auto operator()(int b) -> decltype(b) { return a = b; }  // HERE
};

// CASE decltype(auto) for a value
// REFUSED 'f' returns decltype(auto), of which the weaver makes another type: write the type
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    decltype(auto) f() { return a + 1; }  // HERE
};

// CASE decltype(auto) for a member
// REFUSED 'f' returns decltype(auto)
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    decltype(auto) f() const { return a; }  // HERE
};

// CASE decltype(auto) for a member in parentheses
// REFUSED 'f' returns decltype(auto)
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    decltype(auto) f() const { return (a); }  // HERE
};

// CASE decltype(auto) behind an arrow
// REFUSED 'f' returns decltype(auto)
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    auto f() -> decltype(auto) { return a + 1; }  // HERE
};

// CASE decltype(auto) out of line
// REFUSED 'f' returns decltype(auto)
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    decltype(auto) f();  // HERE
};
decltype(auto) refused_one::f() { return a + 1; }  // HERE

// CASE decltype(auto) of a static function
// REFUSED 'f' returns decltype(auto)
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    static decltype(auto) f() { return 1; }  // HERE
    void set() { a = f(); }
};

// CASE auto that is a class template
// REFUSED 'f' returns 'auto', which is 'std::pair<int, int>' here
#include <utility>
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    auto f() const { return std::pair<int, int>(a, 1); }  // HERE
};

// CASE a function for objects that end
// REFUSED 'set' is for objects that end ('&&' behind its parameters)
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() && { a = 1; }  // HERE
};

// CASE a const function for objects that end
// REFUSED 'get' is for objects that end
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    int get() const&& { return a; }  // HERE
};

// CASE a function for objects that end, noexcept
// REFUSED 'get' is for objects that end
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    int get() && noexcept { return a; }  // HERE
};

// CASE an rvalue reference that has another name
// REFUSED 'set' takes an rvalue reference
using taken = int&&;
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set(taken to) { a = to; }  // HERE
};

// CASE an rvalue reference to a string
// REFUSED 'set' takes an rvalue reference
#include <string>
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set(std::string&& to) { a = static_cast<int>(to.size()); }  // HERE
};

// CASE a std::unique_ptr as a parameter
// REFUSED 'set' takes 'std::unique_ptr<int>', which cannot be copied, and the weaver hands on copies: take a reference
#include <memory>
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set(std::unique_ptr<int> to) { a = *to; }  // HERE
};

// CASE a std::unique_lock as a parameter
// REFUSED which cannot be copied, and the weaver hands on copies
#include <mutex>
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set(std::unique_lock<std::mutex>) { a = 1; }  // HERE
};

// CASE a class that cannot be copied as a parameter
// REFUSED ALONE this function takes a value that cannot be copied, and the weaver hands on copies: take a reference
struct ticket {
    int of;
    ticket(ticket&&) = default;
};
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set(ticket to) { a = to.of; }  // HERE
};

// CASE an attribute with text on a function
// REFUSED the weaver cannot parse an attribute with text inside the class: leave the text out
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    [[deprecated("say; {what}")]] void set() { a = 1; }  // HERE
};

// CASE an attribute with text on a member
// REFUSED the weaver cannot parse an attribute with text inside the class
class [[NVM::transactional]] alignas(64) refused_one {
    [[deprecated("old")]] int a = 0;  // HERE

public:
    void set() { a = 1; }
};

// CASE an attribute of GNU with text
// REFUSED the weaver cannot parse an attribute with text inside the class
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    __attribute__((deprecated("old"))) void set() { a = 1; }  // HERE
};

// CASE a member of an enumeration without a name
// REFUSED member 'colour' is of an enumeration without a name, which the weaver cannot write: name the enumeration
class [[NVM::transactional]] alignas(64) refused_one {
    enum { red, green } colour = red;  // HERE

public:
    void set() { colour = green; }
};

// CASE an array of an enumeration without a name
// REFUSED member 'colours' is of an enumeration without a name
class [[NVM::transactional]] alignas(64) refused_one {
    enum { red, green } colours[2] = {red, red};  // HERE

public:
    void set() { colours[0] = green; }
};

// CASE a function template with a default
// REFUSED function template 'set' would not be woven
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    template <class T = int>
    void set(T to = {}) { a = static_cast<int>(to); }  // HERE
};

// CASE a constructor template that reads another object
// REFUSED member 'a' of another object is named
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    refused_one(refused_one& other) : a(other.a) {}  // HERE
};

// CASE a string returned by a static function
// REFUSED ALONE returns an object that cannot be copied byte by byte
#include <string>
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    static std::string name() { return "name"; }  // HERE
    void set() { a = static_cast<int>(name().size()); }
};

// CASE a vector returned
// REFUSED ALONE returns an object that cannot be copied byte by byte
#include <vector>
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    std::vector<int> all() const { return {a}; }  // HERE
};

// CASE a std::unique_ptr returned
// REFUSED ALONE returns a pointer, a reference or an iterator
#include <memory>
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    std::unique_ptr<int> made() const { return std::make_unique<int>(a); }  // HERE
};

// CASE a constexpr function that is noexcept
// REFUSED 'get' is constexpr, and the weaver would leave it alone
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    constexpr int get() const noexcept { return a; }  // HERE
};

// CASE a constructor template
// REFUSED function template 'refused_one' would not be woven
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    template <class T>
    refused_one(T to) : a(to) { a += 1; }  // HERE
};

// CASE a const pointer returned
// REFUSED 'get' returns 'const int *const', which the weaver cannot hand on: leave the last 'const' out
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    const int* const get() const { return &a; }  // HERE
};

// CASE a structure without a name returned
// REFUSED 'get' takes or returns what has a type without a name
class [[NVM::transactional]] alignas(64) refused_one {
    struct { int x; } a = {0};

public:
    auto get() const { return a; }  // HERE
};

// CASE decltype of a structure, taken and returned
// REFUSED 'set' has a decltype in its type, which the weaver cannot write
struct an_x { int x; } some_x;
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set(const decltype(some_x)& to) { a = to.x; }  // HERE
    decltype(some_x) get() const { return {a}; }  // HERE
};

// CASE a member by decltype of a structure
// REFUSED member 'a' is declared by decltype, which the weaver cannot write: write the type
struct { int x; } other_x;
class [[NVM::transactional]] alignas(64) refused_one {
    decltype(other_x) a = {0};  // HERE

public:
    void set() { a.x = 1; }
};

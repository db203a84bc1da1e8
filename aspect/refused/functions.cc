// What is refused; refused_test.py says what the comments mean.

// CASE a constexpr function
// REFUSED 'get' is constexpr, and the weaver would leave it alone
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;
public:
    constexpr int get() const { return a; }  // HERE
};

// CASE a constexpr constructor
// REFUSED a constructor is constexpr, and that of a line is not
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    constexpr refused_one() {}  // HERE
    int get();
};

// CASE an operator for the address
// REFUSED 'operator&' would hide where the object is
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    const int* operator&() const { return &a; }  // HERE
};

// CASE a function with any number of arguments
// REFUSED 'set' takes '...', which the weaver cannot hand on
class [[NVM::transactional]] alignas(64) refused_one { int a = 0; public: void set(int to, ...) { a = to; } };  // HERE

// CASE an rvalue reference
// REFUSED 'set' takes an rvalue reference, which the weaver cannot hand on
class [[NVM::transactional]] alignas(64) refused_one { int a = 0; public: void set(int&& to) { a = to; } };  // HERE

// CASE move assignment
// REFUSED 'operator=' takes an rvalue reference
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;
public:
    refused_one& operator=(refused_one&&) { a = 1; return *this; }  // HERE
};

// CASE a try block for a body
// REFUSED the body of 'set' is a try block, which the weaver leaves alone
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;
public:
    void set() try { a = 1; } catch (...) {}  // HERE
};

// CASE a returned object that is not trivially copyable
// REFUSED ALONE returns an object that cannot be copied byte by byte
#include <string>
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;
public:
    std::string name() const { return std::to_string(a); }  // HERE
};

// CASE a returned reference
// REFUSED 'at' returns 'int &', by which the object could be written outside a transaction
class [[NVM::transactional]] alignas(64) refused_one { int a = 0; public: int& at() { return a; } };  // HERE

// CASE a returned reference that has another name
// REFUSED ALONE returns a pointer, a reference or an iterator, by which the object could be written outside a
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;
    using reference = int&;

public:
    reference at() { return a; }  // HERE
};

// CASE a returned reference whose type is deduced
// REFUSED by which the object could be written outside a transaction
class [[NVM::transactional]] alignas(64) refused_one { int a = 0; public: auto& at() { return a; } };  // HERE

// CASE a trailing type that is a reference
// REFUSED 'at' returns 'int &', by which the object could be written outside a transaction
class [[NVM::transactional]] alignas(64) refused_one { int a = 0; public: auto at() -> int& { return a; } };  // HERE

// CASE a returned pointer
// REFUSED 'data' returns 'char *', by which the object could be written outside a transaction
class [[NVM::transactional]] alignas(64) refused_one { char a[4] = {}; public: char* data() { return a; } };  // HERE

// CASE a member of another object
// REFUSED member 'a' of another object is named
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;
public:
    void swap(refused_one& other) { int b = a; a = other.a; other.a = b; }  // HERE
};

// CASE a member of another object by pointer
// REFUSED member 'a' of another object is named
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;
public:
    void take(const refused_one* other) { a = other->a; }  // HERE
};

// CASE a member of a local object
// REFUSED member 'a' of another object is named
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;
public:
    int run() { refused_one local; local.a = 1; return a; }  // HERE
};

// CASE a member of a lambda's argument
// REFUSED member 'a' of another object is named
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;
public:
    bool less(const refused_one& one) const { return [](const refused_one& x) { return x.a; }(one) < a; }  // HERE
};

// CASE a member of a generic lambda's argument
// REFUSED 'one' is shown as one half of the object and cannot be passed on
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;
public:
    bool less(const refused_one& one) const { return [](auto& x) { return x.a; }(one) < a; }  // HERE
};

// CASE a member of another object in a generic lambda
// REFUSED member 'a' of another object is named
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set(refused_one& other) {
        auto put = [](auto& to) { to.a = 1; };  // HERE
        put(other), a = 2;
    }
};

// CASE structured bindings of another object
// REFUSED member 'a' of another object is named
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0, b = 0;

public:
    void set(refused_one& other) {
        auto& [x, y] = other;  // HERE
        x = y, a = b;
    }
};

// CASE a member of another object in a local class
// REFUSED member 'a' of another object is named
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set(refused_one& other) {
        struct local {
            static void put(refused_one& to) { to.a = 1; }  // HERE
        };
        local::put(other), a = 2;
    }
};

// CASE a member of a copy constructor's argument
// REFUSED member 'a' of another object is named
class [[NVM::transactional]] alignas(64) refused_one {
    int a;
public:
    refused_one(const refused_one& other) : a(other.a) {}  // HERE
};

// CASE a member in a static function
// REFUSED member 'a' of another object is named
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;
public:
    static int of(const refused_one& one) { return one.a; }  // HERE
};

// CASE a member in a static function, out of line
// REFUSED member 'a' of another object is named
class [[NVM::transactional]] alignas(64) refused_one { int a = 0; public: static int of(const refused_one& one); };
int refused_one::of(const refused_one& one) { return one.a; }  // HERE

// CASE a destructor that names a member, out of line
// REFUSED the destructor names member 'a'
int last;
class [[NVM::transactional]] alignas(64) refused_one { int a = 0; public: ~refused_one(); void set() { a = 1; } };
refused_one::~refused_one() { last = a; }  // HERE

// CASE a constructor that calls a transaction, out of line
// REFUSED a constructor calls 'set'
class [[NVM::transactional]] alignas(64) refused_one { int a = 0; public: refused_one(); void set() { a = 1; } };
refused_one::refused_one() { set(); }  // HERE

// CASE this, handed on, in an operator out of line in a namespace
// REFUSED 'this' is the half that is meant and not the object
namespace space {
class [[NVM::transactional]] alignas(64) refused_one { int a = 0; public: int operator()(int to); };
const void* seen;
}
int space::refused_one::operator()(int to) { seen = this; return a = to; }  // HERE

// CASE a member in a nested class
// REFUSED member 'a' of another object is named
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0; struct view { int of(const refused_one& one) { return one.a; } };  // HERE
public:
    void set() { a = 1; }
};

// CASE a member that points to another
// REFUSED the address of a member is kept
class [[NVM::transactional]] alignas(64) refused_one {
    char text[4] = {};
    char* end = nullptr;

public:
    void set() { text[0] = 1, end = text + 0, end = text; }  // HERE
};

// CASE a member that points to another from the beginning
// REFUSED the address of a member is kept
class [[NVM::transactional]] alignas(64) refused_one {
    int a, *p;

public:
    refused_one() : p(&a) {} void set() { *p = a; }  // HERE
};

// CASE an address in a static variable
// REFUSED the address of a member is kept
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() { static int* kept = &a; *kept = 1; }  // HERE
};

// CASE an address given to the caller
// REFUSED the address of a member is kept
struct pair { int x, y; };
class [[NVM::transactional]] alignas(64) refused_one {
    pair a[2] = {};

public:
    void get(int** to) { *to = &a[1].y; }  // HERE
};

// CASE a pointer to a data member
// REFUSED a pointer to member 'a' would reach past its transaction
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;
public:
    void set() { int refused_one::*which = &refused_one::a; this->*which = 1; }  // HERE
};

// CASE this, handed on
// REFUSED 'this' is the half that is meant and not the object
void keep(void*);
class [[NVM::transactional]] alignas(64) refused_one { int a = 0; public: void set() { a = 1; keep(this); } };  // HERE

// CASE a copy of *this
// REFUSED 'this' is the half that is meant and not the object
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;
public:
    int set() { refused_one copy(*this); return copy.get() + a; } int get() const { return a; }  // HERE
};

// CASE a returned copy of *this
// REFUSED 'this' is the half that is meant and not the object
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;
public:
    refused_one operator++(int) { refused_one before = *this; ++a; return before; }  // HERE
};

// CASE structured bindings of *this
// REFUSED 'this' is the half that is meant and not the object
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0, b = 0;
public:
    void set() { auto& [x, y] = *this; x = y; }  // HERE
};

// CASE a lambda that copies the object
// REFUSED 'this' is the half that is meant and not the object
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;
public:
    int get() const { return [*this] { return a; }(); }  // HERE
};

// CASE an argument, handed on
// REFUSED 'other' is shown as one half of the object and cannot be passed on
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;
public:
    bool same(const refused_one& other) const { return &other == first() && a == 0; }  // HERE
    static const refused_one* first();
};

// CASE an argument of a type that has another name, handed on
// REFUSED 'other' is shown as one half of the object and cannot be passed on
template <class T>
void keep(const T& one);
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;
    using self = refused_one;

public:
    void set(const self& other) { a = 1; keep(other); }  // HERE
};

// CASE a constructor that calls a transaction
// REFUSED a constructor calls 'set', whose transaction would change the half in the middle of it
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;
public:
    refused_one() { set(); a += 1; } void set() { a = 1; }  // HERE
};

// CASE an initialiser that calls a function
// REFUSED an initializer calls member function 'get' before the index says which half is valid
class [[NVM::transactional]] alignas(64) refused_one {
    int a, b;
public:
    refused_one() : a(1), b(get()) {} int get() const { return a; }  // HERE
};

// CASE a default member initialiser that calls a function
// REFUSED an initializer calls member function 'get'
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0, b = get();  // HERE
public:
    int get() const { return a + b; }
};

// CASE a destructor that names a member
// REFUSED the destructor names member 'a': let it call a member function, which finds the valid half
int last;
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;
public:
    ~refused_one() { last = a; } void set() { a = 1; }  // HERE
};

// CASE assignment that the class does not declare
// REFUSED ALONE object of type 'refused_one' cannot be assigned
class [[NVM::transactional]] alignas(64) refused_one { int a = 0; public: void set() { a = 1; } };
void assign(refused_one& to, const refused_one& from) { to = from; }  // HERE

// CASE a swap of two objects
// REFUSED ALONE no matching function for call to 'swap'
#include <utility>
class [[NVM::transactional]] alignas(64) refused_one { int a = 0; public: void set() { a = 1; } };
void exchange(refused_one& one, refused_one& other) { std::swap(one, other); }  // HERE

// CASE a member of a woven class
// REFUSED ALONE its members must end at byte 31 at the latest
class [[NVM::transactional]] alignas(64) refused_one { int a = 0; public: void set() { a = 1; } };
class [[NVM::transactional]] alignas(64) refused_two { refused_one a; public: void set() { a.set(); } };  // HERE

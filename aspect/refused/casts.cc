// What is refused; refused_test.py says what the comments mean.

// CASE const_cast of a member
// REFUSED a cast takes 'const' away from what may be the valid half
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() const { const_cast<int&>(a) = 1; }  // HERE
};

// CASE const_cast of an element
// REFUSED a cast takes 'const' away from what may be the valid half
class [[NVM::transactional]] alignas(64) refused_one {
    int a[4] = {};

public:
    void set() const { const_cast<int&>(a[2]) = 1; }  // HERE
};

// CASE const_cast of an array's address
// REFUSED a cast takes 'const' away from what may be the valid half
class [[NVM::transactional]] alignas(64) refused_one {
    char text[4] = {};

public:
    void set() const { *const_cast<char*>(text) = 1; }  // HERE
};

// CASE const_cast of a nested member
// REFUSED a cast takes 'const' away from what may be the valid half
class [[NVM::transactional]] alignas(64) refused_one {
    struct point { int x, y; } low = {};

public:
    void set() const { const_cast<int&>(low.x) = 1; }  // HERE
};

// CASE const_cast of a pointer to a member
// REFUSED a cast takes 'const' away from what may be the valid half
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() const {
        const int* at = &a;
        *const_cast<int*>(at) = 1;  // HERE
    }
};

// CASE const_cast of a reference to a member
// REFUSED a cast takes 'const' away from what may be the valid half
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() const {
        const int& alias = a;
        const_cast<int&>(alias) = 1;  // HERE
    }
};

// CASE const_cast of what a const function returns
// REFUSED a cast takes 'const' away from what may be the valid half
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    const int& shown() const { return a; }
    void set() const { const_cast<int&>(shown()) = 1; }  // HERE
};

// CASE const_cast in a lambda
// REFUSED a cast takes 'const' away from what may be the valid half
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() const {
        [this] { const_cast<int&>(a) = 1; }();  // HERE
    }
};

// CASE const_cast out of line
// REFUSED a cast takes 'const' away from what may be the valid half
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() const;
};
void refused_one::set() const { const_cast<int&>(a) = 1; }  // HERE

// CASE const_cast in an operator
// REFUSED a cast takes 'const' away from what may be the valid half
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    int operator()() const { return ++const_cast<int&>(a); }  // HERE
};

// CASE const_cast in a conversion
// REFUSED a cast takes 'const' away from what may be the valid half
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    operator int() const { return ++const_cast<int&>(a); }  // HERE
};

// CASE const_cast in a const volatile function
// REFUSED a cast takes 'const' away from what may be the valid half
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() const volatile { const_cast<int&>(a) = 1; }  // HERE
};

// CASE const_cast in a function for lvalues
// REFUSED a cast takes 'const' away from what may be the valid half
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() const& { const_cast<int&>(a) = 1; }  // HERE
};

// CASE const_cast in a noexcept function
// REFUSED a cast takes 'const' away from what may be the valid half
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() const noexcept { const_cast<int&>(a) = 1; }  // HERE
};

// CASE a C cast of a member
// REFUSED a cast takes 'const' away from what may be the valid half
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() const { (int&)a = 1; }  // HERE
};

// CASE a C cast of an address
// REFUSED a cast takes 'const' away from what may be the valid half
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() const { *(int*)&a = 1; }  // HERE
};

// CASE a C cast of an address to void
// REFUSED a cast takes 'const' away from what may be the valid half
#include <string.h>
class [[NVM::transactional]] alignas(64) refused_one {
    char text[4] = {};

public:
    void set() const { memset((void*)text, 1, 4); }  // HERE
};

// CASE a C cast to another type
// REFUSED a cast takes 'const' away from what may be the valid half
class [[NVM::transactional]] alignas(64) refused_one {
    long a = 0;

public:
    void set() const { *(char*)&a = 1; }  // HERE
};

// CASE a C cast by a name of the type
// REFUSED a cast takes 'const' away from what may be the valid half
class [[NVM::transactional]] alignas(64) refused_one {
    using pointer = int*;
    int a = 0;

public:
    void set() const { *pointer(&a) = 1; }  // HERE
};

// CASE a C cast by a number
// REFUSED the address of a member as a number
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() const { *reinterpret_cast<int*>((unsigned long)&a) = 1; }  // HERE
};

// CASE a C cast of the object
// REFUSED 'this' is the half that is meant and not the object
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void put() { a = 1; }
    void set() const { ((refused_one*)this)->put(); }  // HERE
};

// CASE const_cast of the object
// REFUSED 'this' is the half that is meant and not the object
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void put() { a = 1; }
    void set() const { const_cast<refused_one*>(this)->put(); }  // HERE
};

// CASE const_cast of the object as a reference
// REFUSED 'this' is the half that is meant and not the object
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void put() { a = 1; }
    void set() const { const_cast<refused_one&>(*this).put(); }  // HERE
};

// CASE const_cast of another object's member
// REFUSED a cast takes 'const' away from what may be the valid half
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set(const refused_one& other) { const_cast<int&>(other.a) = a; }  // HERE
};

// CASE a C cast of another object's member
// REFUSED a cast takes 'const' away from what may be the valid half
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set(const refused_one& other) { *(int*)&other.a = a; }  // HERE
};

// CASE a mutable member of a nested structure
// REFUSED member 'n' is mutable, and a const function is no transaction: make the function that changes it non-const
class [[NVM::transactional]] alignas(64) refused_one {
    struct inside { mutable int n = 0; } a;  // HERE

public:
    int next() const { return ++a.n; }  // HERE
};

// CASE a mutable member of an unnamed structure
// REFUSED member 'n' is mutable, and a const function is no transaction: make the function that changes it non-const
class [[NVM::transactional]] alignas(64) refused_one {
    struct { mutable int n; } a = {};  // HERE

public:
    int next() const { return ++a.n; }  // HERE
};

// CASE a mutable member of a structure elsewhere
// REFUSED a member's member 'tally::n' is mutable, and a const function is no transaction
struct tally { mutable int n = 0; };
class [[NVM::transactional]] alignas(64) refused_one {
    tally a;  // HERE

public:
    int next() const { return ++a.n; }  // HERE
};

// CASE a mutable member behind a const function
// REFUSED a member's member 'counted::n' is mutable, and a const function is no transaction
class counted {
    mutable int n = 0;

public:
    int next() const { return ++n; }
};
class [[NVM::transactional]] alignas(64) refused_one {
    counted a;  // HERE

public:
    int next() const { return a.next(); }
};

// CASE a mutable member of an element
// REFUSED a member's member 'ticked::n' is mutable, and a const function is no transaction
struct ticked { mutable int n = 0; };
class [[NVM::transactional]] alignas(64) refused_one {
    ticked a[2];  // HERE

public:
    int next() const { return ++a[1].n; }  // HERE
};

// CASE a mutable member of a template
// REFUSED a member's member 'boxed::n' is mutable, and a const function is no transaction
template <class T>
struct boxed { mutable T n = 0; };
class [[NVM::transactional]] alignas(64) refused_one {
    boxed<int> a;  // HERE

public:
    int next() const { return ++a.n; }  // HERE
};

// CASE a mutable member of a member of a member
// REFUSED a member's member 'deep_tally::n' is mutable
struct deep_tally { mutable int n = 0; };
struct holds_a_tally { deep_tally of; };
class [[NVM::transactional]] alignas(64) refused_one {
    holds_a_tally a;  // HERE

public:
    int next() const { return ++a.of.n; }  // HERE
};

// CASE const_cast of an argument of a lambda
// REFUSED a cast takes 'const' away from what may be the valid half
#include <algorithm>
class [[NVM::transactional]] alignas(64) refused_one {
    int a[4] = {};

public:
    void set() const {
        std::for_each(a, a + 4, [](const int& each) { const_cast<int&>(each) = 1; });  // HERE
    }
};

// CASE a C cast of an argument of a generic lambda
// REFUSED a cast takes 'const' away from what may be the valid half
#include <algorithm>
class [[NVM::transactional]] alignas(64) refused_one {
    int a[4] = {};

public:
    void set() const {
        std::for_each(a, a + 4, [](auto& each) { (int&)each = 1; });  // HERE
    }
};

// CASE const_cast of a structured binding
// REFUSED a cast takes 'const' away from what may be the valid half
struct two_numbers { int x, y; };
class [[NVM::transactional]] alignas(64) refused_one {
    two_numbers a = {0, 0};

public:
    void set() const { auto& [x, y] = a; const_cast<int&>(x) = 1; }  // HERE
};

// CASE a C cast of a pointer to a pointer
// REFUSED a cast takes 'const' away from what may be the valid half
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() const { const int* at = &a; **(int**)&at = 1; }  // HERE
};

// CASE a C cast to a reference to a pointer
// REFUSED a cast takes 'const' away from what may be the valid half
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() const { const int* at = &a; *(int*&)at = 1; }  // HERE
};

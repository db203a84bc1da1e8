// What is refused; refused_test.py says what the comments mean.

// CASE a base class
// REFUSED has a base: what is in it would lie outside the two halves; make it a member
struct base { int b; };
class [[NVM::transactional]] alignas(64) refused_one : base { int a = 0; public: void set() { a = b; } };  // HERE

// CASE a virtual function
// REFUSED 'set' is virtual: a pointer to the table of functions would lie in the line
class [[NVM::transactional]] alignas(64) refused_one { int a = 0; public: virtual void set() { a = 1; } };  // HERE

// CASE a virtual destructor
// REFUSED is virtual
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;
public:
    virtual ~refused_one() = default; int get() const { return a; }  // HERE
};

// CASE a class template
// REFUSED is a template, which the weaver does not weave: write a class for each type
template <class T>
class [[NVM::transactional]] alignas(64) refused_one { T a; public: void set(T to) { a = to; } };  // HERE
void use(refused_one<int>& x) { x.set(1); }

// CASE a function template
// REFUSED function template 'set' would not be woven
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;
public:
    template <class T> void set(T to) { a = to; }  // HERE
};

// CASE a union
// REFUSED is a union
union [[NVM::transactional]] alignas(64) refused_one { int a; float b; };  // HERE

// CASE a class in a namespace whose name has two parts
// REFUSED ALONE the weaver cannot parse 'namespace outer::inner'
namespace outer::inner {
class [[NVM::transactional]] alignas(64) refused_one { int a = 0; public: void set() { a = 1; } };  // HERE
}

// CASE a class in a function
// REFUSED it stands in a function, where the weaver does not see it: declare it in a namespace
int run() {
    class [[NVM::transactional]] alignas(64) refused_one { int a = 0; public: int get() const { return a; } };  // HERE
    return refused_one().get();
}

// CASE the attribute in a macro
// REFUSED write [[NVM::transactional]] out
#define PERSISTENT [[NVM::transactional]] alignas(64)
class PERSISTENT refused_one { int a = 0; public: void set() { a = 1; } };  // HERE

// CASE a class that the weaver is not to see
// REFUSED what the weaver is not to see (#ifndef __acweaving) has a woven class or defines a function of one
#ifndef __acweaving  // HERE
class [[NVM::transactional]] alignas(64) refused_one { int a = 0; public: void set() { a = 1; } };
#endif

// CASE a function that the weaver is not to see
// REFUSED what the weaver is not to see (#ifndef __acweaving) has a woven class or defines a function of one
class [[NVM::transactional]] alignas(64) refused_one { int a = 0; public: void set(); int get() const { return a; } };
#ifndef __acweaving  // HERE
void refused_one::set() { a = 1; }
#endif

// CASE no alignment
// REFUSED ALONE write alignas(64) after the attribute
class [[NVM::transactional]] refused_one { int a = 0; public: void set() { a = 1; } };  // HERE

// CASE a class derived from a woven one
// REFUSED 'derived' derives from it, and would have members beyond its line: make it a member
class [[NVM::transactional]] alignas(64) refused_one { int a = 0; public: void set() { a = 1; } };
class derived : public refused_one {};  // HERE

// CASE 32 bytes
// REFUSED ALONE its members must end at byte 31 at the latest
class [[NVM::transactional]] alignas(64) refused_one { char a[32] = {}; public: void set() { a[0] = 1; } };  // HERE

// CASE four members of 8 bytes
// REFUSED ALONE its members must end at byte 31 at the latest
class [[NVM::transactional]] alignas(64) refused_one {  // HERE
    long a = 0, b = 0, c = 0, d = 0;
public:
    void set() { a = 1; }
};

// CASE 100 bytes and no function
// REFUSED ALONE its members must end at byte 31 at the latest
class [[NVM::transactional]] alignas(64) refused_one { char a[100]; };  // HERE

// CASE a member that is not trivially copyable
// REFUSED ALONE a member is not trivially copyable
struct counted { counted() {} counted(const counted&) {} int of = 0; };
class [[NVM::transactional]] alignas(64) refused_one { counted a; public: void set() { a.of = 1; } };  // HERE

// CASE a reference member
// REFUSED ALONE a member is not trivially copyable
int somewhere;
class [[NVM::transactional]] alignas(64) refused_one { int& a = somewhere; public: void set() { a = 1; } };  // HERE

// CASE an anonymous union whose member is not trivially copyable
// REFUSED an anonymous union has a member that is not trivially copyable
struct counted { counted() {} counted(const counted&) {} int of = 0; };
class [[NVM::transactional]] alignas(64) refused_one {
    union { counted a; int b; };  // HERE
public:
    refused_one() : b(0) {} ~refused_one() {} void set() { b = 1; }
};

// CASE a member aligned to a line
// REFUSED ALONE its members must end at byte 31 at the latest
struct alignas(64) wide { char a; };
class [[NVM::transactional]] alignas(64) refused_one { wide a = {}; public: void set() { a.a = 1; } };  // HERE

// CASE a public member
// REFUSED member 'b' is public, and could be written outside a transaction
class [[NVM::transactional]] alignas(64) refused_one { int a = 0; public: int b = 0; void set() { a = 1; } };  // HERE

// CASE a protected member
// REFUSED member 'b' is protected
class [[NVM::transactional]] alignas(64) refused_one { protected: int b = 0; public: void set() { b = 1; } };  // HERE

// CASE a struct's first members
// REFUSED member 'a' is public
struct [[NVM::transactional]] alignas(64) refused_one { int a = 0; void set() { a = 1; } };  // HERE

// CASE a public anonymous union
// REFUSED member 'an anonymous union' is public
class [[NVM::transactional]] alignas(64) refused_one {
public:
    union { int a; char b; };  // HERE
    void set() { a = 1; }
};

// CASE a mutable member
// REFUSED member 'a' is mutable, and a const function is no transaction
class [[NVM::transactional]] alignas(64) refused_one {
    mutable int a = 0;  // HERE
public:
    void set() const { a = 1; }
};

// CASE a friend class
// REFUSED has a friend, whose accesses the weaver does not see
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0; friend class other;  // HERE
public:
    void set() { a = 1; }
};

// CASE a friend function
// REFUSED has a friend
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;
    friend void change(refused_one& of) { of.a = 1; }  // HERE
};

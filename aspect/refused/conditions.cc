// What is refused; refused_test.py says what the comments mean.

// CASE a function without NDEBUG
// REFUSED '#ifndef NDEBUG' decides what is in it or its functions
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
#ifndef NDEBUG  // HERE
    void set() { a = 1; }
#endif
    int get() const { return a; }
};

// CASE a function with NDEBUG
// REFUSED '#ifdef NDEBUG' decides what is in it or its functions, and the weaver may decide otherwise than the compiler
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
#ifdef NDEBUG  // HERE
    void set() { a = 1; }
#endif
    int get() const { return a; }
};

// CASE a function of C++20
// REFUSED '#if __cplusplus >= 202002L' decides what is in it or its functions
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
#if __cplusplus >= 202002L  // HERE
    void set() { a = 1; }
#endif
    int get() const { return a; }
};

// CASE a function where the compiler optimises
// REFUSED '#ifdef __OPTIMIZE__' decides what is in it or its functions
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
#ifdef __OPTIMIZE__  // HERE
    void set() { a = 1; }
#endif
    int get() const { return a; }
};

// CASE a function for one compiler
// REFUSED '#if defined(__GNUC__) && !defined(__clang__)' decides what is in it or its functions
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
#if defined(__GNUC__) && !defined(__clang__)  // HERE
    void set() { a = 1; }
#endif
    int get() const { return a; }
};

// CASE a function that a feature decides
// REFUSED '#if defined(__cpp_concepts)' decides what is in it or its functions
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
#if defined(__cpp_concepts)  // HERE
    void set() { a = 1; }
#endif
    int get() const { return a; }
};

// CASE a function that an option of the program decides
// REFUSED '#ifdef HAVE_SET' decides what is in it or its functions
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
#ifdef HAVE_SET  // HERE
    void set() { a = 1; }
#endif
    int get() const { return a; }
};

// CASE a function that is left out
// REFUSED '#if 0' decides what is in it or its functions, and the weaver may decide otherwise than the compiler
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
#if 0  // HERE
    void set() { a = 1; }
#endif
    int get() const { return a; }
};

// CASE a function for the weaver alone
// REFUSED '#ifdef __acweaving' decides what is in it or its functions
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
#ifdef __acweaving  // HERE
    void set() { a = 1; }
#endif
    int get() const { return a; }
};

// CASE two functions of which one is there
// REFUSED '#ifdef NDEBUG' decides what is in it or its functions, and the weaver may decide otherwise than the compiler
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
#ifdef NDEBUG  // HERE
    void set() { a = 1; }
#else
    void set() { a = 2; }
#endif
};

// CASE a condition in a body
// REFUSED '#ifdef NDEBUG' decides what is in it or its functions, and the weaver may decide otherwise than the compiler
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() {
#ifdef NDEBUG  // HERE
        a = 1;
#endif
        a = 2;
    }
};

// CASE a condition around members
// REFUSED '#ifdef NDEBUG' decides what is in it or its functions, and the weaver may decide otherwise than the compiler
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;
#ifdef NDEBUG  // HERE
    int b = 0;
#endif

public:
    void set() { a = 1; }
};

// CASE a condition around an initialiser
// REFUSED '#ifdef NDEBUG' decides what is in it or its functions, and the weaver may decide otherwise than the compiler
class [[NVM::transactional]] alignas(64) refused_one {
    int a
#ifdef NDEBUG  // HERE
        = 1
#endif
        ;

public:
    void set() { a = 1; }
};

// CASE a condition around a class
// REFUSED '#ifdef NDEBUG' decides what is in it or its functions, and the weaver may decide otherwise than the compiler
#ifdef NDEBUG  // HERE
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() { a = 1; }
};
#endif

// CASE a class for each of two conditions
// REFUSED '#ifdef NDEBUG' decides what is in it or its functions, and the weaver may decide otherwise than the compiler
#ifdef NDEBUG  // HERE
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;
};
#else
class [[NVM::transactional]] alignas(64) refused_one {
    long a = 0;
};
#endif

// CASE a condition inside a condition
// REFUSED '#if __cplusplus >= 201103L' decides what is in it or its functions
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
#if __cplusplus >= 201103L  // HERE
#ifdef NDEBUG  // HERE
    void set() { a = 1; }
#endif
#endif
};

// CASE a condition around a function out of line
// REFUSED '#ifdef __OPTIMIZE__' decides what is in it or its functions
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set(int to);
    int get() const { return a; }
};
#ifdef __OPTIMIZE__  // HERE
void refused_one::set(int to) { a = to; }
#endif

// CASE a condition that leaves out a function out of line
// REFUSED '#ifndef NDEBUG' decides what is in it or its functions
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set(int to);
    int get() const { return a; }
};
#ifndef NDEBUG  // HERE
void refused_one::set(int to) { a = to; }
#endif

// CASE a condition in a body out of line
// REFUSED '#ifdef NDEBUG' decides what is in it or its functions, and the weaver may decide otherwise than the compiler
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set(int to);
    int get() const { return a; }
};
void refused_one::set(int to) {
#ifdef NDEBUG  // HERE
    a = to;
#endif
}

// CASE a condition around half of a head
// REFUSED '#ifdef NDEBUG' decides what is in it or its functions, and the weaver may decide otherwise than the compiler
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set(int to);
    int get() const { return a; }
};
#ifdef NDEBUG  // HERE
void refused_one::set(int to)
#else
void refused_one::set(const int to)
#endif
{
    a = to;
}

// CASE a macro that depends on the compiler's language
// REFUSED macro 'KIND' means one thing to the weaver and another to the compiler
#if __cplusplus >= 202002L
#define KIND const
#else
#define KIND
#endif
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    int get() KIND { return a; }  // HERE
};

// CASE a macro of macros that depends on the compiler
// REFUSED macro 'DEEP' means one thing to the weaver and another to the compiler
#ifdef __clang__
#define DEEP(x) (x)
#else
#define DEEP(x) keep(&x)
#endif
#define SHALLOW(x) DEEP(x)
void keep(int*);
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() { SHALLOW(a); }  // HERE
};

// CASE a macro that is a function for the compiler alone
// REFUSED macro 'SETTER' means one thing to the weaver and another to the compiler
#if __cplusplus >= 202002L
#define SETTER void set() { a = 1; }
#else
#define SETTER
#endif
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    SETTER  // HERE
    int get() const { return a; }
};

// CASE a macro only when the weaver is not there
// REFUSED macro 'ONLY' means one thing to the weaver and another to the compiler
#ifndef __acweaving
#define ONLY void set() { a = 1; }
#else
#define ONLY
#endif
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    ONLY  // HERE
    int get() const { return a; }
};

// CASE a file that is included in a class
// REFUSED ALONE includes a file in the middle of it or its functions: write that outside
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;
  #include <stdint.h>  // HERE

public:
    void set() { a = 1; }
};

// CASE a macro that is defined in a class
// REFUSED '#define ONE' in the middle of it or its functions: write that outside
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
#define ONE 1  // HERE
    void set() { a = ONE; }
};

// CASE a function in the class that the weaver is not to see
// REFUSED what the weaver is not to see (#ifndef __acweaving) is in it or its functions
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() { a = 1; }
#ifndef __acweaving  // HERE
    void other() { a = 2; }
#endif
};

// CASE a statement that the weaver is not to see
// REFUSED what the weaver is not to see (#ifndef __acweaving) is in it or its functions
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() {
        a = 1;
#ifndef __acweaving  // HERE
        a = 2;
#endif
    }
};

// CASE a condition around a function out of line, by another name of the class
// REFUSED '#if __cplusplus >= 202002L' decides what is in it or its functions
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set();
    int get() const { return a; }
};
using another_name = refused_one;
#if __cplusplus >= 202002L  // HERE
void another_name::set() { a = 1; }
#endif

// CASE a condition around a macro that is a function out of line
// REFUSED '#if __cplusplus >= 202002L' decides what is in it or its functions
class [[NVM::transactional]] alignas(64) refused_by_macro {
    int a = 0;

public:
    void set();
    int get() const { return a; }
};
#define SET_OUT_OF_LINE void refused_by_macro::set() { a = 1; }
#if __cplusplus >= 202002L  // HERE
SET_OUT_OF_LINE
#endif

// CASE a function out of line as the argument of a macro
// REFUSED a function of it stands in the argument of a macro
class [[NVM::transactional]] alignas(64) refused_by_argument {
    int a = 0;

public:
    void set();
    int get() const { return a; }
};
#if __cplusplus >= 202002L
#define WITH_CONCEPTS(what) what
#else
#define WITH_CONCEPTS(what)
#endif
WITH_CONCEPTS(void refused_by_argument::set() { a = 1; })  // HERE

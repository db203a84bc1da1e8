// What is refused; refused_test.py says what the comments mean.

// CASE a class in extern "C"
// REFUSED it stands in extern "C", where the weaver's templates cannot be
extern "C" {
class [[NVM::transactional]] alignas(64) refused_one {  // HERE
    int a = 0;

public:
    void set() { a = 1; }
};
}

// CASE a class in a namespace in extern "C"
// REFUSED it stands in extern "C"
extern "C" {
namespace space {
class [[NVM::transactional]] alignas(64) refused_one {  // HERE
    int a = 0;

public:
    void set() { a = 1; }
};
}
}

// CASE a typedef of a class without a name
// REFUSED it is declared in a typedef, which the weaver cannot parse: give the class its name behind the attribute
typedef struct [[NVM::transactional]] alignas(64) {  // HERE
    void set() { a = 1; }

private:
    int a = 0;
} refused_one;

// CASE a typedef of a class with a name
// REFUSED it is declared in a typedef
typedef class [[NVM::transactional]] alignas(64) refused_one {  // HERE
    int a = 0;

public:
    void set() { a = 1; }
} refused_alias;

// CASE a class without a name
// REFUSED without a name: write one behind the attribute
class [[NVM::transactional]] alignas(64) {  // HERE
    int a = 0;

public:
    void set() { a = 1; }
} object;

// CASE a class in a class template
// REFUSED it stands in a template, which the weaver does not weave
template <class T>
struct outer {
    class [[NVM::transactional]] alignas(64) refused_one {  // HERE
        int a = 0;

    public:
        void set() { a = 1; }
    };
};
outer<int>::refused_one object;

// CASE a class in a class in a class template
// REFUSED it stands in a template
template <class T>
struct outer {
    struct middle {
        class [[NVM::transactional]] alignas(64) refused_one {  // HERE
            T a = 0;

        public:
            void set() { a = 1; }
        };
    };
};

// CASE a specialisation of a template
// REFUSED is a specialisation of a template, which the weaver does not weave: give it a name of its own
template <class T>
class refused_one;
template <>
class [[NVM::transactional]] alignas(64) refused_one<int> {  // HERE
    int a = 0;

public:
    void set() { a = 1; }
};

// CASE a specialisation in part
// REFUSED is a template, which the weaver does not weave
template <class T>
class refused_one;
template <class T>
class [[NVM::transactional]] alignas(64) refused_one<T*> {  // HERE
    int a = 0;

public:
    void set() { a = 1; }
};

// CASE a template with a default
// REFUSED is a template, which the weaver does not weave
template <int Size = 4>
class [[NVM::transactional]] alignas(64) refused_one {  // HERE
    char a[Size] = {};

public:
    void set() { a[0] = 1; }
};
refused_one<> object;

// CASE a class in a lambda
// REFUSED it stands in a function
auto make = [] {
    class [[NVM::transactional]] alignas(64) refused_one {  // HERE
        int a = 0;

    public:
        int get() const { return a; }
    };
    return refused_one().get();
};

// CASE a class in a member function
// REFUSED it stands in a function
struct outer {
    int run() const {
        class [[NVM::transactional]] alignas(64) refused_one {  // HERE
            int a = 0;

        public:
            int get() const { return a; }
        };
        return refused_one().get();
    }
};

// CASE a declaration without the attribute
// REFUSED it is declared without the attribute here, and the first declaration must have it: write 'class
class refused_one;  // HERE
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() { a = 1; }
};

// CASE a declaration as a struct without the attribute
// REFUSED it is declared without the attribute here
struct refused_one;  // HERE
void use(refused_one&);
struct [[NVM::transactional]] alignas(64) refused_one {
    void set() { a = 1; }

private:
    int a = 0;
};

// CASE a declaration inside another
// REFUSED it is declared without the attribute here
void use(class refused_one& one);  // HERE
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() { a = 1; }
};

// CASE a structure derived from a woven class
// REFUSED 'derived' derives from it, and would have members beyond its line: make it a member
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() { a = 1; }
};
struct derived : refused_one {  // HERE
    int b;
};

// CASE a class derived from a woven class and another
// REFUSED 'derived' derives from it
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() { a = 1; }
};
struct other {};
class derived final : public other, protected refused_one {};  // HERE

// CASE a template derived from a woven class
// REFUSED 'derived' derives from it
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() { a = 1; }
};
template <class T>  // HERE
struct derived : public refused_one {
    T b;
};

// CASE a woven class derived from a woven class
// REFUSED has a base
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() { a = 1; }
};
class [[NVM::transactional]] alignas(64) refused_two : public refused_one {  // HERE
    int b = 0;

public:
    void set_b() { b = 1; }
};

// CASE a template that derives from its parameter
// REFUSED ALONE cannot derive from
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() { a = 1; }
};
template <class T>
struct derived : T {};  // HERE
derived<refused_one> object;

// CASE a virtual base
// REFUSED has a base
struct base {};
class [[NVM::transactional]] alignas(64) refused_one : virtual base {  // HERE
    int a = 0;

public:
    void set() { a = 1; }
};

// CASE an empty base
// REFUSED has a base
struct base {};
class [[NVM::transactional]] alignas(64) refused_one : base {  // HERE
    int a = 0;

public:
    void set() { a = 1; }
};

// CASE the attribute by 'using'
// REFUSED write [[NVM::transactional]] out
class [[using NVM: transactional]] alignas(64) refused_one {  // HERE
    int a = 0;

public:
    void set() { a = 1; }
};

// CASE a class that is a macro
// REFUSED write [[NVM::transactional]] out
#define PERSISTENT_CLASS(name) class [[NVM::transactional]] alignas(64) name { int a; public: void set() { a = 1; } };
PERSISTENT_CLASS(refused_one)  // HERE

// CASE a declaration in the namespace that has the class
// REFUSED close the namespace behind 'class [[NVM::transactional]] refused_one;' and open it again
namespace space {
class [[NVM::transactional]] refused_one;  // HERE
void use(refused_one&);
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() { a = 1; }
};
}  // namespace space

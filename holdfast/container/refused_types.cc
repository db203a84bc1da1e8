// Programs that must not compile: refused_types_test.py reads them. Each case is one line of a function, below the
// sentence with which its first error begins.
#include <holdfast/container/btree_map.hpp>
#include <holdfast/container/hash_map.hpp>
#include <holdfast/container/queue.hpp>
#include <holdfast/container/vector.hpp>
#include <holdfast/handle/pool.hpp>
#include <holdfast/engine/redo.hpp>
#include <holdfast/line/line.hpp>

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

using store = holdfast::redo;
template <class T>
using field = store::field<T>;
template <class T>
using list = holdfast::vector<T, store>;

struct plain_run { long runs; };
template <int Use = 0> struct plain_second { field<long> runs; long last; };
struct plain_array { field<long> runs; char name[16]; };
struct plain_pointer { plain_pointer* next; field<long> value; };
struct plain_constant { const long id; field<long> value; };
struct plain_within { field<long> runs; plain_second<1> inner; };
struct plain_hidden { long get() const { return runs; } private: long runs = 0; };
template <int Use = 0> struct has_vector { field<long> runs; std::vector<int> values; };
template <int Use = 0> struct has_string { std::string name; field<long> runs; };
template <int Use = 0> struct has_unique { field<long> runs, more; std::unique_ptr<long> owned; };
struct has_shared { std::shared_ptr<long> owned; };
struct has_function { field<long> runs; std::function<void()> callback; };
struct has_thread { field<long> runs; std::thread worker; };
struct has_deque_within { field<long> runs; std::array<std::deque<int>, 2> queues; };
struct has_view { field<long> runs; std::string_view name; };
template <int Use = 0> struct view_value { int length; std::string_view name; };
struct span_value { std::span<int> values; };
struct reference_value { std::reference_wrapper<int> to; };
template <int Use = 0> struct function_value { int code; void (*handler)(int); };
struct functions_value { int code; void (*handlers[4])(int); };
struct member_function_value { void (plain_run::*handler)(); };
struct optional_view { std::optional<std::string_view> name; };
struct variant_view { int kind; std::variant<int, std::string_view> name; };
struct array_view { int kind; std::array<std::string_view, 2> names; };
template <int Use = 0> struct with_virtual { virtual ~with_virtual() = default; field<long> runs; };
struct holds_virtual { field<long> runs; with_virtual<1> inner; };
struct has_mutex { std::mutex lock; field<long> runs; };
struct has_atomic { field<long> runs; std::atomic<int> count; };
struct has_pthread { field<long> runs; pthread_mutex_t lock; };
struct has_optional { field<long> runs; std::optional<field<long>> maybe; };
struct has_line { field<long> runs; holdfast::line<long> other; };
struct has_reference { field<long>& runs; field<long> more; };
struct no_default { field<long> runs; explicit no_default(long value) : runs(value) {} };
struct holds_no_default { field<long> more; no_default inner; };
struct too_many { field<char> a[1], b[1], c[1]; field<char>
    d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, af, ag, ah, ai, aj, ak,
    al, am, an, ao, ap, aq, ar, as, at, au, av, aw; };

void roots(store::pool& pool) {
    // this type is plain, so no transaction sees what is stored to it
    (void)pool.root<plain_run>("a");
    // this type is plain
    (void)pool.root<long>("a");
    // this type is plain
    (void)pool.root<plain_hidden>("a");
    // this type is plain
    (void)pool.root<plain_run*>("a");
    // this type is plain
    (void)pool.root<std::array<int, 4>>("a");
    // member 2 of this type is plain
    (void)pool.root<plain_second<2>>("a");
    // member 2 of this type is plain
    (void)pool.root<plain_array>("a");
    // member 1 of this type is plain
    (void)pool.root<plain_pointer>("a");
    // member 1 of this type is plain
    (void)pool.root<plain_constant>("a", "1", 5);
    // member 2 of this type is plain
    (void)pool.root<plain_within>("a");
    // member 2 of this type is plain
    (void)pool.root<std::pair<field<int>, int>>("a");
}

void roots_of_the_standard_library(store::pool& pool) {
    // member 2 of this type is of the standard library and keeps its contents outside the pool
    (void)pool.root<has_vector<2>>("a");
    // this type is of the standard library
    (void)pool.root<std::vector<field<int>>>("a");
    // this type is of the standard library
    (void)pool.root<std::string>("a");
    // member 1 of this type is of the standard library
    (void)pool.root<has_string<2>>("a");
    // member 3 of this type is of the standard library
    (void)pool.root<has_unique<2>>("a");
    // member 1 of this type is of the standard library
    (void)pool.root<has_shared>("a");
    // member 2 of this type is of the standard library
    (void)pool.root<has_function>("a");
    // member 2 of this type is of the standard library
    (void)pool.root<has_thread>("a");
    // member 1 of this type is of the standard library
    (void)pool.root<has_deque_within>("a");
    // member 2 of this type refers to memory that it does not own
    (void)pool.root<has_view>("a");
    // this type refers to memory
    (void)pool.root<std::wstring_view>("a");
    // this type is the address of a function
    (void)pool.root<void (*)()>("a");
}

void other_roots(store::pool& pool) {
    // this type has virtual functions
    (void)pool.root<with_virtual<2>>("a");
    // member 2 of this type has virtual functions
    (void)pool.root<holds_virtual>("a");
    // member 1 of this type is a lock or an atomic
    (void)pool.root<has_mutex>("a");
    // member 2 of this type is a lock or an atomic
    (void)pool.root<has_atomic>("a");
    // member 2 of this type is a lock or an atomic
    (void)pool.root<has_pthread>("a");
    // member 2 of this type is plain
    (void)pool.root<has_optional>("a");
    // this type is of lines or woven
    (void)pool.root<holdfast::line<long>>("a");
    // member 2 of this type is of lines or woven
    (void)pool.root<has_line>("a");
    // this type cannot be looked into
    (void)pool.root<has_reference>("a");
    // this type cannot be looked into
    (void)pool.root<holds_no_default>("a");
    // this type cannot be looked into (48 members at most, each made by {})
    (void)pool.root<too_many>("a");
    // a plain root is trivially copyable
    (void)pool.plain_root<has_string<3>>("a");
    // member 2 of this type is the address of a function
    (void)pool.plain_root<function_value<3>>("a");
}

void objects(store::pool& pool) {
    // this type is plain
    (void)store::make<unsigned>(5u);
    // member 2 of this type is plain
    (void)store::make<plain_second<4>>();
    // member 2 of this type is the address of a function
    (void)store::make<const function_value<4>>();
}

void values() {
    // field<T> needs a trivially copyable T
    (void)sizeof(field<std::string>);
    // this type refers to memory
    (void)sizeof(field<std::string_view>);
    // member 2 of this type refers to memory
    (void)sizeof(field<view_value<5>>);
    // member 1 of this type refers to memory
    (void)sizeof(field<span_value>);
    // this type refers to memory
    (void)sizeof(field<std::reference_wrapper<int>>);
    // this type cannot be looked into
    (void)sizeof(field<reference_value>);
    // this type is the address of a function
    (void)sizeof(field<int (*)(long)>);
    // member 2 of this type is the address of a function
    (void)sizeof(field<functions_value>);
    // member 1 of this type is the address of a function
    (void)sizeof(field<member_function_value>);
    // member 1 of this type refers to memory
    (void)sizeof(field<optional_view>);
    // member 2 of this type refers to memory
    (void)sizeof(field<variant_view>);
    // member 1 of this type refers to memory
    (void)sizeof(field<array_view>);
}

void elements(list<has_string<6>>& strings, list<plain_second<6>>& seconds, list<view_value<6>>& views,
              holdfast::queue<has_unique<6>, store>& owners, holdfast::hash_map<long, has_vector<6>, store>& hashed,
              holdfast::btree_map<function_value<6>, long, store>& ordered, list<with_virtual<6>>& objects_of_class) {
    // member 1 of this type is of the standard library
    strings.emplace_back();
    // member 2 of this type is plain
    seconds.emplace_back();
    // member 2 of this type refers to memory
    views.push_back({1, "a"});
    // member 3 of this type is of the standard library
    owners.emplace();
    // member 2 of this type is of the standard library
    hashed.try_emplace(1);
    // member 2 of this type is the address of a function
    (void)ordered.size();
    // this type has virtual functions
    objects_of_class.emplace_back();
}

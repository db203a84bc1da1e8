// The same without any transactions: what the work itself costs. One thread.
#include <bench/transactions/job.hpp>

#include <cstdlib>
#include <type_traits>

namespace {

struct plain_access {
    template <class T>
    T load(const T* home) const {
        return *home;
    }
    template <class T>
    void store(T* home, const std::type_identity_t<T>& value) const {
        *home = value;
    }
    template <class T>
    void will_write(T*) const {}
    void* allocate(std::size_t bytes) const { return std::malloc(bytes); }
    void free(void* address) const { std::free(address); }
    template <class F>
    bool atomically(F&& f) const {
        f();
        return true;
    }
};

}  // namespace

int main(int count, char** arguments) {
    return holdfast::bench::serve_transactions(plain_access(), {arguments, arguments + count});
}

// A shared object that used pools is unloaded: the program's pools go on, and the process ends as ever.
#include <holdfast/handle/entry_points_test.hpp>

#include <dlfcn.h>

namespace holdfast::test {
namespace {

using world = pool_world<redo, false>;

/// The module, until `unload`.
struct module {
    void* handle = ::dlopen(HOLDFAST_MODULE, RTLD_NOW | RTLD_LOCAL);
    module() {
        if (handle == nullptr) ADD_FAILURE() << ::dlerror();
    }
    template <class F>
    F* function(const char* name) const {
        return reinterpret_cast<F*>(::dlsym(handle, name));
    }
    bool unload() { return ::dlclose(handle) == 0; }
};
using use_program = bool(void*);
using use_module = bool(const char*, std::uint64_t, bool);
using leak_module = bool(const char*, std::uint64_t);

constexpr std::uint64_t module_base = HOLDFAST_TEST_BASE_ADDRESS + (std::uint64_t{8} << 31);

/// The whole of a program's life, its end by exit() included; 0 when all went well.
template <class Body>
int lives_and_exits(Body&& body) {
    return said_by_process([&] {
        if (!body()) return 1;
        std::exit(0);
    });
}

bool goes_on(world& w) {
    w.use();
    const auto count = w.pool->root<redo::field<std::int64_t>>("count");
    return count && **count == 1 && w.is_intact();
}

TEST(Unloaded, TheProgramsPoolGoesOnAfterAModuleThatUsedIt) {
    EXPECT_EQ(lives_and_exits([] {
                  world w;
                  module loaded;
                  return loaded.function<use_program>("use_pool_of_program")(&*w.pool) && loaded.unload() && goes_on(w);
              }),
              0);
}

TEST(Unloaded, ThreadsOfTheModulesTimeMayEndAfterIt) {
    EXPECT_EQ(lives_and_exits([] {
                  world w;
                  module loaded;
                  std::atomic<int> step{0};
                  bool used = false;
                  std::thread other([&] {
                      const std::string path = w.scratch.file("module");
                      used = loaded.function<use_module>("use_pool_of_module")(path.c_str(), module_base, true);
                      step = 1;
                      step.notify_all();
                      step.wait(1);
                  });
                  step.wait(0);
                  const bool counted = loaded.function<use_program>("use_pool_of_program")(&*w.pool);
                  const bool unloaded = loaded.unload();
                  step = 2;
                  step.notify_all();
                  other.join();
                  return used && counted && unloaded && goes_on(w);
              }),
              0);
}

TEST(Unloaded, APoolThatTheModuleNeverClosedDoesNotHarmTheProgramsEnd) {
    for (const bool unloads : {true, false})
        for (const bool leaks : {true, false})
            EXPECT_EQ(lives_and_exits([&] {
                          world w;
                          module loaded;
                          const std::string path = w.scratch.file("module");
                          const auto leak = loaded.function<leak_module>("leak_pool_of_module");
                          const auto use = loaded.function<use_module>("use_pool_of_module");
                          const bool used = leaks ? leak(path.c_str(), module_base)
                                                  : use(path.c_str(), module_base, false);
                          const bool counted = loaded.function<use_program>("use_pool_of_program")(&*w.pool);
                          return used && counted && (!unloads || loaded.unload()) && goes_on(w);
                      }),
                      0)
                << (unloads ? "unloaded" : "kept") << (leaks ? ", leaked" : ", static");
}

}  // namespace
}  // namespace holdfast::test

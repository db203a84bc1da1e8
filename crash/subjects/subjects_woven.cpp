#include <crash/subjects/lines_subject.hpp>
#include <crash/subjects/subjects_lines.hpp>
#include <crash/subjects/woven_workloads.hpp>

#include <cstddef>

// Each way of compiling has a namespace of its own: the sources are compiled with `workload` as that name.
#define HOLDFAST_WOVEN_WAYS(X) X(gxx_O0) X(gxx_O1) X(gxx_O2) X(gxx_O3) X(clangxx_O2)

#define HOLDFAST_WOVEN_DECLARED(way)                                                         \
    namespace holdfast::workload_##way {                                                     \
    void woven_buffer_reset(void* line);                                                     \
    void woven_buffer_add(void* line, char byte);                                            \
    char woven_buffer_get(void* line);                                                       \
    void woven_buffer_fill(void* line, const char* from, std::size_t count);                 \
    void woven_buffer_drain(void* line, char* to, std::size_t count);                        \
    }                                                                                        \
    namespace holdfast::crash {                                                              \
    namespace {                                                                              \
    struct way {                                                                             \
        static constexpr woven_functions functions{                                          \
            "buffer_" #way,                     &workload_##way::woven_buffer_reset,         \
            &workload_##way::woven_buffer_add,  &workload_##way::woven_buffer_get,           \
            &workload_##way::woven_buffer_fill, &workload_##way::woven_buffer_drain};        \
    };                                                                                       \
    }                                                                                        \
    }
HOLDFAST_WOVEN_WAYS(HOLDFAST_WOVEN_DECLARED)

namespace holdfast::crash {

void add_woven_subjects(std::vector<std::unique_ptr<subject>>& all) {
#define HOLDFAST_WOVEN_ADDED(way) all.push_back(std::make_unique<lines_subject<woven_buffer<way>>>());
    HOLDFAST_WOVEN_WAYS(HOLDFAST_WOVEN_ADDED)
}

}  // namespace holdfast::crash

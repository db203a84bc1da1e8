#include <sim/front/operation.hpp>

namespace holdfast::sim {

operation_class class_of(operation_code code) noexcept {
    static constexpr operation_class classes[] = {
#define HOLDFAST_SIM_CLASS(name, group) operation_class::group,
        HOLDFAST_SIM_FOR_EACH_OPERATION(HOLDFAST_SIM_CLASS)
#undef HOLDFAST_SIM_CLASS
    };
    return classes[static_cast<unsigned>(code)];
}

const char* name_of(operation_code code) noexcept {
    static constexpr const char* names[] = {
#define HOLDFAST_SIM_NAME(name, group) #name,
        HOLDFAST_SIM_FOR_EACH_OPERATION(HOLDFAST_SIM_NAME)
#undef HOLDFAST_SIM_NAME
    };
    return names[static_cast<unsigned>(code)];
}

}  // namespace holdfast::sim

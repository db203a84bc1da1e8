#include <sim/front/operation.hpp>

namespace holdfast::sim {

const char* name_of(operation_code code) noexcept {
    static constexpr const char* names[] = {
#define HOLDFAST_SIM_NAME(name, group) #name,
        HOLDFAST_SIM_FOR_EACH_OPERATION(HOLDFAST_SIM_NAME)
#undef HOLDFAST_SIM_NAME
    };
    return names[static_cast<unsigned>(code)];
}

}  // namespace holdfast::sim

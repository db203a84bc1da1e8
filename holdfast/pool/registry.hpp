// The pools open in this process, by address.
#pragma once

#include <holdfast/pool/open_pool.hpp>

namespace holdfast {

void register_pool(open_pool& pool);
void unregister_pool(open_pool& pool) noexcept;

}  // namespace holdfast

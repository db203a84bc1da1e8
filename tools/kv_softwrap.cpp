#include "kv_engine.hpp"

#include <holdfast/engine/softwrap.hpp>

namespace holdfast::tools {

template std::unique_ptr<kv_store> open_kv<softwrap>(const std::string&, const open_options&);
template std::unique_ptr<kv_store> create_kv<softwrap>(const std::string&, const create_options&);
template kv_findings check_kv_of<softwrap>(const open_pool&, const std::vector<root_listing>&);
template void visit_kv_of<softwrap>(const open_pool&, const std::vector<root_listing>&,
                                const std::function<void(std::string_view, std::string_view)>&);

}  // namespace holdfast::tools

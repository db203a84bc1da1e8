#include <crash/options.hpp>

#include <tools/streams.hpp>

#include <fmt/core.h>

#include <fstream>

namespace holdfast::crash {

bool write_file(const std::string& path, const std::string& text) {
    if (path.empty()) return true;
    std::ofstream file(path);
    file << text;
    file.close();
    if (!file) tools::complain(fmt::format("holdfast crash: {} cannot be written\n", path));
    return !file.fail();
}

bool is_wanted(const options& wanted, const model& how) {
    if (how.is_saved && wanted.lives > 1) return false;
    return (wanted.model.empty() || how.name == wanted.model) && (!wanted.widest || how.within.empty());
}

bool is_wanted(const options& wanted, const subject& what) {
    if (!wanted.engine.empty() && what.engine() != wanted.engine) return false;
    if (!wanted.workload.empty()) return what.name() == wanted.workload;
    return !what.is_program() && (wanted.mutants || (wanted.lives == 1 ? !what.is_for_lives() : what.has_lives()));
}

void show(const std::string& text) {
    tools::show(text);
    tools::flush_output();
}

}  // namespace holdfast::crash

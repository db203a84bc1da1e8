// Bare lines that stand for NVRAM.
#pragma once

#include <holdfast/persist/file.hpp>
#include <holdfast/persist/seam.hpp>
#include <holdfast/persist/storage.hpp>

#include <cstddef>
#include <optional>
#include <string>

namespace holdfast::bench {

/// Memory of an unnamed file in `directory`, on tmpfs that is taken for NVRAM, populated. Throws failure.
class nvram {
public:
    nvram(const std::string& directory, std::size_t bytes) {
        constexpr std::size_t page = 4096;
        bytes = (bytes + page - 1) / page * page;
        auto file = persist::file::create_unnamed(directory).value();
        file.allocate(bytes).value();
        map_.emplace(persist::mapping::map(file, 0, bytes, bytes, persist::mapping::kind::shared).value());
        map_->populate().value();
        persist::discovery where;
        where.tmpfs_is_nvram = true;
        path_ = persist::discover(directory, where).value().lines(0);
    }

    std::byte* data() const noexcept { return map_->data(); }
    const persist::line_path& path() const noexcept { return path_; }

private:
    std::optional<persist::mapping> map_;
    persist::line_path path_;
};

}  // namespace holdfast::bench

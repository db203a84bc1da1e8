#include <sim/memory/memory_image.hpp>

#include <algorithm>

namespace holdfast::sim {

memory_image::page& memory_image::find_or_make(address at) {
    const std::uint64_t begin = at.value / region_bytes * region_bytes;
    auto found = std::find_if(regions_.begin(), regions_.end(),
                              [&](const region& each) { return each.begin == begin; });
    if (found == regions_.end()) {
        regions_.push_back({begin, {}});
        found = regions_.end() - 1;
        found->pages.resize(region_bytes / page_bytes);
    }
    std::unique_ptr<page>& wanted = found->pages[(at.value - begin) / page_bytes];
    if (!wanted) {
        wanted = std::make_unique<page>();
        ++pages_;
    }
    return *wanted;
}

void memory_image::read(address line, line_data& into) const {
    if (const page* const found = find(line)) {
        std::memcpy(into.data(), found->data() + line.value % page_bytes, line_bytes);
    } else {
        into.fill(std::byte{0});
    }
}

void memory_image::write(const line_write& what) {
    std::byte* const target = find_or_make(what.line).data() + what.line.value % page_bytes;
    if (what.mask.is_all()) {
        std::memcpy(target, what.bytes.data(), line_bytes);
        return;
    }
    line_data line;
    std::memcpy(line.data(), target, line_bytes);
    what.apply_to(line);
    std::memcpy(target, line.data(), line_bytes);
}

void memory_image::read_bytes(address from, std::span<std::byte> into) const {
    while (!into.empty()) {
        const std::uint64_t inside = from.value % page_bytes;
        const std::size_t count = std::min<std::size_t>(into.size(), page_bytes - inside);
        if (const page* const found = find(from)) {
            std::memcpy(into.data(), found->data() + inside, count);
        } else {
            std::memset(into.data(), 0, count);
        }
        into = into.subspan(count);
        from = from + count;
    }
}

void memory_image::write_bytes(address to, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const std::uint64_t inside = to.value % page_bytes;
        const std::size_t count = std::min<std::size_t>(bytes.size(), page_bytes - inside);
        std::memcpy(find_or_make(to).data() + inside, bytes.data(), count);
        bytes = bytes.subspan(count);
        to = to + count;
    }
}

}  // namespace holdfast::sim

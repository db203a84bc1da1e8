#include <crash/explore/coverage.hpp>

namespace holdfast::crash {
namespace {

std::string_view kind_name(event_kind kind) {
    switch (kind) {
        case event_kind::stream: return "stream";
        case event_kind::write_back: return "write-back";
        case event_kind::fence: return "fence";
        case event_kind::order: return "order";
        case event_kind::file_range_sync: return "durable write";
        case event_kind::file_sync: return "sync";
        default: return "directory's sync";
    }
}

}  // namespace

std::string call_name(const event& each) {
    std::string name(kind_name(each.kind));
    if (each.kind != event_kind::directory_sync)
        name.append(" ").append(name_of(each.where.value_or(persist::site_id{})));
    return name;
}

std::map<std::string, coverage::crashes> coverage::by_name() const {
    std::map<std::string, crashes> named;
    for (const auto& [call, counts] : calls_) named[call_name({call.first, call.second})] = counts;
    return named;
}

void coverage::add(const coverage& other) {
    for (const auto& [call, counts] : other.calls_) {
        crashes& sum = calls_[call];
        sum.before += counts.before;
        sum.after += counts.after;
    }
}

}  // namespace holdfast::crash

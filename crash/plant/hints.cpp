#include <crash/plant/hints.hpp>

#include <array>
#include <set>
#include <utility>

namespace holdfast::crash {
namespace {

class usage_counter {
public:
    explicit usage_counter(site_usage& to) : to_(to) {}

    void apply(const event& next, bool counts) {
        counts_ = counts;
        switch (next.kind) {
            case event_kind::store: stored_.insert(next.place / 8); break;
            case event_kind::stream: has_work_[next.thread] = true; break;
            case event_kind::write_back: write_back(next); break;
            case event_kind::fence:
                count(next, !has_work_[next.thread], waste::empty_fence);
                complete(next.thread);
                break;
            case event_kind::file_word:
            case event_kind::file_resize: written_ = true; break;
            case event_kind::file_publish: published_ = true; break;
            case event_kind::file_range_sync: count(next, !written_, waste::empty_sync); break;
            case event_kind::file_sync:
                count(next, !std::exchange(written_, false) && stored_.empty() && !has_work_[next.thread],
                      waste::empty_sync);
                stored_.clear();
                complete(next.thread);
                break;
            case event_kind::directory_sync:
                count(next, !std::exchange(published_, false), waste::empty_sync);
                break;
            case event_kind::order:
            case event_kind::file_write:
            case event_kind::operation_begins:
            case event_kind::operation_done: break;
        }
    }

private:
    void write_back(const event& next) {
        has_work_[next.thread] = true;
        for (std::uint64_t line = next.place; line < next.place + next.value; ++line) {
            const bool was_stored = stored_.erase(line) != 0;
            const bool again = !sent_[next.thread].insert(line).second;
            count(next, again || !was_stored, again ? waste::line_twice : waste::clean_line);
        }
    }
    void complete(std::uint8_t thread) {
        has_work_[thread] = false;
        sent_[thread].clear();
    }
    void count(const event& next, bool is_superfluous, waste what) {
        if (!counts_ || !next.where) return;
        usage& of = to_[{*next.where, next.kind}];
        ++of.calls;
        if (is_superfluous) ++of.superfluous[what];
    }

    site_usage& to_;
    bool counts_ = false;
    std::set<std::uint64_t> stored_;  ///< lines with a store since their last write-back
    std::array<std::set<std::uint64_t>, threads_at_most> sent_;  ///< lines written back since the thread's last fence
    std::array<bool, threads_at_most> has_work_{};
    bool written_ = false;
    bool published_ = false;
};

}  // namespace

std::string_view words_for(waste what) {
    switch (what) {
        case waste::clean_line: return "of lines without a new store";
        case waste::line_twice: return "of lines already written back for this fence";
        case waste::empty_fence: return "with nothing to order";
        case waste::empty_sync: return "with nothing written";
    }
    return "";
}

void count_usage(const trace& recorded, std::size_t first, site_usage& to) {
    usage_counter counter(to);
    for (std::size_t i = 0; i < recorded.events.size(); ++i) counter.apply(recorded.events[i], i >= first);
}

}  // namespace holdfast::crash

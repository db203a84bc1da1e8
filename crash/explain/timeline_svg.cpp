#include <crash/explain/timeline_svg.hpp>

#include <crash/explain/svg.hpp>

#include <tools/html.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

namespace holdfast::crash {
namespace {

using tools::escaped;

constexpr double gutter = 178, lane_height = 32, top = 58, cell_area = 112, label_area = 142, page_width = 1130;
constexpr std::size_t lanes_at_most = 10;
constexpr std::size_t columns_at_most = 44;

/// What stands in one column: an event, several like it, or a read of recovery.
struct item {
    const event* what = nullptr;
    std::size_t index = 0;
    std::size_t count = 1;
    const decisive_read* read = nullptr;
    double x = 0;
};

struct lane {
    std::uint64_t granule = 0;
    std::string name;
    std::string note;
    double y = 0;
};

bool is_store(event_kind kind) {
    return kind == event_kind::store || kind == event_kind::stream || kind == event_kind::file_word;
}

bool is_bracket(event_kind kind) {
    return kind == event_kind::operation_begins || kind == event_kind::operation_done;
}

class timeline {
public:
    timeline(const story& told, const model& how)
        : told_(told), how_(how), at_(told.account.traces.back()), events_(at_.recorded.events) {
        for (const lost_store& each : told.why.lost) lost_things_.insert(each.of);
        find_lost_events();
        choose_lanes();
        lay_out();
    }

    std::string svg() {
        draw_frame();
        draw_operations();
        draw_durability();
        for (const item& each : program_) draw_event(each, false);
        draw_cut();
        draw_medium();
        for (const item& each : recovery_) each.read != nullptr ? draw_read(each) : draw_event(each, true);
        draw_labels(program_);
        draw_labels(recovery_);
        return fmt::format("<svg class='timeline' viewBox='0 0 {0:.0f} {1:.0f}' width='{0:.0f}' role='img' "
                           "xmlns='http://www.w3.org/2000/svg'>\n{2}</svg>\n",
                           width_, bottom_ + label_area, body_);
    }

private:
    void find_lost_events() {
        for (const lost_store& each : told_.why.lost) {
            lost_events_.insert(each.events.begin(), each.events.end());
            if (!each.only_may_be) crossed_events_.insert(each.events.begin(), each.events.end());
        }
    }

    void choose_lanes() {
        std::vector<std::uint64_t> wanted;
        const auto add = [&](std::uint64_t granule) {
            if (std::find(wanted.begin(), wanted.end(), granule) == wanted.end() && wanted.size() < lanes_at_most)
                wanted.push_back(granule);
        };
        for (const uncertain_thing& each : lost_things_)
            if (each.kind == question::about::contents) add(each.granule);
        if (told_.why.too_early && is_store(events_[*told_.why.too_early].kind))
            add(events_[*told_.why.too_early].place / how_.granule_words);
        for (const decisive_read& each : told_.account.reads)
            if (each.of.kind == question::about::contents) add(each.of.granule);
        std::sort(wanted.begin(), wanted.end());
        for (const std::uint64_t granule : wanted) add_lane(granule);
    }

    void add_lane(std::uint64_t granule) {
        lane made{granule, fmt::format("{} {}", how_.granule_words == 8 ? "cache line" : "sector", granule),
                  fmt::format("0x{:x}", granule * how_.granule_words * 8), 0};
        std::set<std::string_view> sites;
        for (std::size_t i = 0; i < at_.event; ++i)
            if (is_store(events_[i].kind) && events_[i].where && events_[i].place / how_.granule_words == granule)
                sites.insert(name_of(*events_[i].where));
        for (const std::string_view each : sites)
            if (made.note.size() + each.size() < 28) made.note += fmt::format(" {}", each);
        made.y = top + 14 + static_cast<double>(lanes_.size()) * lane_height;
        lane_of_[granule] = lanes_.size();
        lanes_.push_back(std::move(made));
    }

    /// The lanes of an event: those of its lines that have one; empty: it goes to the others.
    std::vector<double> rows_of(const event& each) const {
        std::vector<double> rows;
        if (is_store(each.kind)) {
            const auto found = lane_of_.find(each.place / how_.granule_words);
            if (found != lane_of_.end()) rows.push_back(lanes_[found->second].y);
        }
        if (each.kind == event_kind::write_back)
            for (const lane& one : lanes_)
                if (one.granule * how_.granule_words / 8 - each.place < each.value) rows.push_back(one.y);
        return rows;
    }
    static bool has_rows(event_kind kind) { return is_store(kind) || kind == event_kind::write_back; }

    void add_item(std::vector<item>& to, const event& each, std::size_t index) const {
        // The end of a file write and an operation's brackets need no column of their own.
        if (each.kind == event_kind::file_write) return;
        const bool folds = has_rows(each.kind) && rows_of(each).empty();
        if (folds && !to.empty() && to.back().what != nullptr && to.back().what->kind == each.kind &&
            to.back().what->where == each.where && rows_of(*to.back().what).empty()) {
            ++to.back().count;
            return;
        }
        to.push_back({&each, index, 1, nullptr, 0});
    }

    void lay_out() {
        std::size_t first = at_.event;
        for (const std::size_t each : lost_events_) first = std::min(first, each);
        for (std::size_t i = 0; i < at_.event; ++i)
            if (is_store(events_[i].kind) && !rows_of(events_[i]).empty()) first = std::min(first, i);
        while (first > 0 && (first == events_.size() || events_[first].kind != event_kind::operation_begins)) --first;
        first_event_ = first;
        for (std::size_t i = first; i < at_.event; ++i) add_item(program_, events_[i], i);
        if (program_.size() > columns_at_most) merge_alike();
        if (program_.size() > columns_at_most)
            program_.erase(program_.begin(), program_.end() - static_cast<std::ptrdiff_t>(columns_at_most));
        const auto& did = told_.account.recovery.events;
        std::size_t next_read = 0;
        const auto& reads = told_.account.reads;
        for (std::size_t i = 0; i <= did.size(); ++i) {
            for (; next_read < reads.size() && reads[next_read].when <= i; ++next_read)
                add_read(reads[next_read]);
            if (i < did.size()) add_item(recovery_, did[i], i);
        }
        if (recovery_.size() > columns_at_most) recovery_.resize(columns_at_most);
        place_columns();
    }

    bool are_alike(const item& a, const item& b) const {
        return has_rows(a.what->kind) && a.what->kind == b.what->kind && a.what->where == b.what->where &&
               rows_of(*a.what) == rows_of(*b.what) &&
               lost_events_.contains(a.index) == lost_events_.contains(b.index);
    }
    /// Where there is too much to show, neighbours of one line, site and fate share a column.
    void merge_alike() {
        std::vector<item> merged;
        for (const item& each : program_) {
            if (!merged.empty() && are_alike(merged.back(), each)) {
                merged.back().count += each.count;
            } else {
                merged.push_back(each);
            }
        }
        program_ = std::move(merged);
    }

    /// Reads that follow each other on one line with the same answer are one mark.
    void add_read(const decisive_read& each) {
        if (!recovery_.empty() && recovery_.back().read != nullptr) {
            const decisive_read& last = *recovery_.back().read;
            if (last.of.granule == each.of.granule && last.of.kind == each.of.kind &&
                (last.answer == last.newest) == (each.answer == each.newest) &&
                last.is_of_check == each.is_of_check) {
                ++recovery_.back().count;
                return;
            }
        }
        recovery_.push_back({nullptr, 0, 1, &each, 0});
    }

    void place_columns() {
        const auto columns = static_cast<double>(program_.size() + recovery_.size());
        const double column_width = std::clamp((page_width - gutter - cell_area - 90) / (columns + 1), 15.0, 26.0);
        double x = gutter + column_width;
        for (item& each : program_) each.x = std::exchange(x, x + column_width);
        cut_ = x + 4;
        cells_ = cut_ + 16;
        x = cells_ + cell_area + 20;
        recovery_x_ = x - 8;
        for (item& each : recovery_) each.x = std::exchange(x, x + column_width);
        width_ = std::max(x + 10, recovery_x_ + 175);
        const auto is_one = [&](const item& each) { return is_other(each); };
        has_others_ = std::any_of(program_.begin(), program_.end(), is_one) ||
                      std::any_of(recovery_.begin(), recovery_.end(), is_one);
        others_y_ = top + 14 + static_cast<double>(lanes_.size()) * lane_height;
        bottom_ = others_y_ + (has_others_ ? lane_height : 0) - lane_height / 2 + 4;
    }
    bool is_other(const item& each) const {
        return each.what != nullptr && has_rows(each.what->kind) && rows_of(*each.what).empty();
    }

    double x_of(std::size_t event, double otherwise) const {
        double x = otherwise;
        for (const item& each : program_)
            if (each.index <= event) x = each.x;
        return x;
    }

    void draw_frame() {
        for (const lane& each : lanes_) {
            body_ += line(gutter, each.y, width_ - 6, each.y, "lane");
            body_ += text(gutter - 8, each.y - 1, "name", each.name);
            body_ += text(gutter - 8, each.y + 10, "note", each.note);
        }
        if (!has_others_) return;
        body_ += line(gutter, others_y_, width_ - 6, others_y_, "lane");
        body_ += text(gutter - 8, others_y_ + 3, "note", "other lines");
    }

    void draw_operations() {
        body_ += text(gutter, 14, "heading",
                      told_.account.traces.size() > 1 ? "What the recovery before did" : "What the program did");
        body_ += text(recovery_x_, 14, "heading", "What recovery saw and did");
        body_ += text(cells_ - 2, 14, "heading", "The medium held");
        std::map<unsigned, std::size_t> number;
        std::map<unsigned, std::size_t> begun;
        for (std::size_t i = 0; i < at_.event; ++i) {
            const event& each = events_[i];
            if (each.kind == event_kind::operation_begins) begun[each.thread] = i;
            if (each.kind != event_kind::operation_done) continue;
            draw_operation(number[each.thread]++, begun[each.thread], i, each.thread, true);
            begun.erase(each.thread);
        }
        for (const auto& [thread, from] : begun) draw_operation(number[thread], from, at_.event, thread, false);
    }
    void draw_operation(std::size_t number, std::size_t from, std::size_t to, unsigned thread, bool done) {
        if (to < first_event_ || program_.empty()) return;
        const double x1 = x_of(from, program_.front().x) - 7;
        const double x2 = done ? x_of(to, cut_) + 7 : cut_;
        const double y = 32 + 5.0 * thread;
        body_ += line(x1, y, x2, y, fmt::format("operation thread{}{}", thread, done ? "" : " open"));
        body_ += line(x1, y - 4, x1, y + 4, fmt::format("operation thread{}", thread));
        if (done) body_ += line(x2, y - 4, x2, y + 4, fmt::format("operation thread{}", thread));
        // A workload may make a pool and close it besides: then which operation is which is not known.
        const auto is_begin = [](const event& each) {
            return each.kind == event_kind::operation_begins && each.thread < thread_afterwards;
        };
        const auto begun = static_cast<std::size_t>(std::count_if(events_.begin(), events_.end(), is_begin));
        const bool known = thread < thread_afterwards && begun == told_.operations.size();
        std::string label = known ? told_.operations[number] : "operation " + std::to_string(number + 1);
        if (const std::string more = done ? ", acknowledged" : ", under way";
            static_cast<double>(label.size() + more.size()) * 5.6 < x2 - x1)
            label += more;
        const auto fits = static_cast<std::size_t>(std::max(x2 - x1, 0.0) / 5.6);
        body_ += fmt::format("<g><title>{}</title>{}</g>\n", escaped(label),
                             text(x1 + 2, y - 5, "small", label.substr(0, fits)));
    }

    /// From each store to where it was certain to be durable.
    void draw_durability() {
        std::string above;
        for (const item& each : program_) {
            if (!is_store(each.what->kind)) continue;
            for (const double y : rows_of(*each.what)) {
                const std::size_t durable = durable_at(each.index);
                const double end = durable < at_.event ? x_of(durable, each.x) : cut_;
                if (durable == each.index) continue;
                if (lost_events_.contains(each.index)) {
                    above += line(each.x, y, end, y, "span lost");
                } else {
                    body_ += line(each.x, y, end, y, durable < at_.event ? "span" : "span maybe");
                }
            }
        }
        body_ += above;
        for (const lost_store& each : told_.why.lost)
            for (const double y : rows_of(events_[each.event]))
                body_ += text(cut_ - 6, y - 9, "lack", words_for(each.lacked));
    }
    std::size_t durable_at(std::size_t store) const {
        const event& of = events_[store];
        bool written_back = of.kind == event_kind::stream || of.kind == event_kind::file_word;
        if (of.kind == event_kind::file_word ? how_.writes_are_durable
            : of.kind == event_kind::stream ? how_.streams_are_durable : how_.stores_are_durable)
            return store;
        for (std::size_t i = store + 1; i < at_.event; ++i) {
            const event& each = events_[i];
            if (each.kind == event_kind::file_sync) return i;
            if (each.kind == event_kind::file_range_sync && of.kind == event_kind::file_word &&
                of.place - each.place < each.value)
                return i;
            if (each.kind == event_kind::write_back && of.place / 8 - each.place < each.value) written_back = true;
            if (each.kind == event_kind::fence && of.kind != event_kind::file_word && written_back &&
                each.thread == of.thread)
                return i;
        }
        return at_.event;
    }

    std::string title_of(const event& each, std::size_t index, std::size_t count) const {
        std::string all = fmt::format("event {}: {}", index, word_for(each.kind));
        if (is_store(each.kind)) all += fmt::format(" 0x{:x} = 0x{:x}", each.place * 8, each.value);
        if (each.kind == event_kind::write_back) all += fmt::format(" of {} line(s) from {}", each.value, each.place);
        if (each.kind == event_kind::file_resize) all += fmt::format(" to {} bytes", each.value);
        if (count > 1) all += fmt::format(", and {} like it", count - 1);
        if (each.where) all += fmt::format("\n{}", name_of(*each.where));
        for (const source_line& from : told_.lines.lines_of(each))
            all += fmt::format("\n{} {}", from.text(), from.function);
        return all;
    }

    void draw_event(const item& each, bool is_recovery) {
        const event& what = *each.what;
        const std::string title = title_of(what, each.index, each.count);
        if (is_bracket(what.kind)) return;
        if (!has_rows(what.kind)) {
            const auto style = what.kind == event_kind::fence ? "fence" : "sync";
            body_ += fmt::format("<g>{}<title>{}</title></g>\n", line(each.x, top - 10, each.x, bottom_, style),
                                 escaped(title));
            return;
        }
        const bool lost = !is_recovery && lost_events_.contains(each.index);
        const std::string style = lost ? "mark lost" : fmt::format("mark thread{}", what.thread);
        auto rows = rows_of(what);
        const bool other = rows.empty();
        if (other) rows.push_back(others_y_);
        for (const double y : rows) {
            // A store to a file's private mapping is not on its way to the medium.
            const bool is_pale = other || (how_.is_file && what.kind == event_kind::store);
            body_ += mark(what.kind, each.x, y, style + (is_pale ? " folded" : ""), title);
            if (lost && crossed_events_.contains(each.index))
                body_ += line(each.x - 7, y - 7, each.x + 7, y + 7, "cross");
        }
        if (each.count > 1) body_ += text(each.x, rows.front() - 9, "count", fmt::format("{}×", each.count));
    }

    void draw_read(const item& each) {
        const decisive_read& read = *each.read;
        const auto found = lane_of_.find(read.of.granule);
        const bool in_lane = read.of.kind == question::about::contents && found != lane_of_.end();
        const double y = in_lane ? lanes_[found->second].y : has_others_ ? others_y_ : top;
        std::string title = read.of.kind == question::about::file_bytes ? "the file's size"
                            : read.of.kind == question::about::file_name
                                ? "the file's name"
                                : fmt::format("read of 0x{:x} to 0x{:x}", read.offset, read.end);
        const bool newest = read.answer == read.newest;
        title += fmt::format("{}: {}, one of {} possible answers", read.is_of_check ? " by a check" : "",
                             newest ? "what was stored last" : "something older", read.answers);
        if (each.count > 1) title += fmt::format("; {} such reads", each.count);
        for (const source_line& from : told_.lines.lines_of(nullptr, read.stack))
            title += fmt::format("\n{} {}", from.text(), from.function);
        body_ += fmt::format("<circle cx='{:.1f}' cy='{:.1f}' r='6' class='read {}'><title>{}</title></circle>\n",
                             each.x, y, newest ? "kept" : "lost", escaped(title));
    }

    void draw_cut() {
        body_ += line(cut_, 20, cut_, bottom_ + 4, "cut");
        body_ += text(cut_, bottom_ + 18, "cutname", "cut");
    }

    void draw_medium() {
        for (const lane& each : lanes_) {
            const auto words = how_.granule_words;
            const double width = cell_area / words;
            for (unsigned i = 0; i < words; ++i) {
                const std::uint64_t word = each.granule * words + i;
                const auto [state, value] = state_of(word);
                body_ += fmt::format(
                    "<rect x='{:.2f}' y='{:.1f}' width='{:.2f}' height='16' class='cell {}'><title>0x{:x}: {}\n"
                    "the medium holds 0x{:x}, the program stored 0x{:x}</title></rect>\n",
                    cells_ + i * width, each.y - 8, width - (words == 8 ? 1.5 : 0.3), state, word * 8,
                    state == "lost" ? "lost" : state == "kept" ? "survived" : "durable or untouched", value,
                    told_.account.visible[word]);
            }
        }
    }
    /// What the image holds of a word, and whether that is what was stored last.
    std::pair<std::string, std::uint64_t> state_of(std::uint64_t word) const {
        for (const unit& each : told_.account.units) {
            const std::uint64_t bit = std::uint64_t{1} << (word % how_.granule_words);
            if (each.granule != word / how_.granule_words || (each.mask & bit) == 0) continue;
            const auto& versions = told_.account.verdict.versions;
            const auto found = versions.find({question::about::contents, each.granule, each.mask});
            if (found == versions.end()) return {"unread", told_.account.visible[word]};
            const auto index = static_cast<std::size_t>(__builtin_popcountll(each.mask & (bit - 1)));
            const std::uint64_t value = each.versions[found->second * each.words() + index];
            if (value != told_.account.visible[word]) return {"lost", value};
            return {value == each.versions[index] ? "certain" : "kept", value};
        }
        return {"certain", told_.account.visible[word]};
    }

    void draw_labels(const std::vector<item>& items) {
        std::string last;
        for (const item& each : items) {
            std::string label;
            if (each.read != nullptr) {
                label = each.read->is_of_check ? "checks read" : "recovery reads";
            } else if (each.what->where) {
                label = name_of(*each.what->where);
            } else if (!is_bracket(each.what->kind)) {
                label = word_for(each.what->kind);
            }
            if (label != last && !label.empty())
                body_ += text(each.x + 4, bottom_ + 12, "site", label,
                              fmt::format(" transform='rotate(-50 {:.1f} {:.1f})'", each.x + 4, bottom_ + 12));
            last = label;
        }
    }

    const story& told_;
    const model& how_;
    const cut_trace& at_;
    const std::vector<event>& events_;
    std::set<uncertain_thing> lost_things_;
    std::set<std::size_t> lost_events_;
    std::set<std::size_t> crossed_events_;  ///< of these, those that the image lacks
    std::vector<lane> lanes_;
    std::map<std::uint64_t, std::size_t> lane_of_;
    std::vector<item> program_;
    std::vector<item> recovery_;
    std::size_t first_event_ = 0;
    double cut_ = 0, cells_ = 0, recovery_x_ = 0, width_ = 0, others_y_ = 0, bottom_ = 0;
    bool has_others_ = false;
    std::string body_;
};

}  // namespace

std::string timeline_svg(const story& told, const model& how) { return timeline(told, how).svg(); }

}  // namespace holdfast::crash

#include <crash/explain/report_text.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <set>

namespace holdfast::crash {
namespace {

std::string event_line(const story& told, std::size_t index, const event& each) {
    std::string what{word_for(each.kind)};
    switch (each.kind) {
        case event_kind::store:
        case event_kind::stream:
        case event_kind::file_word: what += fmt::format(" 0x{:x} = 0x{:x}", each.place * 8, each.value); break;
        case event_kind::write_back: what += fmt::format(" line {}", each.place);
            if (each.value > 1) what += fmt::format(" and {} more", each.value - 1);
            break;
        case event_kind::file_resize: what += fmt::format(" to {} bytes", each.value); break;
        default: break;
    }
    return fmt::format("    {:>5}  {:<50} {}\n", index, what,
                       each.where || each.code != nullptr ? place_of(told.lines, each) : "");
}

/// Of the events before the cut those since the last operation began.
std::size_t first_of_interest(const story& told) {
    const cut_trace& at = told.account.traces.back();
    std::size_t first = at.event;
    for (const lost_store& each : told.why.lost) first = std::min(first, each.event);
    while (first > 0 && at.recorded.events[first].kind != event_kind::operation_begins) --first;
    return first;
}

}  // namespace

std::string text_of(const story& told) {
    std::string text;
    const auto add = [&](std::string_view name, std::string_view what) {
        text += fmt::format("  {:<11} {}\n", name, what);
    };
    const auto add_lives = [&] {
        add("operations", words_for_operations(told.operations));
        for (std::size_t i = 0; i < told.lives.size(); ++i)
            add(fmt::format("life {}", i + 2), "recovery, then " + words_for_operations(told.lives[i]));
    };
    if (!told.reproduced) {
        add("not again", "the violation did not show when it was run once more: " + told.wrong);
        add_lives();
        add("replay", "holdfast crash --replay '" + replay_line(told.found) + "'");
        return text + "\n";
    }
    add("violation", told.wrong);
    if (told.smallest.planted) add("planted", told.smallest.planted->name());
    add_lives();
    add("cut", words_for_cut(told));
    for (const lost_store& each : told.why.lost) {
        const event& store = told.account.traces.back().recorded.events[each.event];
        const std::string what = fmt::format("{}: {} {}, {}", name_of_place(store, each), each.events.size(),
                                             each.events.size() == 1 ? "store" : "stores", words_for(each.lacked));
        add(each.only_may_be ? "may be lost" : "lost",
            what + (each.is_decisive ? "; with it the image is right" : ""));
    }
    add("cause", told.sentence);
    add("replay", "holdfast crash --replay '" + replay_line(told.smallest) + "'");
    if (!told.shrunk_to_the_end) add("shrunk", "not to the end: it took too many recoveries");
    if (told.found != told.smallest) add("found as", replay_line(told.found));
    return text + "\n";
}

std::string long_text_of(const story& told) {
    std::string text = text_of(told);
    if (!told.reproduced) return text;
    const cut_trace& at = told.account.traces.back();
    text += "  What happened\n";
    for (std::size_t i = first_of_interest(told); i < at.event; ++i) text += event_line(told, i, at.recorded.events[i]);
    text += "           ---- cut ----\n  What recovery found\n";
    for (const decisive_read& each : told.account.reads) {
        const auto from = told.lines.lines_of(nullptr, each.stack);
        const std::string place = each.of.kind == question::about::file_bytes ? "the file's size"
                                  : each.of.kind == question::about::file_name
                                      ? "the file's name"
                                      : fmt::format("0x{:x} to 0x{:x}", each.offset, each.end);
        text += fmt::format("           {:<50} {}\n",
                            fmt::format("read {}: {} (answer {} of {})", place,
                                        each.answer == each.newest ? "the newest" : "something older",
                                        each.answer + 1, each.answers),
                            from.empty() ? "" : from.front().text());
    }
    text += "  What recovery did\n";
    const auto& did = told.account.recovery.events;
    for (std::size_t i = 0; i < did.size(); ++i) text += event_line(told, i, did[i]);
    return text + "\n";
}

}  // namespace holdfast::crash

#include <crash/explain/story.hpp>

#include <crash/cut/call_stack.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <span>

namespace holdfast::crash {
namespace {

/// "before the operation was acknowledged": what came although the lost store was not durable.
std::string words_for_too_early(const story& of) {
    const cut_trace& at = of.account.traces.back();
    const event& each = at.recorded.events[*of.why.too_early];
    const auto is_it = [&](const lost_store& lost) { return lost.event == *of.why.too_early; };
    if (std::any_of(of.why.lost.begin(), of.why.lost.end(), is_it)) return "before the cut";
    const std::string place = place_of(of.lines, each);
    switch (each.kind) {
        case event_kind::operation_done: return "before its operation was acknowledged";
        case event_kind::operation_begins: return "before the next operation began";
        case event_kind::store:
        case event_kind::stream: return fmt::format("before the store to 0x{:x} ({}), which may be durable at once",
                                                    each.place * 8, place);
        case event_kind::file_word:
        case event_kind::file_write: return fmt::format("before the file was written once more ({})", place);
        case event_kind::file_resize: return "before the file got another size";
        case event_kind::file_publish: return "before the file got its name";
        default: return fmt::format("before the {} {}", word_for(each.kind), place);
    }
}

/// "the store to 0x40 in cache line 1 (redo_home at …)", with those that lacked the same: they share a verb.
std::string words_for_alike(const story& of, std::span<const lost_store> alike) {
    const auto& events = of.account.traces.back().recorded.events;
    const event& first = events[alike.front().event];
    const auto is_same_place = [&](const lost_store& each) {
        return place_of(of.lines, events[each.event]) == place_of(of.lines, first);
    };
    const bool one_place = std::all_of(alike.begin(), alike.end(), is_same_place);
    const std::string_view kind = first.kind == event_kind::stream ? "store" : word_for(first.kind);
    if (alike.front().of.kind != question::about::contents)
        return fmt::format("the {} ({})", word_for(first.kind), place_of(of.lines, first));
    std::string text = fmt::format("the {}{} to ", kind, alike.size() > 1 ? "s" : "");
    for (std::size_t i = 0; i < alike.size(); ++i) {
        const event& each = events[alike[i].event];
        text += fmt::format("{}{}{}", i == 0 ? "" : i + 1 == alike.size() ? " and " : ", ",
                            name_of_place(each, alike[i]),
                            one_place && i + 1 < alike.size() ? "" : " (" + place_of(of.lines, each) + ")");
    }
    return text;
}

std::string words_for_lost(const story& of, std::span<const lost_store> alike) {
    const auto& events = of.account.traces.back().recorded.events;
    const std::string what = words_for_alike(of, alike);
    const std::string was = alike.size() > 1 ? " were " : " was ";
    switch (alike.front().lacked) {
        case lack::write_back: return what + was + "never written back";
        case lack::fence:
            return what + was + "written back (" + place_of(of.lines, events[*alike.front().write_back]) +
                   "), but no fence of that thread followed";
        case lack::stream_fence: return what + was + "streamed, but no fence of that thread followed";
        case lack::file_sync: return what + was + "not followed by a sync of the file";
        case lack::directory_sync: return what + was + "not followed by a sync of its directory";
    }
    return what;
}

std::string sentence_of(const story& of) {
    std::string text;
    const std::span<const lost_store> lost(of.why.lost);
    for (std::size_t i = 0; i < lost.size();) {
        std::size_t end = i + 1;
        while (end < lost.size() && lost[end].lacked == lost[i].lacked && lost[end].of.kind == lost[i].of.kind) ++end;
        text += (text.empty() ? "" : "; ") + words_for_lost(of, lost.subspan(i, end - i));
        i = end;
    }
    if (text.empty()) {
        text = "nothing is lost that was stored before the cut, and yet recovery from it is wrong";
        if (of.why.too_early)
            text += "; it became so with the " +
                    std::string(word_for(of.account.traces.back().recorded.events[*of.why.too_early].kind)) + " " +
                    place_of(of.lines, of.account.traces.back().recorded.events[*of.why.too_early]);
    } else if (of.why.too_early) {
        text += " " + words_for_too_early(of);
    }
    const auto is_decisive = [](const lost_store& each) { return each.is_decisive; };
    if (lost.size() > 1 && std::all_of(lost.begin(), lost.end(), is_decisive))
        text += "; any one of them would do";
    if (std::any_of(lost.begin(), lost.end(), [](const lost_store& each) { return each.only_may_be; }))
        text += "; recovery relies on what may be lost, and is right only by luck";
    text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
    return text + ".";
}

/// What the smallest scenario does, in words.
void add_operations(story& to, const subject& what) {
    for (const unsigned each : to.smallest.operations) to.operations.push_back(what.describe(each));
    for (const cut_point& each : to.smallest.cuts) {
        if (!each.life) continue;
        to.lives.emplace_back();
        for (const unsigned one : *each.life) to.lives.back().push_back(what.describe(one));
    }
}

}  // namespace

std::string words_for_operations(const std::vector<std::string>& operations) {
    std::string text;
    for (const std::string& each : operations) text += (text.empty() ? "" : ", then ") + each;
    return text;
}

std::string words_for_cut(const story& told) {
    std::string text;
    std::size_t depth = 0;
    for (const cut_trace& each : told.account.traces) {
        const bool is_life = depth > 0 && told.smallest.cuts[depth - 1].life.has_value();
        const std::string in_life = fmt::format(", and in life {} before event ", depth + 1);
        text += text.empty() ? "before event " : is_life ? in_life : ", and in the recovery from it before event ";
        ++depth;
        text += fmt::format("{} of {}", each.event, each.recorded.events.size());
        if (each.event == 0) continue;
        const event& last = each.recorded.events[each.event - 1];
        text += fmt::format(", after the {}", word_for(last.kind));
        if (last.where || last.code != nullptr) text += " " + place_of(told.lines, last);
    }
    return text;
}

std::string place_of(const source_lines& lines, const event& each) {
    const auto found = lines.lines_of(each);
    std::string text = each.where ? std::string(name_of(*each.where)) : "";
    if (found.empty()) return text.empty() ? "an unknown line" : text;
    return text + (text.empty() ? "" : " at ") + found.front().text();
}

std::string_view word_for(event_kind kind) {
    switch (kind) {
        case event_kind::store: return "store";
        case event_kind::stream: return "streamed store";
        case event_kind::write_back: return "write-back";
        case event_kind::fence: return "fence";
        case event_kind::order: return "order of stores";
        case event_kind::file_word: return "file write";
        case event_kind::file_write: return "end of a file write";
        case event_kind::file_range_sync: return "sync of a range";
        case event_kind::file_sync: return "sync of the file";
        case event_kind::file_resize: return "resize of the file";
        case event_kind::file_publish: return "naming of the file";
        case event_kind::directory_sync: return "sync of the directory";
        case event_kind::operation_begins: return "beginning of an operation";
        case event_kind::operation_done: return "end of an operation";
    }
    return "event";
}

std::string_view words_for(lack lacked) {
    switch (lacked) {
        case lack::write_back: return "never written back";
        case lack::fence: return "written back, no fence";
        case lack::stream_fence: return "streamed, no fence";
        case lack::file_sync: return "written, no sync";
        case lack::directory_sync: return "named, no sync of the directory";
    }
    return "";
}

std::string name_of_place(const event& each, const lost_store& of) {
    if (of.of.kind == question::about::file_bytes) return "the file's size";
    if (of.of.kind == question::about::file_name) return "the file's name";
    if (each.kind == event_kind::file_word) return fmt::format("0x{:x}", each.place * 8);
    return fmt::format("0x{:x} in cache line {}", each.place * 8, each.place / 8);
}

replayed replay_again(subject& what, const model& how, const scenario& which) {
    std::vector<unsigned> asked = which.operations;
    for (const cut_point& each : which.cuts)
        if (each.life) asked.insert(asked.end(), each.life->begin(), each.life->end());
    for (const unsigned each : asked)
        if (each >= what.universe())
            return {fmt::format("operation {} is asked for, of {}", each, what.universe()), true, {}};
    const call_stacks::noting notes;
    image_runner runner(what, how, which.operations, which.planted, which.schedule);
    const image_verdict verdict = runner.run(which.cuts);
    if (verdict.impossible) return {verdict.impossible, true, {}};
    if (!verdict.wrong || verdict.plans.size() != which.cuts.size()) return {{}, verdict.followed, {}};
    story made;
    made.found = made.smallest = which;
    made.account = runner.account(verdict.plans);
    if (which.planted) static_cast<void>(plant(*which.planted, made.account.recovery));
    made.wrong = *verdict.wrong;
    add_operations(made, what);
    made.why = find_cause(runner, how, made.account);
    for (const cut_trace& each : made.account.traces) made.lines.read(each.recorded);
    made.lines.read(made.account.recovery);
    std::vector<stack_id> stacks;
    for (const decisive_read& each : made.account.reads) stacks.push_back(each.stack);
    made.lines.read(stacks);
    made.sentence = sentence_of(made);
    return {{}, verdict.followed, std::move(made)};
}

story tell_story(subject& what, const model& how, const scenario& found, const std::string& wrong) {
    const shrunk smaller = shrink(what, how, found);
    auto told = smaller.reproduced ? replay_again(what, how, smaller.smallest).told : std::nullopt;
    if (!told) {
        story untold;
        untold.found = untold.smallest = found;
        untold.reproduced = false;
        untold.wrong = wrong;
        add_operations(untold, what);
        return untold;
    }
    told->found = found;
    told->shrunk_to_the_end = smaller.finished;
    return std::move(*told);
}

}  // namespace holdfast::crash

// All that a person wants to know of one violation: shrunk, replayed, explained. Text, JSON and HTML are made of it.
#pragma once

#include <crash/explain/cause.hpp>
#include <crash/explain/shrink.hpp>
#include <crash/record/source_lines.hpp>

#include <optional>
#include <string>
#include <vector>

namespace holdfast::crash {

struct story {
    scenario found;                       ///< as the explorer met it
    scenario smallest;                    ///< what everything below is about
    bool reproduced = true;               ///< it showed when it was run again
    bool shrunk_to_the_end = true;
    std::string wrong;                    ///< what recovery or a check said
    std::vector<std::string> operations;  ///< of the smallest
    std::vector<std::vector<std::string>> lives;  ///< those of each later life, after its recovery
    image_account account;
    cause why;
    source_lines lines;
    std::string sentence;                 ///< the cause, for a person
};

/// Shrinks the violation and finds its cause. `wrong`: what the explorer said of it.
story tell_story(subject& what, const model& how, const scenario& found, const std::string& wrong = {});

/// The result of a replay line.
struct replayed {
    std::optional<std::string> impossible;  ///< why there is no such image
    bool followed = true;                   ///< it is the very image; otherwise one as near to it as there is
    std::optional<story> told;              ///< none: recovery from it is right
};
/// "clear, then close and open".
std::string words_for_operations(const std::vector<std::string>& operations);
replayed replay_again(subject& what, const model& how, const scenario& which);

/// "before event 21 of 40, after the fence log_commit_fence at …", with the recoveries that it is inside of.
std::string words_for_cut(const story& told);
/// "log_record at holdfast/log/lane.cpp:88", as far as either is known.
std::string place_of(const source_lines& lines, const event& each);
/// "write-back", "store", …
std::string_view word_for(event_kind kind);
/// What a lost store lacked, in a few words.
std::string_view words_for(lack lacked);
/// "0x1208 in cache line 72", "0x1208" of a file, "the file's size".
std::string name_of_place(const event& each, const lost_store& of);

}  // namespace holdfast::crash

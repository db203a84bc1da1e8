// One recovery of one image: where it runs, and whether it is right.
#pragma once

#include <crash/cut/image_memory.hpp>
#include <crash/cut/lazy_memory.hpp>
#include <crash/subjects/subject.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace holdfast::crash {

/// Where the subject's images lie. The subject may not record meanwhile.
image_memory memory_for(const subject& what);

/// What `judge` says when recovery went well by luck.
inline constexpr std::string_view right_only_by_chance =
    "what recovery left is right only by chance: it depends on bytes that the cut may have lost";

/// Recovers the image in a run of `memory` and checks the result. Returns what is wrong. The caller closes.
/// `choices_of_recovery`: how many choices the recovery made, before the checks.
std::optional<std::string> judge(subject& what, const lazy_memory& memory, const progress& made,
                                 std::size_t* choices_of_recovery = nullptr);

/// The same for an image with damage.
std::optional<std::string> judge_damaged(subject& what, const lazy_memory& memory, const progress& made);

/// At an acknowledgement: whether all that was promised at level `power` is durable, or in a durable record of the log.
/// Recovery from what is certain must leave what recovery from all that the program did leaves: the same in every
/// byte that somebody owns, whether a check reads it or not. Returns what is wrong, with the places of the stores.
/// `event`: the cut, behind the acknowledgement. Requires: no run under way.
std::optional<std::string> judge_promise(subject& what, lazy_memory& memory, const medium& left, const trace& recorded,
                                         std::size_t event, const progress& made);

/// How its sentences begin.
inline constexpr std::string_view promise_broken = "acknowledged, and not durable: ";

/// Records the recovery from what this medium holds for certain; `killed`: not all of that is durable yet.
/// `life`: what follows it. Requires: no run under way. The caller leaves the recovery.
trace record_recovery(subject& what, lazy_memory& memory, const medium& settled, const progress& made, bool killed,
                      const workload* life = nullptr);

/// What a killed process leaves in the kernel's memory, as a trace in which nothing has happened yet.
trace visible_image(const medium& left);

}  // namespace holdfast::crash

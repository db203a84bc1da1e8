// Why an image is wrong: which stores are missing from it, what each of them lacked to be durable, and what came
// too early therefore. Found by running recovery on the image with each of them in turn, not by guessing.
#pragma once

#include <crash/explain/image_runner.hpp>

#include <cstddef>
#include <optional>
#include <vector>

namespace holdfast::crash {

/// What a lost store lacked.
enum class lack : std::uint8_t {
    write_back,     ///< nobody wrote its line back
    fence,          ///< somebody did, but no fence of that thread followed
    stream_fence,   ///< it was streamed, and no fence followed
    file_sync,      ///< it was written to the file, and no sync followed
    directory_sync, ///< the file's name, likewise
};

struct lost_store {
    uncertain_thing of;
    std::size_t event = 0;             ///< of the innermost trace: the first that the image lacks of that thing
    std::vector<std::size_t> events;   ///< all that it lacks of it
    lack lacked = lack::write_back;
    std::optional<std::size_t> write_back;  ///< the event that wrote it back, where it lacked the fence
    bool is_decisive = false;          ///< with it the image is right
    bool only_may_be = false;          ///< the image has it, but only by luck
};

struct cause {
    std::vector<lost_store> lost;
    /// The event with which this became wrong: an earlier cut that loses the same is right. None: nothing precedes.
    std::optional<std::size_t> too_early;
};

/// Requires: the account is of a shrunk violation, by this runner.
cause find_cause(image_runner& runner, const model& how, const image_account& told);

}  // namespace holdfast::crash

#include <crash/judge.hpp>

#include <holdfast/base/result.hpp>

namespace holdfast::crash {

image_memory memory_for(const subject& what) {
    const std::string path = what.image_path();
    return path.empty() ? image_memory(what.base(), what.size()) : image_memory(path, what.size());
}

std::optional<std::string> judge(subject& what, const lazy_memory& memory, const progress& made,
                                 std::size_t* choices_of_recovery) {
    try {
        if (auto wrong = what.recover(memory)) return wrong;
        const std::size_t recovered = memory.made().size();
        if (choices_of_recovery != nullptr) *choices_of_recovery = recovered;
        if (auto wrong = what.check(made)) return wrong;
        if (memory.made().size() != recovered)
            return std::string(right_only_by_chance);
    } catch (const failure& reason) {
        return "recovery throws: " + reason.reason().text();
    }
    return {};
}

std::optional<std::string> judge_damaged(subject& what, const lazy_memory& memory, const progress& made) {
    try {
        return what.recover_damaged(memory, made);
    } catch (const failure&) {
        return {};  // told, if late
    }
}

trace record_recovery(subject& what, lazy_memory& memory, const medium& settled, const progress& made, bool killed,
                      const workload* life) {
    memory.settle(settled);
    memory.begin(choices{});
    trace recorded = what.enter_recovery(memory, made, killed, life);
    what.close();
    memory.end();
    return recorded;
}

trace visible_image(const medium& left) {
    return {left.visible(), {}, left.sizes().back(), left.may_have_name(), 0};
}

}  // namespace holdfast::crash

// A STAMP program in a dnv pool, every word with its code. Instrumented.
#include <crash/subjects/dnv_pool_subject.hpp>
#include <crash/subjects/dnv_stamp.hpp>
#include <crash/subjects/stamp_recording.hpp>
#include <crash/subjects/subjects_stamp.hpp>

#include <holdfast/dnv/home.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace holdfast::crash {
namespace {

class dnv_stamp_subject final : public program_subject<dnv_pool_subject> {
public:
    using program_subject::program_subject;

    std::string_view name() const override { return "stamp"; }
    bool knows(const model& how) const override { return !how.is_file; }
    std::uint64_t nested_less_often() const override { return 256; }

    trace record(const workload& operations, const model& how, std::size_t) override {
        const closed_afterwards afterwards(*this);
        take(make_pool(how));
        pool().checkpoint().value();
        seam_recorder seen(base(), file_with_room(pool()));
        begins_with(seen, pool());
        return run_.record(operations.front(), kept_in_dnv(), seen, expected_, live_in_dnv,
                           [] { pool().checkpoint().value(); });
    }

private:
    dnv_state look_at(const progress& made) const override {
        dnv_state now;
        const stamp_book::state* const found = run_.found(made, [](std::uintptr_t at) -> std::optional<std::uint64_t> {
            const auto word = dnv::home::look(reinterpret_cast<const stm::word*>(at));
            return word.sound ? std::optional<std::uint64_t>(word.value) : std::nullopt;
        });
        if (found == nullptr) {
            now.wrong = stamp_recording::found_nothing;
        } else {
            now.lists = {{found->number}};
            now.nodes = found->blocks.size();
        }
        return now;
    }

    void go_on(const workload*, seam_recorder&) override {}

    /// The program finishes, and leaves no block.
    std::optional<std::string> wrong_in_use(const progress&) override {
        if (auto wrong = run_.wrong_in_rest(live_in_dnv)) return wrong;
        return wrong_in_dnv_pool({}, {});
    }

    stamp_recording run_;
};

}  // namespace

void add_stamp_of_dnv(std::vector<std::unique_ptr<subject>>& all) {
    all.push_back(std::make_unique<dnv_stamp_subject>(dnv_kind{all_dnv_operations().front()}));
}

}  // namespace holdfast::crash

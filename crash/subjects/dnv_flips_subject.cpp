// A list in a dnv pool that begins with flipped bits. `flips`: a code corrects them, when a block reads the word or the
// scrubber finds it. `damages`: nothing does, and the word is entered in the pool's list of damages. Instrumented.
#include <crash/subjects/dnv_pool_subject.hpp>
#include <crash/subjects/subjects_dnv.hpp>

#include <holdfast/dnv/damage_list.hpp>
#include <holdfast/dnv/home.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <thread>

namespace holdfast::crash {
namespace {

enum class operation : unsigned { replace, try_to_replace, push, scrub };
enum class place : unsigned { node, variable, free_bin, free_block, table };

struct flipping {
    std::string_view name;
    operation does;
    place at;
    ecc::coded_word bits;  ///< that are flipped before
};

constexpr flipping corrected[] = {
    {"replace parts of a flipped node", operation::replace, place::node, {0x0101'0101'0101'0000, 0}},
    {"replace a flipped variable", operation::replace, place::variable, {0, 0x8000'0100'0001'0010}},
    {"push, with a flipped bin", operation::push, place::free_bin, {0x4'0000'0000'0000, 1}},
    {"push to a flipped block", operation::push, place::free_block, {0x700, 0x7'0000'0000'0000}},
    {"scrub a flipped node", operation::scrub, place::node, {1, 0}},
    {"scrub a flipped table of chunks", operation::scrub, place::table, {0x8000'0000'0000'0001, 0x1001'0001}}};
constexpr ecc::coded_word beyond_repair{0x0000'0F0F'0F0F'0000, 0};
constexpr flipping damaging[] = {
    {"replace parts, and supply a word", operation::replace, place::node, beyond_repair},
    {"try to replace parts, and leave", operation::try_to_replace, place::node, beyond_repair},
    {"scrub a damaged node", operation::scrub, place::node, beyond_repair}};

class dnv_flips_subject final : public dnv_pool_subject {
public:
    dnv_flips_subject(const dnv_kind& kind, std::string_view name, std::span<const flipping> all)
        : dnv_pool_subject(kind), name_(name), all_(all) {}

    std::string_view name() const override { return name_; }
    bool knows(const model&) const override { return true; }
    unsigned universe() const override { return static_cast<unsigned>(all_.size()); }
    std::uint64_t images_of_a_cut() const override { return 48; }
    std::uint64_t nested_less_often() const override { return 16; }
    std::string describe(unsigned each) const override { return std::string(all_[each].name); }

    trace record(const workload& operations, const model& how, std::size_t) override {
        const closed_afterwards afterwards(*this);
        flips_.clear();
        listed_after_ = never;
        take(make_pool(how));
        push_some();
        pool().checkpoint().value();
        for (const unsigned each : operations) flip(all_[each]);
        expected_.begin(state_now().all());
        std::vector<std::byte> file = file_with_room(pool());
        // On a file what is mapped is a copy.
        for (const dnv_flip& each : flips_)
            std::memcpy(file.data() + dnv::the_space.offset_of(each.at), &each.flipped, sizeof each.flipped);
        seam_recorder seen(base(), file);
        begins_with(seen, pool());
        for (std::size_t i = 0; i < operations.size(); ++i) {
            if (i + 1 == operations.size()) seen.explore_from_here();
            take_step(all_[operations[i]].does, 100 * (i + 1), seen);
        }
        pool().checkpoint().value();
        return std::move(seen.recorded());
    }

private:
    static constexpr std::size_t never = ~std::size_t{0};

    bool has_damages() const { return all_.data() == damaging; }

    static const stm::word* word_at(place where) {
        constexpr unsigned of_class = dnv::class_for(small_node_bytes);
        const auto value_of = [](const auto* at) {
            return dnv::home::look(reinterpret_cast<const stm::word*>(at)).value;
        };
        const dnv_list& list = *address_of_dnv_list(0);
        const stm::word* free = nullptr;
        for (unsigned heap = 0; heap < dnv::heaps && free == nullptr; ++heap)
            if (value_of(&dnv::the_space.bin_of(heap, of_class).free) != 0)
                free = &dnv::the_space.bin_of(heap, of_class).free;
        switch (where) {
            case place::node: {
                const auto* const first = reinterpret_cast<const dnv_node*>(value_of(&list.head));
                return reinterpret_cast<const stm::word*>(first->payload) + 1;
            }
            case place::variable: return &list.operations;
            case place::free_bin: return free;
            case place::free_block: return reinterpret_cast<const stm::word*>(value_of(free));
            case place::table: return dnv::the_space.staged->chunks;
        }
        return nullptr;
    }
    void flip(const flipping& how) {
        const stm::word* const at = word_at(how.at);
        if (std::ranges::find(flips_, at, &dnv_flip::at) != flips_.end()) return;
        ecc::coded_word* const there = dnv::place_of(at);
        flips_.push_back({at, *there, {there->word ^ how.bits.word, there->code ^ how.bits.code}});
        *there = flips_.back().flipped;
        if (flips_.back().can_be_corrected() == has_damages()) fail(errc::misuse, "it was to be the other kind");
    }

    void go_on(const workload*, seam_recorder& seen) override { take_step(operation::push, 7777, seen); }

    void take_step(operation which, std::uint64_t value, seam_recorder& seen) {
        const contents before = state_now().all();
        // With the word in the list the operation is another one.
        const auto asked = [&](const dnv::damage& found) {
            listed_after_ = std::min(listed_after_, expected_.states());
            seen.operation_done(thread_now());
            add_state(before);
            seen.operation_begins(thread_now());
            return which == operation::replace ? dnv::verdict::supply(right_of(found.address)) : dnv::verdict::leave();
        };
        dnv_on_uncorrectable_in_this_thread(asked);
        step(seen, [&](dnv_model& model) { apply(which, value, model); });
        dnv_on_uncorrectable_in_this_thread(nullptr);
        if (which == operation::scrub) listed_after_ = std::min(listed_after_, expected_.states() - 1);
    }
    void apply(operation which, std::uint64_t value, dnv_model& model) {
        switch (which) {
            case operation::replace: return blocks_.replace(0, value), model.replace(value);
            case operation::try_to_replace: return blocks_.try_to_replace(0, value) ? model.replace(value) : void();
            case operation::push: return blocks_.push(0, value, small_node_bytes), model.push(value, small_node_bytes);
            case operation::scrub: return scrub();
        }
    }
    stm::word right_of(const void* at) const { return std::ranges::find(flips_, at, &dnv_flip::at)->right.word; }

    /// Once, at full speed.
    static void scrub() {
        const std::uint64_t before = dnv::the_space.scrub_rounds;
        dnv_scrub_start({.bytes_per_second = std::uint64_t{1} << 40}).value();
        while (dnv::the_space.scrub_rounds == before) std::this_thread::sleep_for(std::chrono::microseconds(100));
        dnv_scrub_stop();
    }

    std::optional<std::string> wrong_in_use(const progress& made) override {
        if (auto wrong = wrong_in_list(made)) return wrong;
        return wrong_after([&](dnv_model& model) {
            dnv_on_uncorrectable_in_this_thread([](const dnv::damage&) { return dnv::verdict::leave(); });
            apply(operation::try_to_replace, 8888, model);
            dnv_on_uncorrectable_in_this_thread(nullptr);
            apply(operation::push, 9999, model);
        });
    }
    /// It has what is damaged, from the moment on when somebody was asked, and nothing else. What is right again has
    /// left it at the latest when the pool was opened.
    std::optional<std::string> wrong_in_list(const progress& made) const {
        const dnv::damage_listing found = dnv::read_damages(*dnv::the_space.in_pool);
        if (found.lost != 0) return "words of the list of damages are damaged";
        const bool is_there = has_damages() && flips_.front().is_there();
        const bool may_lack = made.done[0] < listed_after_;
        if (found.further != 0 || found.words.size() > (is_there ? 1 : 0))
            return "the list of damages has what is none";
        if (found.words.empty() ? is_there && !may_lack : found.words.front() != flips_.front().at)
            return "the list of damages lacks a word";
        return {};
    }

    std::string name_;
    std::span<const flipping> all_;
    std::size_t listed_after_ = never;  ///< this number of operations
};

}  // namespace

void add_flips_of_dnv(std::vector<std::unique_ptr<subject>>& all) {
    const dnv_kind kind{all_dnv_operations().front()};
    all.push_back(std::make_unique<dnv_flips_subject>(kind, "flips", corrected));
    all.push_back(std::make_unique<dnv_flips_subject>(kind, "damages", damaging));
}

}  // namespace holdfast::crash

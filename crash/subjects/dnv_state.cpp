// Instrumented: it reads what recovery left.
#include <crash/subjects/dnv_state.hpp>

#include <crash/record/scheduler.hpp>
#include <crash/subjects/inspect.hpp>

#include <holdfast/dnv/audit.hpp>
#include <holdfast/dnv/check.hpp>
#include <holdfast/dnv/home.hpp>
#include <holdfast/dnv/space.hpp>
#include <holdfast/ecc/repair.hpp>

#include <algorithm>
#include <cstring>

namespace holdfast::crash {

// Which the blocks name, too. The initial values become the pool's.
extern dnv_list dnv_list_of_threads[dnv_lists];
DNV_POD dnv_list dnv_list_of_threads[dnv_lists] = {{nullptr, 0, 0, {}, operations_at_first, 0},
                                                   {nullptr, 0, 0, {}, operations_at_first, 0},
                                                   {nullptr, 0, 0, {}, operations_at_first, 0}};
extern std::uint64_t dnv_total;
DNV_POD std::uint64_t dnv_total = 0;

const dnv_list* address_of_dnv_list(unsigned number) noexcept { return &dnv_list_of_threads[number]; }
const std::uint64_t* address_of_dnv_total() noexcept { return &dnv_total; }

extern const dnv_operations dnv_by_value;
extern const dnv_operations dnv_by_versioned;
std::span<const dnv_operations* const> all_dnv_operations() noexcept {
    static constexpr const dnv_operations* all[] = {&dnv_by_value, &dnv_by_versioned};
    return all;
}

void pause_in_block() noexcept { scheduled::step(); }
void hand_on_in_block() noexcept { scheduled::yield(); }

namespace {

constexpr std::size_t most_nodes = 1000;

/// Reads words of the window, as long as they are sound, or flipped on purpose.
class reader {
public:
    explicit reader(const dnv_flips& flips) : flips_(flips) {}

    template <class T>
    std::uint64_t word(const T* at) {
        static_assert(sizeof(T) == 8);
        return word_at(reinterpret_cast<const stm::word*>(at));
    }
    std::uint64_t word_at(const stm::word* at) {
        if (wrong) return 0;
        const auto found = dnv::home::look(at);
        if (found.sound) return found.value;
        const auto flip = std::ranges::find(flips_, at, &dnv_flip::at);
        if (flip != flips_.end() && flip->is_there()) return flip->right.word;
        wrong = "a word of the list does not fit its code";
        return 0;
    }
    /// A node in a block, or nullptr.
    const dnv_node* node_at(std::uint64_t address) {
        const auto* const at = reinterpret_cast<const dnv_node*>(address);
        if (wrong || at == nullptr) return nullptr;
        if (address % 16 == 0 && dnv::the_space.chunks.find(at)) return at;
        wrong = "the list leads to where no block is";
        return nullptr;
    }

    std::optional<std::string> wrong;

private:
    const dnv_flips& flips_;
};

void look_at_list(const dnv_list& list, reader& read, dnv_state& found) {
    contents& all = found.lists.emplace_back();
    all = {read.word(&list.count), read.word(&list.sum), read.word_at(reinterpret_cast<const stm::word*>(list.marks)),
           read.word(&list.operations), read.word(&list.shares)};
    std::uint64_t nodes = 0;
    for (auto* at = read.node_at(read.word(&list.head)); at != nullptr; at = read.node_at(read.word(&at->next))) {
        if (++nodes == most_nodes) read.wrong = "the list has no end";
        all.push_back(read.word(&at->value));
        all.push_back(read.word(&at->bytes));
        for (std::size_t i = 0; i < dnv_node::payload_bytes; i += 8)
            all.push_back(read.word_at(reinterpret_cast<const stm::word*>(at->payload + i)));
    }
    if (!read.wrong && all[0] != nodes) read.wrong = "the counter is not the number of nodes";
    found.nodes += nodes;
}

}  // namespace

bool dnv_flip::can_be_corrected() const noexcept { return static_cast<bool>(ecc::repair(flipped)); }

bool dnv_flip::is_there() const noexcept {
    const ecc::coded_word now = *dnv::place_of(at);
    if (ecc::is_valid(now)) return false;
    return can_be_corrected() ? ecc::repair(now).right == right : now == flipped;
}

dnv_state look_at_dnv_lists(const dnv_flips& flips) {
    reader read(flips);
    dnv_state found;
    std::uint64_t shares = 0;
    for (unsigned number = 0; number < dnv_lists; ++number) {
        look_at_list(*address_of_dnv_list(number), read, found);
        shares += found.lists.back()[4];
    }
    const bool adds_up = read.word(address_of_dnv_total()) == shares;
    if (!adds_up && !read.wrong) read.wrong = "the total is not the sum of its shares";
    found.wrong = std::move(read.wrong);
    return found;
}

contents initial_dnv_list() { return {0, 0, 0, operations_at_first, 0}; }

std::optional<std::string> wrong_in_dnv_pool(const dnv_state& found, const dnv_flips& flips) {
    const dnv::audit_report report = dnv::audit_open_pool(false);
    const auto count_there = [&](bool can_be_corrected) {
        return static_cast<std::size_t>(std::ranges::count_if(flips, [&](const dnv_flip& each) {
            return each.is_there() && each.can_be_corrected() == can_be_corrected;
        }));
    };
    if (report.problems.size() > count_there(false)) return "the audit of dnv: " + report.problems.back().text();
    if (report.damaged.size() != count_there(false) || report.flipped_words != count_there(true))
        return "the audit of dnv finds " + std::to_string(report.damaged.size()) + " damaged words and " +
               std::to_string(report.flipped_words) + " others with flipped bits";
    if (report.blocks != found.nodes)
        return "of the blocks that are given out " + std::to_string(found.nodes) + " are in the list, expected " +
               std::to_string(report.blocks);
    const open_pool& pool = *dnv::the_space.pool;
    const auto roots = list_roots(pool);
    if (!roots) return "the roots are damaged: " + roots.error().text();
    std::vector<const void*> owned;
    dnv::list_owned(owned);
    return wrong_in_heap(pool, owned, true);
}

dnv_model::dnv_model(const contents& from)
    : count_(from[0]), sum_(from[1]), marks_(from[2]), operations_(from[3]), shares_(from[4]) {
    constexpr std::size_t of_node = 2 + payload_words;
    for (std::size_t at = from.size(); at > 5; at -= of_node) {
        const std::uint64_t* const words = &from[at - of_node];
        node made{words[0], words[1], {}};
        std::memcpy(made.payload, words + 2, sizeof made.payload);
        nodes_.push_back(made);
    }
}

void dnv_model::push_uncounted(std::uint64_t value, std::uint64_t bytes) {
    node made{value, bytes, {}};
    std::memset(made.payload, static_cast<int>(value & 0xFF), sizeof made.payload);
    nodes_.push_back(made);
    ++count_;
    sum_ += value;
}
void dnv_model::pop_uncounted() {
    if (nodes_.empty()) return;
    --count_;
    sum_ -= nodes_.back().value;
    nodes_.pop_back();
}

void dnv_model::push(std::uint64_t value, std::uint64_t bytes) {
    push_uncounted(value, bytes);
    ++operations_;
}
void dnv_model::pop() {
    pop_uncounted();
    ++operations_;
}
void dnv_model::replace(std::uint64_t value) {
    reinterpret_cast<unsigned char*>(&marks_)[1] = static_cast<unsigned char>(value);
    reinterpret_cast<unsigned char*>(&marks_)[5] = static_cast<unsigned char>(value + 1);
    if (!nodes_.empty()) {
        auto* const bytes = reinterpret_cast<unsigned char*>(nodes_.back().payload);
        bytes[3] = static_cast<unsigned char>(value);
        const auto half = static_cast<std::uint32_t>(value);
        std::memcpy(bytes + 12, &half, sizeof half);
    }
    ++operations_;
}
void dnv_model::rotate(std::uint64_t value) {
    pop_uncounted();
    push_uncounted(value, small_node_bytes);
    ++operations_;
}

void dnv_model::push_several(std::uint64_t value) {
    for (unsigned i = 0; i < nodes_of_several; ++i) push_uncounted(value + i, small_node_bytes);
    ++operations_;
}
void dnv_model::pop_all() {
    while (!nodes_.empty()) pop_uncounted();
    ++operations_;
}
void dnv_model::share() {
    ++shares_;
    ++operations_;
}

contents dnv_model::all() const {
    contents all{count_, sum_, marks_, operations_, shares_};
    for (auto each = nodes_.rbegin(); each != nodes_.rend(); ++each) {
        all.push_back(each->value);
        all.push_back(each->bytes);
        all.insert(all.end(), std::begin(each->payload), std::end(each->payload));
    }
    return all;
}

}  // namespace holdfast::crash
